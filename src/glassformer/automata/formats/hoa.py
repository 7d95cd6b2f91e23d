"""Machines as HOA, version 1: the Hanoi Omega-Automata format of Spot, Owl and others (adl.github.io/hoaf).

An automaton that is deterministic and complete, with acceptance on states, is read as a machine on finite words. Its
letters are the valuations of the atomic propositions, named like `a&!b` and counted in binary with the first
proposition as the lowest bit, or `t` if there is none. A word is accepted if staying for ever in the state it leads
to would be: for `Inf(0)`, if that state is in set 0.

A machine is written with its letters in binary, each under an alias. The last letter takes all valuations that are
left over, so that the automaton is complete for other tools. Two headers, which those tools ignore because they begin
with a small letter, keep what HOA has no place for: `glassformer-letters`, and `glassformer-outputs` for labels other
than accepting or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int
from lark import Token, Tree

from glassformer.automata.formats.build import machine
from glassformer.automata.formats.hoa_syntax import Part, parsed, text_of, value
from glassformer.automata.formats.syntax import place, subtrees, tokens
from glassformer.automata.place import Source
from glassformer.automata.semiautomaton import LARGEST_TABLE, Label, Machine
from glassformer.errors import InputError

MAX_PROPOSITIONS = 12  # so at most 4,096 letters

LETTERS, OUTPUTS = "glassformer-letters:", "glassformer-outputs:"


def loads(text: str, name: str) -> Machine:
    """The machine that a HOA text describes."""
    source = Source(text, name)
    return _Automaton(source, parsed(source)).machine()


def dumps(machine: Machine) -> str:
    """The HOA text of a machine."""
    bits = (len(machine.symbols) - 1).bit_length()
    if bits > MAX_PROPOSITIONS:
        raise InputError(f"HOA files have at most {2**MAX_PROPOSITIONS:,} letters here, not {len(machine.symbols):,}")
    aliases = _aliases(machine)
    lines = [*_header(machine, bits, aliases), "--BODY--"]
    for state, name in enumerate(machine.states):
        lines.append(f"State: {state} {_string(name)}" + (" {0}" if machine.outputs[state] is True else ""))
        targets = machine.delta[:, state].tolist()
        lines += [f"  [{alias}] {target}" for alias, target in zip(aliases, targets, strict=True)]
    return "\n".join([*lines, "--END--"]) + "\n"


# -- writing -----------------------------------------------------------------------------------------------


def _aliases(machine: Machine) -> list[str]:
    """How the edges call the letters: by their names if HOA can, or else by their numbers."""
    plain = all(re.fullmatch(r"[0-9a-zA-Z_-]+", symbol) for symbol in machine.symbols)
    return [f"@{symbol if plain else i}" for i, symbol in enumerate(machine.symbols)]


def _header(machine: Machine, bits: int, aliases: list[str]) -> list[str]:
    language = machine.is_language
    return [
        "HOA: v1",
        'tool: "glassformer"',
        f"States: {len(machine.states)}",
        f"Start: {machine.start}",
        " ".join([f"AP: {bits}", *(f'"bit{i}"' for i in range(bits))]),
        *(f"Alias: {alias} {_formula(i, machine, bits)}" for i, alias in enumerate(aliases)),
        "acc-name: Buchi" if language else "acc-name: all",
        "Acceptance: 1 Inf(0)" if language else "Acceptance: 0 t",
        "properties: trans-labels explicit-labels state-acc deterministic complete",
        " ".join([LETTERS, *map(_string, machine.symbols)]),
        *([] if language else [" ".join([OUTPUTS, *(_string(str(label)) for label in machine.outputs)])]),
    ]


def _formula(letter: int, machine: Machine, bits: int) -> str:
    """The valuations of a letter: its number in binary and, for the last letter, all numbers after it."""
    last = len(machine.symbols) - 1
    numbers = range(letter, 2**bits if letter == last else letter + 1)
    return " | ".join("&".join(f"{'' if n >> bit & 1 else '!'}{bit}" for bit in range(bits)) or "t" for n in numbers)


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# -- reading -----------------------------------------------------------------------------------------------


class _Automaton:
    """What the tree of a file says, checked while it is read."""

    def __init__(self, source: Source, tree: Tree[Token]) -> None:
        self.source, self.tree = source, tree
        self.headers = self._headers()
        self.propositions = self._propositions()
        self.full = (1 << (1 << len(self.propositions))) - 1  # a set of valuations is a number, one bit for each
        self.aliases: dict[str, int] = {}
        for alias in subtrees(tree, "alias"):
            self._alias(alias)
        self.states = self._states()

    def machine(self) -> Machine:
        letters = self._letters()
        delta = self._delta()[: len(letters)]
        names = [self._name(state, i) for i, state in enumerate(self.states)]
        return machine(self.source, names, letters, delta, start=self._start(), outputs=self._outputs())

    # headers

    def _headers(self) -> dict[str, Tree[Token]]:
        """The other headers by their name, after a look at the version."""
        version = tokens(self.tree, "IDENTIFIER")[0]
        if version != "v1":
            raise self._wrong(f"only version v1 of the format is read, not {version}", version)
        headers: dict[str, Tree[Token]] = {}
        for other in subtrees(self.tree, "other"):
            name = str(other.children[0])
            if name[0].isupper():
                raise self._wrong(f"the header {name} is unknown, and by its capital it must not be ignored", other)
            if name in headers and name != "properties:":
                raise self._wrong(f"the header {name} is there twice", other)
            headers[name] = other
        return headers

    def _one(self, kind: str, name: str) -> Tree[Token] | None:
        """The header of a kind, which is there at most once."""
        found = subtrees(self.tree, kind)
        if len(found) > 1:
            raise self._wrong(f"the header {name} is there twice", found[1])
        return found[0] if found else None

    def _propositions(self) -> list[str]:
        header = self._one("propositions", "AP:")
        if header is None:
            return []
        names = [text_of(token) for token in tokens(header, "STRING")]
        if self._number(header.children[0]) != len(names) or len(set(names)) < len(names):
            raise self._wrong("AP: gives the number of propositions and then as many different names", header)
        if len(names) > MAX_PROPOSITIONS:
            what = f"{len(names)} propositions make too many letters; the limit is {MAX_PROPOSITIONS}"
            raise self._wrong(what, header)
        return names

    def _letters(self) -> list[str]:
        """The names of the letters: our own header's, or else the valuations."""
        count = 1 << len(self.propositions)
        if LETTERS in self.headers:
            header = self.headers[LETTERS]
            letters = [text_of(token) for token in tokens(header, "STRING")]
            if not 0 < len(letters) <= count:
                raise self._wrong(f"{len(letters)} letters do not fit {len(self.propositions)} propositions", header)
            return letters
        return [_valuation(number, self.propositions) or "t" for number in range(count)]

    def _start(self) -> int:
        headers = subtrees(self.tree, "start_states")
        if not headers:
            raise InputError(f"{self.source.name}: the header Start: is missing; a machine needs a start state")
        if len(headers) > 1:
            raise self._wrong("a second start state makes the automaton non-deterministic", headers[1])
        return self._target(headers[0])

    def _alias(self, tree: Tree[Token]) -> None:
        name, formula = tree.children
        if str(name) in self.aliases:
            raise self._wrong(f"the alias {name} is defined twice", name)
        self.aliases[str(name)] = self._valuations(formula)

    # states and edges

    def _states(self) -> list[Tree[Token]]:
        """The states in the order of their numbers, which go from 0 without a gap."""
        found: dict[int, Tree[Token]] = {}
        for state in subtrees(self.tree, "state"):
            number = self._number(tokens(state, "INT")[0])
            if number in found:
                raise self._wrong(f"state {number} is there twice", tokens(state, "INT")[0])
            found[number] = state
        header = self._one("states", "States:")
        count = max(found, default=-1) + 1 if header is None else self._number(header.children[0])
        if count == 0:
            raise InputError(f"{self.source.name}: the automaton has no states")
        self._check_numbers(found, count)
        if count << len(self.propositions) > LARGEST_TABLE:
            raise InputError(f"{self.source.name}: states × letters pass {LARGEST_TABLE:,} table entries, the limit")
        return [found[number] for number in range(count)]

    def _check_numbers(self, found: dict[int, Tree[Token]], count: int) -> None:
        for number, state in found.items():
            if number >= count:
                raise self._wrong(f"there is no state {number}: States: says {count}", tokens(state, "INT")[0])
        if len(found) < count:
            missing = next(number for number in range(count) if number not in found)
            raise InputError(f"{self.source.name}: the automaton is incomplete: state {missing} has no edges")

    def _name(self, state: Tree[Token], number: int) -> str:
        names = tokens(state, "STRING")
        return text_of(names[0]) if names else str(number)

    def _delta(self) -> Int[np.ndarray, "valuation state"]:
        delta = np.empty((1 << len(self.propositions), len(self.states)), dtype=np.intp)
        for number, state in enumerate(self.states):
            seen = 0
            for valuations, edge in self._edges(state):
                self._check_new(seen & valuations, state, edge)
                delta[_bits(valuations), number] = self._target(edge)
                seen |= valuations
            if seen != self.full:
                letter = self._letter(self.full ^ seen)
                what = f"the automaton is incomplete: from state {number} letter {letter} leads nowhere"
                raise self._wrong(what, tokens(state, "INT")[0])
        return delta

    def _edges(self, state: Tree[Token]) -> Iterator[tuple[int, Tree[Token]]]:
        """The edges of a state, each with the valuations that take it."""
        edges = subtrees(state, "edge")
        labels = [subtrees(edge, "label") for edge in edges]
        common = subtrees(state, "label")
        if common or all(labels):
            for edge, label in zip(edges, labels, strict=True):
                if common and label:
                    raise self._wrong("both the state and its edge have a label", label[0])
                yield self._valuations((common or label)[0].children[0]), edge
        elif any(labels) or len(edges) != 1 << len(self.propositions):
            what = f"a state has a label on every edge, or {1 << len(self.propositions)} edges without labels"
            raise self._wrong(what, tokens(state, "INT")[0])
        else:
            yield from ((1 << number, edge) for number, edge in enumerate(edges))

    def _check_new(self, again: int, state: Tree[Token], edge: Tree[Token]) -> None:
        if again:
            number = tokens(state, "INT")[0]
            what = f"the automaton is non-deterministic: from state {number} letter {self._letter(again)} has two edges"
            raise self._wrong(what, tokens(edge, "INT")[0])

    def _target(self, edge: Tree[Token]) -> int:
        targets = tokens(edge, "INT")
        if len(targets) > 1:
            raise self._wrong("several states at once (&) make the automaton alternating; a machine is in one", edge)
        if subtrees(edge, "sets"):
            raise self._wrong("acceptance stands on an edge; a machine has it on its states", targets[0])
        number = self._number(targets[0])
        if number >= len(self.states):
            raise self._wrong(f"there is no state {number}; the last is {len(self.states) - 1}", targets[0])
        return number

    def _letter(self, valuations: int) -> str:
        """A letter among the valuations, for a message."""
        number = (valuations & -valuations).bit_length() - 1
        letters = self._letters()
        return repr(letters[min(number, len(letters) - 1)])

    # acceptance

    def _outputs(self) -> tuple[Label, ...]:
        header = self._one("acceptance", "Acceptance:")
        if header is None:
            raise InputError(f"{self.source.name}: the header Acceptance: is missing")
        if OUTPUTS in self.headers:
            labels = tuple(text_of(token) for token in tokens(self.headers[OUTPUTS], "STRING"))
            if len(labels) != len(self.states):
                raise self._wrong(f"{len(labels)} outputs for {len(self.states)} states", self.headers[OUTPUTS])
            return labels
        count, condition = header.children
        sets = [self._sets(state, self._number(count)) for state in self.states]
        accepts = {some: self._accepts(condition, some) for some in set(sets)}
        return tuple(accepts[some] for some in sets)

    def _sets(self, state: Tree[Token], count: int) -> frozenset[int]:
        members = [token for sets in subtrees(state, "sets") for token in tokens(sets, "INT")]
        for token in members:
            if self._number(token) >= count:
                raise self._wrong(f"there is no acceptance set {token}: Acceptance: says {count}", token)
        return frozenset(map(self._number, members))

    def _accepts(self, condition: Part, sets: frozenset[int]) -> bool:
        """Whether staying for ever in a state that is in these sets is accepted."""

        def atom(part: Part) -> int:
            if not isinstance(part, Tree) or part.children[0] not in ("Inf", "Fin"):
                raise self._wrong("an acceptance condition is made of Inf(n), Fin(n), t and f", part)
            inside = self._number(tokens(part, "INT")[0]) in sets
            return int(inside ^ bool(tokens(part, "NOT")) ^ (str(part.children[0]) == "Fin"))

        return bool(value(self.source, condition, atom, 1))

    # formulas

    def _valuations(self, formula: Part) -> int:
        """The set of valuations for which a label is true."""

        def atom(part: Part) -> int:
            if isinstance(part, Tree):
                raise self._wrong("a label is made of the numbers of propositions, aliases, t and f", part)
            if part.type == "ANAME":
                if str(part) not in self.aliases:
                    raise self._wrong(f"the alias {part} is not defined before", part)
                return self.aliases[str(part)]
            number = self._number(part)
            if number >= len(self.propositions):
                raise self._wrong(f"there is no proposition {number}: AP: names {len(self.propositions)}", part)
            ones = ((1 << (1 << number)) - 1) << (1 << number)  # 2ⁿ zeros, then 2ⁿ ones, again and again
            return self.full // ((1 << (2 << number)) - 1) * ones

        return value(self.source, formula, atom, self.full)

    # small things

    def _number(self, token: Part) -> int:
        if not isinstance(token, Token) or len(token) > 10:
            raise self._wrong("this number is too large", token)
        return int(token)

    def _wrong(self, what: str, part: Part) -> InputError:
        return self.source.mistake(what, place(part))


def _valuation(number: int, propositions: Sequence[str]) -> str:
    return "&".join(name if number >> i & 1 else f"!{name}" for i, name in enumerate(propositions))


def _bits(number: int) -> list[int]:
    """The places of the bits that are set."""
    return [i for i, bit in enumerate(reversed(f"{number:b}")) if bit == "1"]
