"""Brackets of any depth, in three attention layers; in two if they are all of one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.algebra.analysis import Analysis
from glassformer.automata.infinite import Brackets
from glassformer.compiler.construction import Construction
from glassformer.compiler.constructions.dyck.nesting import Nesting, nesting_of, stack_of
from glassformer.messages import Message

if TYPE_CHECKING:
    from glassformer.compiler.program import Program


class Dyck(Construction[Nesting]):
    """For brackets as deep as one likes, and for stacks of bounded depth that read brackets, under whatever names."""

    name = "dyck"
    theorem = Message("dyck.theorem")
    promises = "constant"

    def plan(self, analysis: Analysis) -> Nesting | None:
        """What its letters do; of a machine with finitely many states, the stack that each of them stands for."""
        source = analysis.source
        return nesting_of(source) if isinstance(source, Brackets) else stack_of(analysis.machine)

    def layers(self, plan: Nesting, length: int) -> int:
        """How many are open; which of them is closed, if there are several kinds; whether anything was wrong."""
        return 2 if plan.pairs == 1 else 3

    def lower(self, plan: Nesting, length: int) -> Program:
        """Count the open brackets, find the partner of each that closes, remember errors."""
        from glassformer.compiler.constructions.dyck.program import brackets_program

        return brackets_program(plan, length)
