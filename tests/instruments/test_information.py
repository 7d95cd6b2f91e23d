"""Mutual information where it is known, and beside another estimator."""

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_classif

from glassformer.errors import InputError
from glassformer.instruments.information import between, information


def channel(kinds: int, each: int, flip: float, alike: int = 1) -> tuple[np.ndarray, np.ndarray, float]:
    """Labels, what so many of them become that are alike, or anything with some probability, and the bits it tells."""
    rng = np.random.default_rng(0)
    labels, groups = np.repeat(np.arange(kinds), each), kinds // alike
    others = np.where(rng.random(len(labels)) < flip, rng.integers(0, groups, len(labels)), labels // alike)
    wrong = flip * (groups - 1) / groups
    lost = 0.0
    for share, ways in ((1 - wrong, 1), (wrong, groups - 1)):
        if share:
            lost -= share * np.log2(share / ways)
    return labels, others, float(np.log2(groups) - lost)


@pytest.mark.parametrize("flip", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("each", [20, 100])
@pytest.mark.parametrize("kinds", [10, 50, 200])
@pytest.mark.parametrize("alike", [1, 5])
def test_known_information_is_found_and_bounded_from_below(kinds: int, each: int, flip: float, alike: int) -> None:
    labels, others, known = channel(kinds, each, flip, alike)
    vectors = np.random.default_rng(1).normal(size=(kinds, 24))[others] * 4
    vectors += np.random.default_rng(2).normal(size=vectors.shape)
    found = information(labels, vectors, clusters=2 * kinds)
    # the sample itself tells up to `error` more or less; the rest is what is left of the bias
    assert abs(found.bits - known) < (0.4 if each == 100 or alike == 1 else 0.8) + found.error
    assert found.held_out < known + found.error
    assert found.most == pytest.approx(np.log2(kinds))
    if flip == 1.0:
        assert abs(found.bits) < 0.1 + found.error
        assert found.plug_in == pytest.approx(found.null, abs=0.1 + found.error)


@pytest.mark.parametrize("each", [3, 4, 21, 22])
def test_clusters_that_tell_everything_tell_all_bits_and_no_more(each: int) -> None:
    labels = np.repeat(np.arange(30), each)
    found = between(labels, labels)
    assert found.bits == pytest.approx(found.most)


def test_as_many_clusters_as_vectors_are_refused() -> None:
    with pytest.raises(InputError, match="60 clusters of 60 vectors tell nothing"):
        between(np.repeat(np.arange(20), 3), np.arange(60))


def test_more_vectors_come_closer() -> None:
    errors = []
    for each in (20, 200, 2000):
        labels, others, known = channel(20, each, 0.5)
        errors.append(abs(between(labels, others).bits - known))
    assert errors[2] < 0.05
    assert errors[2] < errors[0]


def test_another_estimator_agrees() -> None:
    labels, others, _ = channel(4, 500, 0.3)
    line = others + 0.1 * np.random.default_rng(0).normal(size=len(others))
    nearest = mutual_info_classif(line[:, None], labels, random_state=0)[0] / np.log(2)  # by nearest neighbours
    assert information(labels, line[:, None], clusters=12).bits == pytest.approx(nearest, abs=0.1)


def test_clusters_fewer_than_labels_tell_less() -> None:
    labels, others, _ = channel(32, 50, 0.0)
    vectors = np.random.default_rng(1).normal(size=(32, 8))[others] * 5
    assert information(labels, vectors, clusters=8).bits <= 3.01 < information(labels, vectors, clusters=64).bits


def test_labels_that_are_all_alike_have_nothing_to_tell() -> None:
    found = information(np.zeros(50, dtype=int), np.random.default_rng(0).normal(size=(50, 3)), clusters=5)
    assert (found.bits, found.most) == (0.0, 0.0)


def test_vectors_that_are_all_alike_tell_nothing() -> None:
    found = information(np.arange(50) % 5, np.ones((50, 3)), clusters=5)
    assert found.clusters == 1
    assert found.bits == pytest.approx(0.0, abs=1e-9)


def test_the_same_seed_gives_the_same_number() -> None:
    labels, others, _ = channel(10, 20, 0.5)
    vectors = np.eye(10)[others] + 0.1 * np.random.default_rng(0).normal(size=(200, 10))
    assert information(labels, vectors, 20, seed=3) == information(labels, vectors, 20, seed=3)


@pytest.mark.parametrize(
    ("labels", "vectors", "message"),
    [
        (np.zeros(3, dtype=int), np.zeros((4, 2)), "vectors"),  # by type or by message
        (np.zeros(1, dtype=int), np.zeros((1, 2)), "two labels"),
        (np.zeros(3, dtype=int), np.full((3, 2), np.nan), "not finite"),
    ],
)
def test_what_cannot_be_measured_is_refused(labels: np.ndarray, vectors: np.ndarray, message: str) -> None:
    with pytest.raises((InputError, TypeError), match=message):
        information(labels, vectors)
