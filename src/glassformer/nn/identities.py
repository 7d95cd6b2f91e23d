"""Rewritings of a Transformer that leave its function as it is: what a proof may take for granted.

Heads that are concatenated and projected are heads that are summed; the scale of the scores may be absorbed into the
queries; a residual lets a sublayer stand alone, or be there and do nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.errors import InputError
from glassformer.nn.attention import PerHead
from glassformer.nn.config import BlockShape
from glassformer.nn.transformer import Transformer

ATTENTION, MLP = ("attn", "ln1", "gate1"), ("mlp", "ln2", "gate2")
"""The parts of a block that belong to its first half, and to its second."""


def head_outputs(z: PerHead, w_o: Float[Tensor, "head head_width width"]) -> Float[Tensor, "batch pos head width"]:
    """What each head adds to the stream; their sum is what concatenating the heads and projecting gives (but b_O)."""
    return torch.einsum("bphw,hwd->bphd", z, w_o)


def with_scale_absorbed(model: Transformer) -> Transformer:
    """The same with unscaled scores: 1/√(head width) is in the queries."""
    if not model.config.scaled:
        return model
    roots = [shape.head_width**0.5 for shape in model.config.blocks if shape.heads]
    if model.config.attention == "hardmax" and any(math.frexp(root)[0] != 0.5 for root in roots):
        raise InputError("nn.hardmax_tie")
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    for i, shape in enumerate(model.config.blocks):
        for name in ("W_Q", "b_Q") if shape.heads else ():
            weights[f"blocks.{i}.attn.{name}"] /= shape.head_width**0.5
    return remade(model, model.config.blocks, weights, scaled=False)


def split_blocks(model: Transformer) -> Transformer:
    """Each block becomes two: one with its attention alone, and one with its MLP alone."""
    _refuse_parallel(model)
    shapes: list[BlockShape] = []
    moved: list[tuple[int, Sequence[str]]] = []
    for i, shape in enumerate(model.config.blocks):
        if shape.heads:
            shapes, moved = [*shapes, replace(shape, mlp=())], [*moved, (i, ATTENTION)]
        if shape.mlp:
            shapes, moved = [*shapes, replace(shape, heads=0)], [*moved, (i, MLP)]
    return remade(model, shapes, gathered(model, [[half] for half in moved]))


def regrouped(model: Transformer) -> Transformer:
    """The fewest blocks: one that only attends and a following one that only has an MLP become one."""
    _refuse_parallel(model)
    shapes: list[BlockShape] = []
    moved: list[list[tuple[int, Sequence[str]]]] = []
    for i, shape in enumerate(model.config.blocks):
        if shapes and not shapes[-1].mlp and not shape.heads:
            shapes[-1] = replace(shapes[-1], mlp=shape.mlp)
            moved[-1].append((i, MLP))
        elif shape.heads or shape.mlp:
            shapes.append(shape)
            moved.append([(i, (*ATTENTION, *MLP))])
    return remade(model, shapes, gathered(model, moved))


def _refuse_parallel(model: Transformer) -> None:
    if model.config.parallel:
        raise InputError("nn.parallel_blocks")


def filled_with_zeros(model: Transformer) -> Transformer:
    """Both halves in every block: those that were absent have weights of 0, so that only the residual is left."""
    absent = any(not (shape.heads and shape.mlp) for shape in model.config.blocks)
    if absent and not model.config.sums:
        raise InputError("nn.not_filled")
    heads, width = max(((s.heads, s.head_width) for s in model.config.blocks if s.heads), default=(1, 2))
    mlp = max((s.mlp for s in model.config.blocks if s.mlp), default=(1,))
    shapes = [
        replace(s, heads=s.heads or heads, head_width=s.head_width if s.heads else width, mlp=s.mlp or mlp)
        for s in model.config.blocks
    ]
    return remade(model, shapes, model.state_dict())


def gathered(model: Transformer, moved: Sequence[Sequence[tuple[int, Sequence[str]]]]) -> dict[str, Tensor]:
    """The weights, when each new block takes these parts of these old ones."""
    old = model.state_dict()
    weights = {name: value for name, value in old.items() if not name.startswith("blocks.")}
    for new, halves in enumerate(moved):
        for i, parts in halves:
            for part in parts:
                before = f"blocks.{i}.{part}."
                weights |= {
                    name.replace(before, f"blocks.{new}.{part}."): value
                    for name, value in old.items()
                    if name.startswith(before)
                }
    return weights


def remade(
    model: Transformer, shapes: Sequence[BlockShape], weights: Mapping[str, Tensor], **changed: bool
) -> Transformer:
    """A model of these blocks and weights, and otherwise the same config; weights that are not given are 0."""
    config = replace(model.config, blocks=tuple(shapes), **changed)  # type: ignore[arg-type]
    made = Transformer(config).to(model.dtype)
    made.load_state_dict({name: torch.zeros_like(value) for name, value in made.state_dict().items()} | dict(weights))
    return made.train(model.training)
