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
    """Whether the family is a shortcut, and why."""

    shortcut: bool
    why: str


def judge(family: Sequence[Member]) -> Verdict:
    """Definition 1 of Liu et al.: correct at every length, with depth o(T)."""
    members = sorted(family, key=lambda member: member.length)
    if len(members) < 3 or members[-1].length < 8 * members[0].length:
        raise InputError("growth shows in at least three lengths, the longest at least 8 times the shortest")
    for member in members:
        if member.wrong:
            return Verdict(False, f"wrong at {member.wrong:,} positions of length {member.length}")
    upper = members[len(members) // 2 - 1 :]
    growth = float(np.polyfit(np.log([m.length for m in upper]), np.log([m.depth for m in upper]), 1)[0])
    slower = growth < LINEAR
    return Verdict(slower, f"right throughout; depth grows like T^{growth:.2f}" + ("" if slower else ", as the length"))
