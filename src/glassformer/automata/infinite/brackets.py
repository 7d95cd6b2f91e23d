"""Brackets, nested as deep as one likes: the languages of Dyck."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Integer

from glassformer.automata.infinite.machine import InfiniteMachine
from glassformer.automata.semiautomaton import Indices, Label, Word
from glassformer.automata.zoo import BRACKETS
from glassformer.errors import InputError
from glassformer.messages import Message

MOST_PAIRS = 1000


@dataclass(frozen=True)
class Brackets(InfiniteMachine):
    """Whether all brackets are closed, some are open, or one was wrong: of `pairs` kinds, as deep as one likes."""

    pairs: int = 2

    kind = "brackets"
    states: ClassVar[tuple[str, ...]] = ("empty", "open", "error")
    outputs: ClassVar[tuple[Label, ...]] = (True, False, False)

    def __post_init__(self) -> None:
        if not 1 <= self.pairs <= MOST_PAIRS:
            raise InputError("infinite.pairs", most=MOST_PAIRS, pairs=self.pairs)

    @cached_property
    def symbols(self) -> tuple[str, ...]:  # type: ignore[override]
        """( and ), [ and ], …; with more kinds than there are brackets in ASCII, (1 and )1, (2 and )2, …"""
        if self.pairs <= len(BRACKETS):
            return tuple("".join(BRACKETS[: self.pairs]))
        return tuple(f"{bracket}{kind}" for kind in range(1, self.pairs + 1) for bracket in "()")

    @property
    def why(self) -> Message:
        """All the brackets that are open must be remembered."""
        return Message("infinite.brackets_why")

    def run(self, word: Word) -> Indices:
        """Push what opens, pop what closes; what is popped must be of the same kind, and there."""
        letters = self.encode(word)
        *batch, length = letters.shape
        rows = letters.reshape(math.prod(batch), length).astype(np.intp)
        each = np.arange(len(rows))
        stack = np.full((len(rows), length + 1), -1)  # a bracket that stands at level d is in column d, from 1 on
        depth, wrong = np.zeros(len(rows), dtype=np.intp), np.zeros(len(rows), dtype=bool)
        answers = np.empty(rows.shape, dtype=np.intp)
        for at in range(length):
            kind, closes = rows[:, at] // 2, rows[:, at] % 2
            level = np.maximum(depth + 1 - closes, 0)
            wrong |= (closes == 1) & (stack[each, level] != kind)
            stack[each, level] = np.where(closes, stack[each, level], kind)
            depth = np.maximum(level - closes, 0)
            answers[:, at] = np.where(wrong, 2, depth > 0)
        return answers.reshape(letters.shape)

    def words(self, length: int, count: int, rng: np.random.Generator) -> Integer[np.ndarray, "word length"]:
        """Of six words, three without an error, two of these with one letter changed, and one drawn letter by letter.

        Those without an error climb up to a place of their own, and down from there, with steps the other way; the
        first goes straight to half of the length, and back.
        """
        climbs = rng.choice([0.5, 0.7, 0.9, 1.0], (count, 1))
        tops = rng.integers(0, length + 1, (count, 1))
        climbs[:1], tops[:1] = 1.0, length // 2
        opens = rng.random((count, length)) < np.where(np.arange(length) < tops, climbs, 1 - climbs)
        words = self._closed_in_order(opens, rng.integers(0, self.pairs, (count, length)))
        changed = np.arange(1, count, 3)
        words[changed, rng.integers(0, length, len(changed))] = rng.integers(0, 2 * self.pairs, len(changed))
        words[5::6] = rng.integers(0, 2 * self.pairs, words[5::6].shape)
        return words

    def _closed_in_order(self, opens: np.ndarray, kinds: np.ndarray) -> Integer[np.ndarray, "word length"]:
        """Words that open brackets of these kinds at these places, or if nothing is open, and else close the last."""
        count, length = opens.shape
        each, depth = np.arange(count), np.zeros(count, dtype=np.intp)
        stack, words = np.zeros((count, length + 1), dtype=np.intp), np.empty((count, length), dtype=np.intp)
        for at in range(length):
            opening = opens[:, at] | (depth == 0)
            depth = depth + opening
            stack[each, depth] = np.where(opening, kinds[:, at], stack[each, depth])
            words[:, at] = 2 * stack[each, depth] + ~opening
            depth = depth - ~opening
        return words
