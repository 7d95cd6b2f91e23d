"""Proof by execution: every cascade emulates its machine, stepwise and without recurrence, from every state."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.algebra import Limits, decompose
from glassformer.algebra.cascade import Cascade, lowest
from glassformer.algebra.limits import TooLargeError, Watch
from glassformer.automata import Machine, machine, zoo
from oracle import ROWS, machine_of
from strategies import machines


def check(given_machine: Machine, cascade: Cascade, words: int, length: int, seed: int = 0) -> None:
    letters = np.random.default_rng(seed).integers(0, len(given_machine.symbols), (words, length))
    states = range(len(given_machine.states))
    expected = np.stack([given_machine.run(letters, start) for start in states])
    starts, from_all = np.repeat(states, words).reshape(-1, words), np.broadcast_to(letters, expected.shape)
    assert (cascade.run(from_all, starts) == expected).all()
    assert (cascade.evaluate(from_all, starts) == expected).all()


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("spec", zoo.SPECIMENS)
def test_every_zoo_machine_is_emulated(spec: str, merge: bool) -> None:
    made = machine(spec)
    few = len(made.states) > 20
    check(made, decompose(made, merge), 2 if few else 5, 20 if few else 50)


@pytest.mark.usefixtures("types_unchecked")  # the other tests check them, and here they would take most of the time
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_machine=machines(), seed=st.integers(0, 10**6))
def test_random_machines_are_emulated_with_and_without_merging(given_machine: Machine, seed: int) -> None:
    plain = decompose(given_machine, merge=False)
    check(given_machine, plain, 2, 24, seed)
    if (fewer := lowest(plain)) is not plain:
        check(given_machine, fewer, 2, 24, seed)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_levels_tiles_groups_and_height_equal_the_oracle(row: dict[str, Any]) -> None:
    made = machine_of(row)
    cascade = decompose(made, merge=False)
    check(made, cascade, 3, 40)
    components = cascade.decomposition.components
    described = [
        f"{c.points}:{c.group.order}" if c.group.order > 1 else str(c.points)
        for c in sorted(components, key=lambda c: c.level)
    ]
    assert len(cascade.levels) == row["levels"]
    assert "; ".join(described) == row["comps"]
    assert cascade.solvable == row["solvable"]
    if row["solvable"]:
        assert cascade.height == row["depth_abelian"]
    merged = decompose(made)
    check(made, merged, 3, 40)
    assert merged.height <= cascade.height


def test_tables_are_keyed_by_sets_and_stay_small() -> None:
    rows = {n: sum(len(level.keys) for level in decompose(zoo.transformations(n)).levels) for n in (6, 8)}
    assert rows == {6: 188, 8: 870}  # the chains of sets would be n!: 720 and 40,320


def test_merging_makes_cascades_lower() -> None:
    star = machine("regex:a*b*a*b*")
    assert (len(decompose(star, merge=False).levels), len(decompose(star).levels)) == (5, 3)
    random = [zoo.random(10, letters=2, seed=seed) for seed in range(20)]
    plain = sum(len(decompose(each, merge=False).levels) for each in random)
    merged = sum(len(decompose(each).levels) for each in random)
    assert merged < 0.8 * plain


def test_the_height_counts_abelian_groups_and_memories() -> None:
    assert not decompose(zoo.alternating(5)).solvable
    assert decompose(zoo.permutation_reset(4)).height == 4
    assert decompose(zoo.gridworld(9)).height == 8


def test_machines_without_levels_work() -> None:
    one = Machine(("q",), ("a",), np.array([[0]]))
    cascade = decompose(one)
    assert (cascade.levels, cascade.height) == ([], 0)
    check(one, cascade, 2, 5)
    idle = Machine(("p", "q"), ("a",), np.array([[0, 1]]))
    assert decompose(idle).height == 0
    check(idle, decompose(idle), 2, 5)


def test_words_start_from_one_state_or_each_from_its_own() -> None:
    cascade, words = decompose(zoo.gridworld(4)), np.random.default_rng(0).integers(0, 2, (3, 4, 9))
    for start in (2, "2"):
        for way in (cascade.run, cascade.evaluate):
            assert (way(words, start) == way(words, np.full((3, 4), 2))).all()
            assert (way(words[0, 0], start) == way(words, start)[0, 0]).all()


def test_a_spec_names_its_machine() -> None:
    assert decompose("resettable(3)").height == decompose(machine("resettable(3)")).height


def test_words_may_be_empty_and_batches_of_any_shape() -> None:
    cascade = decompose(zoo.abab())
    for shape in ((0,), (3, 0), (0, 4), (2, 3, 5)):
        word = np.zeros(shape, dtype=np.intp)
        assert cascade.run(word).shape == cascade.evaluate(word).shape == shape


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(images=10), "images of the states stopped at a limit, with"),
        (Limits(rows=50), r"more than 50 table rows, the limit \(\d+ were found\)"),
        (Limits(points=7), "more than 7 points of one group, the limit"),
        (Limits(seconds=0), "stopped at a limit|seconds, the limit, were over"),
    ],
)
def test_limits_are_stated_with_the_count_reached(limits: Limits, message: str) -> None:
    with pytest.raises(TooLargeError, match=message):
        decompose(zoo.transformations(8), watch=Watch(limits))
