"""How much vectors know about the token they stand for: equally many vectors of each frequent token, by layer.

Vectors are gathered in one pass that stops when there are enough; what is kept is bounded by the number of tokens and
of vectors of each, however long the text is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Integer

from glassformer.errors import InputError
from glassformer.instruments.information import Information, information
from glassformer.instruments.layers import LayerVectors, Tokens, Vectors, seen

ABSENT: Final = -1
"""The label of a position that is not to be looked at."""


@dataclass(frozen=True)
class Sample:
    """Equally many vectors of some tokens: their labels, their places, and for each layer the vectors."""

    labels: Integer[np.ndarray, " sample"]
    places: Integer[np.ndarray, " sample"]
    vectors: dict[str, Vectors]

    @property
    def tokens(self) -> int:
        """How many different tokens there are."""
        return len(np.unique(self.labels))


def frequent(counts: Integer[np.ndarray, " token"], most: int, each: int) -> list[int]:
    """The most frequent tokens, those that come at least so often."""
    order = np.argsort(-counts, kind="stable")
    chosen = [int(token) for token in order if counts[token] >= each][:most]
    if len(chosen) < 2:
        raise InputError("instruments.too_few_tokens", each=each)
    return chosen


def gather(
    layers: LayerVectors,
    batches: Iterable[tuple[Tokens, Tokens]],
    tokens: list[int],
    each: int,
) -> Sample:
    """The first so many vectors of each token; batches are what the model reads, and the labels of its positions."""
    index = {token: i for i, token in enumerate(tokens)}
    room = np.full(len(tokens), each)
    labels: list[Integer[np.ndarray, " sample"]] = []
    places: list[Integer[np.ndarray, " sample"]] = []
    kept: list[list[Vectors]] = [[] for _ in layers.names]
    for read, asked in batches:
        (batch,) = seen(layers, [read])
        own = np.array([index.get(int(label), ABSENT) for label in asked.flatten()])
        which = np.flatnonzero(own != ABSENT)
        rank = _rank(own[which])
        which = which[rank < room[own[which]]]
        if not len(which):
            continue
        room -= np.bincount(own[which], minlength=len(tokens))
        labels.append(own[which])
        places.append(batch.places[which])
        for layer, vectors in zip(kept, batch.vectors, strict=True):
            layer.append(vectors[which])
        if not room.any():
            break
    if not labels:
        raise InputError("instruments.no_such_tokens")
    by_layer = {name: np.concatenate(parts) for name, parts in zip(layers.names, kept, strict=True)}
    return Sample(np.concatenate(labels), np.concatenate(places), by_layer)


def _rank(labels: Integer[np.ndarray, " sample"]) -> Integer[np.ndarray, " sample"]:
    """How many of the labels before are the same."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    first = np.searchsorted(ordered, ordered)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(labels)) - first
    return rank


def information_by_layer(sample: Sample, clusters: int = 1000, seed: int = 0) -> dict[str, Information]:
    """The mutual information of each layer's vectors and the token."""
    return {name: information(sample.labels, vectors, clusters, seed) for name, vectors in sample.vectors.items()}
