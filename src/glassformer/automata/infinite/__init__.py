"""Machines with infinitely many states, each a module of its own, listed here by their kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from glassformer.automata.infinite.brackets import Brackets
from glassformer.automata.infinite.machine import AnyMachine, InfiniteError, InfiniteMachine, finite
from glassformer.errors import InputError

__all__ = ["INFINITE", "AnyMachine", "Brackets", "InfiniteError", "InfiniteMachine", "finite", "infinite_machine"]

INFINITE: Final[dict[str, type[InfiniteMachine]]] = {each.kind: each for each in (Brackets,)}
"""Every kind is a word of the spec language, like the machines of the zoo."""


def infinite_machine(values: Mapping[str, Any], file: str) -> InfiniteMachine:
    """The machine that `to_json` described; the error says in which file it did not."""
    numbers = {name: value for name, value in values.items() if name != "kind"}
    kind = values["kind"]
    if not isinstance(kind, str) or kind not in INFINITE:
        raise InputError("infinite.unknown", file=file, kind=kind, kinds=tuple(INFINITE))
    known = [field.name for field in fields(INFINITE[kind])]  # type: ignore[arg-type]  # each is a dataclass
    if {*numbers} != {*known} or not all(type(number) is int for number in numbers.values()):
        raise InputError("infinite.numbers", file=file, kind=kind, names=known)
    try:
        return INFINITE[kind](**numbers)
    except InputError as error:
        raise InputError("infinite.refused", file=file, why=error.message) from None
