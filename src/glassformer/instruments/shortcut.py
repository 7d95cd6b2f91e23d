"""Is a family of models a shortcut? It is if it is right and its depth grows more slowly than the length (S0.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.errors import InputError
from glassformer.messages import Message

LINEAR = 0.95
"""A depth that grows like T^0.95 or faster is called linear: in a finite family T and T/log T look the same."""


@dataclass(frozen=True)
class Member:
    """One model of a family: the length it is meant for, its depth, and the positions it got wrong."""

    length: int
    depth: int
    wrong: int


@dataclass(frozen=True)
class Judgement:
    """Whether the family is a shortcut, like which power of T its depth grows, and why."""

    shortcut: bool
    growth: float
    why: Message


def judge(family: Sequence[Member]) -> Judgement:
    """Definition 1 of Liu et al.: correct at every length, with depth o(T)."""
    members = sorted(family, key=lambda member: member.length)
    if len({member.length for member in members}) < 3 or members[-1].length < 8 * members[0].length:
        raise InputError("instruments.too_few_lengths")
    lengths = sorted({member.length for member in members})
    upper = [member for member in members if member.length >= lengths[len(lengths) // 2 - 1]]
    depths = np.log([max(member.depth, 1) for member in upper])  # no layers at all are as constant as one
    growth = float(np.polyfit(np.log([member.length for member in upper]), depths, 1)[0])
    wrong = next((member for member in members if member.wrong), None)
    right = Message("instruments.right")
    if wrong:
        right = Message("instruments.wrong", positions=wrong.wrong, length=wrong.length)
    id = "instruments.grows_slowly" if growth < LINEAR else "instruments.grows_as_the_length"
    return Judgement(wrong is None and growth < LINEAR, growth, Message(id, right=right, power=growth))
