"""The same by few, wide blocks: a staircase, one softmax head, and a table.

One head with a constant query gives every column the same number, a mean of all ids that is weighted by e^(β·id): a
Boltzmann operator. Different sequences have different means, so uᵀX plus M times the mean gives column and sequence at
once, and one piecewise-linear function of it, with as many pieces as there are units, writes the values. Sequences that
have a column twice need no special care.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Bool, Float, Integer

from glassformer.compiler.constructions.universal.approximation import grid_of, needs_positions
from glassformer.compiler.constructions.universal.functions import (
    Distance,
    Sequences,
    check_measure,
    estimated_distance,
    function_of,
    run,
)
from glassformer.compiler.constructions.universal.grid import Grid
from glassformer.errors import InputError, whole_number
from glassformer.nn import BlockShape, Config, Transformer

RAMP: Final = 2.0**-24
"""The part of a cell in which the first staircase goes to the next step."""
MOST_IDS: Final = 2**18
"""Rows of the table."""
SHARPNESSES: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
"""β times the largest id: the one whose means lie furthest apart is taken."""
SPREADS: Final = tuple(2.0**k for k in range(0, 22, 2))
"""M, likewise."""

Weights = tuple[Float[np.ndarray, " d"], Float[np.ndarray, " unit"], Float[np.ndarray, "unit d"]]
"""What ReLUs read, their knots, and what each adds."""


@dataclass(frozen=True)
class Compact:
    """A few wide blocks, as the one Transformer in float64, and what was measured."""

    model: Transformer
    grid: Grid
    units: int
    blocks: int
    parameters: int
    grid_error: float
    """The largest |g − f̄| over all sequences of the grid."""
    distance: float
    distance_error: float

    def __call__(self, x: Sequences) -> Sequences:
        """The value of the transformer, on arrays [batch, d, n]."""
        return run(self.model, x)


def compact(
    f: str | Callable[[Any], Any],
    d: int,
    n: int,
    delta: float,
    units: int = 1024,
    positions: bool | None = None,
    p: float = 2.0,
    samples: int = 2000,
    seed: int = 0,
) -> Compact:
    """One head and MLPs of so many units: as close to f as f̄ is, but for `grid_error`, which rounding adds."""
    check_measure(p, samples, seed)
    asked = function_of(f, d, n)
    whole_number(units, "universal.units", least=4)
    grid = grid_of(d, n, delta, positions or needs_positions(asked, d, n, delta, positions))
    count = grid.columns**n if grid.positions else math.comb(grid.columns + n - 1, n)
    if count * n > MOST_IDS:
        raise InputError("universal.too_many_ids", ids=count * n, limit=MOST_IDS)
    numbers = sequences(grid)
    corners = grid.digits(numbers) * grid.delta + grid.shift
    values = asked((grid.digits(numbers) + 0.5) * grid.delta)
    model = build(grid, corners, values, units)
    error = np.abs(run(model, corners - grid.shift) - values).max()
    near: Distance = estimated_distance(asked, lambda given: run(model, given), d, n, p, samples, seed)
    blocks = len(model.config.blocks)
    inside = sum(w.numel() for name, w in model.named_parameters() if name.startswith("blocks."))
    return Compact(model, grid, units, blocks, inside, float(error), near.value, near.error)


def sequences(grid: Grid) -> Integer[np.ndarray, "sequence n"]:
    """The columns of all sequences; without positions each set once, and columns may come twice."""
    if grid.positions:
        return grid.sequences
    return np.array(list(itertools.combinations_with_replacement(range(grid.columns), grid.n)))


def build(grid: Grid, corners: Sequences, values: Sequences, units: int) -> Transformer:
    """All blocks: two staircases, the head, the table, a clamp."""
    ids = np.einsum("d,bdn->bn", grid.weights, corners)
    sharpness, spread, means = best_mean(ids)
    offset = float(np.ceil(np.abs(grid.weights @ np.abs(values).max(axis=(0, 2)))) + 2 * grid.reach + 1)
    blocks: list[list[Weights]] = [*staircase(grid, units), *snap(grid, units)]
    head = len(blocks) - 1
    blocks += table(grid, corners, ids, ids + spread * means[:, None] + offset, values, units)
    low, high = values.min(axis=(0, 2)), values.max(axis=(0, 2))
    blocks += [clamp(grid, low, high)]
    config = Config(
        vocab=1,
        outputs=grid.d,
        context=grid.n,
        width=grid.d,
        blocks=(BlockShape(1, 1, (units,)),) * len(blocks),
        causal=False,
        scaled=False,
        positions="table",
    )
    model = Transformer(config).double()
    weights = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    weights["unembed.W_U"] += torch.eye(grid.d)
    weights["pos_embed.W_pos"] += torch.from_numpy(grid.shift)[:, None]
    u = torch.from_numpy(grid.weights)
    after = f"blocks.{head + 1}.attn."  # it attends before its MLP, and after those of the blocks before
    weights[after + "b_Q"][0, 0] = sharpness
    weights[after + "W_K"][0, :, 0] = weights[after + "W_V"][0, :, 0] = u
    weights[after + "W_O"][0, 0, 0] = spread
    weights[after + "b_O"][0] = offset
    for i, parts in enumerate(blocks):
        at = 0
        for read, knots, rises in parts:
            here = slice(at, at + len(knots))
            weights[f"blocks.{i}.mlp.W_in"][:, here] = torch.from_numpy(read)[:, None]
            weights[f"blocks.{i}.mlp.b_in"][here] = torch.from_numpy(-knots)
            weights[f"blocks.{i}.mlp.W_out"][here] = torch.from_numpy(rises)
            at += len(knots)
    model.load_state_dict(weights)
    return model.eval()


def best_mean(ids: Float[np.ndarray, "sequence n"]) -> tuple[float, float, Float[np.ndarray, " sequence"]]:
    """β, M and the means, such that uᵀX + M · mean are as far apart as they can be beside their rounding."""
    best = (-1.0, 0.0, 0.0, np.zeros(len(ids)))
    different = ids.size - int((np.diff(np.sort(ids, axis=1), axis=1) == 0).sum())
    for sharp in SHARPNESSES:
        beta = sharp / max(float(ids.max()), 1e-9)
        weights = np.exp(beta * (ids - ids.max(axis=1, keepdims=True)))
        means = (weights * ids).sum(axis=1) / weights.sum(axis=1)
        for spread in SPREADS:
            t = distinct(np.sort(ids + spread * means[:, None], axis=None))
            score = float(np.diff(t, append=2 * t[-1] + 1).min() / (t[-1] + 1))
            if len(t) == different and score > best[0]:
                best = (score, beta, spread, means)
    if best[0] < 2.0**-40:
        raise InputError("universal.no_mean")
    return best[1], best[2], best[3]


def distinct(t: Float[np.ndarray, " id"]) -> Float[np.ndarray, " different"]:
    """Sorted numbers without those that differ by rounding alone: a column that comes twice has one id."""
    return np.asarray(t[is_next(t)])


def is_next(t: Float[np.ndarray, " id"]) -> Bool[np.ndarray, " id"]:
    """Which of sorted numbers differ from the one before by more than rounding."""
    return np.asarray(np.diff(t, prepend=-np.inf) > 2.0**-46 * abs(t[-1]))


def pieces(
    read: Float[np.ndarray, " d"], knots: Float[np.ndarray, " knot"], values: Float[np.ndarray, "knot d"]
) -> Weights:
    """A function of readᵀx that is 0 up to the first knot, has these values at the knots, and goes on straight."""
    slopes = np.diff(values, axis=0) / np.diff(knots)[:, None]
    return read, knots[:-1], np.diff(slopes, axis=0, prepend=np.zeros((1, values.shape[1])))


def teeth(
    grid: Grid, units: int, points: Callable[[Float[np.ndarray, " cell"]], tuple[Any, Any]]
) -> list[list[Weights]]:
    """A sawtooth for every row, in as many blocks as its knots need, from the top down."""
    per_block = (units - 1) // 3
    cells = np.arange(grid.cells * grid.reach, dtype=float)
    groups = [cells[max(0, i - per_block) : i] for i in range(len(cells), 0, -per_block)]
    blocks: list[list[Weights]] = []
    room = 0
    for row in np.eye(grid.d):
        for group in groups:
            knots, values = points(group)
            part = pieces(row, np.append(knots, knots[-1] + 1), np.append(values, 0.0)[:, None] * row)
            if room < len(part[1]):
                blocks.append([])
                room = units
            blocks[-1].append(part)
            room -= len(part[1])
    return blocks


def staircase(grid: Grid, units: int) -> list[list[Weights]]:
    """x ← x − (x − kδ) on every cell, with a steep ramp at its end."""

    def points(k: Float[np.ndarray, " cell"]) -> tuple[Any, Any]:
        ramp = RAMP * grid.delta
        ends = np.stack([(k + 1) * grid.delta - ramp, (k + 1) * grid.delta], axis=1).ravel()
        falls = np.tile([-(grid.delta - ramp), 0.0], len(k))
        return np.append(k[0] * grid.delta, ends), np.append(0.0, falls)

    return teeth(grid, units, points)


def snap(grid: Grid, units: int) -> list[list[Weights]]:
    """What is near a corner goes to it: gentle slopes, and so no rounding error that counts."""

    def points(k: Float[np.ndarray, " cell"]) -> tuple[Any, Any]:
        quarter = grid.delta / 4
        corners = k * grid.delta
        knots = np.stack([corners - quarter, corners + quarter, corners + 2 * quarter], axis=1).ravel()
        values = np.tile([quarter, -quarter, 0.0], len(k))
        return np.append(knots[0] - quarter, knots), np.append(0.0, values)

    return teeth(grid, units, points)


def table(
    grid: Grid,
    corners: Sequences,
    ids: Float[np.ndarray, "sequence n"],
    marks: Float[np.ndarray, "sequence n"],
    values: Sequences,
    units: int,
) -> list[list[Weights]]:
    """From the largest mark (id and mean) down: its column becomes its value, one mark for each unit of a block."""
    order = np.argsort(marks, axis=None)
    t = marks.ravel()[order]
    order, t = order[is_next(t)], t[is_next(t)]
    there = corners.transpose(0, 2, 1).reshape(-1, grid.d)[order]
    there[:, 0] += t - ids.ravel()[order]
    change = values.transpose(0, 2, 1).reshape(-1, grid.d)[order] - there
    gaps = np.diff(t, prepend=t[0] - 1)
    blocks = []
    for end in range(len(t), 0, -units):
        group = slice(max(0, end - units), end)
        first = t[group.start] - gaps[group.start] / 2
        knots = np.concatenate([[first], t[group]])
        steps = np.concatenate([np.zeros((1, grid.d)), change[group]])
        blocks.append([pieces(grid.weights, knots, steps)])
    return blocks


def clamp(grid: Grid, low: Float[np.ndarray, " d"], high: Float[np.ndarray, " d"]) -> list[Weights]:
    """Every row stays between the values."""
    parts: list[Weights] = []
    for row, least, most in zip(np.eye(grid.d), low, high, strict=True):
        parts += [(-row, np.array([-least]), row[None]), (row, np.array([most]), -row[None])]
    return parts
