"""Theorem 1: every semiautomaton in ⌈log₂ T⌉ layers, by divide and conquer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.algebra.analysis import Analysis
from glassformer.automata import Machine
from glassformer.compiler.construction import Construction
from glassformer.compiler.constructions.doubling.window import doublings, window
from glassformer.messages import Message

if TYPE_CHECKING:
    from glassformer.compiler.program import Program


class Doubling(Construction[Machine]):
    """For every machine; the plan is the machine itself."""

    name = "log"
    theorem = Message("doubling.theorem")
    promises = "logarithmic"

    def plan(self, analysis: Analysis) -> Machine:
        """Every machine will do."""
        return analysis.machine

    def layers(self, plan: Machine, length: int) -> int:
        """One for each doubling of the window, and one for a single letter."""
        return max(1, doublings(window(plan, length)))

    def grows(self, plan: Machine) -> bool:
        """Unless the last few letters tell the state: of n states, the last n − 1 do then."""
        return window(plan, len(plan.states)) == len(plan.states)

    def lower(self, plan: Machine, length: int) -> Program:
        """Look twice as far back in every layer, and compose."""
        from glassformer.compiler.constructions.doubling.program import log_depth

        return log_depth(plan, length)
