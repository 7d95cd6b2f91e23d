"""How alike are two sets of vectors of the same things? CCA, SVCCA, PWCCA and CKA, from one pass in constant memory.

`Moments` accumulates means and covariances, centred and in float64, and those of two shards add up to those of both, so
that many workers give the same number as one. All similarities are computed from them and lie between 0 and 1. They do
not change when vectors are shifted or scaled, and take constant, repeated or unequally many columns as they come.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from glassformer.errors import InputError

NEGLIGIBLE: Final = 1e-12
"""Directions with less than this part of the largest variance are rounding: float64 sums keep some 15 digits."""
AT_ONCE: Final = 2**20
"""Numbers that are centred together, 8 MiB in float64."""
KEPT_VARIANCE: Final = 0.99
"""SVCCA looks at the fewest directions that have this part of the variance."""

Vectors: TypeAlias = Float[np.ndarray, "_ _"]
Matrix: TypeAlias = Float[np.ndarray, "_ _"]


@dataclass
class Moments:
    """Count, means and centred second moments of pairs of vectors (x, y), seen one batch after the other."""

    x_width: int
    y_width: int

    def __post_init__(self) -> None:
        width = self.x_width + self.y_width
        self.count = 0
        self.mean: Float[np.ndarray, " width"] = np.zeros(width)
        self.scatter: Matrix = np.zeros((width, width))

    def add(self, x: Vectors, y: Vectors) -> None:
        """See further vectors; row i of x and row i of y are of the same thing."""
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != self.x_width or y.shape[1] != self.y_width or len(x) != len(y):
            raise InputError(
                f"vectors are [sample, {self.x_width}] and as many [sample, {self.y_width}]; these are "
                f"{list(x.shape)} and {list(y.shape)}"
            )
        rows = max(1, AT_ONCE // len(self.mean))
        room = np.empty((min(rows, len(x)), len(self.mean)))
        for i in range(0, len(x), rows):
            both = room[: len(x) - i]
            both[:, : self.x_width], both[:, self.x_width :] = x[i : i + rows], y[i : i + rows]
            if not np.isfinite(both).all():
                raise InputError("some of the vectors are not finite")
            mean = both.mean(axis=0)
            both -= mean
            self.scatter += both.T @ both
            self._move(len(both), mean)

    def merge(self, other: Moments) -> None:
        """See what another one has seen."""
        if (self.x_width, self.y_width) != (other.x_width, other.y_width):
            raise InputError("moments of vectors of other widths cannot be merged")
        self.scatter += other.scatter
        self._move(other.count, other.mean)

    def _move(self, count: int, mean: Float[np.ndarray, " width"]) -> None:
        """Chan's rule: beside the scatter of both there is what the distance of their means adds."""
        both = self.count + count
        if not self.count or not count:
            self.mean, self.count = mean if count else self.mean, both
            return
        apart = mean - self.mean
        part = apart * (self.count * count / both)
        for i, row in enumerate(self.scatter):
            row += part[i] * apart
        self.mean = self.mean + apart * (count / both)
        self.count = both

    @property
    def xx(self) -> Matrix:
        """The covariance of x."""
        return self.scatter[: self.x_width, : self.x_width] / self.count

    @property
    def yy(self) -> Matrix:
        """The covariance of y."""
        return self.scatter[self.x_width :, self.x_width :] / self.count

    @property
    def xy(self) -> Matrix:
        """The covariance of x with y."""
        return self.scatter[: self.x_width, self.x_width :] / self.count


class Whitened(NamedTuple):
    """Directions in which vectors have variance 1, as columns, and the variances along them before."""

    directions: Matrix
    variances: Float[np.ndarray, " direction"]


class Canonical(NamedTuple):
    """Correlations, and the canonical directions of x and of y, as columns."""

    correlations: Float[np.ndarray, " direction"]
    x: Matrix
    y: Matrix


@dataclass(frozen=True)
class Similarity:
    """All that moments tell about how alike x and y are."""

    moments: Moments

    def __post_init__(self) -> None:
        if self.moments.count < 2:
            raise InputError("two vectors are the least that can vary together")

    @cached_property
    def canonical(self) -> Canonical:
        """The directions of x and y that correlate most, each uncorrelated with those before (CCA)."""
        return canonical(whitened(self.moments.xx), whitened(self.moments.yy), self.moments.xy)

    @property
    def cca(self) -> float:
        """The mean canonical correlation."""
        return _mean(self.canonical.correlations)

    @property
    def svcca(self) -> float:
        """The same of the directions that have most of the variance (Raghu et al. 2017)."""
        parts = (largest(whitened(self.moments.xx)), largest(whitened(self.moments.yy)))
        return _mean(canonical(*parts, self.moments.xy).correlations)

    @property
    def pwcca(self) -> float:
        """Correlations weighted by how much of x their directions account for (Morcos et al. 2018).

        The weight of a canonical variate h of x is Σⱼ |⟨h, xⱼ⟩| over the centred columns xⱼ.
        """
        weights = np.abs(self.canonical.x.T @ self.moments.xx).sum(axis=1)
        return _mean(self.canonical.correlations, weights)

    @property
    def symmetric_pwcca(self) -> float:
        """The mean of what weights from x and weights from y give."""
        weights = np.abs(self.canonical.y.T @ self.moments.yy).sum(axis=1)
        return (self.pwcca + _mean(self.canonical.correlations, weights)) / 2

    @property
    def pwcca_as_published(self) -> float:
        """What the widely used code gives, which is not the definition: a shift of x changes it.

        Its weights are Σⱼ |⟨pᵢ, xⱼ⟩| with uncentred xⱼ and an orthonormal basis pᵢ, by Gram and Schmidt, of
        uᵢᵀ(x − mean) plus the mean of column i. Here u are the canonical directions of *whitened* x, but x is not
        whitened; their signs are those that the SVD happens to give. It knows no x that is wider than y, or does not
        span its dimensions.
        """
        means = self.moments.mean[: self.moments.x_width]
        x, y = whitened(self.moments.xx), whitened(self.moments.yy)
        if len(x.variances) < len(means) or len(y.variances) < len(means):
            raise InputError("the widely used code fails where x is wider than y, or does not span its dimensions")
        left, correlations, _ = np.linalg.svd(_inverse_root(x) @ self.moments.xy @ _inverse_root(y))
        along, shift = left.T @ self.moments.xx, np.outer(means, means)
        basis = np.linalg.cholesky(along @ left + shift)
        return _mean(correlations, np.abs(np.linalg.solve(basis, along + shift)).sum(axis=1))

    @property
    def cka(self) -> float:
        """‖Cov(x, y)‖² / (‖Cov(x, x)‖ ‖Cov(y, y)‖), in Frobenius norm: linear CKA (Kornblith et al. 2019)."""
        below = float(np.linalg.norm(self.moments.xx) * np.linalg.norm(self.moments.yy))
        return float(np.linalg.norm(self.moments.xy)) ** 2 / below if below else 0.0


def whitened(covariance: Matrix) -> Whitened:
    """Directions of unit variance; those without variance are left out."""
    variances, vectors = np.linalg.eigh(covariance)
    some = variances > NEGLIGIBLE * max(variances[-1], 0.0)
    some &= variances > 0
    return Whitened(vectors[:, some] / np.sqrt(variances[some]), variances[some])


def largest(white: Whitened) -> Whitened:
    """The fewest directions that have most of the variance."""
    order = np.argsort(white.variances)[::-1]
    shares = np.cumsum(white.variances[order]) / max(white.variances.sum(), np.finfo(float).tiny)
    few = order[: int(np.searchsorted(shares, KEPT_VARIANCE)) + 1]
    return Whitened(white.directions[:, few], white.variances[few])


def canonical(x: Whitened, y: Whitened, xy: Matrix) -> Canonical:
    """Rotations of the whitened vectors that make them correlate column by column."""
    left, correlations, right = np.linalg.svd(x.directions.T @ xy @ y.directions, full_matrices=False)
    return Canonical(np.clip(correlations, 0.0, 1.0), x.directions @ left, y.directions @ right.T)


def _inverse_root(white: Whitened) -> Matrix:
    """The symmetric inverse square root of the covariance that was whitened."""
    root: Matrix = (white.directions * np.sqrt(white.variances)) @ white.directions.T
    return root


def _mean(values: Float[np.ndarray, " direction"], weights: Float[np.ndarray, " direction"] | None = None) -> float:
    """The weighted mean; of nothing it is 0: what does not vary is like nothing."""
    if not len(values):
        return 0.0
    return float(np.average(values, weights=weights))
