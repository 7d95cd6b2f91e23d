"""`approximate`: a function becomes a transformer, by the three stages of the proof, each with its measured error."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from glassformer.compiler.constructions.universal.contextual import is_contextual
from glassformer.compiler.constructions.universal.functions import (
    Distance,
    Function,
    Sequences,
    check_measure,
    counterexample,
    estimated_distance,
    function_of,
    name_of,
    order_matters,
    sequences_of,
)
from glassformer.compiler.constructions.universal.grid import Grid
from glassformer.compiler.constructions.universal.layers import HEADS, UNITS, Layers, Ordinary, soften
from glassformer.compiler.constructions.universal.proof import (
    RAMP,
    Contexts,
    Proof,
    blocks_needed,
    contexts,
    far_away,
    prove,
)
from glassformer.errors import InputError, finite_number, whole_number
from glassformer.messages import Message
from glassformer.nn import Transformer, files
from glassformer.progress import Progress

MOST_BLOCKS: Final = 200_000
"""More blocks than this are refused, unless more are asked for."""
MOST_IN_A_TRANSFORMER: Final = 1000
"""Up to so many blocks become the one Transformer, which has an object for each."""
EXACT_ENOUGH: Final = 1e-6
"""How far g may be from f̄ on the grid."""
MOST_COMPARED: Final = 2**16
"""Sequences of the grid, in any order, on which it is tried whether order matters."""
MOST_COLUMNS: Final = 2**62
"""Grids with more are not gone through: nothing can be built for them."""
FINEST: Final = 2.0**-20
AT_ONCE: Final = 4096
"""Sequences that are computed together."""


@dataclass(frozen=True)
class WithoutPositions:
    """What it would have been without positions, which were chosen because they are nearer."""

    blocks: int
    distance: float
    """d_p(f, f̄), where f̄ is 0 for sequences with two columns in a cell."""


@dataclass(frozen=True)
class ApproximationPlan:
    """What an approximation would take, before anything is built; a refusal gives the reason why it cannot be."""

    d: int
    n: int
    delta: float
    positions: bool
    blocks: int
    parameters: int
    bits: int | None
    """Of the largest id in units of δ; unknown if there are too many blocks to go through them."""
    refusal: Message | None
    without_positions: WithoutPositions | None = None


def plan(d: int, n: int, delta: float, positions: bool, most_blocks: int = MOST_BLOCKS) -> ApproximationPlan:
    """How many blocks, parameters and bits it takes."""
    grid = grid_of(d, n, delta, positions)
    whole_number(most_blocks, "universal.most_blocks", least=1)
    blocks, bits, refusal = blocks_needed(grid), None, None
    if blocks > most_blocks:
        formula = (
            f"{d}·{n}·K + {n}·D + 1 + {n}·D^{n} + {d}" if positions else f"{d}·K + D + 1 + {n}·C(D, {n}) + {3 * d}"
        )
        refusal = Message(
            "universal.too_many_blocks",
            d=d,
            n=n,
            cells=grid.cells,
            formula=formula,
            blocks=counted(blocks),
            columns=counted(grid.columns),
            limit=most_blocks,
        )
    else:
        try:
            bits = contexts(grid).high.bit_length()
        except InputError as error:
            refusal = error.message
    return ApproximationPlan(d, n, grid.delta, positions, blocks, blocks * parameters_of_a_block(d), bits, refusal)


def plan_for(
    f: str | Callable[[Any], Any],
    d: int,
    n: int,
    epsilon: float,
    positions: bool | None = None,
    p: float = 2.0,
    most_blocks: int = MOST_BLOCKS,
) -> ApproximationPlan:
    """The largest δ for which f̄ is within ε of f, as far as random sequences show, with what it takes."""
    asked = function_of(f, d, n)
    if not finite_number(epsilon, "ε", least=0) > 0:
        raise InputError("universal.epsilon")
    check_measure(p, 2, 0)
    cells = 2
    while True:
        only_with = positions or needs_positions(asked, d, n, 1 / cells, positions)
        choices = [True] if only_with else [False, True] if positions is None else [False]
        plans = [plan(d, n, 1 / cells, choice, most_blocks) for choice in choices if choice or cells**d >= n]
        for each in plans:
            near = distance_of_constant(asked, each, p)
            if each.refusal is None and near.value + near.error <= epsilon:
                return each
        if plans and all(each.refusal for each in plans):
            last = plans[-1]
            return replace(last, refusal=Message("universal.never_near", epsilon=epsilon, refusal=last.refusal))
        cells *= 2


def plan_with(
    f: str | Callable[[Any], Any],
    d: int,
    n: int,
    delta: float,
    positions: bool | None = None,
    p: float = 2.0,
    most_blocks: int = MOST_BLOCKS,
) -> ApproximationPlan:
    """The plan for cells of side δ; it has positions if order matters, or if they bring f̄ nearer to f.

    Without positions f̄ is 0 for sequences with two columns in a cell; with them it takes up to n! times the blocks.
    """
    asked = function_of(f, d, n)
    check_measure(p, 2, 0)
    if positions or needs_positions(asked, d, n, delta, positions):
        return plan(d, n, delta, True, most_blocks)
    without = plan(d, n, delta, False, most_blocks)
    placed = plan(d, n, delta, True, most_blocks)
    if positions is False or n == 1 or placed.refusal:
        return without
    far, near = (distance_of_constant(asked, each, p) for each in (without, placed))
    if without.refusal is None and near.value + near.error >= far.value - far.error:
        return without
    return replace(placed, without_positions=WithoutPositions(without.blocks, far.value))


def distance_of_constant(f: Function, planned: ApproximationPlan, p: float) -> Distance:
    """d_p(f, f̄), as random sequences show it."""
    grid = grid_of(planned.d, planned.n, planned.delta, planned.positions)
    return estimated_distance(f, grid.constant(f), planned.d, planned.n, p, 4000, 0)


def counted(number: int) -> int | Message:
    """A number as it is, or its size if it has too many digits to be read."""
    return number if number < 10**30 else Message("universal.about", exponent=round(len(hex(number)[2:]) * 1.2041))


def parameters_of_a_block(d: int) -> int:
    """Two heads of width 1 and four ReLUs, with all biases."""
    return HEADS * (4 * d + 3) + d + 2 * UNITS * d + UNITS + d


def grid_of(d: int, n: int, delta: float, positions: bool) -> Grid:
    """The grid with cells of side δ, which must be 1/2, 1/4, 1/8 …"""
    d, n = whole_number(d, "d", least=1), whole_number(n, "n", least=1)
    if not isinstance(positions, bool):
        raise InputError("universal.positions", positions=positions)
    try:
        side = float(delta)
    except (TypeError, ValueError, OverflowError):
        side = 0.0
    cells = round(1 / side) if FINEST <= side < 1 else 0
    if cells < 2 or 1 / cells != side or cells & (cells - 1):
        raise InputError("universal.delta", delta=delta)
    return Grid(d, n, cells, positions)


def needs_positions(f: Function, d: int, n: int, delta: float, positions: bool | None) -> bool:
    """Whether order matters, in random sequences or in those of the grid; refused, if there are to be no positions."""
    grid, found = grid_of(d, n, delta, positions=False), order_matters(f, d, n)
    if found is None and grid.columns <= MOST_COLUMNS:
        numbers = grid.in_any_order(MOST_COMPARED)
        found = counterexample(f, grid.middles_of(numbers), np.argsort(numbers, kind="stable"))
    if positions is False and found is not None:
        raise InputError("universal.order_matters", x=str(found.x.round(3).tolist()), order=str(list(found.order)))
    return found is not None


@dataclass(frozen=True)
class Stages:
    """The proof: f̄ is constant on cells, the modified transformer computes f̄, the ordinary one the same."""

    constant: Function
    modified: Function
    ordinary: Function


@dataclass(frozen=True)
class ApproximationCertificate:
    """What was counted, checked and measured."""

    function: str
    d: int
    n: int
    delta: float
    positions: bool
    blocks: int
    formula_blocks: int
    parameters: int
    bits: int
    contextual: bool
    """Whether all ids of the whole grid are different, as the built layers compute them."""
    grid_error: float
    """The largest |g − f̄| of the ordinary transformer on `grid_tried` of the `grid_sequences` of the grid."""
    modified_grid_error: float
    """The same of the modified one."""
    p: float
    constant_distance: float
    """d_p(f, f̄)."""
    distance: float
    """d_p(f, g), estimated on random sequences."""
    distance_error: float
    """The half-width of its 95 % interval."""
    tail: float
    """What the ramps of the quantiser, which random sequences do not meet, can add to d_p at most."""
    samples: int
    seed: int
    grid_tried: int
    grid_sequences: int
    """How many there are; without positions in every order."""
    without_positions: WithoutPositions | None

    @property
    def holds(self) -> bool:
        """Whether everything is as it has to be: the count, the mapping, and the values on the grid."""
        return self.blocks == self.formula_blocks and self.contextual and self.grid_error <= EXACT_ENOUGH


@dataclass(frozen=True)
class Approximation:
    """A function as a transformer: it is called like the function, on arrays [batch, d, n]."""

    function: Function
    grid: Grid
    known: Contexts
    proof: Proof
    blocks: Ordinary
    certificate: ApproximationCertificate

    def __call__(self, x: Sequences) -> Sequences:
        """The value of the ordinary transformer."""
        return self.stages.ordinary(x)

    @property
    def stages(self) -> Stages:
        """The three stages, each a function of its own."""
        return stages_of(self.function, self.grid, self.proof.layers, self.blocks)

    def transformer(self) -> Transformer:
        """The one Transformer, in float64; it reads vectors [batch, n, d]."""
        check_single(len(self.blocks))
        return self.blocks.transformer(self.grid.shift)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write config.json, model.safetensors and approximation.json (the certificate), all or nothing."""
        files.save(Path(folder), self.transformer(), {"approximation.json": files.to_json(asdict(self.certificate))})


def check_single(blocks: int) -> None:
    """Refuse more blocks than become the one Transformer."""
    if blocks > MOST_IN_A_TRANSFORMER:
        raise InputError("universal.too_many_objects", blocks=blocks, limit=MOST_IN_A_TRANSFORMER)


def approximate(
    f: str | Callable[[Any], Any],
    d: int,
    n: int,
    delta: float,
    positions: bool | None = None,
    p: float = 2.0,
    samples: int = 2000,
    seed: int = 0,
    most_blocks: int = MOST_BLOCKS,
    progress: Progress | None = None,
) -> Approximation:
    """A transformer of blocks (h, m, r) = (2, 1, 4) that is close to f on [0, 1)^{d×n}, and how close.

    `f` takes arrays [batch, d, n] (or [d, n]), or is the name of one of FUNCTIONS. `delta` is the side of a cell, 1/2ᵏ.
    Without positions the order of columns makes no difference, and sequences with two columns in one cell become 0;
    None decides as `plan_with` does. The distance d_p is measured on so many `samples`, drawn by the `seed`.
    """
    check_measure(p, samples, seed)
    asked = function_of(f, d, n)
    planned = plan_with(asked, d, n, delta, positions, p, most_blocks)
    if planned.refusal:
        raise InputError(planned.refusal)
    grid = grid_of(d, n, delta, planned.positions)
    known = contexts(grid)
    proof = prove(known, asked(grid.middles))
    blocks = soften(proof.layers, grid.weights, grid.delta)
    stages = stages_of(asked, grid, proof.layers, blocks, progress)
    certificate = measured(name_of(f), asked, grid, proof, stages, planned, p, samples, seed)
    return Approximation(asked, grid, known, proof, blocks, certificate)


def stages_of(f: Function, grid: Grid, layers: Layers, blocks: Ordinary, progress: Progress | None = None) -> Stages:
    """f̄, and the two transformers that compute it."""

    def by_columns(x: Sequences, run: Callable[[Any], Any]) -> Sequences:
        x = sequences_of(x, grid.d, grid.n)
        if x.size and np.abs(x).max() > far_away(grid) / 2:
            raise InputError("universal.far_away", most=far_away(grid) // 2)
        columns = np.ascontiguousarray((x + grid.shift).transpose(0, 2, 1))
        parts = [run(columns[i : i + AT_ONCE]) for i in range(0, len(columns), AT_ONCE)]
        return np.concatenate(parts or [columns]).transpose(0, 2, 1)

    def modified(x: Sequences) -> Sequences:
        return by_columns(x, lambda part: layers.run(part, grid.weights))

    def ordinary(x: Sequences) -> Sequences:
        return by_columns(x, lambda part: blocks.run(torch.from_numpy(part), progress).numpy())

    on_the_grid = grid.constant(f)
    return Stages(lambda x: on_the_grid(sequences_of(x, grid.d, grid.n)), modified, ordinary)


def measured(
    name: str,
    f: Function,
    grid: Grid,
    proof: Proof,
    stages: Stages,
    planned: ApproximationPlan,
    p: float,
    samples: int,
    seed: int,
) -> ApproximationCertificate:
    """All figures of the certificate."""
    corners, count = some_corners(grid, samples, seed)
    target = stages.constant(corners)
    low, high = proof.box
    in_a_ramp = grid.d * grid.n * RAMP
    near: Distance = estimated_distance(f, stages.ordinary, grid.d, grid.n, p, samples, seed)
    return ApproximationCertificate(
        name,
        grid.d,
        grid.n,
        grid.delta,
        grid.positions,
        len(proof.layers),
        blocks_needed(grid),
        planned.parameters,
        proof.bits,
        contextual=is_contextual(proof.ids_of, grid.corners)[0],
        grid_error=float(np.abs(stages.ordinary(corners) - target).max()),
        modified_grid_error=float(np.abs(stages.modified(corners) - target).max()),
        p=p,
        constant_distance=estimated_distance(f, stages.constant, grid.d, grid.n, p, samples, seed).value,
        distance=near.value,
        distance_error=near.error,
        tail=float((in_a_ramp * grid.n * ((high - low) ** p).sum()) ** (1 / p)),
        samples=samples,
        seed=seed,
        grid_tried=len(corners),
        grid_sequences=count,
        without_positions=planned.without_positions,
    )


def some_corners(grid: Grid, most: int, seed: int) -> tuple[Sequences, int]:
    """The corners of all sequences, without positions in every order, and how many there are; of more, random ones."""
    rng, corners = np.random.default_rng(seed), grid.corners - grid.shift
    orders = 1 if grid.positions else math.factorial(grid.n)
    count = len(corners) * orders
    if count > most:
        corners = corners[rng.choice(len(corners), most, replace=len(corners) < most)]
        if not grid.positions:
            orders_of_each = rng.permuted(np.tile(np.arange(grid.n), (most, 1)), axis=1)
            corners = np.take_along_axis(corners, orders_of_each[:, None], axis=2)
    elif not grid.positions:
        corners = np.concatenate([corners[:, :, list(order)] for order in itertools.permutations(range(grid.n))])
    return corners, count
