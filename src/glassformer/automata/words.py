"""Words to test a machine with: all of a length, or random and adversarial ones.

The adversarial ones: one letter only, letters in turn, one rare letter in a sea of another, one letter and from the
middle on another, the machine's longest walk.
The random ones: letters drawn uniformly, with very unequal frequency, in runs, so that words go where few have been, or
so that what was before makes a difference for as long as it can.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

import numpy as np
from jaxtyping import Bool, Integer

from glassformer.automata.infinite import AnyMachine, InfiniteMachine
from glassformer.automata.semiautomaton import Alphabet, Machine

LEAVING_PENALTY: Final = 1e18
"""By how much a transition that leaves home is less wanted than any other."""


def every_word(machine: Alphabet, length: int) -> Integer[np.ndarray, "word length"]:
    """All words of a length."""
    k = len(machine.symbols)
    return np.array(list(itertools.product(range(k), repeat=length)), dtype=np.intp).reshape(-1, length)


def chosen_words(machine: AnyMachine, length: int, count: int, seed: int) -> Integer[np.ndarray, "word length"]:
    """Adversarial words first, then as many random ones of each kind; with infinitely many states the machine's own."""
    rng = np.random.default_rng(seed)
    if isinstance(machine, InfiniteMachine):
        return machine.words(length, count, rng)
    adversarial = list(itertools.islice(adversarial_words(machine, length, rng), max(min(count, 5), count // 2)))
    k = len(machine.symbols)
    uniform, skewed, runs, exploring, separating = ((count - len(adversarial) + kind) // 5 for kind in (4, 3, 2, 1, 0))
    return np.vstack(
        [
            *adversarial,
            *rng.integers(0, k, (uniform, length)),
            *(rng.choice(k, length, p=rng.dirichlet(np.full(k, 0.3))) for _ in range(skewed)),
            *words_in_runs(k, length, runs, rng),
            *exploring_words(machine, length, exploring, rng),
            *separating_words(machine, length, separating, rng),
        ]
    ).astype(np.intp)


def words_in_runs(
    letters: int, length: int, count: int, rng: np.random.Generator
) -> Integer[np.ndarray, "word length"]:
    """Random words in which letters repeat: in some a little, in others nearly always."""
    changes = rng.random((count, length)) < rng.uniform(0, 0.5, (count, 1))
    begins = np.maximum.accumulate(np.where(changes, np.arange(length), 0), axis=1)
    return np.take_along_axis(rng.integers(0, letters, (count, length)), begins, axis=1)


def exploring_words(
    machine: Machine,
    length: int,
    count: int,
    rng: np.random.Generator,
    home: Bool[np.ndarray, " state"] | None = None,
) -> Integer[np.ndarray, "word length"]:
    """Random words that prefer the states that all of them together have visited least, and so avoid dead ends.

    With `home`, some of the states, a word does not leave these until a moment of its own, if it can.
    """
    visits, states = np.ones(len(machine.states)), np.full(count, machine.start)
    stays_until = np.zeros(count) if home is None else rng.integers(0, length, count)
    words = np.empty((count, length), dtype=np.intp)
    for at in range(length):
        ahead = machine.delta[:, states]
        unwanted = visits[ahead] * rng.random(ahead.shape)
        if home is not None:
            unwanted[~home[ahead] & (at < stays_until)] *= LEAVING_PENALTY
        words[:, at] = letters = unwanted.argmin(axis=0)
        states = ahead[letters, np.arange(count)]
        np.add.at(visits, states, 1)
    return words


def separating_words(
    machine: Machine, length: int, count: int, rng: np.random.Generator
) -> Integer[np.ndarray, "word length"]:
    """Random words that, from a moment of their own in the first half on, keep as many states apart as one letter can.

    A walk then stays clear of the walls, and a reset is put off: the last letters alone do not tell the state.
    """
    states, letters = len(machine.states), len(machine.symbols)
    begins = rng.integers(0, max(1, length // 2), count)
    apart = np.ones((count, states), dtype=bool)
    words = np.empty((count, length), dtype=np.intp)
    each = np.arange(count)
    for at in range(length):
        after = np.zeros((letters, count, states), dtype=bool)
        word, state = np.nonzero(apart)
        for letter in range(letters):
            after[letter, word, machine.delta[letter, state]] = True
        wanted = after.sum(axis=2) * (at >= begins) + rng.random((letters, count))
        words[:, at] = wanted.argmax(axis=0)
        apart = np.where((at >= begins)[:, None], after[words[:, at], each], apart)
    return words


def lasting(machine: Machine) -> Bool[np.ndarray, " state"]:
    """The states from where one can keep out of dead ends for ever; a dead end is a state that no letter leaves."""
    alive = (machine.delta != np.arange(len(machine.states))).any(axis=0)
    while True:
        still = alive & alive[machine.delta].any(axis=0)
        if (still == alive).all():
            return np.asarray(alive)
        alive = still


def adversarial_words(
    machine: Machine, length: int, rng: np.random.Generator
) -> Iterator[Integer[np.ndarray, " length"]]:
    """The longest walk; then the others in turn, so that the first few have all."""
    k = len(machine.symbols)
    yield longest_walk(machine, length, rng)
    constant = [np.full(length, a) for a in range(k)]
    alternating, rare, early, halves = [], [], [], []
    for a, b in itertools.permutations(range(k), 2):
        alternating.append(np.resize([a, b], length))
        rare.append(_with_one(a, b, length, int(rng.integers(length))))
        early.append(_with_one(a, b, length, 0))
        halves.append(np.repeat([a, b], [length - length // 2, length // 2]))
    for kinds in itertools.zip_longest(constant, alternating, rare, early, halves):
        yield from (word for word in kinds if word is not None)


def _with_one(letter: int, other: int, length: int, at: int) -> Integer[np.ndarray, " length"]:
    word = np.full(length, letter)
    word[at] = other
    return word


def longest_walk(machine: Machine, length: int, rng: np.random.Generator) -> Integer[np.ndarray, " length"]:
    """A word that keeps going to the state it has seen least."""
    visits, state = np.zeros(len(machine.states)), machine.start
    letters = []
    for _ in range(length):
        ahead = machine.delta[:, state]
        letter = int(np.argmin(visits[ahead] + rng.random(len(ahead)) / 2))
        state = int(ahead[letter])
        visits[state] += 1
        letters.append(letter)
    return np.array(letters)


def example_word(machine: Machine, length: int, rng: np.random.Generator) -> Integer[np.ndarray, " length"]:
    """Of many random words the one with the most different transitions, then with the most that change the state."""
    words = np.vstack(
        [exploring_words(machine, length, 128, rng), rng.integers(0, len(machine.symbols), (128, length))]
    )
    after = machine.run(words)
    before = np.hstack([np.full((len(words), 1), machine.start), after[:, :-1]])
    steps = np.sort(before * len(machine.symbols) + words, axis=1)
    different = (np.diff(steps, axis=1) != 0).sum(axis=1)
    best = int(np.lexsort(((before != after).sum(axis=1), different))[-1])
    return np.asarray(words[best])
