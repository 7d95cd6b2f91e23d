"""Words to try a machine with."""

import numpy as np
import pytest

from glassformer.automata import machine
from glassformer.automata.words import example_word, exploring_words, lasting


def test_an_example_word_goes_where_one_stays_for_good_only_at_its_end() -> None:
    states = machine("regex:(ab)*").run(example_word(machine("regex:(ab)*"), 20, np.random.default_rng(0)))
    dead = 2
    assert set(states) == {0, 1, dead}
    assert dead not in states[:10]


@pytest.mark.parametrize("spec", ["parity", "flipflop", "gridworld(4)", "symmetric(3)", "dyck(pairs=1, depth=3)"])
def test_an_example_word_takes_most_steps_of_a_small_machine(spec: str) -> None:
    made = machine(spec)
    word = example_word(made, 40, np.random.default_rng(0))
    before = [made.start, *made.run(word)[:-1]]
    seen, possible = len(set(zip(before, word, strict=True))), made.delta.size
    assert seen >= min(possible, 40) / 2


@pytest.mark.parametrize(
    ("spec", "alive"), [("regex:(ab)*", "01"), ("regex:c(ab)*", "013"), ("parity", "01"), ("regex:ab", "")]
)
def test_states_last_from_where_one_can_keep_out_of_dead_ends(spec: str, alive: str) -> None:
    made = machine(spec)
    found = {state for state, lasts in zip(made.states, lasting(made), strict=True) if lasts}
    assert len(found) == len(alive)
    assert (made.states[made.start] in found) == bool(alive)


@pytest.mark.parametrize("spec", ["regex:(ab)*", "regex:c(ab)*", "regex:b(a|b)*a"])
def test_words_that_keep_out_of_dead_ends_do_so_each_until_a_moment_of_its_own(spec: str) -> None:
    made = machine(spec)
    home = lasting(made)
    words = exploring_words(made, 40, 200, np.random.default_rng(0), home)
    alive = home[made.run(words)].sum(axis=1)
    assert alive.min() < 5
    assert alive.max() > 35
    assert alive.mean() > 15
