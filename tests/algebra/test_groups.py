import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.algebra.cascade import prefix_product
from glassformer.algebra.groups import SIMPLE, Group, Permutation, inverse, power, then
from glassformer.algebra.maps import products
from glassformer.automata import machine
from glassformer.errors import InputError


def generated(*generators: Permutation) -> Group:
    return Group.of(len(generators[0]), generators)


def of_zoo(spec: str) -> Group:
    letters = machine(spec).delta.tolist()
    return generated(*map(tuple, letters))


@st.composite
def groups(draw: st.DrawFn) -> Group:
    degree = draw(st.integers(1, 6))
    generators = draw(st.lists(st.permutations(range(degree)), min_size=1, max_size=3))
    return Group.of(degree, map(tuple, generators))


@pytest.mark.parametrize(
    ("spec", "name", "layers", "factors"),
    [
        ("cyclic(1)", "1", (), ()),
        ("cyclic(6)", "C6", ("C6",), ("C2", "C3")),
        ("cyclic(8)", "C8", ("C8",), ("C2", "C2", "C2")),
        ("C2^3", "C2×C2×C2", ("C2×C2×C2",), ("C2", "C2", "C2")),
        ("dihedral(3)", "S3", ("C2", "C3"), ("C2", "C3")),
        ("dihedral(4)", "D4", ("C2×C2", "C2"), ("C2", "C2", "C2")),
        ("dihedral(6)", "D6", ("C2×C2", "C3"), ("C2", "C2", "C3")),
        ("dihedral(7)", "D7", ("C2", "C7"), ("C2", "C7")),
        ("quaternion", "Q8", ("C2×C2", "C2"), ("C2", "C2", "C2")),
        ("alternating(4)", "A4", ("C3", "C2×C2"), ("C2", "C2", "C3")),
        ("alternating(5)", "A5", ("A5",), ("A5",)),
        ("symmetric(4)", "S4", ("C2", "C3", "C2×C2"), ("C2", "C2", "C2", "C3")),
        ("symmetric(5)", "S5", ("C2", "A5"), ("C2", "A5")),
        ("divisible(7)", "order 21", ("C3", "C7"), ("C3", "C7")),
    ],
)
def test_known_groups_are_named_and_split(
    spec: str, name: str, layers: tuple[str, ...], factors: tuple[str, ...]
) -> None:
    group = of_zoo(spec)
    assert (group.name, group.layers, group.simple_factors) == (name, layers, factors)
    assert group.solvable == (not any(factor.startswith("A") for factor in factors))


def test_perfect_groups_that_are_not_simple_are_split_too() -> None:
    affine = generated((1, 0, 3, 2, 5, 4, 7, 6), (0, 2, 4, 6, 1, 3, 5, 7), (0, 1, 3, 2, 4, 5, 7, 6))
    assert (affine.order, affine.simple_factors) == (1344, ("C2", "C2", "C2", "PSL(2,7)"))
    three_cycle, five_cycle = (1, 2, 0, 3, 4), (1, 2, 3, 4, 0)
    stay = (0, 1, 2, 3, 4)
    twice = [(*a, *(5 + i for i in b)) for g in (three_cycle, five_cycle) for a, b in ((g, stay), (stay, g))]
    assert generated(*twice).simple_factors == ("A5", "A5")


@pytest.mark.parametrize("n", [8, 20, 64])
def test_giants_are_known_at_once(n: int) -> None:
    cycle, swap = (*range(1, n), 0), (1, 0, *range(2, n))
    whole = Group.of(n + 1, [(*g, n) for g in (cycle, swap)])  # one point stays
    assert (whole.order, whole.name, whole.solvable) == (math.factorial(n), f"S{n}", False)
    assert whole.simple_factors == whole.layers == ("C2", f"A{n}")
    even = whole.derived_series[1]
    assert (even.order, even.name, even.giant) == (math.factorial(n) // 2, f"A{n}", "A")
    assert (*cycle, n) in whole
    assert ((*cycle, n) in even) == (n % 2 == 1)
    assert (*range(n - 1), n, n - 1) not in whole


@settings(max_examples=100)
@given(groups())
def test_order_and_membership_agree_with_the_list_of_elements(group: Group) -> None:
    listed = products(np.array(group.generators or [tuple(range(group.degree))]), 720).rows()
    assert group.order == len(listed) == len(group.elements)
    inside = set(map(tuple, listed.tolist()))
    rng = np.random.default_rng(0)
    for _ in range(20):
        permutation = tuple(rng.permutation(group.degree).tolist())
        assert (permutation in group) == (permutation in inside)


@settings(max_examples=100)
@given(groups())
def test_the_orders_of_the_simple_factors_multiply_to_that_of_the_group(group: Group) -> None:
    orders = {"A5": 60, "A6": 360} | {f"C{p}": p for p in (2, 3, 5)} | {name: order for order, name in SIMPLE.items()}
    assert math.prod(orders[factor] for factor in group.simple_factors) == group.order


@settings(max_examples=100)
@given(groups(), st.integers(0, 10**6))
def test_counting_along_the_derived_series_gives_the_product(group: Group, seed: int) -> None:
    elements = np.random.default_rng(seed).integers(0, group.order, (3, 25))
    found = prefix_product(group, elements)
    assert (found[:, 0] == 0).all()
    for word, products_ in zip(elements, found[:, 1:], strict=True):
        product = tuple(range(group.degree))
        for element, seen in zip(word, products_, strict=True):
            product = then(product, tuple(group.elements[element].tolist()))
            assert tuple(group.elements[seen].tolist()) == product


@given(st.permutations(range(6)).map(tuple), st.integers(-9, 9))
def test_powers_are_repeated_products(permutation: Permutation, exponent: int) -> None:
    expected = tuple(range(6))
    for _ in range(abs(exponent)):
        expected = then(expected, permutation if exponent > 0 else inverse(permutation))
    assert power(permutation, exponent) == expected


def test_a_group_too_large_to_be_listed_says_so() -> None:
    with pytest.raises(InputError, match="362,880 elements; it is listed up to 50,000"):
        _ = generated((*range(1, 9), 0), (1, 0, *range(2, 9))).elements
