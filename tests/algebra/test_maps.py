import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.algebra.maps import Packing, products


def random_maps(points: int, count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, points, (count, points))


def closure(letters: np.ndarray) -> list[tuple[int, ...]]:
    """All products, by the book: shortest first."""
    found = [tuple(range(letters.shape[1]))]
    for element in found:
        for letter in letters:
            product = tuple(int(letter[i]) for i in element)
            if product not in found:
                found.append(product)
    return found


@pytest.mark.parametrize("points", [1, 2, 3, 5, 8, 9, 16, 17, 33, 70, 300])
def test_packing_keeps_maps_and_multiplies_them(points: int) -> None:
    letters, rows = random_maps(points, 3, 0), random_maps(points, 50, 1)
    packing = Packing(letters)
    packed = packing.pack(rows)
    assert (packing.unpack(packed) == rows).all()
    longer = packing.then(packed)
    for letter in range(3):
        assert (packing.unpack(longer[:, letter]) == letters[letter][rows]).all()


@settings(max_examples=100)
@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 10**6))
def test_products_are_all_there_is_in_the_order_of_length(points: int, count: int, seed: int) -> None:
    letters = random_maps(points, count, seed)
    expected = closure(letters)
    for room in (1, 10**6):  # with and without a place for every map
        found = products(letters, room)
        assert list(map(tuple, found.rows().tolist())) == expected
        assert (found.number(found.rows()) == np.arange(len(found))).all()
        for letter in range(count):
            assert (found.number(letters[letter][found.rows()]) == found.then[:, letter]).all()


def test_the_hash_table_grows_with_many_elements_of_many_points() -> None:
    points = np.arange(20)
    swap = points.copy()
    swap[:2] = 1, 0
    found = products(np.array([np.roll(points, -2), swap]), 1)
    assert len(found) == 2**10 * 10  # ten pairs in a ring: each may be swapped, and the ring turns
    assert len(np.unique(found.rows(), axis=0)) == len(found)
