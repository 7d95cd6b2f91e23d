"""What does each attention head do? Its patterns on many words, beside the ideal ones.

An ideal says where a head that does one thing would look. Some look at a place that the position alone decides: itself,
the token before, 2^l back, the start. A flat sum looks at all letters alike. The others look at one place that the
letters decide: the last letter of the same kind, or the last one of some condition, whatever it is: a head that looks
at one place each time, and no simpler ideal says which, is a conditional reset.

A score is the part of the attention that is where the ideal says. Beside it stands what a head that knows nothing
would get (null), and only the part of the way from there to 1 counts. A head is named when one ideal has nearly all of
it; otherwise it is unclear.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from glassformer.errors import InputError
from glassformer.nn import Transformer

CLEAR: Final = 0.75
"""The part of the way from null to 1 that makes a head clear. Built heads are at 1; trained ones are never quite."""
RESETS: Final = 0.02
"""A head is moved by the letters if they, and not the position, decide where it looks at so many positions."""

Patterns = Float[Tensor, "word head query key"]
Mass = Float[Tensor, " head"]


@dataclass(frozen=True)
class HeadScore:
    """One head: what it does, how sure that is, and all scores with their nulls."""

    layer: int
    head: int
    job: str
    confidence: float
    scores: dict[str, float]
    nulls: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


def score_heads(model: Transformer, tokens: Int[Tensor, "word pos"]) -> list[HeadScore]:
    """The job of every head of a causal model, on these words (all of one length, each with its start token)."""
    if not model.config.causal:
        raise InputError("the ideal patterns are those of causal models: this one sees the future")
    if tokens.shape[1] < 4:
        raise InputError("words of fewer than 4 tokens do not tell heads apart")
    trace = model.trace(tokens, lambda name: name.endswith("hook_pattern"))
    found = []
    for layer, block in enumerate(model.config.blocks):
        if block.heads:
            found += _score_layer(layer, trace[f"blocks.{layer}.attn.hook_pattern"].double(), tokens)
    return found


def _score_layer(layer: int, patterns: Patterns, tokens: Int[Tensor, "word pos"]) -> list[HeadScore]:
    ideals = _ideals(patterns, tokens)
    flat = torch.tril(torch.ones_like(patterns[:, :1]))
    knows_nothing = _ideals(flat / flat.sum(-1, keepdim=True), tokens)
    moved = _moved(patterns)
    found = []
    for head in range(patterns.shape[1]):
        scores = {name: float(mass[head]) for name, mass in ideals.items()}
        nulls = {name: float(mass[0]) for name, mass in knows_nothing.items()} | {FLAT: 0.0}
        found.append(_named(layer, head, scores, nulls, bool(moved[head] >= RESETS)))
    return found


FLAT: Final = "flat sum"
RESET: Final = "conditional reset"
SAME: Final = "same token"


def _named(
    layer: int, head: int, scores: dict[str, float], nulls: dict[str, float], moved_by_letters: bool
) -> HeadScore:
    """The ideal with the largest part of the way to 1; if letters move nothing, one that needs none is preferred."""
    way = {name: (score - nulls[name]) / max(1 - nulls[name], 1e-9) for name, score in scores.items()}
    if not moved_by_letters:
        way[SAME] = 0.0
        simple = max(part for name, part in way.items() if name != RESET)
        way[RESET] = 0.0 if simple >= way[RESET] - 0.1 else way[RESET]
    best = max(way, key=lambda name: (round(way[name], 6), -list(way).index(name)))
    clear = way[best] >= CLEAR
    return HeadScore(layer, head, best if clear else "unclear", max(way[best], 0.0), scores, nulls)


def _ideals(patterns: Patterns, tokens: Int[Tensor, "word pos"]) -> dict[str, Mass]:
    """The attention that is where each ideal says, averaged over words and positions; simpler ideals come first."""
    length = patterns.shape[-1]
    position = torch.arange(length)
    scores = {"self": _mass_at(patterns, position), "start": _mass_at(patterns, torch.zeros_like(position))}
    distance = 1
    while distance < length - 1:
        scores[f"look {distance} back"] = _mass_at(patterns, (position - distance).clamp_min(0))
        distance *= 2
    scores[FLAT] = _flatness(patterns)
    scores[SAME] = _mass_at(patterns, _last_same(tokens))
    scores[RESET] = patterns[:, :, 1:].amax(-1).mean(dim=(0, 2))
    return scores


def _mass_at(patterns: Patterns, target: Int[Tensor, "*word query"]) -> Mass:
    """The attention on one key for each query. The start token, which can only look at itself, does not count."""
    words, heads, length, _ = patterns.shape
    index = target.expand(words, length)[:, None, :, None].expand(words, heads, length, 1)
    return patterns.gather(-1, index)[:, :, 1:, 0].mean(dim=(0, 2))


def _flatness(patterns: Patterns) -> Mass:
    """How even the attention on letters is, where there are some: 1 less its distance from all alike.

    What goes to the start token does not count, unless nearly everything does: then nothing is summed.
    """
    letters = patterns[:, :, 2:, 1:]
    held = letters.sum(-1, keepdim=True)
    seen = torch.tril(torch.ones(letters.shape[-2:], dtype=letters.dtype), diagonal=1)
    even = seen / seen.sum(-1, keepdim=True)
    apart = (letters / held.clamp_min(1e-9) - even).abs().sum(-1) / 2
    summed = (held[..., 0] > 0.5 / patterns.shape[-1]).double()
    return ((1 - apart) * summed).mean(dim=(0, 2))


def _last_same(tokens: Int[Tensor, "word pos"]) -> Int[Tensor, "word pos"]:
    """The last position before each that holds the same token; the start if there is none."""
    length = tokens.shape[1]
    same: Bool[Tensor, "word query key"] = tokens[:, :, None] == tokens[:, None, :]
    before = same & torch.ones(length, length, dtype=torch.bool).tril(-1)
    return (before * torch.arange(length)).amax(-1)


def _moved(patterns: Patterns) -> Mass:
    """At how many positions the place that is looked at most is not the usual one for that position."""
    looked = patterns.argmax(-1)
    usual = looked.mode(dim=0).values
    return (looked != usual)[:, :, 1:].double().mean(dim=(0, 2))
