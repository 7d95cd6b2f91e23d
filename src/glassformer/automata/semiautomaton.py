"""Finite machines: states, letters, and what each letter does to each state.

A `Semiautomaton` has no start and no end; a letter is a map from states to states, and a word is the
composition of its letters' maps. A `Machine` adds a start state and a label on every state, so that a word
has an answer: the label of the state it leads to. For a language the labels are True and False.

To *simulate* a machine is to give the state after every prefix of a word. `run` does it as fast as the sizes
allow; `scan` always does it by composing maps in O(log T) vector steps, which is what a transformer does too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Integer

from glassformer.automata import simulate
from glassformer.errors import InputError, whole_number
from glassformer.messages import Message, listed, verbatim
from glassformer.representation import HTMLRepresentation

Word: TypeAlias = str | Sequence[str] | Sequence[int] | Integer[np.ndarray, "*batch length"]
Label: TypeAlias = str | bool
Indices: TypeAlias = Integer[np.ndarray, "*batch length"]

Kind = TypeVar("Kind", bound="Semiautomaton")

LARGEST_TABLE = 2**24  # entries of a transition table; `power` and `product` refuse to pass it


PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
"""Letters in quotes, or between blanks."""


class Alphabet:
    """Letters by name, and words over them as rows of their numbers."""

    symbols: tuple[str, ...]

    def encode(self, word: Word) -> Indices:
        """The letters of a word as indices into `symbols`.

        A string is read letter by letter when every symbol is one character, and is split at blanks otherwise; where
        letters hold blanks, they stand in double quotes.
        Integers are taken as indices already, with any number of batch axes in front of an array of them; small
        ones (`uint8`) are the quickest.
        """
        if isinstance(word, str):
            letters: Sequence[Any] = self.split(word)
        elif isinstance(word, Sequence) and all(isinstance(letter, str) for letter in word):
            letters = word
        else:
            return self._checked_indices(word)
        number = {symbol: i for i, symbol in enumerate(self.symbols)}
        for position, letter in enumerate(letters):
            if letter not in number:
                raise InputError(
                    "automata.letter_unknown", letter=letter, position=position + 1, alphabet=listed(self.symbols)
                )
        return np.array([number[letter] for letter in letters], dtype=np.intp)

    def one_word(self, word: Word) -> Indices:
        """The letters of a word as indices; a batch is refused."""
        letters = self.encode(word)
        if letters.ndim != 1:
            raise InputError("automata.not_one_word", shape=str(letters.shape))
        return letters

    def split(self, text: str) -> list[str]:
        """The letters written in a string: one character each, or with blanks between them.

        In an alphabet where a letter's name holds a blank, a letter may stand in double quotes, as in JSON.
        """
        if all(len(symbol) == 1 for symbol in self.symbols):
            return list(text)
        if not any(map(_needs_quotes, self.symbols)):
            return text.split()
        return [_unquoted(part) for part in PARTS.findall(text)]

    def join(self, word: Indices) -> str:
        """The string that `encode` reads back as this word."""
        if all(len(symbol) == 1 for symbol in self.symbols):
            return "".join(self.symbols[i] for i in word)
        letters = (self.symbols[i] for i in word)
        return " ".join(json.dumps(each, ensure_ascii=False) if _needs_quotes(each) else each for each in letters)

    def _checked_indices(self, given: Any) -> Indices:
        word = _array(given, Message("automata.word_form"))
        if word.dtype.kind not in "iu" or word.ndim == 0:
            form = Message("automata.word_form")
            raise InputError("automata.word_kind", form=form, dtype=str(word.dtype), shape=str(word.shape))
        unsigned = word.view(word.dtype.str.replace("i", "u"))  # a negative number becomes a huge one
        if word.size and unsigned.max() >= len(self.symbols):
            outside = np.argwhere((word < 0) | (word >= len(self.symbols)))[0]
            *which, position = outside
            wrong = Message(
                "automata.letter_number",
                number=int(word[tuple(outside)]),
                position=int(position) + 1,
                alphabet=listed(self.symbols),
                last=len(self.symbols) - 1,
            )
            if not which:
                raise InputError(wrong)
            raise InputError("automata.word_of_batch", what=wrong, word=str(tuple(map(int, which))))
        return word


def _needs_quotes(letter: str) -> bool:
    """Whether a letter would be read as another one, or as several, between blanks."""
    return letter.split() != [letter] or letter.startswith('"')


def _unquoted(part: str) -> str:
    """The letter that is written so; what only begins with a quote is a letter as it is."""
    try:
        return str(json.loads(part, strict=False)) if part.startswith('"') else part
    except ValueError:
        return part


@dataclass(frozen=True, eq=False)
class Semiautomaton(Alphabet, HTMLRepresentation):
    """States, letters, and `delta[letter, state]`: the state that the letter leads to."""

    states: tuple[str, ...]
    symbols: tuple[str, ...]
    delta: Integer[np.ndarray, "symbol state"]

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", _distinct_names(self.states, "state"))
        object.__setattr__(self, "symbols", _distinct_names(self.symbols, "letter"))
        object.__setattr__(self, "delta", _checked_table(self.delta, self.states, self.symbols))

    # -- simulation ------------------------------------------------------------------------------------

    def run(self, word: Word, start: int | str = 0) -> Indices:
        """The state after every prefix of a word, or of every word of a batch (last axis: positions)."""
        return simulate.states_after_prefixes(self.delta, self.encode(word), self.state(start))

    def scan(self, word: Word, start: int | str = 0) -> Indices:
        """The same as `run`, always by composing maps: O(log T) vector steps."""
        return simulate.scan(self.delta, self.encode(word), self.state(start))

    def state(self, name: int | str) -> int:
        """The index of a state given by its name or by its index."""
        if isinstance(name, str):
            if name not in self.states:
                raise InputError("automata.state_unknown", name=name, states=listed(self.states))
            return self.states.index(name)
        if isinstance(name, bool) or not isinstance(name, int | np.integer):
            raise InputError("automata.state_kind", name=name)
        if not 0 <= name < len(self.states):
            raise InputError("automata.state_number", number=int(name), last=len(self.states) - 1)
        return int(name)

    # -- other machines --------------------------------------------------------------------------------

    def power(self: Kind, k: int) -> Kind:
        """The same machine reading blocks of k letters: each word of length k is one letter."""
        k = whole_number(k, "automata.block_length", least=1)
        _check_size(len(self.symbols) ** min(k, 64) * max(k, len(self.states)), verbatim(f"power({k})"))
        words = simulate.every_block(len(self.symbols), k)
        delta = simulate.compose(self.delta, words)
        symbols = tuple(self.join(word).replace(" ", "·") for word in words)
        return self._with(states=self.states, symbols=symbols, delta=delta)

    def product(self, other: Semiautomaton) -> Semiautomaton:
        """Both machines side by side on the same word; the states are the pairs."""
        if self.symbols != other.symbols:
            raise InputError("automata.two_alphabets", ours=listed(self.symbols), theirs=listed(other.symbols))
        _check_size(len(self.symbols) * len(self.states) * len(other.states), Message("automata.the_product"))
        delta = self.delta[:, :, None] * len(other.states) + other.delta[:, None, :]
        states = tuple(f"{p}|{q}" for p in self.states for q in other.states)
        return Semiautomaton(states, self.symbols, delta.reshape(len(self.symbols), -1))

    def _with(self: Kind, **changes: Any) -> Kind:
        """A copy of this kind of machine with other parts."""
        return type(self)(**{**self.__dict__, **changes})

    # -- the rest --------------------------------------------------------------------------------------

    def _identity(self) -> tuple[Any, ...]:
        return (self.states, self.symbols, self.delta.tobytes())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        states = Message("automata.states", count=len(self.states))
        return f"{type(self).__name__}({states}, letters {listed(self.symbols)})"


@dataclass(frozen=True, eq=False, repr=False)
class Machine(Semiautomaton):
    """A semiautomaton with a start state and a label on every state (True and False for a language)."""

    start: int = 0
    outputs: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "start", self.state(self.start))
        outputs = tuple(bool(x) if isinstance(x, np.bool_) else x for x in self.outputs) or self.states
        if len(outputs) != len(self.states):
            raise InputError("automata.one_output_each", outputs=len(outputs), states=len(self.states))
        if {type(label) for label in outputs} not in ({bool}, {str}):
            raise InputError("automata.outputs_mixed")
        for label in outputs:
            _check_writable(str(label))
        object.__setattr__(self, "outputs", outputs)

    @property
    def is_language(self) -> bool:
        """Whether the labels say "accepted" or "not accepted"."""
        return isinstance(self.outputs[0], bool)

    def run(self, word: Word, start: int | str | None = None) -> Indices:
        """The state after every prefix, from its start state or from the one that is given."""
        return super().run(word, self.start if start is None else start)

    def scan(self, word: Word, start: int | str | None = None) -> Indices:
        """The same as `run`, by composing maps in O(log T) vector steps."""
        return super().scan(word, self.start if start is None else start)

    def labels(self, word: Word) -> list[Label]:
        """The label after every prefix of one word."""
        return [self.outputs[q] for q in self.run(self.one_word(word))]

    def accepts(self, word: Word) -> bool:
        """Whether a language contains the word."""
        if not self.is_language:
            raise InputError("automata.no_language")
        states = self.run(self.one_word(word))
        return bool(self.outputs[states[-1] if len(states) else self.start])

    def minimal(self) -> Machine:
        """The smallest machine with the same label for every word: reachable states, equivalent ones merged."""
        made = self.trim()
        labels = {label: i for i, label in enumerate(dict.fromkeys(made.outputs))}
        kind, classes = np.array([labels[label] for label in made.outputs]), 0
        while kind.max() >= classes:  # Moore: split the classes that disagree on where a letter leads, until none does
            classes = kind.max() + 1
            for row in made.delta:
                kind = np.unique(kind * len(kind) + kind[row], return_inverse=True)[1]
        first = np.sort(np.unique(kind, return_index=True)[1])  # one member of each class, in state order
        order = np.empty(len(first), dtype=np.intp)
        order[kind[first]] = np.arange(len(first))
        return made._restricted(first, order[kind])

    def trim(self) -> Machine:
        """The same with the reachable states alone."""
        reachable = self.reachable()
        if len(reachable) == len(self.states):
            return self
        return self._restricted(reachable, np.searchsorted(reachable, np.arange(len(self.states))))

    def _restricted(self, kept: Integer[np.ndarray, " kept"], number: Integer[np.ndarray, " state"]) -> Machine:
        """The machine of the states that are kept; `number` is which of these stands for each state."""
        return self._with(
            states=tuple(self.states[q] for q in kept),
            delta=number[self.delta[:, kept]],
            start=int(number[self.start]),
            outputs=tuple(self.outputs[q] for q in kept),
        )

    def product(self, other: Semiautomaton, combine: Callable[[Label, Label], Label] = "{}|{}".format) -> Semiautomaton:
        """Both machines side by side; `combine` makes one label of two (`operator.and_` intersects languages)."""
        pairs = super().product(other)
        if not isinstance(other, Machine):
            return pairs
        return Machine(
            states=pairs.states,
            symbols=pairs.symbols,
            delta=pairs.delta,
            start=self.start * len(other.states) + other.start,
            outputs=tuple(combine(a, b) for a in self.outputs for b in other.outputs),
        )

    def reachable(self) -> Integer[np.ndarray, " state"]:
        """The states that some word leads to, in order."""
        seen = np.zeros(len(self.states), dtype=bool)
        new = np.array([self.start])
        while len(new):
            seen[new] = True
            new = np.unique(self.delta[:, new])
            new = new[~seen[new]]
        return np.flatnonzero(seen)

    def _identity(self) -> tuple[Any, ...]:
        return (*super()._identity(), self.start, self.outputs)


def _distinct_names(names: Iterable[str], kind: str) -> tuple[str, ...]:
    names = tuple(names)
    if not names:
        raise InputError(f"automata.no_{kind}s")
    for name in names:
        if not isinstance(name, str) or not name:
            raise InputError(f"automata.{kind}_name", name=name)
        _check_writable(name)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"automata.{kind}_twice", name=twice)
    return names


def _check_writable(name: str) -> None:
    if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
        raise InputError("automata.lone_surrogate", name=name)


def _checked_table(
    delta: Any, states: tuple[str, ...], symbols: tuple[str, ...]
) -> Integer[np.ndarray, "symbol state"]:
    """A read-only copy of a transition table that is complete and stays within the states."""
    form = Message("automata.table_form")
    if not isinstance(delta, Iterable):
        raise InputError("automata.table_kind", form=form, table=delta)
    rows = [_array(row, form) for row in delta]
    if len(rows) != len(symbols):
        raise InputError("automata.table_rows", rows=len(rows), letters=len(symbols), alphabet=listed(symbols))
    for symbol, row in zip(symbols, rows, strict=True):
        if row.ndim != 1:
            raise InputError("automata.row_shape", form=form, letter=symbol, shape=str(row.shape))
        if len(row) != len(states):
            raise InputError("automata.table_partial", letter=symbol, given=len(row), states=len(states))
    table = np.stack(rows)
    if table.dtype.kind not in "iu":
        raise InputError("automata.table_dtype", dtype=str(table.dtype))
    outside = np.argwhere((table < 0) | (table >= len(states)))
    if len(outside):
        letter, state = outside[0]
        raise InputError(
            "automata.leads_outside",
            letter=symbols[letter],
            state=states[state],
            target=int(table[letter, state]),
            last=len(states) - 1,
        )
    table = np.ascontiguousarray(table, dtype=np.intp)
    table.flags.writeable = False
    return table


def _check_size(entries: int, what: Message) -> None:
    if entries > LARGEST_TABLE:
        raise InputError("automata.table_too_large", what=what, limit=LARGEST_TABLE)


def _array(values: Any, form: Message) -> np.ndarray:
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError("automata.not_an_array", form=form, why=str(error)) from None
