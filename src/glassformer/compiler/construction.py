"""What a construction is: it plans, counts its layers, and lowers its plan to a program.

    plan     what it knows of a machine, before any length; None if it is not for this machine. No torch.
    layers   of a plan, for words of a length, and whether longer words take more
    lower    the plan as a program over registers, exact for words of a length or longer

`constructions/__init__.py` lists them all; `compile`, `classify`, the command line and the page ask that list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeAlias, TypeVar

from glassformer.algebra.analysis import Analysis
from glassformer.messages import Message

if TYPE_CHECKING:
    from glassformer.compiler.program import Program

Plan = TypeVar("Plan")
Depth: TypeAlias = Literal["logarithmic", "constant"]
"""How the depth grows with the length of words."""


class Construction(ABC, Generic[Plan]):
    """One way to build a transformer for a machine."""

    name: ClassVar[str]
    """What `--method` calls it."""
    theorem: ClassVar[Message]
    """Which machines it is for, and what it proves of them."""
    promises: ClassVar[Depth]
    """The depth that its theorem promises; a machine for which it is not constant may still be built."""

    @abstractmethod
    def plan(self, analysis: Analysis) -> Plan | None:
        """What it needs to know of a machine; None if it is not for it; TooLargeError if a limit was passed.

        One that asks for `analysis.machine` is not for machines with infinitely many states: that is an InfiniteError.
        """

    @abstractmethod
    def layers(self, plan: Plan, length: int) -> int:
        """Attention layers for words of this length."""

    def grows(self, plan: Plan) -> bool:
        """Whether longer words take more layers."""
        return False

    @abstractmethod
    def lower(self, plan: Plan, length: int) -> Program:
        """The program, exact for words of up to `length` letters, or more."""
