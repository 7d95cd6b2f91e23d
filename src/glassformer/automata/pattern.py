"""Reads the pattern of a regular expression: finds mistakes, letters and size before anything is built.

`read` is a scanner and a small parser. The parser gives back the pattern as automata-lib is to be asked for it,
with every letter replaced by one character of a private range and every class written out, because automata-lib
reads several things in surprising ways (see `regex`). Next to that text goes an upper bound of the NFA:

- a letter or class makes 2 states and an edge for each of its letters; `()` makes 1 state;
- a sequence adds an edge for each final state on its left; `|` adds 1 state and 2 edges;
- a repetition makes as many copies as its larger bound says (`*`, `+` and `?` make one), all linked;
- `&` and `^` make the product of the states of both sides, which is what nests badly.

The bound that counts is the `work`: the sum of all parts that are built on the way, also those copied again later.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from glassformer.automata.place import Source
from glassformer.errors import InputError
from glassformer.messages import Message, listed

MAX_LENGTH = 10_000  # characters of a pattern
MAX_LETTERS = 4_096  # letters of an alphabet
MAX_WORK = 100_000  # states and edges that automata-lib is asked to build: under a second

CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "v": "\v", "f": "\f"}
SHORTHANDS = {
    "d": frozenset("0123456789"),
    "s": frozenset(" \t\n\r\f\v"),
    "w": frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
}
REPETITIONS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
QUANTIFIER = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}")
PRIVATE = 0xE000  # first character of Unicode's private use area, which has room for 6,400


@dataclass(frozen=True)
class Token:
    """A letter, a class of letters, a repetition or an operator, and its place in the pattern."""

    kind: str  # "letters", "repeat", or the operator itself
    at: int
    named: dict[str, int] = field(default_factory=dict)  # letters written in the pattern, and where
    implied: frozenset[str] = frozenset()  # letters meant by \d, \s or \w
    negated: bool = False
    low: int = 1
    high: int | None = 1

    def letters(self, alphabet: AbstractSet[str]) -> AbstractSet[str]:
        """Those letters of the alphabet that this token stands for."""
        listed_here = alphabet & (self.named.keys() | self.implied)
        return alphabet - listed_here if self.negated else listed_here


@dataclass(frozen=True)
class Part:
    """A part of the pattern for automata-lib, and upper bounds of what building it takes."""

    text: str
    states: int
    edges: int
    finals: int
    work: int

    @property
    def size(self) -> int:
        """States and edges together."""
        return self.states + self.edges


def read(pattern: str, alphabet: Sequence[str] | None) -> tuple[tuple[str, ...], str]:
    """The sorted letters of a pattern, and the text to give to automata-lib, where letter i is `code(i)`."""
    if len(pattern) > MAX_LENGTH:
        raise InputError("pattern.too_long", length=len(pattern), limit=MAX_LENGTH)
    source = Source(pattern, Message("pattern.name"))
    tokens = list(_scan(source))
    letters = _letters(tokens) if alphabet is None else _checked(alphabet)
    if len(letters) > MAX_LETTERS:
        raise InputError("pattern.too_many_letters", letters=len(letters), limit=MAX_LETTERS)
    text = _Parser(source, letters).whole(tokens).text
    if not letters:
        raise InputError("pattern.no_letters")
    return letters, text


def code(i: int) -> str:
    """The character that stands for letter number i where automata-lib sees it."""
    return chr(PRIVATE + i)


def _letters(tokens: Sequence[Token]) -> tuple[str, ...]:
    named = {letter for token in tokens for letter in token.named}
    implied = {letter for token in tokens if not token.negated for letter in token.implied}
    return tuple(sorted(named | implied))


def _checked(alphabet: Sequence[str]) -> tuple[str, ...]:
    if not alphabet:
        raise InputError("pattern.no_alphabet")
    for letter in alphabet:
        if not isinstance(letter, str) or len(letter) != 1:
            raise InputError("pattern.letter_kind", letter=letter)
    return tuple(sorted(set(alphabet)))


# -- from characters to tokens -----------------------------------------------------------------------------


def _scan(source: Source) -> Iterator[Token]:
    at = 0
    while at < len(source.text):
        token, at = _token(source, at)
        yield token


def _token(source: Source, at: int) -> tuple[Token, int]:
    """The token at a place, and the place after it."""
    character = source.text[at]
    if character == "[":
        return _class(source, at)
    if character == "{":
        return _quantifier(source, at)
    if character == "\\":
        return _escape(source, at)
    if character in "()|&^":
        return Token(character, at), at + 1
    if character in REPETITIONS:
        low, high = REPETITIONS[character]
        return Token("repeat", at, low=low, high=high), at + 1
    if character == ".":
        return Token("letters", at, negated=True), at + 1
    return Token("letters", at, named={_plain(source, at): at}), at + 1


def _plain(source: Source, at: int) -> str:
    """A character that stands for itself."""
    character = source.text[at]
    if character in "]}":
        raise source.mistake("pattern.closes_nothing", at, character=character)
    if character == "$":
        raise source.mistake("pattern.dollar", at)
    return _visible(source, at)


def _visible(source: Source, at: int) -> str:
    character = source.text[at]
    if character.isspace() and character != " ":
        raise source.mistake("pattern.white_space", at, character=character)
    return character


def _escape(source: Source, at: int) -> tuple[Token, int]:
    name = source.text[at + 1 : at + 2]
    if name and name.lower() in SHORTHANDS:
        return Token("letters", at, implied=SHORTHANDS[name.lower()], negated=name.isupper()), at + 2
    return Token("letters", at, named={_escaped(source, at): at}), at + 2


def _escaped(source: Source, at: int) -> str:
    """The letter that a backslash and the character after it stand for."""
    name = source.text[at + 1 : at + 2]
    if name in CONTROLS:
        return CONTROLS[name]
    if not name:
        raise source.mistake("pattern.backslash", at)
    if name in {*"DSW"}:
        raise source.mistake("pattern.not_in_brackets", at, name=name, instead=name.lower())
    if name.isalnum():
        known = " ".join(f"\\{x}" for x in [*CONTROLS, *"dDsSwW"])
        raise source.mistake("pattern.escape", at, name=name, known=known)
    return name


def _quantifier(source: Source, at: int) -> tuple[Token, int]:
    bounds = QUANTIFIER.match(source.text, at)
    if not bounds or not (bounds[1] or bounds[3]):
        raise source.mistake("pattern.repetition", at)
    low = _bound(bounds[1])
    high = low if not bounds[2] else _bound(bounds[3]) if bounds[3] else None
    if high is not None and high < low:
        raise source.mistake("pattern.repetition_backwards", at, repetition=bounds[0])
    return Token("repeat", at, low=low, high=high), bounds.end()


def _bound(digits: str) -> int:
    """A number of repetitions; a billion stands for anything larger, which is refused all the same."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) < 10 else 10**9


def _class(source: Source, start: int) -> tuple[Token, int]:
    negated = source.text.startswith("[^", start)
    begin = at = start + 1 + negated
    named: dict[str, int] = {}
    implied: frozenset[str] = frozenset()
    while source.text[at : at + 1] != "]":
        if at >= len(source.text):
            raise source.mistake("pattern.bracket_open", start)
        if source.text[at] == "\\" and source.text[at + 1 : at + 2] in SHORTHANDS:
            implied, at = implied | SHORTHANDS[source.text[at + 1]], at + 2
        else:
            at = _range(source, at, named)
    if at == begin:
        raise source.mistake("pattern.class_empty", start)
    return Token("letters", start, named=named, implied=implied, negated=negated), at + 1


def _range(source: Source, start: int, named: dict[str, int]) -> int:
    """Adds the letter, or the range of letters such as a-z, at a place inside a class; gives the place after it."""
    first, at = _member(source, start)
    if source.text[at : at + 1] != "-" or source.text[at + 1 : at + 2] in ("]", ""):
        named.setdefault(first, start)
        return at
    last, at = _member(source, at + 1)
    size = ord(last) - ord(first) + 1
    if size < 1:
        raise source.mistake("pattern.range_backwards", start, first=first, last=last)
    if size > MAX_LETTERS:
        raise source.mistake("pattern.range_too_large", start, size=size, limit=MAX_LETTERS)
    for number in range(ord(first), ord(last) + 1):
        named.setdefault(chr(number), start)
    return at


def _member(source: Source, at: int) -> tuple[str, int]:
    """A letter inside a class, and the place after it."""
    if source.text[at] == "\\":
        return _escaped(source, at), at + 2
    return _visible(source, at), at + 1


# -- from tokens to a text for automata-lib ----------------------------------------------------------------


@dataclass
class _Level:
    """An open parenthesis, or the whole pattern, and what has been read inside it."""

    opened: Token | None = None
    operator: Token | None = None
    sides: list[Part] = field(default_factory=list)  # what the operator joins, but for the side that is being read
    sequence: list[Part] = field(default_factory=list)  # the parts of that side
    is_repeated: bool = False  # whether the last part has its repetition already


class _Parser:
    """Reads token after token with a stack of open parentheses, so that no depth is too deep."""

    def __init__(self, source: Source, alphabet: tuple[str, ...]) -> None:
        self.source, self.alphabet = source, alphabet
        self.codes = {letter: code(i) for i, letter in enumerate(alphabet)}
        self.levels = [_Level()]

    def whole(self, tokens: Sequence[Token]) -> Part:
        read = {"letters": self.choice, "repeat": self.repeat, "(": self.open, ")": self.close}
        for token in tokens:
            read.get(token.kind, self.operate)(token)
        if opened := self.levels[-1].opened:
            raise self.source.mistake("pattern.parenthesis_open", opened.at)
        return self.joined(len(self.source.text))

    def choice(self, token: Token) -> None:
        for letter, at in token.named.items():
            if letter not in self.codes:
                raise self.source.mistake("pattern.letter_unknown", at, letter=letter, alphabet=listed(self.alphabet))
        codes = sorted(self.codes[letter] for letter in token.letters(self.codes.keys()))
        if not codes and self.alphabet:
            raise self.source.mistake("pattern.no_letter_fits", token.at, alphabet=listed(self.alphabet))
        text = codes[0] if len(codes) == 1 else f"[{''.join(codes)}]"
        self.add(Part(text, states=2, edges=len(codes), finals=1, work=2 + len(codes)))

    def add(self, part: Part) -> None:
        self.levels[-1].sequence.append(part)
        self.levels[-1].is_repeated = False

    def repeat(self, token: Token) -> None:
        level = self.levels[-1]
        if not level.sequence:
            raise self.source.mistake("pattern.nothing_to_repeat", token.at)
        if level.is_repeated:
            raise self.source.mistake("pattern.repeated_twice", token.at)
        level.sequence[-1] = self.measured(_repeat(level.sequence[-1], token.low, token.high), token.at)
        level.is_repeated = True

    def operate(self, token: Token) -> None:
        level = self.levels[-1]
        if not level.sequence:
            raise self.source.mistake("pattern.nothing_before", token.at, operator=token.kind)
        if level.operator and level.operator.kind != token.kind:
            raise self.source.mistake("pattern.operators_mixed", token.at, one=level.operator.kind, other=token.kind)
        level.sides.append(self.side(token.at))
        level.operator, level.sequence = token, []

    def open(self, token: Token) -> None:
        self.levels.append(_Level(opened=token))

    def close(self, token: Token) -> None:
        if not self.levels[-1].opened:
            raise self.source.mistake("pattern.parenthesis_closes_nothing", token.at)
        inside = self.joined(token.at)
        self.levels.pop()
        self.add(replace(inside, text=f"({inside.text})"))

    def joined(self, at: int) -> Part:
        """All of a level that ends at a place."""
        level = self.levels[-1]
        if level.operator is None:
            return self.side(at)
        if not level.sequence:
            raise self.source.mistake("pattern.breaks_off", at)
        sides = [*level.sides, self.side(at)]
        return self.measured(functools.reduce(OPERATORS[level.operator.kind], sides), level.operator.at)

    def side(self, at: int) -> Part:
        """The sequence that ends at a place."""
        sequence = self.levels[-1].sequence
        return self.measured(functools.reduce(_then, sequence), at) if sequence else EMPTY

    def measured(self, part: Part, at: int) -> Part:
        if part.work > MAX_WORK:
            raise self.source.mistake("pattern.too_much_work", at, work=part.work, limit=MAX_WORK)
        return part


# -- how large parts get -----------------------------------------------------------------------------------

EMPTY = Part("()", states=1, edges=0, finals=1, work=1)


def _then(a: Part, b: Part) -> Part:
    edges = a.edges + b.edges + a.finals
    return Part(a.text + b.text, a.states + b.states, edges, b.finals, a.work + b.work + b.size + a.finals)


def _either(a: Part, b: Part) -> Part:
    states, edges = a.states + b.states + 1, a.edges + b.edges + 2
    return Part(f"{a.text}|{b.text}", states, edges, a.finals + b.finals, a.work + b.work + b.size + 3)


def _both(a: Part, b: Part) -> Part:
    return _product(a, b, "&", a.edges * b.states + a.states * b.edges + a.edges * b.edges)


def _shuffled(a: Part, b: Part) -> Part:
    return _product(a, b, "^", a.edges * b.states + a.states * b.edges)


def _product(a: Part, b: Part, operator: str, edges: int) -> Part:
    states = a.states * b.states
    return Part(a.text + operator + b.text, states, edges, a.finals * b.finals, a.work + b.work + states + edges)


def _repeat(part: Part, low: int, high: int | None) -> Part:
    if high == 0:  # automata-lib takes {0} for {0,1}
        return replace(EMPTY, work=part.work)
    copies = max(low, 1) if high is None else high
    states = copies * part.states + 1
    edges = copies * (part.edges + part.finals) + 1
    bounds = f"{{{low},{'' if high is None else high}}}"
    return Part(part.text + bounds, states, edges, copies * part.finals + 1, part.work + states + edges)


OPERATORS: dict[str, Callable[[Part, Part], Part]] = {"|": _either, "&": _both, "^": _shuffled}
