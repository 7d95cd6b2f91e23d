"""Theorem 2: every machine by its cascade; if it is solvable, in a depth that does not grow with the length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from glassformer.algebra.analysis import Analysis
from glassformer.algebra.cascade import Cascade
from glassformer.algebra.way import Way, way_down
from glassformer.automata import Machine
from glassformer.compiler.construction import Construction
from glassformer.messages import Message

if TYPE_CHECKING:
    from glassformer.compiler.program import Program


@dataclass(frozen=True)
class CascadePlan:
    """The cascade, and its levels as they are met from the start."""

    machine: Machine
    cascade: Cascade
    way: Way


class ByCascade(Construction[CascadePlan]):
    """For every machine whose cascade can be found."""

    name = "cascade"
    theorem = Message("cascade.theorem")
    promises = "constant"

    def plan(self, analysis: Analysis) -> CascadePlan:
        """The levels from the start."""
        way = way_down(analysis.cascade, analysis.trimmed.start)
        return CascadePlan(analysis.machine, analysis.cascade, way)

    def layers(self, plan: CascadePlan, length: int | None = None) -> int | None:
        """Those of each level."""
        return plan.way.depth if length is None else plan.way.layers(length)

    def lower(self, plan: CascadePlan, length: int) -> Program:
        """Level by level."""
        from glassformer.compiler.cascade import cascade_program

        return cascade_program(plan.machine, length, plan.cascade)
