"""Similarities from moments: equal to the definitions by plain SVD, mergeable, and unmoved by what must not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.errors import InputError
from glassformer.instruments.similarity import Moments, Similarity


def seen(x: np.ndarray, y: np.ndarray, batches: int = 1) -> Moments:
    moments = Moments(x.shape[1], y.shape[1])
    for some, others in zip(np.array_split(x, batches), np.array_split(y, batches), strict=True):
        moments.add(some, others)
    return moments


def similarity(x: np.ndarray, y: np.ndarray) -> Similarity:
    return Similarity(seen(x, y))


def related(
    seed: int, samples: int = 500, x_width: int = 6, y_width: int = 8, hidden: int = 4
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(samples, hidden))
    x = shared @ rng.normal(size=(hidden, x_width)) + 0.5 * rng.normal(size=(samples, x_width))
    y = shared @ rng.normal(size=(hidden, y_width)) + 0.5 * rng.normal(size=(samples, y_width))
    return x, y


def by_svd(x: np.ndarray, y: np.ndarray, kept: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Canonical correlations and variates by SVDs of the whole data, as the definition says."""
    bases = []
    for data in (x - x.mean(axis=0), y - y.mean(axis=0)):
        left, values, _ = np.linalg.svd(data, full_matrices=False)
        rank = int((values > 1e-6 * values[0]).sum())
        if kept < 1:
            rank = int(np.searchsorted(np.cumsum(values**2) / (values**2).sum(), kept)) + 1
        bases.append(left[:, :rank])
    left, correlations, right = np.linalg.svd(bases[0].T @ bases[1], full_matrices=False)
    return correlations, bases[0] @ left, bases[1] @ right.T


def weighted(correlations: np.ndarray, variates: np.ndarray, x: np.ndarray) -> float:
    weights = np.abs(variates.T @ (x - x.mean(axis=0))).sum(axis=1)
    return float((weights * correlations).sum() / weights.sum())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9))
def test_every_similarity_is_that_of_its_definition_by_plain_svd(seed: int, x_width: int, y_width: int) -> None:
    x, y = related(seed, x_width=x_width, y_width=y_width)
    found = similarity(x, y)
    correlations, of_x, of_y = by_svd(x, y)
    # a covariance squares the condition of the data, some 10³ here, so half of float64's 16 digits are left and more
    assert found.x_canonical.correlations == pytest.approx(correlations, abs=1e-9)
    assert found.cca == pytest.approx(correlations.mean(), abs=1e-9)
    assert found.pwcca == pytest.approx(weighted(correlations, of_x, x), abs=1e-8)
    both = (weighted(correlations, of_x, x) + weighted(correlations, of_y, y)) / 2
    assert found.symmetric_pwcca == pytest.approx(both, abs=1e-8)
    assert found.svcca == pytest.approx(by_svd(x, y, 0.99)[0].mean(), abs=1e-9)
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    cka = np.linalg.norm(a.T @ b) ** 2 / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b))
    assert found.cka == pytest.approx(cka, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_shards_that_are_merged_give_the_same_number(seed: int, shards: int) -> None:
    x, y = related(seed)
    x = x + 20 * np.sin(np.arange(len(x)))[:, None]  # shards with other means
    whole = Similarity(seen(x, y))
    merged = Moments(6, 8)
    for some, others in zip(np.array_split(x, shards), np.array_split(y, shards), strict=True):
        merged.merge(seen(some, others, batches=2))
    for kind in ("cca", "svcca", "pwcca", "symmetric_pwcca", "cka"):
        assert getattr(Similarity(merged), kind) == pytest.approx(getattr(whole, kind), abs=1e-9)


@pytest.mark.parametrize("shift", [0.0, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("kind", ["cca", "svcca", "pwcca", "symmetric_pwcca", "cka"])
def test_a_shift_or_a_scale_changes_nothing(shift: float, scale: float, kind: str) -> None:
    x, y = related(0)
    moved = similarity(scale * (x + shift), y - 3 * shift)
    assert getattr(moved, kind) == pytest.approx(getattr(similarity(x, y), kind), abs=1e-8)


def test_float32_vectors_far_from_zero_are_not_lost() -> None:
    x, y = related(1)
    near, far = similarity(x, y), similarity((x + 100).astype(np.float32), y.astype(np.float32))
    assert far.pwcca == pytest.approx(near.pwcca, abs=1e-4)  # float32 has 7 digits, two of which the mean takes


def test_an_invertible_map_changes_no_correlation() -> None:
    x, y = related(2)
    turned = x @ np.random.default_rng(0).normal(size=(6, 6))
    assert similarity(turned, y).cca == pytest.approx(similarity(x, y).cca, abs=1e-9)
    assert similarity(x, turned).pwcca == pytest.approx(1.0, abs=1e-9)


def test_vectors_are_as_like_themselves_as_can_be() -> None:
    x, _ = related(3)
    found = similarity(x, x)
    assert [found.cca, found.svcca, found.pwcca, found.symmetric_pwcca, found.cka] == pytest.approx([1.0] * 5)


def test_constant_repeated_and_dead_columns_add_nothing() -> None:
    x, y = related(4)
    more = np.concatenate([x, np.full((len(x), 1), 7.0), x[:, :2], x[:, :1] + x[:, 1:2], np.zeros((len(x), 1))], axis=1)
    assert similarity(more, y).cca == pytest.approx(similarity(x, y).cca, abs=1e-8)
    assert len(similarity(more, y).x_canonical.correlations) == 6


def test_what_does_not_vary_is_like_nothing() -> None:
    _, y = related(5)
    found = similarity(np.full((len(y), 3), 2.5), y)
    assert [found.cca, found.svcca, found.pwcca, found.symmetric_pwcca, found.cka] == [0.0] * 5


def test_fewer_vectors_than_columns_correlate_perfectly_but_do_not_fail() -> None:
    x, y = related(6, samples=5)
    assert similarity(x, y).cca == pytest.approx(1.0)


def test_the_variant_of_the_widely_used_code_moves_with_the_mean() -> None:
    x, y = related(7, samples=3000)
    found = [similarity(x + shift, y).pwcca_as_published for shift in (0.0, 1.0, 1e4)]
    assert abs(found[1] - found[0]) > 0.01
    assert found[2] > 0.97
    with pytest.raises(InputError, match="wider than y"):
        _ = similarity(y, x).pwcca_as_published
    with pytest.raises(InputError, match="span"):
        _ = similarity(np.concatenate([x, x[:, :1]], axis=1), y).pwcca_as_published


def published(x: np.ndarray, y: np.ndarray) -> float:
    """The widely used variant, literally: variates of x that is not whitened, means added, uncentred projections."""
    covariance = np.cov(x.T, y.T)
    width = x.shape[1]

    def inverse_root(matrix: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(matrix)
        return np.asarray((vectors / np.sqrt(values)) @ vectors.T)

    left, correlations, _ = np.linalg.svd(
        inverse_root(covariance[:width, :width]) @ covariance[:width, width:] @ inverse_root(covariance[width:, width:])
    )
    variates = (x - x.mean(axis=0)) @ left + x.mean(axis=0)
    basis, _ = np.linalg.qr(variates)
    weights = np.abs(basis.T @ x).sum(axis=1)
    return float((weights * correlations).sum() / weights.sum())


@pytest.mark.parametrize("shift", [0.0, 1.0, 30.0])
def test_the_variant_of_the_widely_used_code_is_reproduced(shift: float) -> None:
    x, y = related(8)
    assert similarity(x + shift, y).pwcca_as_published == pytest.approx(published(x + shift, y), abs=1e-8)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros((3, 6)), np.zeros((4, 8)), r"\[3, 6\] and \[4, 8\]"),
        (np.zeros((3, 5)), np.zeros((3, 8)), r"\[sample, 6\]"),
        (np.full((3, 6), np.nan), np.zeros((3, 8)), "not finite"),
    ],
)
def test_what_cannot_be_compared_is_refused(x: np.ndarray, y: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Moments(6, 8).add(x, y)


def test_too_few_vectors_are_refused() -> None:
    with pytest.raises(InputError, match="two vectors"):
        Similarity(Moments(2, 2))
    with pytest.raises(InputError, match="other widths"):
        Moments(2, 2).merge(Moments(2, 3))
