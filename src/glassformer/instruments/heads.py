"""What does each attention head do? Its patterns on many words, beside the ideal ones.

An ideal says where a head that does one thing would look. Some look at a place that the position alone decides: itself,
the token before, 2^l back, the start. A flat sum looks at all letters alike. The others look at one place that the
letters decide: the last letter of the same kind, or the last one of some condition, whatever it is: a head that looks
at one place each time, and no simpler ideal says which, is a conditional reset.

A score is the part of the attention that is where the ideal says. Beside it stands what a head that knows nothing
would get (null), and only the part of the way from there to 1 counts. A head is named when one ideal has nearly all of
it; otherwise it is unclear. Where a token alone tells the answer, it does not matter where a trained head looks; so a
head that is unclear as a whole may still be clear at the queries of some tokens, and is named for those.

A name says where a head looks, not that anybody uses it: an untrained head, too, looks at all letters alike. So beside
it stands how many answers change when what the head reads is replaced by its mean over words.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments.patching import without
from glassformer.instruments.sites import Site
from glassformer.nn import Transformer

CLEAR: Final = 0.75
"""The part of the way from null to 1 that makes a head clear. Built heads are at 1; trained ones are never quite."""
RESETS: Final = 0.02
"""A head is moved by the letters if they, and not the position, decide where it looks at so many positions."""
STAYS: Final = 0.75
"""A head stays where it is if it looks at so many positions where it looked at the position before."""
NEARLY: Final = 0.05
"""A simpler ideal that comes so close to a conditional reset says it better."""
OFTEN: Final = 0.1
"""The part of all positions that a token holds before heads are named by what they do there."""

FLAT: Final = "flat sum"
RESET: Final = "conditional reset"
SAME: Final = "same token"
UNCLEAR: Final = "unclear"

Patterns = Float[Tensor, "word head query key"]
Mass = Float[Tensor, "word head query"]
Where = Bool[Tensor, "word query"]


@dataclass(frozen=True)
class HeadScore:
    """One head: what it does, at the queries of which tokens (None: all), how sure that is, and how much it matters.

    `matters` is the part of the answers that change without it; `scores` and `nulls` are those of all ideals.
    """

    layer: int
    head: int
    job: str
    at: list[int] | None
    confidence: float
    matters: float
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
    trace = model.trace(tokens, lambda name: name.endswith(("hook_pattern", "hook_z")))
    said = trace.logits.argmax(-1)
    found = []
    for layer, block in enumerate(model.config.blocks):
        if block.heads:
            named = _score_layer(layer, trace[f"blocks.{layer}.attn.hook_pattern"].double(), tokens)
            read = trace[f"blocks.{layer}.attn.hook_z"]
            found += [replace(score, matters=_changed(model, tokens, said, score, read)) for score in named]
    return found


def _changed(
    model: Transformer,
    tokens: Int[Tensor, "word pos"],
    said: Int[Tensor, "word pos"],
    of: HeadScore,
    read: Float[Tensor, "word pos head head_width"],
) -> float:
    """The part of the answers that change when a head reads at each position what it reads there on average."""
    site = Site(f"blocks.{of.layer}.attn.hook_z", of.head)
    now = torch.cat([logits.argmax(-1) for logits in without(model, tokens, {site: site.of(read)}, "mean")])
    return float((now != said)[:, 1:].double().mean())


def _score_layer(layer: int, patterns: Patterns, tokens: Int[Tensor, "word pos"]) -> list[HeadScore]:
    instrument = _Instrument(patterns, tokens)
    letters = torch.arange(tokens.shape[1]).expand_as(tokens) > 0
    kinds = [kind for kind in tokens.unique().tolist() if (tokens == kind)[letters].double().mean() >= OFTEN]
    everywhere = instrument.read(layer, letters, None)
    at_kinds = [instrument.read(layer, letters & (tokens == kind), [kind]) for kind in kinds]
    return [
        whole if whole.job != UNCLEAR else _clear_at_some(whole, parts)
        for whole, *parts in zip(everywhere, *at_kinds, strict=True)
    ]


def _clear_at_some(whole: HeadScore, parts: list[HeadScore]) -> HeadScore:
    """The job that is clear at the queries of most tokens, or the unclear whole if there is none."""
    clear = [part for part in parts if part.job != UNCLEAR]
    if not clear:
        return whole
    jobs = [part.job for part in clear]
    job = max(jobs, key=jobs.count)
    named = [part for part in clear if part.job == job]
    kinds = sorted(kind for part in named for kind in part.at or ())
    return replace(min(named, key=lambda part: part.confidence), at=kinds)


class _Instrument:
    """The patterns of one layer beside the ideals, and those of a head that knows nothing."""

    def __init__(self, patterns: Patterns, tokens: Int[Tensor, "word pos"]) -> None:
        flat = torch.tril(torch.ones_like(patterns[:, :1]))
        self.patterns = patterns
        self.ideals = _ideals(patterns, tokens)
        self.nulls = _ideals(flat / flat.sum(-1, keepdim=True), tokens)

    def read(self, layer: int, where: Where, at: list[int] | None) -> list[HeadScore]:
        """Every head, at some of the queries."""
        scores = {name: _mean(mass, where) for name, mass in self.ideals.items()}
        nulls = {name: float(_mean(mass, where)[0]) for name, mass in self.nulls.items()} | {FLAT: 0.0}
        moved, stays = _moved(self.patterns, where), _stays(self.patterns)
        return [
            _named(
                layer,
                head,
                at,
                {name: float(mass[head]) for name, mass in scores.items()},
                nulls,
                bool(moved[head] >= RESETS),
                bool(stays[head] >= STAYS),
            )
            for head in range(len(moved))
        ]


def _mean(mass: Mass, where: Where) -> Float[Tensor, " head"]:
    """The mean over some queries; those that an ideal has nothing to say of (nan) do not count."""
    return mass.where(where[:, None], torch.nan).nanmean(dim=(0, 2))


def _named(
    layer: int,
    head: int,
    at: list[int] | None,
    scores: dict[str, float],
    nulls: dict[str, float],
    is_moved: bool,
    stays: bool,
) -> HeadScore:
    """The ideal with the largest part of the way to 1, and of two that come close the simpler one.

    A head that letters do not move can be a reset only if it stays where it is: its condition is met once, and always
    at the same place. One that moves with the position alone is none.
    """
    way = {name: (score - nulls[name]) / max(1 - nulls[name], 1e-9) for name, score in scores.items()}
    if not is_moved:
        way[SAME] = 0.0
    simple = max(part for name, part in way.items() if name != RESET)
    if simple >= way[RESET] - NEARLY or not (is_moved or stays):
        way[RESET] = 0.0
    best = max(way, key=lambda name: (round(way[name], 6), -list(way).index(name)))
    job = best if way[best] >= CLEAR else UNCLEAR
    return HeadScore(layer, head, job, at, max(way[best], 0.0), 0.0, scores, nulls)


def _ideals(patterns: Patterns, tokens: Int[Tensor, "word pos"]) -> dict[str, Mass]:
    """The attention that is where each ideal says; simpler ideals come first."""
    length = patterns.shape[-1]
    position = torch.arange(length)
    scores = {"self": _mass_at(patterns, position), "start": _mass_at(patterns, torch.zeros_like(position))}
    distance = 1
    while distance < length - 1:
        scores[f"look {distance} back"] = _mass_at(patterns, (position - distance).clamp_min(0))
        distance *= 2
    scores[FLAT] = _flatness(patterns)
    scores[SAME] = _mass_at(patterns, _last_same(tokens))
    scores[RESET] = patterns.amax(-1)
    return scores


def _mass_at(patterns: Patterns, target: Int[Tensor, "*word query"]) -> Mass:
    """The attention on one key for each query."""
    words, heads, length, _ = patterns.shape
    index = target.expand(words, length)[:, None, :, None].expand(words, heads, length, 1)
    return patterns.gather(-1, index)[..., 0]


def _flatness(patterns: Patterns) -> Mass:
    """How even the attention on letters is, where there are two or more: 1 less its distance from all alike.

    What goes to the start token does not count, unless nearly everything does: then nothing is summed.
    """
    letters = patterns[:, :, 2:, 1:]
    held = letters.sum(-1, keepdim=True)
    seen = torch.tril(torch.ones(letters.shape[-2:], dtype=letters.dtype), diagonal=1)
    even = seen / seen.sum(-1, keepdim=True)
    apart = (letters / held.clamp_min(1e-9) - even).abs().sum(-1) / 2
    summed = (held[..., 0] > 0.5 / patterns.shape[-1]).double()
    return torch.nn.functional.pad((1 - apart) * summed, (2, 0), value=torch.nan)


def _last_same(tokens: Int[Tensor, "word pos"]) -> Int[Tensor, "word pos"]:
    """The last position before each that holds the same token; the start if there is none."""
    length = tokens.shape[1]
    same: Bool[Tensor, "word query key"] = tokens[:, :, None] == tokens[:, None, :]
    before = same & torch.ones(length, length, dtype=torch.bool).tril(-1)
    return (before * torch.arange(length)).amax(-1)


def _moved(patterns: Patterns, where: Where) -> Float[Tensor, " head"]:
    """At how many of these queries the place that is looked at most is not the usual one for that position."""
    looked = torch.nn.functional.one_hot(patterns.argmax(-1), patterns.shape[-1]) * where[:, None, :, None]
    at_the_usual = looked.sum(0).amax(-1).sum(-1)
    return 1 - at_the_usual / where.sum()


def _stays(patterns: Patterns) -> Float[Tensor, " head"]:
    """At how many positions the place that is looked at most is the same as at the position before."""
    looked = patterns.argmax(-1)[:, :, 1:]
    return (looked[:, :, 1:] == looked[:, :, :-1]).double().mean(dim=(0, 2))
