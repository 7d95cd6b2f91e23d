"""Theorem 2: every machine by its cascade; if it is solvable, in a depth that does not grow with the length.

plan.py       which cases each level must tell apart from the start, and how it finds its tile; no torch
group.py      the product of group elements so far: counts, and doubling for what is not solvable
look_ups.py   how the tile that a reset has left is found, one class for each way
program.py    the levels as registers, heads and MLPs
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.algebra.analysis import Analysis
from glassformer.compiler.construction import Construction
from glassformer.compiler.constructions.cascade.plan import CascadePlan, plan_levels
from glassformer.messages import Message

if TYPE_CHECKING:
    from glassformer.compiler.program import Program


class ByCascade(Construction[CascadePlan]):
    """For every machine whose cascade can be found."""

    name = "cascade"
    theorem = Message("cascade.theorem")
    promises = "constant"

    def plan(self, analysis: Analysis) -> CascadePlan:
        """The levels as they are met from the start."""
        return plan_levels(analysis.machine, analysis.cascade)

    def layers(self, plan: CascadePlan, length: int) -> int:
        """Those of each level."""
        return plan.layers(length)

    def grows(self, plan: CascadePlan) -> bool:
        """Only groups that are not solvable take more for longer words."""
        return not plan.solvable

    def lower(self, plan: CascadePlan, length: int) -> Program:
        """Level by level."""
        from glassformer.compiler.constructions.cascade.program import cascade_program

        return cascade_program(plan, length)
