"""One forward pass, followed at one position through one layer, number by number.

Whom the token is near (dot products of embeddings); for each head the scores of query and keys before and after the
mask, the pattern, and what every value adds to the update; the units of the MLP and what they add; what would be
answered after this layer; and at the end logits, and probabilities at a temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.errors import InputError, finite_number
from glassformer.instruments.lens import logit_lens
from glassformer.instruments.sites import rows_at_once, within
from glassformer.nn import Transformer
from glassformer.nn.attention import Attention
from glassformer.nn.trace import Trace
from glassformer.nn.transformer import Block, Tokens

NEIGHBOURS: Final = 5
UNITS: Final = 5


@dataclass(frozen=True)
class NamedValue:
    """A token or an answer, and a number."""

    name: str
    value: float


@dataclass(frozen=True)
class KeySeen:
    """One key as a head sees it from the query: score before the mask and after it (None: masked), and weight.

    ALiBi's bias, which comes from no query or key, is in the score after the mask.

    `length` is how long the vector is that its value adds; `share` how much of the head's update that is, along it:
    shares sum to 1, and what points against the update is negative.
    """

    position: int
    token: str
    score: float
    masked: float | None
    weight: float
    length: float
    share: float


@dataclass(frozen=True)
class HeadStep:
    """One head at this position: how long its query and its update are, and all keys."""

    head: int
    query_length: float
    update_length: float
    keys: list[KeySeen]


@dataclass(frozen=True)
class Unit:
    """A hidden unit of an MLP: what it holds, and how long the vector is that it adds."""

    unit: int
    active: float
    length: float


@dataclass(frozen=True)
class MLPStep:
    """The MLP at this position: how many units are not 0, the length of its update, and the units that add most."""

    units: int
    active: int
    update_length: float
    largest: list[Unit]


@dataclass(frozen=True)
class Step:
    """One forward pass at one position and layer, and what the model answers there."""

    tokens: list[str]
    position: int
    layer: int
    neighbours: list[NamedValue]
    stream: dict[str, float]
    heads: list[HeadStep]
    mlp: MLPStep | None
    lens: list[NamedValue]
    temperature: float
    logits: list[NamedValue]
    probabilities: list[NamedValue]


@torch.no_grad()
def follow(
    model: Transformer,
    tokens: Tokens,
    names: Sequence[str],
    outputs: Sequence[str],
    layer: int,
    position: int,
    temperature: float = 1.0,
) -> Step:
    """Follow one word (a batch of one) through a layer at a position; both may count from the end, as −1 does.

    `names` are those of all tokens, `outputs` those of all answers; `temperature` divides the logits.
    """
    length, layers = tokens.shape[1], len(model.config.blocks)
    if tokens.shape[0] != 1:
        raise InputError("instruments.one_word", words=tokens.shape[0])
    position, layer = within(position, length, "instruments.position"), within(layer, layers, "instruments.layer")
    rows_at_once(model, length)
    trace, block = model.trace(tokens), model.blocks[layer]
    assert isinstance(block, Block)
    shown = [names[token] for token in tokens[0].tolist()]
    logits = trace.logits[0, position]
    return Step(
        tokens=shown,
        position=position,
        layer=layer,
        neighbours=neighbours(model, int(tokens[0, position]), names),
        stream={name: float(_at(trace, f"blocks.{layer}.{name}", position).norm()) for name in _stream(trace, layer)},
        heads=_heads(block.attn, trace, layer, position, shown) if block.attn else [],
        mlp=_mlp(block, trace, layer, position) if block.mlp else None,
        lens=most(logit_lens(model, tokens)[layer + 1, 0, position].softmax(-1), outputs),
        temperature=temperature,
        logits=most(logits, outputs),
        probabilities=most(at_temperature(logits, temperature), outputs),
    )


def at_temperature(logits: Float[Tensor, "*any output"], temperature: float) -> Float[Tensor, "*any output"]:
    """Softmax of logits / temperature: towards 0 the largest takes all (at 0 it has), large ones make all equal."""
    if finite_number(temperature, "instruments.temperature", least=0) == 0:
        largest = (logits == logits.amax(-1, keepdim=True)).to(logits.dtype)
        return largest / largest.sum(-1, keepdim=True)
    below = (logits - logits.amax(-1, keepdim=True)).double()  # in which a small temperature is not 0
    return (below / temperature).softmax(-1).to(logits.dtype)


def neighbours(model: Transformer, token: int, names: Sequence[str], count: int = NEIGHBOURS) -> list[NamedValue]:
    """The tokens whose embeddings have the largest dot products with that of a token; itself among them."""
    return most(model.embed.W_E @ model.embed.W_E[token], names, count)


def most(values: Float[Tensor, " name"], names: Sequence[str], count: int = NEIGHBOURS) -> list[NamedValue]:
    """The largest of some values, by name."""
    order = values.argsort(descending=True, stable=True)[:count].tolist()
    return [NamedValue(names[i], values[i].item()) for i in order]


def _at(trace: Trace, name: str, position: int) -> Tensor:
    return trace[name][0, position]


def _stream(trace: Trace, layer: int) -> list[str]:
    names = ("hook_resid_pre", "hook_attn_out", "hook_resid_mid", "hook_mlp_out", "hook_resid_post")
    return [name for name in names if f"blocks.{layer}.{name}" in trace]


def _heads(attention: Attention, trace: Trace, layer: int, position: int, shown: list[str]) -> list[HeadStep]:
    inside = f"blocks.{layer}.attn.hook_"
    turned = "rot_" if f"{inside}rot_q" in trace else ""
    queries, keys = (trace[f"{inside}{turned}{part}"].transpose(1, 2) for part in "qk")
    scores = attention.compare(queries, keys, attention.environment(queries))[0, :, position]
    query = queries[0, :, position]
    masked, pattern = (trace[f"{inside}{name}"][0, :, position] for name in ("attn_scores", "pattern"))
    added = torch.einsum("hk,khd,hdw->hkw", pattern, trace[f"{inside}v"][0], attention.W_O)
    update = added.sum(1)
    shares = torch.einsum("hkw,hw->hk", added, update) / update.pow(2).sum(-1, keepdim=True).clamp_min(1e-30)
    return [
        HeadStep(
            head=h,
            query_length=float(query[h].norm()),
            update_length=float(update[h].norm()),
            keys=[
                KeySeen(
                    position=k,
                    token=shown[k],
                    score=float(scores[h, k]),
                    masked=float(masked[h, k]) if masked[h, k] > -torch.inf else None,
                    weight=float(pattern[h, k]),
                    length=float(added[h, k].norm()),
                    share=float(shares[h, k]),
                )
                for k in range(len(shown))
            ],
        )
        for h in range(attention.shape.heads)
    ]


def _mlp(block: Block, trace: Trace, layer: int, position: int) -> MLPStep:
    assert block.mlp
    deepest = f"_{len(block.mlp.W_mid)}" if len(block.mlp.W_mid) else ""
    active = _at(trace, f"blocks.{layer}.mlp.hook_post{deepest}", position)
    lengths = active.abs() * block.mlp.W_out.norm(dim=1)
    largest = lengths.argsort(descending=True, stable=True)[:UNITS].tolist()
    return MLPStep(
        units=len(active),
        active=int((active != 0).sum()),
        update_length=float(_at(trace, f"blocks.{layer}.hook_mlp_out", position).norm()),
        largest=[Unit(i, float(active[i]), float(lengths[i])) for i in largest if lengths[i] > 0],
    )
