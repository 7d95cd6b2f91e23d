"""Brackets of bounded depth: found in the machine itself, exact in three layers, or two if of one kind."""

from dataclasses import replace

import numpy as np
import pytest

from glassformer.automata import Machine, zoo
from glassformer.compiler.classification import classify
from glassformer.compiler.constructions.stack.stack import stack_of
from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify
from glassformer.errors import InputError


@pytest.mark.parametrize(("pairs", "depth"), [(1, 1), (1, 4), (2, 1), (2, 3), (3, 3), (2, 6)])
@pytest.mark.parametrize("length", [1, 9, 100, 256])
@pytest.mark.usefixtures("types_unchecked")
def test_brackets_are_exact_in_three_layers_or_two_from_every_start(pairs: int, depth: int, length: int) -> None:
    made = zoo.dyck(pairs=pairs, depth=depth)
    for start in {0, 1, len(made.states) // 2, len(made.states) - 2, len(made.states) - 1}:
        built = compile(replace(made, start=start), length, "dyck")
        assert built.certificate.layers == (3 if pairs > 1 else 2)
        assert verify(built, words=20).wrong == 0


def balanced(made: Machine, length: int, words: int, errors: float) -> np.ndarray:
    """Words that stay within bounds for long: random letters that are no error, but for a few."""
    rng, error = np.random.default_rng(0), len(made.states) - 1
    drawn = np.empty((words, length), dtype=np.int64)
    for row in drawn:
        state = made.start
        for t in range(length):
            fine = np.flatnonzero(made.delta[:, state] != error)
            row[t] = rng.choice(fine) if len(fine) and rng.random() > errors else rng.integers(len(made.symbols))
            state = made.delta[row[t], state]
    return drawn


@pytest.mark.parametrize("errors", [0.0, 0.01])
@pytest.mark.usefixtures("types_unchecked")
def test_words_without_an_error_and_with_a_late_one_are_followed(errors: float) -> None:
    made = zoo.dyck(pairs=2, depth=3)
    for length, dtype in ((256, "float32"), (2048, "float64")):
        words = balanced(made, length, 8, errors)
        built = compile(made, length, "dyck", dtype)
        assert (built.states(words) == made.run(words)).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_stack_is_known_by_what_it_does_and_not_by_its_name(seed: int) -> None:
    rng, made = np.random.default_rng(seed), zoo.dyck(pairs=2, depth=3)
    delta = np.vstack([made.delta, np.arange(len(made.states))])  # and a letter that does nothing
    order, letters = rng.permutation(len(made.states)), rng.permutation([0, 1, 2, 3, 4, 0, 3])
    shuffled = np.argsort(order)[delta[letters][:, order]]
    renamed = Machine(
        tuple(f"s{i}" for i in range(len(order))), tuple("tuvwxyz"), shuffled, int(np.argsort(order)[made.start])
    )
    built = compile(renamed, 100)
    assert (built.certificate.method, built.certificate.layers) == ("dyck", 3)
    assert verify(built, words=20).wrong == 0


def test_other_machines_are_no_stacks() -> None:
    dyck = zoo.dyck(pairs=2, depth=3)
    forgiving = dyck.delta.copy()
    forgiving[1, -2] = 0  # a closing bracket that closes everything
    changed = replace(dyck, delta=forgiving)
    for made in (zoo.cyclic(5), zoo.memory(3), zoo.gridworld(4), zoo.random(5), zoo.cyclic(1), zoo.abab(), changed):
        assert stack_of(made) is None
    with pytest.raises(InputError, match=r"not for method dyck .Brackets of bounded depth"):
        compile("cyclic(5)", 20, "dyck")


def test_classify_announces_the_three_layers() -> None:
    assert classify("dyck(pairs=2, depth=3)", length=100).depth == {"log": 7, "cascade": 4, "dyck": 3}
    assert classify("dyck(pairs=1, depth=3)", length=100).depth["dyck"] == 2
    assert "dyck" not in classify("gridworld(4)").depth
