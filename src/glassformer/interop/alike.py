"""The one Transformer in the shape that other libraries know: all blocks alike, and one hidden layer in an MLP.

Nothing is lost: what a block lacks is filled up with zeros, heads that share keys and values get copies, and an MLP of
several hidden layers becomes as many blocks, one after the other, which leave what the hidden units say in columns of
the stream that nobody else reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.errors import InputError
from glassformer.nn import BlockShape, Config, Transformer

Weights: TypeAlias = dict[str, Tensor]

LARGEST: Final = 2**28
"""Parameters."""


def plain_reasons(config: Config) -> list[str]:
    """What there is in a model that only this library computes."""
    usual = Config(vocab=1, outputs=1, context=1, width=1, blocks=())
    other = ("score", "window", "skip", "gated", "parallel", "embed_norm", "head")
    found = [f"{name} = {value}" for name in other if (value := getattr(config, name)) != getattr(usual, name)]
    found += [f"positions = {config.positions}"] * (config.positions in ("rotary", "alibi"))
    return found + ["activation = piecewise"] * (config.activation == "piecewise")


def refuse(target: str, plain: Sequence[str], own: Sequence[str] = ()) -> None:
    """Say what a target does not know, of what no other library does and of the rest, and who does."""
    if plain or own:
        instead = "`--to onnx` holds it" if plain else "`--to hf` and `--to onnx` hold it"
        raise InputError(f"{target} cannot hold this model: {'; '.join([*plain, *own])}; {instead}")


def power_of_four(least: int) -> int:
    """The smallest that is not below: its root is a power of 2, by which one multiplies without rounding."""
    power = 1
    while power < least:
        power *= 4
    return power


def alike(model: Transformer, head_width: int | None = None) -> Transformer:
    """A model with the same logits, whose blocks all have the same sizes; heads may be made wider than they must be.

    Scores are not scaled any more: what they were divided by is in the queries.
    """
    config, shapes = model.config, model.config.blocks
    deep = any(len(shape.mlp) > 1 for shape in shapes)
    if deep and config.norm != "none":
        raise InputError("MLPs of several hidden layers behind norms cannot be made several blocks: norms would differ")
    width = config.width + sum(sum(shape.mlp[:-1]) for shape in shapes)
    heads = max((shape.heads for shape in shapes), default=0) or 1
    own = max(head_width or 1, *(shape.head_width for shape in shapes), 1)
    units = max((size for shape in shapes for size in shape.mlp), default=1)
    blocks = [part for i in range(len(shapes)) for part in _parts(model, i)] or [{}]
    shape = BlockShape(heads, own, (units,))
    if (count := len(blocks) * width * (4 * heads * own + 2 * units)) > LARGEST:
        raise InputError(
            f"with all blocks alike, and a column of the stream for each hidden unit of an MLP of several layers, this "
            f"model would have some {count:,} parameters; the limit is {LARGEST:,}: `--to hf` and `--to onnx` keep its "
            "shape, and another method, or a shorter length, may be smaller"
        )
    made = Transformer(replace(config, width=width, blocks=(shape,) * len(blocks), scaled=False, positions="table"))
    weights = {name: torch.zeros_like(value, dtype=model.dtype) for name, value in made.state_dict().items()}
    weights |= {name: torch.ones_like(value) for name, value in weights.items() if name.endswith(".w")}
    positions = model.pos_embed.W_pos if model.pos_embed else torch.zeros(config.context, config.width)
    given: Weights = {"pos_embed.W_pos": positions.to(model.dtype)}
    given |= {name: value for name, value in model.state_dict().items() if not name.startswith(("blocks.", "pos_"))}
    column = config.width
    for i, part in enumerate(blocks):
        part, column = _placed(part, column)
        given |= {f"blocks.{i}.{name}": value for name, value in part.items()}
    for name, value in given.items():
        _fill(weights[name], value)
    made.to(model.dtype).load_state_dict(weights)
    return made.eval()


def _parts(model: Transformer, i: int) -> list[Weights]:
    """The blocks that a block becomes; hidden layers but the first read, and but the last write, `hidden`."""
    shape, prefix = model.config.blocks[i], f"blocks.{i}."
    own = {name.removeprefix(prefix): v for name, v in model.state_dict().items() if name.startswith(prefix)}
    first = {name: value for name, value in own.items() if not name.startswith("mlp.")}
    if shape.heads:
        scale = shape.head_width**-0.5 if model.config.scaled else 1.0
        first |= {f"attn.{name}_Q": own[f"attn.{name}_Q"] * scale for name in "Wb"}
        each = shape.heads // (shape.groups or shape.heads)
        shared = [f"attn.{name}_{kind}" for name in "Wb" for kind in "KV"]
        first |= {name: own[name].repeat_interleave(each, dim=0) for name in shared}
    if not shape.mlp:
        return [first]
    steps = ["in", *(f"mid.{k}" for k in range(len(shape.mlp) - 1)), "out"]
    parts: list[Weights] = [{} for _ in steps[1:]]
    for part, (read, write) in zip(parts, itertools.pairwise(steps), strict=True):
        for kind, way in (("in", read), ("out", write)):
            hidden = way.startswith("mid")
            if not (hidden and kind == "out"):
                part[f"mlp.b_{kind}"] = own[f"mlp.b_{way}"]
                part[f"{'hidden' if hidden else 'mlp'}.W_{kind}"] = own[f"mlp.W_{way}"]
    return [first | parts[0], *parts[1:]]


def _placed(part: Weights, column: int) -> tuple[Weights, int]:
    """With hidden units in columns of the stream: read from those just before this one, left in those from it on."""
    part = dict(part)
    if (read := part.pop("hidden.W_in", None)) is not None:
        part["mlp.W_in"] = F.pad(read, (0, 0, column - len(read), 0))
    if "mlp.b_in" in part and "mlp.W_out" not in part:
        units = len(part["mlp.b_in"])
        part["mlp.W_out"] = F.pad(torch.eye(units, dtype=part["mlp.b_in"].dtype), (column, 0))
        column += units
    return part, column


def _fill(room: Tensor, value: Tensor) -> None:
    """Put a smaller weight into the first rows and columns of a larger one."""
    room[tuple(slice(size) for size in value.shape)] = value
