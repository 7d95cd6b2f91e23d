"""Can the token, and its place, be read off a vector? By its nearest neighbour, and by a linear probe with a control.

The probe is a least-squares classifier, learned from one half of the vectors and tested on the other. The control for
tokens is the same probe on labels that were shuffled, where there is nothing to find; that for places, as tokens have
their usual places, is to answer the most frequent place of the token. A probe that is no better has found nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Integer

from glassformer.errors import InputError
from glassformer.instruments.identity import Sample
from glassformer.instruments.layers import refuse_infinite

AT_ONCE: Final = 1024
RIDGE: Final = 1e-3
"""Of the mean variance: enough for directions without variance."""


@dataclass(frozen=True)
class Recovery:
    """The part of vectors of one layer whose token, and whose place, is recovered."""

    layer: str
    token_nearest: float
    token_probe: float
    token_control: float
    place_nearest: float
    place_probe: float
    place_control: float


def probe_layers(sample: Sample, seed: int = 0) -> list[Recovery]:
    """What can be recovered from each layer."""
    rng = np.random.default_rng(seed)
    tokens, places = sample.labels, sample.places
    if len(tokens) < 4:
        raise InputError("instruments.four_vectors")
    half = rng.permutation(len(tokens)) % 2 == 0
    shuffled = rng.permutation(tokens)
    usual = usual_place(tokens, places, half)
    recovered = []
    for layer, vectors in sample.vectors.items():
        refuse_infinite(vectors)
        near = nearest(vectors)
        recovered.append(
            Recovery(
                layer,
                float((tokens[near] == tokens).mean()),
                probe(vectors, tokens, half),
                probe(vectors, shuffled, half),
                float((places[near] == places).mean()),
                probe(vectors, places, half),
                usual,
            )
        )
    return recovered


def usual_place(
    tokens: Integer[np.ndarray, " sample"], places: Integer[np.ndarray, " sample"], half: Bool[np.ndarray, " sample"]
) -> float:
    """How often the place that a token has most often in one half is right in the other."""
    counts = np.zeros((int(tokens.max()) + 1, int(places.max()) + 1), dtype=int)
    np.add.at(counts, (tokens[half], places[half]), 1)
    return float((counts.argmax(axis=1)[tokens[~half]] == places[~half]).mean())


def nearest(vectors: Float[np.ndarray, "sample width"]) -> Integer[np.ndarray, " sample"]:
    """The other vector with the largest cosine, of each."""
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found = np.empty(len(units), dtype=int)
    for i in range(0, len(units), AT_ONCE):
        cosines = units[i : i + AT_ONCE] @ units.T
        cosines[np.arange(len(cosines)), np.arange(i, i + len(cosines))] = -np.inf
        found[i : i + AT_ONCE] = cosines.argmax(axis=1)
    return found


def probe(
    vectors: Float[np.ndarray, "sample width"],
    labels: Integer[np.ndarray, " sample"],
    half: Bool[np.ndarray, " sample"],
) -> float:
    """How often a linear map, fitted to one-hot labels on one half, is right on the other."""
    kinds, numbers = np.unique(labels, return_inverse=True)
    x = np.hstack([vectors - vectors.mean(axis=0), np.ones((len(vectors), 1))]).astype(np.float64)
    known, asked = x[half], x[~half]
    scatter = known.T @ known
    scatter[np.diag_indices(len(scatter) - 1)] += RIDGE * np.trace(scatter[:-1, :-1]) / max(1, len(scatter) - 1) + 1e-12
    sums = np.zeros((x.shape[1], len(kinds)))
    np.add.at(sums.T, numbers.ravel()[half], known)
    answers = (asked @ np.linalg.solve(scatter, sums)).argmax(axis=1)
    return float((answers == numbers.ravel()[~half]).mean())
