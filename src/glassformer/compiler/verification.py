"""Is a built model right? Compare it with its machine, at every position of every word tried.

All words of the promised length when there are at most 2^16 of them: with their prefixes, that is every word there
is. Otherwise random words and adversarial ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Integer

from glassformer.automata.words import chosen_words, every_word
from glassformer.compiler.built import Built
from glassformer.errors import InputError, whole_number
from glassformer.messages import Message
from glassformer.progress import Progress

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
    first_mistake: Message | None


def verify(
    built: Built,
    words: int = 200,
    length: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Compare on all words of this length (default: the promised one), or on `words` random and adversarial ones.

    `words` is how many, if there are too many to try all, and `seed` that of the random ones. Models that were changed
    since they were built are compared, too.
    """
    if not isinstance(built, Built):
        raise InputError("compiler.not_a_built", kind=type(built).__name__)
    length = built.certificate.exact_length if length is None else length
    length, words = whole_number(length, "compiler.words_length", least=1), whole_number(words, "compiler.words", 1)
    seed = whole_number(seed, "compiler.seed", least=0)
    if words * length > MOST_LETTERS:
        raise InputError("compiler.too_many_words", words=words, length=length, limit=MOST_LETTERS)
    machine = built.machine
    exhaustive = len(machine.symbols) ** length <= EVERY_WORD
    chosen = every_word(machine, length) if exhaustive else chosen_words(machine, length, words, seed)
    wrong, first = 0, None
    at_once = min(256, built.words_at_once(length))
    for begin in range(0, len(chosen), at_once):
        batch = chosen[begin : begin + at_once]
        differs = built.states_unchecked(batch) != machine.run(batch)
        wrong += int(differs.sum())
        if first is None and differs.any():
            first = _first_mistake(built, batch[differs.any(axis=1)][0])
        if progress:
            progress(begin + len(batch), len(chosen))
    return Report(len(chosen), int(chosen.size), wrong, length, exhaustive, first)


def _first_mistake(built: Built, word: Integer[np.ndarray, " length"]) -> Message:
    machine = built.machine
    answers, right = built.states_unchecked(word), machine.run(word)
    at = int(np.argmax(answers != right))
    return Message(
        "compiler.first_mistake",
        word=machine.join(word[: at + 1])[-60:],
        position=at + 1,
        found=machine.states[answers[at]],
        right=machine.states[right[at]],
    )
