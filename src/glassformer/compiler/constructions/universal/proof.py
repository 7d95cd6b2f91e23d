"""The construction of Yun et al. (ICLR 2020), stage by stage: quantise, give sequences ids, write their values.

Everything is a sum or a difference of multiples of powers of two, so it is exact in float64 as long as the ids are not
too large. Cells and ids are gone through from the top down: whatever is above is done with, and the ReLUs of what is
below are exactly 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from jaxtyping import Float, Integer

from glassformer.compiler.constructions.universal.functions import Sequences
from glassformer.compiler.constructions.universal.grid import Grid
from glassformer.compiler.constructions.universal.layers import Layers, attention, feed_forward, stacked, together
from glassformer.errors import InputError
from glassformer.messages import Message

RAMP: Final = 2.0**-40
"""The part of a cell in which the quantiser is on its way to the next."""
EXACT: Final = 2**50
"""Ids in units of δ are smaller; half a δ and a sum of two need a bit each of float64's 53."""
MOST_ENTRIES: Final = 2**27
"""Numbers in the table of all sequences of a grid."""
LARGEST: Final = 2**33
"""Ids and values are smaller: a value that takes the place of an id is rounded to 2⁻²⁰ then, which is below 10⁻⁶."""


@dataclass(frozen=True)
class Contexts:
    """Ids of the columns, in units of δ, after selective and global shifts: what makes the mapping contextual."""

    grid: Grid
    spread: int
    """c: the global shift adds c times the largest id."""
    shifted: Integer[np.ndarray, "sequence n"]
    """uᵀX after the selective shifts, for every sequence of the grid."""

    @cached_property
    def ids(self) -> Integer[np.ndarray, "sequence n"]:
        """uᵀX after the global shift too."""
        return with_largest(self.shifted, self.spread)

    @property
    def low(self) -> int:
        """The smallest id of a sequence that has a value."""
        return int(self.ids.min())

    @property
    def high(self) -> int:
        """The largest."""
        return int(self.ids.max())


def contexts(grid: Grid) -> Contexts:
    """The ids, with the smallest power of two as c that keeps all of them apart, and repeated columns below."""
    if not grid.sequence_count:
        raise InputError("universal.too_few_columns", columns=grid.columns, n=grid.n)
    if grid.sequence_count * grid.n * grid.d > MOST_ENTRIES or grid.stride ** (grid.n - 1) > LARGEST * grid.cells:
        raise too_large(grid)
    shifted = selectively_shifted(grid, grid.ids(grid.corners))
    repeated = -1 if grid.positions or grid.n == 1 else highest_repeated(grid)
    spread, most = 1, min(LARGEST * grid.cells, EXACT)
    while spread * int(shifted.max()) < 4 * most:
        ids = with_largest(shifted, spread)
        if len(np.unique(ids)) == ids.size and int(ids.min()) > (1 + spread) * repeated:
            if int(ids.max()) >= most:
                break
            return Contexts(grid, spread, shifted)
        spread *= 2
    raise too_large(grid)


def too_large(grid: Grid) -> InputError:
    """The refusal of a grid whose ids cannot be gone through, or not be exact."""
    return InputError("universal.ids_too_large", d=grid.d, n=grid.n, cells=grid.cells)


def with_largest(shifted: Integer[np.ndarray, "sequence n"], spread: int) -> Integer[np.ndarray, "sequence n"]:
    """Every id moved by c times the largest of its sequence."""
    moved: Integer[np.ndarray, "sequence n"] = shifted + spread * shifted.max(axis=1, keepdims=True)
    return moved


def selectively_shifted(grid: Grid, ids: Integer[np.ndarray, "sequence n"]) -> Integer[np.ndarray, "sequence n"]:
    """What the selective shifts make of ascending ids: each in turn moves by s · (largest − smallest)."""
    ids = ids.copy()
    for j in range(grid.n):
        ids[:, j] += grid.stride * (ids.max(axis=1) - ids.min(axis=1))
    return ids


def highest_repeated(grid: Grid) -> int:
    """The largest id that a sequence with a column twice has after the selective shifts: that of fewer columns."""
    fewer = [Grid(grid.d, m, grid.cells, positions=False) for m in range(1, grid.n)]
    return max(int(selectively_shifted(some, some.sequences).max()) for some in fewer)


# -- the stages ------------------------------------------------------------------------------------------------


def quantise(grid: Grid) -> Layers:
    """x ← x + φ(x) with φ(t) = −(t − kδ) on [kδ, (k+1)δ): every row, every cell, from the top down."""
    k = np.arange(grid.cells * grid.reach)[::-1].astype(float)
    knots = np.stack([k, k + 1], axis=1) * grid.delta
    intercepts = np.stack([0 * k, k * grid.delta, 0 * k], axis=1)
    return _every_row(grid, knots, (0, -1, 0), intercepts, RAMP * grid.delta)


def leave_range(grid: Grid) -> Layers:
    """Rows outside [0, 1), if they are not further away than J/2, go to about −J, which no shift brings back."""
    far = -float(far_away(grid))
    return _every_row(grid, np.array([[0.0, 1.0]]), (0, 0, 0), np.array([[far, 0.0, far]]), RAMP * grid.delta)


def far_away(grid: Grid) -> int:
    """J, a power of two that is far more than any id."""
    return int(4 * grid.stride ** (grid.n + 1))


def selective_shifts(grid: Grid) -> Layers:
    """For each id l, ascending: columns with that id move by s · (largest − smallest)."""
    ids = np.unique(grid.ids(grid.corners)) * grid.delta
    half = grid.delta / 2
    return attention(grid.d, np.stack([ids - half, ids + half], axis=1), (grid.stride, -grid.stride))


def global_shift(grid: Grid, spread: int) -> Layers:
    """Every column moves by c times the largest id: it knows the whole sequence."""
    return attention(grid.d, np.full((1, 2), -grid.delta / 2), (spread, 0))


def zero_others(known: Contexts) -> Layers:
    """Columns whose id is not that of a sequence with a value become very negative."""
    grid = known.grid
    much = -16.0 * far_away(grid) * grid.stride ** (grid.n + 1) * 2 * known.spread
    knots = np.array([[known.low * grid.delta, (known.high + 1) * grid.delta]])
    return feed_forward(
        grid.weights[None], knots, (0, 0, 0), np.array([[much, 0, much]]), np.ones((1, grid.d)), grid.delta / 2
    )


def remove_negative(grid: Grid) -> Layers:
    """… and what is negative becomes 0."""
    return _every_row(grid, np.array([[0.0, 1.0]]), (-1, 0, 0), np.zeros((1, 3)), 1.0)


def write_values(known: Contexts, raised: int, values: Sequences) -> Layers:
    """One pulse for each id, from the largest down: the column Z that is there becomes the value A."""
    grid = known.grid
    ids = known.ids + raised
    order = np.argsort(ids, axis=None)[::-1]
    z = ids.ravel()[order] * grid.delta
    columns = grid.corners.transpose(0, 2, 1).reshape(-1, grid.d)[order]
    columns[:, 0] = z - columns[:, 1:] @ grid.weights[1:]
    values = values.transpose(0, 2, 1).reshape(-1, grid.d)[order]
    knots = np.stack([z, z + grid.delta / 2], axis=1)
    pulse = np.tile([0.0, 1.0, 0.0], (len(z), 1))
    read = np.broadcast_to(grid.weights, columns.shape).copy()
    return feed_forward(read, knots, (0, 0, 0), pulse, values - columns, grid.delta / 2)


def clamp(grid: Grid, low: Float[np.ndarray, " d"], high: Float[np.ndarray, " d"]) -> Layers:
    """Every row stays between what the values have: nothing that happens on a ramp can be far away."""
    knots, rows = np.stack([low, high], axis=1), np.eye(grid.d)
    intercepts = np.stack([low, 0 * low, high], axis=1)
    return feed_forward(rows, knots, (-1, 0, -1), intercepts, rows, 1.0)


@dataclass(frozen=True)
class Proof:
    """The parts of the construction by name, and the box that the values lie in."""

    grid: Grid
    parts: dict[str, Layers]
    box: tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]
    bits: int
    """Of the largest id in units of δ, raised above the values."""

    @cached_property
    def layers(self) -> Layers:
        """All parts, one after the other."""
        return stacked(list(self.parts.values()))

    def ids_of(self, corners: Sequences) -> Float[np.ndarray, "sequence n"]:
        """uᵀX after the global shift, as the layers compute it: the contextual mapping."""
        names = list(self.parts)
        first = stacked([self.parts[name] for name in names[: names.index(GLOBAL) + 1]])
        ids: Float[np.ndarray, "sequence n"] = (
            first.run(np.ascontiguousarray(corners.transpose(0, 2, 1)), self.grid.weights) @ self.grid.weights
        )
        return ids


GLOBAL: Final = "global shift"


def part_title(part: str) -> Message:
    """What a part of the construction is called, for a person."""
    return Message(f"universal.part_{part.replace(' ', '_')}")


def prove(known: Contexts, values: Sequences) -> Proof:
    """All stages, one after the other; `values` are those of f̄ for every sequence of the grid."""
    grid = known.grid
    low, high = values.min(axis=(0, 2)), values.max(axis=(0, 2))
    if not grid.positions:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    raised = above(grid, known, high)
    if (known.high + raised) * grid.delta >= LARGEST or float(-low.min()) >= LARGEST:
        size = max(float(high.max()), float(-low.min()))
        raise InputError("universal.values_too_large", size=size)
    offset = np.eye(grid.d)[0] * raised * grid.delta
    shift = global_shift(grid, known.spread)
    parts = {"quantise": quantise(grid)}
    if grid.positions:
        parts |= {"selective shift": selective_shifts(grid), GLOBAL: together(shift, nothing(grid), offset)}
    else:
        parts |= {"range": leave_range(grid), "selective shift": selective_shifts(grid)}
        parts |= {GLOBAL: together(shift, zero_others(known), offset), "zeroing": remove_negative(grid)}
    parts |= {"values": write_values(known, raised, values), "clamp": clamp(grid, low, high)}
    return Proof(grid, parts, (low, high), (known.high + raised).bit_length())


def nothing(grid: Grid) -> Layers:
    """A φ that is 0."""
    still = np.zeros((1, grid.d))
    return feed_forward(still, np.array([[0.0, 1.0]]), (0, 0, 0), np.zeros((1, 3)), still, 1.0)


def above(grid: Grid, known: Contexts, high: Float[np.ndarray, " d"]) -> int:
    """By how much ids are raised, in units of δ, so that no value has an id that is still to come."""
    largest_value = int(np.ceil(float(grid.weights @ np.maximum(high, 0)) * grid.cells)) + 2
    return max(0, largest_value - known.low)


def blocks_needed(grid: Grid) -> int:
    """The formula: quantise, range, shifts, zeroing, one block for each column of each sequence, clamp."""
    d, cells, columns = grid.d, grid.cells, grid.columns
    if grid.positions:
        return d * grid.n * cells + grid.n * columns + 1 + grid.n * grid.sequence_count + d
    return d * cells + d + columns + 1 + d + grid.n * grid.sequence_count + d


def _every_row(
    grid: Grid,
    knots: Float[np.ndarray, "kind 2"],
    slopes: tuple[float, float, float],
    intercepts: Float[np.ndarray, "kind 3"],
    ramp: float,
) -> Layers:
    """The same φs at each row."""
    rows = np.repeat(np.eye(grid.d), len(knots), axis=0)
    return feed_forward(rows, np.tile(knots, (grid.d, 1)), slopes, np.tile(intercepts, (grid.d, 1)), rows, ramp)
