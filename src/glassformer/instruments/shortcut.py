"""Is a family of models a shortcut? It is if it is right and its depth grows more slowly than the length (S0.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.errors import InputError

LINEAR = 0.95
"""A depth that grows like T^0.95 or faster is called linear: a finite family cannot tell T from T/log T."""


@dataclass(frozen=True)
class Member:
    """One model of a family: the length it is meant for, its depth, and the positions it got wrong."""

    length: int
    depth: int
    wrong: int


@dataclass(frozen=True)
class Verdict:
    """Whether the family is a shortcut, like which power of T its depth grows, and why."""

    shortcut: bool
    growth: float
    why: str


def judge(family: Sequence[Member]) -> Verdict:
    """Definition 1 of Liu et al.: correct at every length, with depth o(T)."""
    members = sorted(family, key=lambda member: member.length)
    if len({member.length for member in members}) < 3 or members[-1].length < 8 * members[0].length:
        raise InputError("growth shows in at least three lengths, the longest at least 8 times the shortest")
    lengths = sorted({member.length for member in members})
    upper = [member for member in members if member.length >= lengths[len(lengths) // 2 - 1]]
    depths = np.log([max(member.depth, 1) for member in upper])  # no layers at all are as constant as one
    growth = float(np.polyfit(np.log([member.length for member in upper]), depths, 1)[0])
    wrong = next((member for member in members if member.wrong), None)
    said = f"wrong at {wrong.wrong:,} positions of length {wrong.length}" if wrong else "right throughout"
    said += f"; depth grows like T^{growth:z.2f}" + ("" if growth < LINEAR else ", as the length")
    return Verdict(wrong is None and growth < LINEAR, growth, said)
