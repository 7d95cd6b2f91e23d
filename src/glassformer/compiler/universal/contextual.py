"""Contextual mappings: every column of every sequence gets a number of its own, and two sequences share none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped


@dataclass(frozen=True)
class Collision:
    """Two columns, by the numbers of sequence and column, that got the same value."""

    one: tuple[int, int]
    other: tuple[int, int]
    value: float


def is_contextual(ids: Shaped[np.ndarray, "sequence n"]) -> tuple[bool, Collision | None]:
    """Whether the ids of these sequences are all different; if not, the collision."""
    flat = np.asarray(ids).ravel()
    order = np.argsort(flat, kind="stable")
    same = np.flatnonzero(flat[order][1:] == flat[order][:-1])
    if not len(same):
        return True, None
    n = ids.shape[1]
    one, other = (divmod(int(order[same[0] + k]), n) for k in (0, 1))
    return False, Collision(one, other, float(flat[order[same[0]]]))
