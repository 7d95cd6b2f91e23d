"""Theorem 3: walks between two walls, found in the machine itself, exact in two layers."""

from dataclasses import replace

import numpy as np
import pytest

from glassformer.automata import Machine, zoo
from glassformer.compiler.classification import classify
from glassformer.compiler.constructions.gridworld.walk import walk_of
from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify
from glassformer.errors import InputError


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9, 20])
@pytest.mark.parametrize("length", [1, 7, 60, 256])
@pytest.mark.usefixtures("types_unchecked")
def test_every_gridworld_is_exact_in_two_layers_from_every_kind_of_start(n: int, length: int) -> None:
    for start in {0, n // 2, n - 1}:
        built = compile(replace(zoo.gridworld(n), start=start), length, "gridworld")
        assert built.certificate.layers == 2
        assert built.certificate.exact_length == max(length, 2 * n)
        assert verify(built, words=12, length=length).wrong == 0


@pytest.mark.usefixtures("types_unchecked")
def test_it_is_exact_at_length_2048_in_float64() -> None:
    for n in (4, 20):
        assert verify(compile(zoo.gridworld(n), 2048, "gridworld", "float64"), words=2).wrong == 0


def renamed(machine: Machine, seed: int) -> Machine:
    """The same walk with its states and letters shuffled, and one letter twice."""
    rng = np.random.default_rng(seed)
    order, letters = rng.permutation(len(machine.states)), rng.permutation([0, 1, 2, 0])
    delta = np.argsort(order)[machine.delta[letters][:, order]]
    return Machine(tuple(f"s{i}" for i in range(len(order))), tuple("wxyz"), delta, int(rng.integers(len(order))))


@pytest.mark.parametrize("seed", range(5))
def test_a_walk_is_known_by_what_it_does_and_not_by_its_name(seed: int) -> None:
    made = renamed(zoo.gridworld(6), seed)
    assert walk_of(made) is not None
    built = compile(made, 100)
    assert (built.certificate.method, built.certificate.layers) == ("gridworld", 2)
    assert verify(built, words=20).wrong == 0


def test_other_machines_are_no_walks() -> None:
    for made in (zoo.cyclic(5), zoo.memory(3), zoo.dyck(pairs=1, depth=3), zoo.random(5), zoo.cyclic(1)):
        assert walk_of(made) is None
    with pytest.raises(InputError, match=r"not for method gridworld .*: a walk between two walls"):
        compile("cyclic(5)", 20, "gridworld")


@pytest.mark.parametrize("n", [2, 3, 7])
@pytest.mark.parametrize("steps", [(0, 1), (-1, 0), (1, 1), (-1, -1)])
def test_a_walk_that_never_turns_takes_one_layer_from_every_start(n: int, steps: tuple[int, int]) -> None:
    delta = np.stack([np.clip(np.arange(n) + step, 0, n - 1) for step in steps])
    for start in range(n):
        made = Machine(tuple(map(str, range(n))), ("a", "b"), delta, start)
        for length in (1, 9, 80):
            built = compile(made, length, "gridworld")
            assert built.certificate.layers == 1
            assert verify(built, words=12).wrong == 0


def test_counting_up_to_a_threshold_is_such_a_walk() -> None:
    assert classify("threshold(3)", length=80).depth["gridworld"] == 1
    assert compile("threshold(3)", 80).certificate.method == "gridworld"
