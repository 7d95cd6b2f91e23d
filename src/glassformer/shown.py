"""What a notebook shows of a thing: one method, and the one import that points upward, taken when a notebook asks.

Machines, cascades, models and traces know nothing of drawings; `glassformer.ui.notebook` knows all of them. So they
inherit this, and no more than its name.
"""

from __future__ import annotations

from importlib import import_module


class Shown:
    """A thing that notebooks show as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = import_module("glassformer.ui.notebook").html(self)
        return html
