"""What notebooks show: machines, cascades, models and traces as HTML, and the page's views as a widget.

    machine                                # the last line of a cell: drawn, with its table
    glassformer.ui.notebook.explore("regex:(ab)*", word="abba")

The HTML has no script, asks nobody, and takes the colours of the text around it. The widget needs anywidget:
pip install 'glassformer[notebook]'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from glassformer.algebra import Cascade
from glassformer.automata import Semiautomaton

if TYPE_CHECKING:
    from glassformer.ui.notebook.widget import explore

__all__ = ["explore", "html"]


def html(thing: object, language: str = "en") -> str:
    """A thing as HTML, with its words in a language; machines and cascades are shown without torch."""
    if isinstance(thing, Semiautomaton | Cascade):
        from glassformer.ui.notebook import machines

        return machines.html(thing, language)
    from glassformer.ui.notebook import models

    return models.html(thing, language)


def __getattr__(name: str) -> Any:
    if name == "explore":
        from glassformer.ui.notebook.widget import explore

        return explore
    raise AttributeError(f"module 'glassformer.ui.notebook' has no attribute {name!r}")
