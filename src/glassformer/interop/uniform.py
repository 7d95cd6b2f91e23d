"""The one Transformer with uniform blocks, as other libraries know it: all of one shape, one hidden layer in an MLP.

Nothing is lost: what a block lacks is filled up with zeros, heads that share keys and values get copies, and an MLP of
several hidden layers becomes as many blocks, one after the other (`columns.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import torch
from torch import Tensor

from glassformer.errors import InputError
from glassformer.interop.columns import unrolled
from glassformer.messages import Message, verbatim
from glassformer.nn import BlockShape, Config, Transformer

Weights: TypeAlias = dict[str, Tensor]

LARGEST: Final = 2**28
"""Parameters."""


def plain_reasons(config: Config) -> list[Message]:
    """What there is in a model that only this library computes."""
    usual = Config(vocab=1, outputs=1, context=1, width=1, blocks=())
    other = ("score", "window", "skip", "gated", "parallel", "embed_norm", "mlm_head")
    found = [name for name in other if getattr(config, name) != getattr(usual, name)]
    found += ["positions"] * (config.positions in ("rotary", "alibi"))
    found += ["activation"] * (config.activation == "piecewise")
    return [verbatim(f"{name} = {getattr(config, name)}") for name in found]


def refuse(target: Message, plain: Sequence[Message], own: Sequence[Message] = ()) -> None:
    """Refuse what a target does not know: what no other library does, and the rest, which other targets hold."""
    if plain or own:
        id = "interop.only_onnx_holds" if plain else "interop.others_hold"
        raise InputError(id, target=target, reasons=[*plain, *own])


def power_of_four(least: int) -> int:
    """The smallest that is not below: its root is a power of 2, by which one multiplies without rounding."""
    power = 1
    while power < least:
        power *= 4
    return power


def uniform_blocks(model: Transformer, head_width: int | None = None) -> Transformer:
    """A model with the same logits, whose blocks all have the same sizes; heads may be made wider than they must be.

    Scores are not scaled any more: what they were divided by is in the queries.
    """
    config, shapes = model.config, model.config.blocks
    deep = any(len(shape.mlp) > 1 for shape in shapes)
    if deep and config.norm != "none":
        raise InputError("interop.deep_behind_norms")
    blocks = [part for i in range(len(shapes)) for part in _parts(model, i)] or [{}]
    heads = max((shape.heads for shape in shapes), default=0) or 1
    own = max(head_width or 1, *(shape.head_width for shape in shapes), 1)
    width = max([config.width, *(len(part["mlp.b_out"]) for part in blocks if "mlp.b_out" in part)])
    units = max((len(part["mlp.b_in"]) for part in blocks if "mlp.b_in" in part), default=1)
    shape = BlockShape(heads, own, (units,))
    refuse_if_too_large(len(blocks) * width * (4 * heads * own + 2 * units))
    with torch.device("meta"):  # no memory and no random numbers for weights that are replaced at once
        made = Transformer(replace(config, width=width, blocks=(shape,) * len(blocks), scaled=False, positions="table"))
    weights = {name: torch.zeros(value.shape, dtype=model.dtype) for name, value in made.state_dict().items()}
    weights |= {name: torch.ones_like(value) for name, value in weights.items() if name.endswith(".w")}
    positions = model.pos_embed.W_pos if model.pos_embed else torch.zeros(config.context, config.width)
    given: Weights = {"pos_embed.W_pos": positions.to(model.dtype)}
    given |= {name: value for name, value in model.state_dict().items() if not name.startswith(("blocks.", "pos_"))}
    for i, part in enumerate(blocks):
        given |= {f"blocks.{i}.{name}": value for name, value in part.items()}
    for name, value in given.items():
        _fill(weights[name], value)
    made.load_state_dict(weights, assign=True)
    return made.eval()


def refuse_if_too_large(count: int) -> None:
    """Say no to so many parameters before they are made."""
    if count > LARGEST:
        raise InputError("interop.too_large", count=count, limit=LARGEST)


def _parts(model: Transformer, i: int) -> list[Weights]:
    """The blocks that a block becomes."""
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
    layers = [(own[f"mlp.W_{step}"], own[f"mlp.b_{step}"]) for step in steps]
    parts = [
        {"mlp.W_in": w_in, "mlp.b_in": b_in, "mlp.W_out": w_out, "mlp.b_out": b_out}
        for (w_in, b_in), (w_out, b_out) in unrolled(layers, model.config.activation == "relu")
    ]
    return [first | parts[0], *parts[1:]]


def _fill(room: Tensor, value: Tensor) -> None:
    """Put a smaller weight into the first rows and columns of a larger one."""
    room[tuple(slice(size) for size in value.shape)] = value
