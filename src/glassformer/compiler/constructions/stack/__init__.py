"""Brackets of bounded depth, in three attention layers; in two if they are all of one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.algebra.analysis import Analysis
from glassformer.compiler.construction import Construction
from glassformer.compiler.constructions.stack.stack import Stack, stack_of
from glassformer.messages import Message

if TYPE_CHECKING:
    from glassformer.compiler.program import Program


class Nested(Construction[Stack]):
    """For stacks with brackets for letters, under whatever names; the plan is the stack."""

    name = "dyck"
    theorem = Message("stack.theorem")
    promises = "constant"

    def plan(self, analysis: Analysis) -> Stack | None:
        """The machine as a stack."""
        return stack_of(analysis.machine)

    def layers(self, plan: Stack, length: int | None = None) -> int | None:
        """How many are open; which of them is closed, if there are several kinds; whether anything was wrong."""
        return 2 if plan.kinds == 1 else 3

    def lower(self, plan: Stack, length: int) -> Program:
        """Count the open brackets, find the one that is closed, remember errors."""
        from glassformer.compiler.constructions.stack.program import dyck_program

        return dyck_program(plan, length)
