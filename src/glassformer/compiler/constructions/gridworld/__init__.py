"""Theorem 3: a walk on a row of cells between two walls, in two attention layers; in one if it never turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.algebra.analysis import Analysis
from glassformer.compiler.construction import Construction
from glassformer.compiler.constructions.gridworld.walk import Walk, walk_of
from glassformer.messages import Message

if TYPE_CHECKING:
    from glassformer.compiler.program import Program


class Gridworld(Construction[Walk]):
    """For walks, under whatever names; the plan is the walk."""

    name = "gridworld"
    theorem = Message("gridworld.both_ways_theorem")
    promises = "constant"

    def plan(self, analysis: Analysis) -> Walk | None:
        """The machine as a walk."""
        return walk_of(analysis.machine)

    def layers(self, plan: Walk, length: int) -> int:
        """The sum of all steps, and what the walls made of it."""
        return 1 if plan.one_way else 2

    def lower(self, plan: Walk, length: int) -> Program:
        """Count the steps; then find when each cell around was reached last."""
        from glassformer.compiler.constructions.gridworld.program import gridworld_program

        return gridworld_program(plan, length)
