"""How much do vectors tell about labels (S3.2, S3.3)? Mutual information in bits, by clusters of the vectors.

k-means makes each vector one of k clusters; what the cluster tells is at most what the vector tells. The plug-in
estimate of a table of counts is too large, by about (cells − rows − columns + 1) / 2N nats over those that are not
empty (Miller and Madow), which is taken off; what it says of shuffled labels, which tell nothing, is given beside it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from jaxtyping import Float, Integer

from glassformer.errors import InputError, whole_number

RESAMPLES: Final = 50
"""Of the bootstrap: its spread is known to a tenth then."""

Labels: TypeAlias = Integer[np.ndarray, " sample"]


@dataclass(frozen=True)
class Information:
    """Bits that clusters of vectors tell about labels."""

    bits: float
    """With the bias taken off."""
    error: float
    """The half-width of the 95 % interval, from resampled vectors."""
    plug_in: float
    """As counted, with its bias."""
    null: float
    """The same as `bits`, for shuffled labels: what is left of the bias."""
    most: float
    """The entropy of the labels: vectors that tell everything tell so much."""
    samples: int
    clusters: int

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


def information(
    labels: Labels, vectors: Float[np.ndarray, "sample width"], clusters: int = 1000, seed: int = 0
) -> Information:
    """The bits that vectors, by their clusters, tell about labels."""
    if labels.ndim != 1 or vectors.ndim != 2 or len(labels) != len(vectors):
        raise InputError(f"labels are [sample] and vectors [sample, width], not {labels.shape} and {vectors.shape}")
    if len(labels) < 2:
        raise InputError("two labels are the least that can be told apart")
    if not np.isfinite(vectors).all():
        raise InputError("some of the vectors are not finite")
    return between(labels, clustered(vectors, clusters, seed), seed)


def clustered(vectors: Float[np.ndarray, "sample width"], clusters: int, seed: int = 0) -> Labels:
    """The number of each vector's cluster, by mini-batch k-means."""
    try:
        from sklearn.cluster import MiniBatchKMeans
    except ImportError:
        raise InputError("vectors are clustered by scikit-learn: pip install 'glassformer[text]'") from None
    whole_number(clusters, "the number of clusters", least=1)
    count = min(clusters, len(np.unique(vectors, axis=0)))
    means = MiniBatchKMeans(count, batch_size=1024, n_init=1, random_state=seed, reassignment_ratio=0.0)
    found: Labels = means.fit_predict(vectors.astype(np.float32)).astype(np.int64)
    return found


def between(labels: Labels, others: Labels, seed: int = 0) -> Information:
    """The bits that one label of each thing tells about its other label."""
    x, y = (np.unique(each, return_inverse=True)[1].ravel() for each in (labels, others))
    rng = np.random.default_rng(seed)
    again = (rng.integers(0, len(x), len(x)) for _ in range(RESAMPLES))
    spread = float(np.std([corrected(x[i], y[i]) for i in again], ddof=1))
    return Information(
        bits=corrected(x, y),
        error=1.96 * spread,
        plug_in=plug_in(x, y)[0],
        null=corrected(rng.permutation(x), y),
        most=entropy(np.bincount(x)),
        samples=len(x),
        clusters=int(y.max()) + 1,
    )


def corrected(x: Labels, y: Labels) -> float:
    """The plug-in estimate without its expected bias."""
    bits, bias = plug_in(x, y)
    return bits - bias


def plug_in(x: Labels, y: Labels) -> tuple[float, float]:
    """H(x) + H(y) − H(x, y) as counted, in bits, and by how much that is too large on average."""
    both = np.unique(x * (int(y.max()) + 1) + y, return_counts=True)[1]
    rows, columns = np.bincount(x), np.bincount(y)
    cells = len(both) - np.count_nonzero(rows) - np.count_nonzero(columns) + 1
    return entropy(rows) + entropy(columns) - entropy(both), cells / (2 * len(x) * math.log(2))


def entropy(counts: Integer[np.ndarray, " value"]) -> float:
    """In bits."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
