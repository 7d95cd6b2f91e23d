"""The HTML representation of things in notebooks, and the one import that points upward, taken when a notebook asks.

Machines, cascades, models and traces know nothing of drawings; `glassformer.ui.notebook` knows all of them.
"""

from __future__ import annotations

from importlib import import_module


class HTMLRepresentation:
    """Whatever notebooks show as HTML inherits this."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = import_module("glassformer.ui.notebook").html(self)
        return html
