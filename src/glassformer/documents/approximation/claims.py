"""Claims S1.1 – S1.12: "Are transformers universal approximators of sequence-to-sequence functions?"

Each function's docstring is the claim; it returns what was measured, and whether that agrees.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import torch

from glassformer.compiler.constructions.universal import (
    FUNCTIONS,
    approximate,
    compact,
    distance,
    is_contextual,
    is_equivariant,
    one_hidden_layer,
    run,
)
from glassformer.compiler.constructions.universal.grid import Grid
from glassformer.compiler.constructions.universal.proof import contexts, prove
from glassformer.documents.verdict import Measured, numbered, yes_or_no
from glassformer.messages import Message
from glassformer.nn import BlockShape, Config, Transformer
from glassformer.nn.identities import filled_with_zeros, head_outputs, regrouped, split_blocks, with_scale_absorbed
from glassformer.training.fitting import Recipe, fit_function

ROUNDING: Final = 1e-12
"""Sums of a few numbers below 10, in float64, in another order."""


def metric() -> Measured:
    """Sequence-to-sequence functions have a distance d_p(f, g) = (∫ ‖f(X) − g(X)‖_p^p dX)^{1/p}, with an error bar."""
    found = {p: distance(lambda x: x, lambda x: 0 * x, 2, 3, p, 20_000) for p in (1.0, 2.0, 3.0)}
    known = {p: (6 / (p + 1)) ** (1 / p) for p in found}
    norms = [Message("approximation.norm", p=p, value=d.value, error=d.error, known=known[p]) for p, d in found.items()]
    right = all(abs(d.value - known[p]) < 2 * d.error for p, d in found.items())
    return Message("approximation.metric", norms=norms), right


def equivariance() -> Measured:
    """f is permutation equivariant when f(XP) = f(X)P. Every block without positions is; with positions it is not."""
    plain = [is_equivariant(partial(run, random_model(seed)), 3, 4)[0] for seed in range(10)]
    placed = [is_equivariant(partial(run, random_model(seed, positions=True)), 3, 4)[0] for seed in range(10)]
    seen = Message("approximation.equivariance", plain=sum(plain), placed=sum(placed))
    return seen, all(plain) and not any(placed)


def one_layer_suffices() -> Measured:
    """The classical theorem: one hidden layer that reads the whole sequence comes as close as one likes."""
    found = {f: [one_hidden_layer(f, 1, 3, units) for units in (4, 32, 256)] for f in ("mix", "sort", "shift")}
    functions = "; ".join(f"{f} {', '.join(f'{each.distance:.4f}' for each in row)}" for f, row in found.items())
    falls = all(
        a.distance > b.distance + b.distance_error for row in found.values() for a, b in itertools.pairwise(row)
    )
    return Message("approximation.one_layer", functions=functions), falls


def contextual() -> Measured:
    """A contextual mapping gives n distinct values within a sequence, and different sequences share none."""
    tried, right = 0, True
    for d, n, cells, positions in (
        (1, 2, 8, False),
        (2, 2, 4, False),
        (1, 3, 8, False),
        (1, 3, 4, True),
        (2, 2, 4, True),
    ):
        grid = Grid(d, n, cells, positions)
        ids = prove(contexts(grid), np.zeros((grid.sequence_count, d, n))).ids_of(grid.corners)
        tried, right = tried + ids.size, right and is_contextual(ids)[0]
        _, collision = is_contextual(grid.ids(grid.corners))  # before the shifts a column has the same id everywhere
        right &= collision is not None
    return Message("approximation.contextual", columns=tried, right=yes_or_no(right)), right


def the_block() -> Measured:
    """The block has residuals, no norm, heads summed (which is to concatenate and project) and unscaled scores."""
    worst = 0.0
    for seed in range(10):
        model = random_model(seed, scaled=True)
        x = torch.from_numpy(np.random.default_rng(seed).random((5, 4, 3)))
        trace, weights = model.trace(x), model.state_dict()
        summed = head_outputs(trace["blocks.0.attn.hook_z"], weights["blocks.0.attn.W_O"]).sum(dim=2)
        projected = trace["blocks.0.hook_attn_out"] - weights["blocks.0.attn.b_O"]
        unscaled = with_scale_absorbed(model).trace(x).logits
        worst = max(worst, float((projected - summed).abs().max()), float((unscaled - trace.logits).abs().max()))
    return Message("approximation.block", worst=worst), worst < ROUNDING


def positions_part_columns() -> Measured:
    """Positions E with columns 0, 1, …, n − 1 make the domains of the n columns disjoint."""
    disjoint = True
    for d, n, cells in ((1, 3, 8), (2, 3, 4), (3, 2, 4)):
        grid = Grid(d, n, cells, positions=True)
        ids = grid.ids(grid.corners)
        disjoint &= bool((ids[:, 1:].min(axis=0) > ids[:, :-1].max(axis=0)).all())
    return Message("approximation.disjoint", disjoint=yes_or_no(disjoint)), disjoint


def theorem_2() -> Measured:
    """Any continuous equivariant function is within ε of a network of blocks with (h, m, r) = (2, 1, 4)."""
    return falls({"centre": (1, 2), "mix": (1, 2), "gate": (1, 2)}, (4, 16, 64), positions=False)


def theorem_3() -> Measured:
    """With positions E, any continuous function on a compact domain."""
    return falls({"sort": (1, 2), "shift": (1, 2), "prefix-sum": (1, 2), "reverse": (1, 3)}, (2, 4, 8), positions=True)


def falls(functions: dict[str, tuple[int, int]], cells: tuple[int, ...], positions: bool) -> Measured:
    """Whether the distance to each function falls with the cells, and the network is what it should be."""
    distances, holds = [], True
    for name, (d, n) in functions.items():
        built = [approximate(name, d, n, 1 / k, positions, samples=1000).certificate for k in cells]
        distances.append(f"{name} {', '.join(f'{each.distance:.3f}' for each in built)}")
        holds &= all(a.distance > b.distance + b.distance_error for a, b in itertools.pairwise(built))
        holds &= all(each.grid_error < 1e-6 and each.contextual for each in built)
    return Message("approximation.falls", cells=[f"1/{k}" for k in cells], functions="; ".join(distances)), holds


def three_stages() -> Measured:
    """The proof has three stages, each with its own error: piecewise constant; hardmax; softmax and ReLU."""
    built = approximate("mix", 2, 2, 1 / 4, positions=True, samples=1000)
    distance_to_constant = built.certificate.constant_distance
    x = np.random.default_rng(0).random((1000, 2, 2))
    hard = float(np.abs(built.stages.modified(x) - built.stages.constant(x)).max())
    soft = float(np.abs(built.stages.ordinary(x) - built.stages.modified(x)).max())
    seen = Message("approximation.stages", constant=distance_to_constant, hard=hard, soft=soft)
    return seen, 0 < distance_to_constant < 0.5 and max(hard, soft) < 1e-6


def layers_of_one_kind() -> Measured:
    """Residuals let layers of one kind be stacked alone: the other sublayer is set to zero."""
    built = approximate("centre", 1, 2, 1 / 4, samples=10)
    model = built.transformer()
    split = split_blocks(model)
    full = filled_with_zeros(split)
    x = np.random.default_rng(0).random((200, 1, 2))
    same = all(bool((run(other, x) == run(model, x)).all()) for other in (split, full, regrouped(split)))
    blocks, layers, again = (len(each.config.blocks) for each in (model, split, regrouped(split)))
    equal = Message("approximation.same" if same else "approximation.not_same")
    seen = Message("approximation.one_kind", blocks=blocks, layers=layers, regrouped=again, same=equal)
    return seen, same and blocks == again


def block_count() -> Measured:
    """Blocks needed: O(n(1/δ)^{dn}/n!) equivariant, O(n(1/δ)^{dn}) with positions: counted against built."""
    right, count, ratios = True, 0, []
    for d, n, cells in ((1, 1, 8), (1, 2, 4), (1, 2, 16), (1, 3, 4), (1, 3, 8), (2, 2, 4), (3, 2, 2), (2, 3, 2)):
        for positions in (False, True):
            grid = Grid(d, n, cells, positions)
            built = len(prove(contexts(grid), np.zeros((grid.sequence_count, d, n))).layers)
            formula = approximate_blocks(grid)
            right, count = right and built == formula, count + 1
            if positions:
                ratios.append(built / (n * grid.columns**n))
    values = {"count": count, "least": min(ratios), "most": max(ratios)}
    return Message("approximation.block_count", **values, right=yes_or_no(right)), right


def approximate_blocks(grid: Grid) -> int:
    """The formula, written down once more."""
    d, n, k, columns = grid.d, grid.n, grid.cells, grid.columns
    if grid.positions:
        return d * n * k + n * columns + 1 + n * int(columns**n) + d
    return d * k + columns + 1 + n * math.comb(columns, n) + 3 * d


def open_questions() -> Measured:
    """Five open questions have answers by experiment: sharing, the norm, training, regrouping, larger blocks."""
    block = BlockShape(2, 8, (32,))
    recipe = Recipe(d=2, n=2, width=16, blocks=(block,) * 2, steps=200)
    recipes = {
        "plain": recipe,
        "shared": replace(recipe, shared=True),
        "with_norm": replace(recipe, norm="layer"),
        "attention_first": replace(recipe, blocks=(replace(block, mlp=()),) * 2 + (replace(block, heads=0),) * 2),
    }
    errors = {name: fit_function(FUNCTIONS["mix"], each).error for name, each in recipes.items()}
    built = [compact("mix", 2, 2, 1 / 8, units) for units in (64, 1024)]
    trained = [Message(f"approximation.trained_{name}", error=error) for name, error in errors.items()]
    sizes = [Message("approximation.blocks_of", blocks=each.blocks, units=each.units) for each in built]
    reached = all(error < built[0].distance for error in errors.values())
    seen = Message("approximation.open", trained=trained, distance=built[0].distance, sizes=sizes)
    return seen, reached and built[0].blocks > built[1].blocks


CLAIMS: Final = numbered(
    "S1",
    metric, equivariance, one_layer_suffices, contextual, the_block, positions_part_columns, theorem_2, theorem_3,
    three_stages, layers_of_one_kind, block_count, open_questions
)  # fmt: skip


def random_model(seed: int, positions: bool = False, scaled: bool = False) -> Transformer:
    """One block with two heads and four ReLUs, and random weights, that sees all columns."""
    config = Config(
        vocab=1,
        outputs=3,
        context=4,
        width=3,
        blocks=(BlockShape(2, 2, (4,)),),
        causal=False,
        scaled=scaled,
        positions="table" if positions else "none",
    )
    model = Transformer(config).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in model.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator, dtype=torch.float64))
    return model
