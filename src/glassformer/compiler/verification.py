"""Is a built model right? Compare it with its machine, at every position of every word tried.

All words of the promised length when there are at most 2^16 of them: with their prefixes, that is every word there
is. Otherwise random words and the ones that break things: one letter only, letters in turn, one rare letter in a
sea of another, each prefix of the machine's own longest walk.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Integer

from glassformer.automata import Machine
from glassformer.compiler.build import Built
from glassformer.errors import InputError, whole_number

EVERY_WORD: Final = 2**16
MOST_LETTERS: Final = 2**28
"""Of all words together: 2 GiB."""


@dataclass(frozen=True)
class Report:
    """What was compared, and what was wrong."""

    words: int
    positions: int
    wrong: int
    longest: int
    exhaustive: bool
    first_mistake: str | None

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return dict(self.__dict__)


def verify(
    built: Built,
    words: int = 200,
    length: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Compare on all words of this length (default: the promised one), or on `words` random and nasty ones."""
    length = built.certificate.exact_length if length is None else length
    length, words = whole_number(length, "the length of words", least=1), whole_number(words, "a number of words", 1)
    seed = whole_number(seed, "a seed", least=0)
    if words * length > MOST_LETTERS:
        raise InputError(
            f"{words:,} words of {length:,} letters are too many at once; the limit is {MOST_LETTERS:,} letters"
        )
    machine = built.machine
    exhaustive = len(machine.symbols) ** length <= EVERY_WORD
    chosen = every_word(machine, length) if exhaustive else chosen_words(machine, length, words, seed)
    wrong, first = 0, None
    at_once = min(256, built.words_at_once(length))
    for begin in range(0, len(chosen), at_once):
        batch = chosen[begin : begin + at_once]
        differs = built.states(batch) != machine.run(batch)
        wrong += int(differs.sum())
        if first is None and differs.any():
            first = _describe(built, batch[differs.any(axis=1)][0])
        if progress:
            progress(begin + len(batch), len(chosen))
    return Report(len(chosen), int(chosen.size), wrong, length, exhaustive, first)


def every_word(machine: Machine, length: int) -> Integer[np.ndarray, "word length"]:
    """All words of a length."""
    k = len(machine.symbols)
    return np.array(list(itertools.product(range(k), repeat=length)), dtype=np.intp).reshape(-1, length)


def chosen_words(machine: Machine, length: int, count: int, seed: int) -> Integer[np.ndarray, "word length"]:
    """The nasty words first, then random ones: uniform, and with letters of very unequal frequency."""
    rng = np.random.default_rng(seed)
    nasty = list(itertools.islice(nasty_words(machine, length, rng), max(min(count, 5), count // 2)))
    k = len(machine.symbols)
    uniform = rng.integers(0, k, ((count - len(nasty) + 1) // 2, length))
    skewed = [rng.choice(k, length, p=rng.dirichlet(np.full(k, 0.3))) for _ in range(count - len(nasty) - len(uniform))]
    return np.vstack([*nasty, *uniform, *skewed]).astype(np.intp)


def nasty_words(machine: Machine, length: int, rng: np.random.Generator) -> Iterator[Integer[np.ndarray, " length"]]:
    """The longest walk; then constant, alternating and rare-letter words in turn, so that the first few have all."""
    k = len(machine.symbols)
    yield longest_walk(machine, length, rng)
    constant = [np.full(length, a) for a in range(k)]
    alternating, rare, early = [], [], []
    for a, b in itertools.permutations(range(k), 2):
        alternating.append(np.resize([a, b], length))
        rare.append(_with_one(a, b, length, int(rng.integers(length))))
        early.append(_with_one(a, b, length, 0))
    for kinds in itertools.zip_longest(constant, alternating, rare, early):
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


def _describe(built: Built, word: Integer[np.ndarray, " length"]) -> str:
    machine = built.machine
    seen, right = built.states(word), machine.run(word)
    at = int(np.argmax(seen != right))
    return (
        f"after {machine.join(word[: at + 1])[-60:]!r} (position {at + 1}) the model says "
        f"{machine.states[seen[at]]!r}, the machine {machine.states[right[at]]!r}"
    )
