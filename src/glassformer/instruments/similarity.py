"""How similar are two sets of vectors of the same things? CCA, SVCCA, PWCCA and CKA, from one pass in constant memory.

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
from glassformer.instruments.layers import refuse_infinite

NEGLIGIBLE: Final = 1e-12
"""Directions with less than this part of the largest variance are rounding: float64 sums keep some 15 digits."""
CLEAR: Final = 1e-6
"""Where each column has this part of the largest variance for itself, none of the directions is rounding."""
AT_ONCE: Final = 2**20
"""Numbers that are centred together, 8 MiB in float64."""
ENOUGH: Final = 10
"""Vectors for each of their dimensions."""
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
        self.count = 0
        self.x_mean: Float[np.ndarray, " x"] = np.zeros(self.x_width)
        self.y_mean: Float[np.ndarray, " y"] = np.zeros(self.y_width)
        self.x_scatter: Matrix = np.zeros((self.x_width, self.x_width))
        self.y_scatter: Matrix = np.zeros((self.y_width, self.y_width))
        self.scatter: Matrix = np.zeros((self.x_width, self.y_width))

    def add(self, x: Vectors, y: Vectors) -> None:
        """See further vectors; row i of x and row i of y are of the same thing."""
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != self.x_width or y.shape[1] != self.y_width or len(x) != len(y):
            given = {"x": str(list(x.shape)), "y": str(list(y.shape))}
            raise InputError("instruments.pairs_of_vectors", x_width=self.x_width, y_width=self.y_width, **given)
        rows = min(len(x), max(1, AT_ONCE // (self.x_width + self.y_width)))
        rooms = np.empty((rows, self.x_width)), np.empty((rows, self.y_width))
        for i in range(0, len(x), rows or 1):
            (x_part, x_mean), (y_part, y_mean) = (
                centred(all_of_them[i : i + rows], room) for all_of_them, room in zip((x, y), rooms, strict=True)
            )
            self.x_scatter += x_part.T @ x_part
            self.y_scatter += y_part.T @ y_part
            self.scatter += x_part.T @ y_part
            self._move(len(x_part), x_mean, y_mean)

    def merge(self, other: Moments) -> None:
        """See what another one has seen."""
        if (self.x_width, self.y_width) != (other.x_width, other.y_width):
            raise InputError("instruments.other_widths")
        self.x_scatter += other.x_scatter
        self.y_scatter += other.y_scatter
        self.scatter += other.scatter
        self._move(other.count, other.x_mean, other.y_mean)

    def _move(self, count: int, x_mean: Float[np.ndarray, " x"], y_mean: Float[np.ndarray, " y"]) -> None:
        """Chan's rule: beside the scatter of both there is what the distance of their means adds."""
        both = self.count + count
        if not count:
            return
        x_apart, y_apart = x_mean - self.x_mean, y_mean - self.y_mean
        weight = self.count * count / both
        self.x_scatter += np.outer(weight * x_apart, x_apart)
        self.y_scatter += np.outer(weight * y_apart, y_apart)
        self.scatter += np.outer(weight * x_apart, y_apart)
        self.x_mean = self.x_mean + x_apart * (count / both)
        self.y_mean = self.y_mean + y_apart * (count / both)
        self.count = both

    @property
    def needed(self) -> int:
        """How many vectors are enough: with fewer, chance alone makes them correlate."""
        return ENOUGH * max(self.x_width, self.y_width)

    @property
    def enough(self) -> bool:
        """Whether there are so many."""
        return self.count >= self.needed

    @property
    def xx(self) -> Matrix:
        """The covariance of x."""
        return self.x_scatter / self.count

    @property
    def yy(self) -> Matrix:
        """The covariance of y."""
        return self.y_scatter / self.count

    @property
    def xy(self) -> Matrix:
        """The covariance of x with y."""
        return self.scatter / self.count


def centred(vectors: Vectors, room: Matrix) -> tuple[Matrix, Float[np.ndarray, " width"]]:
    """Vectors without their mean, in the room for them, and the mean."""
    own = room[: len(vectors)]
    own[:] = vectors
    mean: Float[np.ndarray, " width"] = own.mean(axis=0)
    refuse_infinite(mean)
    own -= mean
    return own, mean


class Whitened(NamedTuple):
    """Directions in which vectors have variance 1, as columns, and the variances along them before."""

    directions: Matrix
    variances: Float[np.ndarray, " direction"]


class Canonical(NamedTuple):
    """Correlations, and the canonical directions of one side, as columns."""

    correlations: Float[np.ndarray, " direction"]
    directions: Matrix


@dataclass(frozen=True)
class Similarity:
    """All similarities of x and y that follow from moments."""

    moments: Moments

    def __post_init__(self) -> None:
        if self.moments.count < 2:
            raise InputError("instruments.two_vectors")

    @cached_property
    def x_canonical(self) -> Canonical:
        """The directions of x that correlate most with y, each uncorrelated with those before (CCA)."""
        return canonical(whitening(self.moments.xx), whitening(self.moments.yy), self.moments.xy)

    @cached_property
    def y_canonical(self) -> Canonical:
        """Those of y that correlate most with x."""
        return canonical(whitening(self.moments.yy), whitening(self.moments.xx), self.moments.xy.T)

    @property
    def cca(self) -> float:
        """The mean canonical correlation."""
        return _mean(self.x_canonical.correlations)

    @property
    def svcca(self) -> float:
        """The same of the directions that have most of the variance (Raghu et al. 2017)."""
        x, y = (largest(whitened(each)).directions for each in (self.moments.xx, self.moments.yy))
        return _mean(canonical(x, y, self.moments.xy).correlations)

    @property
    def pwcca(self) -> float:
        """Correlations weighted by how much of x their directions account for (Morcos et al. 2018).

        The weight of a canonical variate h of x is Σⱼ |⟨h, xⱼ⟩| over the centred columns xⱼ.
        """
        weights = np.abs(self.x_canonical.directions.T @ self.moments.xx).sum(axis=1)
        return _mean(self.x_canonical.correlations, weights)

    @property
    def symmetric_pwcca(self) -> float:
        """The mean of what weights from x and weights from y give."""
        weights = np.abs(self.y_canonical.directions.T @ self.moments.yy).sum(axis=1)
        return (self.pwcca + _mean(self.y_canonical.correlations, weights)) / 2

    @property
    def pwcca_as_published(self) -> float:
        """What the widely used code gives, which is not the definition: a shift of x changes it.

        Its weights are Σⱼ |⟨pᵢ, xⱼ⟩| with uncentred xⱼ and an orthonormal basis pᵢ, by Gram and Schmidt, of
        uᵢᵀ(x − mean) plus the mean of column i. Here u are the canonical directions of *whitened* x, but x is not
        whitened; their signs are those that the SVD happens to give. It knows no x that is wider than y, or does not
        span its dimensions.
        """
        means = self.moments.x_mean
        x, y = whitened(self.moments.xx), whitened(self.moments.yy)
        if len(x.variances) < len(means) or len(y.variances) < len(means):
            raise InputError("instruments.published_fails")
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


def whitening(covariance: Matrix) -> Matrix:
    """Any directions of unit variance, as columns: by Cholesky's factor, which is quick, if all have variance."""
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return whitened(covariance).directions
    left_of_each_column = np.diagonal(factor) ** 2
    if left_of_each_column.min(initial=np.inf) < CLEAR * np.diagonal(covariance).max(initial=0.0):
        return whitened(covariance).directions
    inverse: Matrix = np.linalg.inv(factor).T
    return inverse


def canonical(x: Matrix, y: Matrix, xy: Matrix) -> Canonical:
    """Rotate x, directions of unit variance, so that its variates correlate one by one with some of y's.

    These are the left singular vectors of K = xᵀ·Cov·y, the eigenvectors of K·Kᵀ, which is quicker than an SVD. Lengths
    of Kᵀ·u are the correlations, with full accuracy, which roots of eigenvalues would not have.
    """
    shared = x.T @ xy @ y
    _, vectors = np.linalg.eigh(shared @ shared.T)
    left = vectors[:, ::-1][:, : min(shared.shape)]
    correlations = np.linalg.norm(shared.T @ left, axis=0)
    return Canonical(np.clip(correlations, 0.0, 1.0), x @ left)


def _inverse_root(white: Whitened) -> Matrix:
    """The symmetric inverse square root of the covariance that was whitened."""
    root: Matrix = (white.directions * np.sqrt(white.variances)) @ white.directions.T
    return root


def _mean(values: Float[np.ndarray, " direction"], weights: Float[np.ndarray, " direction"] | None = None) -> float:
    """The weighted mean; 0 if there are no directions."""
    if not len(values):
        return 0.0
    return float(np.average(values, weights=weights))
