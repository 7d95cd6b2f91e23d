"""How much information is in vectors about labels (S3.2, S3.3)? In bits, by clusters of the vectors.

k-means makes each vector one of k clusters; a cluster has at most the information of its vector. An estimate I
from a table of counts is too large: less so with Grassberger's entropies than with the plug-in ones, but still by I₀
where clusters have no information, and not at all where they have all of it, H. I₀ is estimated from shuffled labels;
between the two the bias is taken to fall evenly, which gives (I − I₀) / (H − I₀) · H. `held_out` is below the truth
on average: the information in a table of half the vectors about the labels of the other half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Float, Integer
from scipy.special import digamma

from glassformer.errors import InputError, optional, whole_number
from glassformer.instruments.layers import refuse_infinite

RESAMPLES: Final = 50
"""Of the bootstrap: its spread is known to a tenth then."""

SHUFFLES: Final = 5
WEIGHTS: Final = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Counts that the share of a label counts for beside those of a cluster."""

LEAST_ROOM: Final = 0.05
"""Of all bits, between those by chance and all: with less, the estimate is noise."""

Labels: TypeAlias = Integer[np.ndarray, " sample"]
Counts: TypeAlias = Integer[np.ndarray, " value"]


@dataclass(frozen=True)
class Information:
    """Mutual information of clusters of vectors and labels, in bits."""

    bits: float
    """With the bias taken off."""
    error: float
    """The half-width of the 95 % interval, from resampled vectors."""
    plug_in: float
    """As counted, with its bias."""
    null: float
    """As counted for shuffled labels, where there is no information."""
    held_out: float
    """The information in a table of one half about the other: a lower bound, on average."""
    most: float
    """The entropy of the labels: no vectors have more information."""
    samples: int
    clusters: int


def information(
    labels: Labels, vectors: Float[np.ndarray, "sample width"], clusters: int = 1000, seed: int = 0
) -> Information:
    """The mutual information of vectors and labels, one of each for every sample.

    Vectors count by their cluster: more `clusters` lose less, and need more vectors. `seed` is that of clusters,
    shuffled labels and resampled vectors.
    """
    if labels.ndim != 1 or vectors.ndim != 2 or len(labels) != len(vectors):
        shapes = {"labels": str(labels.shape), "vectors": str(vectors.shape)}
        raise InputError("instruments.labels_and_vectors", **shapes)
    if len(labels) < 2:
        raise InputError("instruments.two_labels")
    refuse_infinite(vectors)
    return between(labels, clustered(vectors, clusters, seed), seed)


def clustered(vectors: Float[np.ndarray, "sample width"], clusters: int, seed: int = 0) -> Labels:
    """The number of each vector's cluster, by mini-batch k-means."""
    sklearn = optional("sklearn.cluster", "instruments.needs_scikit_learn")
    whole_number(clusters, "instruments.clusters", least=1)
    count = min(clusters, len(np.unique(vectors, axis=0)))
    means = sklearn.MiniBatchKMeans(count, batch_size=1024, n_init=1, random_state=seed, reassignment_ratio=0.0)
    found: Labels = means.fit_predict(vectors.astype(np.float32)).astype(np.int64)
    return found


def between(labels: Labels, others: Labels, seed: int = 0) -> Information:
    """The mutual information of two labels of each thing."""
    x, y = (np.unique(each, return_inverse=True)[1].ravel() for each in (labels, others))
    rng = np.random.default_rng(seed)
    shuffled = [rng.permutation(x) for _ in range(SHUFFLES)]
    least = fmean(counted(each, y, grassberger) for each in shuffled)
    most, top = entropy(np.bincount(x)), grassberger(np.bincount(x))
    if top - least < LEAST_ROOM * most:
        raise InputError("instruments.too_many_clusters", clusters=int(y.max()) + 1, vectors=len(x))
    again = [counted(x[i], y[i], grassberger) for i in (rng.integers(0, len(x), len(x)) for _ in range(RESAMPLES))]
    stretch = most / (top - least) if most else 0.0  # equal labels have no entropy
    return Information(
        bits=(counted(x, y, grassberger) - least) * stretch,
        error=1.96 * float(np.std(again, ddof=1)) * stretch,
        plug_in=counted(x, y, entropy),
        null=fmean(counted(each, y, entropy) for each in shuffled),
        held_out=held_out(x, y, rng),
        most=most,
        samples=len(x),
        clusters=int(y.max()) + 1,
    )


def counted(x: Labels, y: Labels, bits_of: Callable[[Counts], float]) -> float:
    """H(x) + H(y) − H(x, y), with entropies from counts."""
    both = np.unique(x * (int(y.max()) + 1) + y, return_counts=True)[1]
    return bits_of(np.bincount(x)) + bits_of(np.bincount(y)) - bits_of(both)


def held_out(x: Labels, y: Labels, rng: np.random.Generator) -> float:
    """H(x) − the cross-entropy of p(x | y) from one half on the other half, both ways.

    p(x | y) is counted, with some weight, which is chosen as the best, on p(x).
    """
    half = rng.permutation(len(x)) % 2 == 0
    shares = np.bincount(x) / len(x)
    lost = []
    for weight in WEIGHTS:
        bits = 0.0
        for known, asked in ((half, ~half), (~half, half)):
            seen = np.unique(x[known] * (int(y.max()) + 1) + y[known], return_counts=True)
            cells = x[asked] * (int(y.max()) + 1) + y[asked]
            at = np.minimum(np.searchsorted(seen[0], cells), len(seen[0]) - 1)
            count = np.where(seen[0][at] == cells, seen[1][at], 0)
            there = np.bincount(y[known], minlength=int(y.max()) + 1)[y[asked]]
            bits -= float(np.log2((count + weight * shares[x[asked]]) / (there + weight)).sum())
        lost.append(bits / len(x))
    return entropy(np.bincount(x)) - min(lost)


def entropy(counts: Counts) -> float:
    """In bits, as if counts were probabilities: the plug-in estimate."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def grassberger(counts: Counts) -> float:
    """In bits, by Grassberger (2003): log N − Σ n G(n) / N, with G(n) = ψ(n) + (−1)ⁿ (ψ((n+1)/2) − ψ(n/2)) / 2.

    For large counts G(n) is log n, the plug-in estimate.
    """
    n, total = counts[counts > 0], int(counts.sum())
    g = digamma(n) + np.where(n % 2, -0.5, 0.5) * (digamma((n + 1) / 2) - digamma(n / 2))
    return float((np.log(total) - (n * g).sum() / total) / np.log(2))
