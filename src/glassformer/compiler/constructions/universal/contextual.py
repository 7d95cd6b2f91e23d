"""Contextual mappings: every column of every sequence gets a number of its own, and two sequences share none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassformer.errors import InputError


@dataclass(frozen=True)
class Collision:
    """Two columns, by the numbers of sequence and column, that got the same value."""

    one: tuple[int, int]
    other: tuple[int, int]
    value: float


def is_contextual(mapping: Callable[[Any], Any] | Any, sequences: Any = None) -> tuple[bool, Collision | None]:
    """Whether a mapping gives all columns of these sequences different ids; if not, the collision.

    The mapping is a function from sequences to ids [sequence, n], or just the ids.
    """
    ids = np.asarray(mapping(sequences) if callable(mapping) else mapping)
    if ids.ndim != 2 or ids.dtype.kind not in "fiu" or not np.isfinite(ids).all():
        raise InputError("universal.ids", dtype=str(ids.dtype), shape=str(list(ids.shape)))
    order = np.argsort(ids, axis=None, kind="stable")
    flat = ids.ravel()[order]
    same = np.flatnonzero(flat[1:] == flat[:-1])
    if not len(same):
        return True, None
    one, other = (divmod(int(order[same[0] + k]), ids.shape[1]) for k in (0, 1))
    return False, Collision(one, other, float(flat[same[0]]))
