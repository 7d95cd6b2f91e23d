"""Words to try a machine with."""

import numpy as np
import pytest

from glassformer.automata import machine
from glassformer.automata.words import telling_word, wanderings


def test_a_telling_word_goes_where_one_stays_for_good_only_at_its_end() -> None:
    states = machine("regex:(ab)*").run(telling_word(machine("regex:(ab)*"), 20, np.random.default_rng(0)))
    dead = 2
    assert set(states) == {0, 1, dead}
    assert dead not in states[:10]


@pytest.mark.parametrize("spec", ["parity", "flipflop", "gridworld(4)", "symmetric(3)", "dyck(pairs=1, depth=3)"])
def test_a_telling_word_takes_most_steps_of_a_small_machine(spec: str) -> None:
    made = machine(spec)
    word = telling_word(made, 40, np.random.default_rng(0))
    before = [made.start, *made.run(word)[:-1]]
    seen, possible = len(set(zip(before, word, strict=True))), made.delta.size
    assert seen >= min(possible, 40) / 2


def test_words_that_keep_to_a_part_leave_it_each_at_a_moment_of_its_own() -> None:
    made, dead = machine("regex:(ab)*"), 2
    words = wanderings(made, 40, 200, np.random.default_rng(0), parts=np.array([0, 0, 1]))
    alive = (made.run(words) != dead).sum(axis=1)
    assert alive.min() < 5
    assert alive.max() > 35
    assert 15 < alive.mean() < 30  # without parts: fewer than 5
