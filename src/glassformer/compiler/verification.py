"""Is a built model right? Compare it with its machine, at every position of every word tried.

All words of the promised length when there are at most 2^16 of them: with their prefixes, that is every word there
is. Otherwise random words and nasty ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Integer

from glassformer.automata.words import chosen_words, every_word
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


def _describe(built: Built, word: Integer[np.ndarray, " length"]) -> str:
    machine = built.machine
    seen, right = built.states(word), machine.run(word)
    at = int(np.argmax(seen != right))
    return (
        f"after {machine.join(word[: at + 1])[-60:]!r} (position {at + 1}) the model says "
        f"{machine.states[seen[at]]!r}, the machine {machine.states[right[at]]!r}"
    )
