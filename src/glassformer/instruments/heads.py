"""What does each attention head do? Its patterns on many words, beside those of the operations that compilers write.

Each operation has a pattern: where a head that does it would look. Some look at a place that the position alone
decides: itself, the token before, 2^l back, the start. A flat sum looks at all letters equally. The others look at one
place that the letters decide: the last letter of the same kind, or the last one of some condition, whatever it is: a
head that looks at one place each time, and fits no simpler operation, is a conditional reset.

A score is the part of the attention that is where the operation looks. Beside it stands what a head that knows nothing
would get (null); the normalised score is (score − null) / (1 − null). A head is named where one of them is near 1;
otherwise it is unclear. Where a token alone determines the answer, it does not matter where a trained head looks; so a
head that is unclear as a whole may still be clear at the queries of some tokens, and is named for those.

A name is about where a head looks, not about its use: an untrained head, too, looks at all letters equally. So beside
it stands how many answers change when what the head reads is replaced by its mean over words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments.patching import without
from glassformer.instruments.sites import Site
from glassformer.messages import Message
from glassformer.nn import Transformer
from glassformer.operations.attention import (
    FlatSum,
    Itself,
    LatestMatch,
    LookBack,
    Operation,
    Patterns,
    SameToken,
    Share,
    Start,
)

CLEAR: Final = 0.75
"""The normalised score that makes a head clear. Built heads are at 1; trained ones are never quite."""
RESETS: Final = 0.02
"""Share of queries at which the attended position must depend on letters for a head to be a reset."""
STAYS: Final = 0.75
"""A head stays where it is if it looks at so many positions where it looked at the position before."""
NEARLY: Final = 0.05
"""A simpler operation that comes so close to a conditional reset is the better name."""
OFTEN: Final = 0.1
"""The part of all positions that a token holds before heads are named by what they do there."""

FLAT: Final = FlatSum()
SAME: Final = SameToken()
LATEST: Final = LatestMatch()

Where = Bool[Tensor, "word query"]


@dataclass(frozen=True)
class HeadScore:
    """One head: what it does, at the queries of which tokens (None: all), how sure that is, and how much it matters.

    `matters` is the part of the answers that change without it; `scores` and `nulls` are those of all operations.
    """

    layer: int
    head: int
    operation: Operation | None
    """None: unclear."""
    at: list[int] | None
    confidence: float
    matters: float
    scores: dict[Operation, float]
    nulls: dict[Operation, float]

    @property
    def title(self) -> Message:
        """What the head does."""
        return self.operation.title if self.operation else Message("operations.unclear")

    @property
    def next_best(self) -> Operation:
        """The other operation that its patterns fit best."""
        return max((each for each in self.scores if each != self.operation), key=self.scores.__getitem__)

    def to_json(self) -> dict[str, Any]:
        """The same as plain values. Scripts use `operations`; `scores` and `nulls` are the same by English titles."""
        operations = [
            {"operation": operation.to_json(), "score": score, "null": self.nulls[operation]}
            for operation, score in self.scores.items()
        ]
        by_title = {
            name: {str(operation.title): score for operation, score in getattr(self, name).items()}
            for name in ("scores", "nulls")
        }
        operation = self.operation and self.operation.to_json()
        named = {"operation": operation, "job": str(self.title)}
        return vars(self) | by_title | named | {"operations": operations}


def score_heads(model: Transformer, tokens: Int[Tensor, "word pos"]) -> list[HeadScore]:
    """What every head of a causal model does, on these words (all of one length, each with its start token)."""
    if not model.config.causal:
        raise InputError("operations.not_causal")
    if tokens.shape[1] < 4:
        raise InputError("operations.too_few_tokens")
    trace = model.trace(tokens, lambda name: name.endswith(("hook_pattern", "hook_z")))
    answers = trace.logits.argmax(-1)
    scores = []
    for layer, block in enumerate(model.config.blocks):
        if block.heads:
            named = _score_layer(layer, trace[f"blocks.{layer}.attn.hook_pattern"].double(), tokens)
            read = trace[f"blocks.{layer}.attn.hook_z"]
            scores += [replace(score, matters=_changed(model, tokens, answers, score, read)) for score in named]
    return scores


def _changed(
    model: Transformer,
    tokens: Int[Tensor, "word pos"],
    answers: Int[Tensor, "word pos"],
    of: HeadScore,
    read: Float[Tensor, "word pos head head_width"],
) -> float:
    """The part of the answers that change when a head reads at each position what it reads there on average."""
    site = Site(f"blocks.{of.layer}.attn.hook_z", of.head)
    now = torch.cat([logits.argmax(-1) for logits in without(model, tokens, {site: site.of(read)}, "mean")])
    return float((now != answers)[:, 1:].double().mean())


def _score_layer(layer: int, patterns: Patterns, tokens: Int[Tensor, "word pos"]) -> list[HeadScore]:
    instrument = _Instrument(patterns, tokens)
    letters = torch.arange(tokens.shape[1]).expand_as(tokens) > 0
    kinds = [kind for kind in tokens.unique().tolist() if (tokens == kind)[letters].double().mean() >= OFTEN]
    everywhere = instrument.read(layer, letters, None)
    at_kinds = [instrument.read(layer, letters & (tokens == kind), [kind]) for kind in kinds]
    return [
        whole if whole.operation else _clear_at_some(whole, parts)
        for whole, *parts in zip(everywhere, *at_kinds, strict=True)
    ]


def _clear_at_some(whole: HeadScore, parts: list[HeadScore]) -> HeadScore:
    """The job that is clear at the queries of most tokens, or the unclear whole if there is none."""
    clear = [part.operation for part in parts if part.operation]
    if not clear:
        return whole
    operation = max(clear, key=clear.count)
    named = [part for part in parts if part.operation == operation]
    kinds = sorted(kind for part in named for kind in part.at or ())
    return replace(min(named, key=lambda part: part.confidence), at=kinds)


class _Instrument:
    """The patterns of one layer beside those of all operations, and those of a head that knows nothing."""

    def __init__(self, patterns: Patterns, tokens: Int[Tensor, "word pos"]) -> None:
        even = torch.tril(torch.ones_like(patterns[:, :1]))
        even = even / even.sum(-1, keepdim=True)
        self.patterns = patterns
        operations = _operations(patterns.shape[-1])
        self.shares = {operation: operation.share(patterns, tokens) for operation in operations}
        self.nulls = {operation: operation.share(even, tokens) for operation in operations}

    def read(self, layer: int, where: Where, at: list[int] | None) -> list[HeadScore]:
        """Every head, at some of the queries."""
        scores = {operation: _mean(share, where) for operation, share in self.shares.items()}
        nulls = {operation: float(_mean(share, where)[0]) for operation, share in self.nulls.items()} | {FLAT: 0.0}
        moved, stays = _moved(self.patterns, where) >= RESETS, _stays(self.patterns) >= STAYS
        return [
            _named(layer, head, at, {o: float(mean[head]) for o, mean in scores.items()}, nulls, *rest)
            for head, rest in enumerate(zip(moved.tolist(), stays.tolist(), strict=True))
        ]


def _operations(length: int) -> list[Operation]:
    """What a head may do in words of so many tokens; simpler operations come first."""
    distances = (2**power for power in range(length.bit_length()) if 2**power < length - 1)
    return [Itself(), Start(), *map(LookBack, distances), FLAT, SAME, LATEST]


def _mean(share: Share, where: Where) -> Float[Tensor, " head"]:
    """The mean over some queries; those for which an operation has no pattern (NaN) do not count."""
    return share.where(where[:, None], torch.nan).nanmean(dim=(0, 2))


def _named(
    layer: int,
    head: int,
    at: list[int] | None,
    scores: dict[Operation, float],
    nulls: dict[Operation, float],
    is_moved: bool,
    stays: bool,
) -> HeadScore:
    """The operation with the largest normalised score, and of two that come close the simpler one.

    A head that letters do not move can be a reset only if it stays where it is: its condition is met once, and always
    at the same place. One that moves with the position alone is none.
    """
    normalised = {each: (score - nulls[each]) / max(1 - nulls[each], 1e-9) for each, score in scores.items()}
    if not is_moved:
        normalised[SAME] = 0.0
    simple = max(score for each, score in normalised.items() if each != LATEST)
    if simple >= normalised[LATEST] - NEARLY or not (is_moved or stays):
        normalised[LATEST] = 0.0
    best = max(normalised, key=lambda each: (round(normalised[each], 6), -list(normalised).index(each)))
    operation = best if normalised[best] >= CLEAR else None
    return HeadScore(layer, head, operation, at, max(normalised[best], 0.0), 0.0, scores, nulls)


def _moved(patterns: Patterns, where: Where) -> Float[Tensor, " head"]:
    """At how many of these queries the place that is looked at most is not the usual one for that position."""
    looked = torch.nn.functional.one_hot(patterns.argmax(-1), patterns.shape[-1]) * where[:, None, :, None]
    at_the_usual = looked.sum(0).amax(-1).sum(-1)
    return 1 - at_the_usual / where.sum()


def _stays(patterns: Patterns) -> Float[Tensor, " head"]:
    """At how many positions the place that is looked at most is the same as at the position before."""
    looked = patterns.argmax(-1)[:, :, 1:]
    return (looked[:, :, 1:] == looked[:, :, :-1]).double().mean(dim=(0, 2))
