"""Sequences that become others: copy, reverse, sort, recall what stood beside a key, or two, rewrite a date.

A batch is source, separator, prompt, answer; all sources of a batch have one length, so that nothing is padded. Asked
is every token of the answer, each after those before it. The prompt is a start token, or the keys that are asked for.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import torch
from jaxtyping import Int

from glassformer.errors import InputError, whole_number
from glassformer.training.batch import IGNORE_INDEX, Batch

LONGEST: Final = 2**12
Rows: TypeAlias = Int[np.ndarray, "_ _"]
Drawn: TypeAlias = tuple[Rows, Rows | None, Rows]
"""Sources, prompts if they are no start tokens, and answers."""
Draw: TypeAlias = Callable[[np.random.Generator, int, int, int, int | None], Drawn]
"""So many sources of a length, of so many letters; of recall, with a distance."""


def changed(change: Callable[[Rows], Rows]) -> Draw:
    """Random letters, and what a function makes of them."""

    def drawn(rng: np.random.Generator, rows: int, length: int, letters: int, distance: int | None) -> Drawn:
        source = rng.integers(0, letters, (rows, length))
        return source, None, change(source)

    return drawn


def recalled(rng: np.random.Generator, rows: int, length: int, letters: int, distance: int | None) -> Drawn:
    """Pairs of key and value, then one of the keys; the answer is its value.

    The distance counts pairs from the end, from 1. Keys are letters of the first half, different in one source, values
    of the second.
    """
    keys, values = keys_and_values(rng, rows, length, letters, letters // 2)
    which = rng.integers(0, length, rows) if distance is None else np.full(rows, length - distance)
    every = np.arange(rows)
    return interleaved(keys, values), keys[every, which, None], values[every, which, None]


def fetched(rng: np.random.Generator, rows: int, length: int, letters: int, distance: int | None) -> Drawn:
    """The same with two keys at once, and one answer for both values in their order: v·first + second, of v values."""
    kinds = math.isqrt(letters)
    keys, values = keys_and_values(rng, rows, length, letters, kinds)
    first, second = rng.permuted(np.tile(np.arange(length), (rows, 1)), axis=1)[:, :2].T
    every, number = np.arange(rows), values - letters // 2
    asked = np.stack([keys[every, first], keys[every, second]], axis=1)
    return interleaved(keys, values), asked, (kinds * number[every, first] + number[every, second])[:, None]


def keys_and_values(rng: np.random.Generator, rows: int, length: int, letters: int, kinds: int) -> tuple[Rows, Rows]:
    """Different keys, and values of some kinds."""
    half = letters // 2
    if not 2 <= length <= half:
        raise InputError("sequences.pairs", letters=letters, half=half, length=length)
    keys = rng.permuted(np.tile(np.arange(half), (rows, 1)), axis=1)[:, :length]
    return keys, rng.integers(half, half + kinds, (rows, length))


def interleaved(keys: Rows, values: Rows) -> Rows:
    """Each key with its value behind it."""
    return np.stack([keys, values], axis=2).reshape(len(keys), -1)


MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
FORMATS: Final[tuple[Callable[[datetime.date], str], ...]] = (
    lambda d: f"{d.day} {MONTHS[d.month - 1]} {d.year}",
    lambda d: f"{MONTHS[d.month - 1]} {d.day}, {d.year}",
    lambda d: f"{d.day} {MONTHS[d.month - 1][:3]} {d.year}",
    lambda d: f"{MONTHS[d.month - 1][:3]} {d.day}, {d.year}",
    lambda d: f"{DAYS[d.weekday()]} {d.day} {MONTHS[d.month - 1][:3]} {d.year}",
    lambda d: f"{d.day}.{d.month}.{d.year}",
    lambda d: f"{d.month}/{d.day:02}/{d.year % 100:02}",
)
"""Ways in which people write a date; dots mean that the day comes first, strokes that the month does."""
CHARACTERS: Final = " " + "".join(sorted(set("".join((*MONTHS, *DAYS))))) + "0123456789,./-"
FIRST_DAY, LAST_DAY = datetime.date(1970, 1, 1).toordinal(), datetime.date(2069, 12, 31).toordinal()
"""Years of two digits are then unambiguous."""
LONGEST_DATE: Final = max(len(write(datetime.date(2000, 9, 27))) for write in FORMATS)


def dates(rng: np.random.Generator, rows: int, length: int, letters: int, distance: int | None) -> Drawn:
    """As people write it, filled up with spaces, becomes year-month-day."""
    days = rng.integers(FIRST_DAY, LAST_DAY + 1, rows)
    drawn = [datetime.date.fromordinal(int(day)) for day in days]
    formats = rng.integers(0, len(FORMATS), rows)
    written = [FORMATS[i](day) for i, day in zip(formats, drawn, strict=True)]
    return in_characters(written, length), None, in_characters([day.isoformat() for day in drawn], 10)


def in_characters(texts: list[str], length: int) -> Rows:
    """Numbers of their characters, filled up with spaces."""
    return np.array([[CHARACTERS.index(each) for each in text.ljust(length)] for text in texts])


TRANSDUCTIONS: Final[dict[str, Draw]] = {
    "copy": changed(np.copy),
    "reverse": changed(np.fliplr),
    "sort": changed(np.sort),
    "recall": recalled,
    "fetch": fetched,
    "dates": dates,
}


@dataclass(frozen=True)
class Transduction:
    """One of the TRANSDUCTIONS on sources of `shortest` to `length` letters, or pairs; dates have their own length."""

    sequence: str
    length: int = 12
    shortest: int | None = None
    letters: int = 16
    distance: int | None = None
    """Of recall: how many pairs from the end the one is that is asked for; any if not given."""
    inside: bool = False
    """Whether what is asked for is known at the end of the source already, so that one reader sees all of it."""

    def __post_init__(self) -> None:
        if self.sequence not in TRANSDUCTIONS:
            raise InputError("sequences.name", names=[*TRANSDUCTIONS], name=self.sequence)
        if whole_number(self.length, "sequences.length", least=1) > LONGEST:
            raise InputError("sequences.longest", longest=LONGEST, length=self.length)
        if self.shortest is not None and whole_number(self.shortest, "sequences.shortest", least=1) > self.length:
            raise InputError("sequences.shortest_longer", shortest=self.shortest, length=self.length)
        whole_number(self.letters, "sequences.letters", least=2)
        if self.sequence in ("recall", "fetch"):
            keys_and_values(np.random.default_rng(0), 1, self.length, self.letters, 1)
            keys_and_values(np.random.default_rng(0), 1, self.least, self.letters, 1)
        if not isinstance(self.inside, bool) or (self.inside and self.sequence not in ("recall", "fetch")):
            raise InputError("sequences.inside")
        if self.distance is not None:
            if self.sequence != "recall":
                raise InputError("sequences.distance_of_recall")
            if whole_number(self.distance, "sequences.distance", least=1) > self.least:
                raise InputError("sequences.no_distance", pairs=self.least, distance=self.distance)

    @property
    def least(self) -> int:
        """The length of the shortest sources."""
        return self.length if self.shortest is None else self.shortest

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tokens: letters, the separator, the start."""
        letters = tuple(CHARACTERS) if self.sequence == "dates" else tuple(map(str, range(self.letters)))
        return (*letters, "separator", "start")

    @property
    def vocab(self) -> int:
        """How many tokens there are."""
        return len(self.names)

    outputs = vocab

    @property
    def separator(self) -> int:
        """The token that ends a source."""
        return self.vocab - 2

    @cached_property
    def context(self) -> int:
        """The longest source and answer."""
        return int(self.drawn(np.random.default_rng(0), 1, self.length).tokens.shape[1])

    def batch(self, rng: np.random.Generator, words: int) -> Batch:
        """Random sources of one random length, and their answers."""
        return self.drawn(rng, words, int(rng.integers(self.least, self.length + 1)))

    def drawn(self, rng: np.random.Generator, words: int, length: int) -> Batch:
        """The same with a given length."""
        length = LONGEST_DATE if self.sequence == "dates" else length
        source, prompt, answer = TRANSDUCTIONS[self.sequence](rng, words, length, self.letters, self.distance)
        end = np.full((words, 1), self.separator)
        start = end + 1 if prompt is None else prompt
        begun = np.concatenate([source, *((start, end, end + 1) if self.inside else (end, start))], axis=1)
        tokens = np.concatenate([begun, answer[:, :-1]], axis=1).astype(np.int64)
        targets = np.full(tokens.shape, IGNORE_INDEX)
        targets[:, begun.shape[1] - 1 :] = answer
        asked = torch.from_numpy(targets)
        return Batch(torch.from_numpy(tokens), asked, asked)
