"""Machines of which no table can be written, because they have infinitely many states.

Whatever reads letters one by one, and after each gives one of finitely many answers, is such a machine, and it needs no
more than a rule: `run`. Models are built for it and compared with it as with a `Machine`; what needs the table itself
asks `finite` for one, and is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Integer

from glassformer.automata.semiautomaton import Alphabet, Indices, Label, Machine, Semiautomaton, Word
from glassformer.errors import InputError
from glassformer.messages import Message


class InfiniteMachine(Alphabet, ABC):
    """A machine that tells in which of a few classes its state is; a frozen dataclass of whole numbers.

    The numbers are those of its spec, `brackets(pairs=2)`, and of its file, `{"kind": "brackets", "pairs": 2}`.
    """

    kind: ClassVar[str]
    """Its name in specs and files."""
    states: ClassVar[tuple[str, ...]]
    """The classes of states."""
    outputs: ClassVar[tuple[Label, ...]]
    """A label for each of them."""
    start: ClassVar[int] = 0
    """The class of the state before the first letter."""

    @property
    @abstractmethod
    def why(self) -> Message:
        """Why finitely many states would not do."""

    @abstractmethod
    def run(self, word: Word) -> Indices:
        """The class after every prefix of a word, or of every word of a batch (last axis: positions)."""

    @abstractmethod
    def words(self, length: int, count: int, rng: np.random.Generator) -> Integer[np.ndarray, "word length"]:
        """Random words on which it can go wrong late."""

    def __str__(self) -> str:
        """Its spec."""
        return f"{self.kind}({', '.join(f'{name}={number}' for name, number in self.numbers().items())})"

    def to_json(self) -> dict[str, Any]:
        """What `infinite_machine` reads back."""
        return {"kind": self.kind, **self.numbers()}

    def numbers(self) -> dict[str, int]:
        """The fields of the dataclass."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]


AnyMachine: TypeAlias = Machine | InfiniteMachine
Kind = TypeVar("Kind", bound=Semiautomaton)


class InfiniteError(InputError):
    """Something needs the table of a machine that has none."""


def finite(machine: Kind | InfiniteMachine) -> Kind:
    """The machine itself, if it has finitely many states; if not, the error says why."""
    if isinstance(machine, InfiniteMachine):
        raise InfiniteError("infinite.no_table", machine=str(machine), why=machine.why)
    return machine
