"""How much do vectors change from layer to layer (S3.5), and how much does one token move the others?

Change is 1 − PWCCA between successive layers, of all tokens or of groups of them (by frequency, by place). Influence is
how far, by 1 − cosine, the vectors of other tokens move when one is replaced by another or dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments.layers import LayerBatch, LayerVectors, Tokens, refuse_infinite, seen
from glassformer.instruments.similarity import Moments, Similarity
from glassformer.messages import Message, verbatim

Groups: TypeAlias = Callable[[LayerBatch], Integer[np.ndarray, " sample"]]
"""Gives each token of a batch the number of its group, or −1."""


@dataclass(frozen=True)
class Change:
    """What one step, from a layer to the next, changes in a group of tokens."""

    before: str
    after: str
    group: Message
    distance: float | None
    """1 − PWCCA, or None if there are too few vectors."""
    samples: int


ALL: Final = (Message("instruments.all_tokens"),)
"""The one group without a rule for groups."""


def change(
    layers: LayerVectors, batches: Iterable[Tokens], names: tuple[Message, ...] = ALL, group_of: Groups | None = None
) -> list[Change]:
    """The change from each layer to the next, for each of the named groups of tokens.

    `group_of` gives the group of each token in a batch, or −1 for none, as `by_frequency` and `by_place` make it.
    """
    return changes(layers.names, names, change_moments(layers, batches, len(names), group_of))


def change_moments(
    layers: LayerVectors, batches: Iterable[Tokens], count: int = 1, group_of: Groups | None = None
) -> dict[tuple[int, int], Moments]:
    """What `changes` needs, for each step between layers and each of `count` groups; that of several shards adds up."""
    moments: dict[tuple[int, int], Moments] = {}
    for batch in seen(layers, batches):
        groups = np.zeros(len(batch.tokens), dtype=int) if group_of is None else group_of(batch)
        for group in range(count):
            which = groups == group
            for step, (x, y) in enumerate(zip(batch.vectors, batch.vectors[1:], strict=False)):
                own = moments.setdefault((step, group), Moments(x.shape[1], y.shape[1]))
                own.add(x[which], y[which])
    return moments


def changes(
    layers: tuple[str, ...], names: tuple[Message, ...], moments: Mapping[tuple[int, int], Moments]
) -> list[Change]:
    """The change from each of the layers to the next, for each of the named groups."""
    if not moments:
        raise InputError("instruments.no_text")
    steps = []
    for step, (before, after) in enumerate(pairwise(layers)):
        for group, name in enumerate(names):
            own = moments[step, group]
            if not own.count:
                continue
            steps.append(Change(before, after, name, 1 - Similarity(own).pwcca if own.enough else None, own.count))
    return steps


def by_frequency(counts: Integer[np.ndarray, " token"], parts: int = 4) -> tuple[tuple[Message, ...], Groups]:
    """Groups of tokens that make up equal parts of the text, from the most frequent on; those not counted in none.

    Tokens that come equally often are in one group, that of the middle one of them.
    """
    order = np.argsort(-counts, kind="stable")
    falling = -counts[order]
    reached = np.cumsum(counts[order]) / max(1, counts.sum())
    middle = (np.searchsorted(falling, falling) + np.searchsorted(falling, falling, side="right") - 1) // 2
    group = np.empty(len(counts), dtype=int)
    group[order] = np.minimum((reached[middle] - 1e-12) * parts, parts - 1).astype(int)
    group[counts == 0] = -1
    names = []
    for i in range(parts):
        inside = counts[group == i]
        least, most = (int(inside.min()), int(inside.max())) if len(inside) else (0, 0)
        names.append(
            Message("instruments.times", times=most)
            if least == most
            else Message("instruments.times_between", least=least, most=most)
        )
    return tuple(names), lambda batch: group[batch.tokens]


def by_place(
    edges: tuple[int, ...] = (0, 1, 2, 4, 8, 16), special: frozenset[int] = frozenset()
) -> tuple[tuple[Message, ...], Groups]:
    """Groups of tokens by where they stand, from each edge to the next; special ones in none."""
    ends = [*(str(edge - 1) for edge in edges[1:]), "…"]
    names = tuple(
        verbatim(b) if str(a) == b else Message("instruments.places", first=a, last=b)
        for a, b in zip(edges, ends, strict=True)
    )
    left_out = np.array(sorted(special), dtype=int)
    return names, lambda batch: np.where(
        np.isin(batch.tokens, left_out), -1, np.searchsorted(edges, batch.places, side="right") - 1
    )


@dataclass(frozen=True)
class Influence:
    """How far one token moves the vectors of the others, at one layer."""

    layer: str
    replaced: float
    """When it is replaced by another one: the mean of 1 − cosine, over the others."""
    dropped: float
    """When it is left out."""
    near: float
    """When it is replaced, over its two neighbours alone."""
    after: float
    """When it is replaced, over those behind it: the only ones that a causal model can move."""


def influence(
    layers: LayerVectors, batches: Iterable[Tokens], others: Integer[np.ndarray, " token"], seed: int = 0
) -> list[Influence]:
    """How far a random token of each sentence, neither first nor last, moves the others when replaced and when dropped.

    `others` are the tokens that may take its place; sentences of fewer than four tokens are passed over.
    """
    drawn_from = torch.from_numpy(others)
    generator = torch.Generator().manual_seed(seed)
    sums: Float[np.ndarray, "layer kind"] = np.zeros((len(layers.names), 4))
    counts = np.zeros(4)
    for tokens in batches:
        if tokens.shape[1] < 4:
            continue
        rows, length = torch.arange(len(tokens)), tokens.shape[1]
        place = torch.randint(1, length - 1, (len(tokens),), generator=generator)
        other = tokens.clone()
        other[rows, place] = drawn_from[torch.randint(len(others), (len(tokens),), generator=generator)]
        kept = torch.arange(length - 1)[None] + (torch.arange(length - 1)[None] >= place[:, None])
        with torch.no_grad():
            plain, replaced, dropped = (layers.run(each) for each in (tokens, other, tokens.gather(1, kept)))
        refuse_infinite(*plain, *replaced, *dropped)
        elsewhere = torch.arange(length)[None] != place[:, None]
        distance = torch.arange(length)[None] - place[:, None]
        beside, behind = distance.abs() == 1, distance > 0
        for i, (x, y, z) in enumerate(zip(plain, replaced, dropped, strict=True)):
            moved = cosine_distance(x, y)
            gone = cosine_distance(x.gather(1, kept[..., None].expand(-1, -1, x.shape[2])), z)
            sums[i] += [float(part.sum()) for part in (moved[elsewhere], gone, moved[beside], moved[behind])]
        counts += [int(elsewhere.sum()), kept.numel(), int(beside.sum()), int(behind.sum())]
    if not counts[0]:
        raise InputError("instruments.no_sentence_of_four")
    return [Influence(name, *map(float, row / counts)) for name, row in zip(layers.names, sums, strict=True)]


def cosine_distance(x: Float[Tensor, "sentence pos width"], y: Float[Tensor, "sentence pos width"]) -> Tensor:
    """1 − cosine of vectors at the same place; what rounding puts below 0 is 0."""
    return (1 - torch.nn.functional.cosine_similarity(x, y, dim=-1)).clamp(min=0)
