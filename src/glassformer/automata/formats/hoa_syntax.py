"""The syntax of HOA files: the grammar, comments that nest, texts in quotes, and the value of a formula."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from typing import TypeAlias

from lark import Lark, Token, Tree

from glassformer.automata.formats.syntax import parse, place, tokens
from glassformer.automata.place import Source

MAX_DEPTH = 50  # parentheses inside parentheses

GRAMMAR = r"""
start: _HOA IDENTIFIER _header* "--BODY--" state* "--END--"
_header: states | start_states | propositions | alias | acceptance | other
states: _STATES INT
start_states: _START INT ("&" INT)*
propositions: _AP INT STRING*
alias: _ALIAS ANAME any
acceptance: _ACCEPTANCE INT any
other: HEADER (BOOL | INT | STRING | IDENTIFIER)*
state: _STATE label? INT STRING? sets? edge*
edge: label? INT ("&" INT)* sets?
label: "[" any "]"
sets: "{" INT* "}"

any: all ("|" all)*
all: (not | _atom) ("&" (not | _atom))*
not: NOT+ _atom
_atom: BOOL | INT | ANAME | call | "(" any ")"
call: IDENTIFIER "(" NOT? INT ")"

_HOA.3: "HOA:"
_STATES.3: "States:"
_START.3: "Start:"
_STATE.3: "State:"
_AP.3: "AP:"
_ALIAS.3: "Alias:"
_ACCEPTANCE.3: "Acceptance:"
HEADER.2: /[a-zA-Z_][0-9a-zA-Z_-]*:/
BOOL.2: /[tf](?![0-9a-zA-Z_:-])/
IDENTIFIER: /[a-zA-Z_][0-9a-zA-Z_-]*/
ANAME: /@[0-9a-zA-Z_-]+/
INT: /[0-9]+/
STRING: /"([^"\\]|\\.)*"/s
NOT: "!"
%ignore /[ \t\r\n]+/
"""

HINTS = {
    "--abort--": "the tool that wrote this file gave up here",
    "hoa:": "a second automaton begins here; a file holds one machine",
    '"': "a text does not belong here, or its quote is never closed",
}

OUTSIDE = re.compile(r'/\*|"(?:[^"\\]|\\.)*"', re.DOTALL)  # where a comment begins, or a text that may look like one
INSIDE = re.compile(r"/\*|\*/")

Part: TypeAlias = Tree[Token] | Token


def parsed(source: Source) -> Tree[Token]:
    """The tree of a HOA file."""
    return parse(_parser(), Source(_without_comments(source), source.name), HINTS)


def text_of(string: Token) -> str:
    """What stands in a string, without quotes and backslashes."""
    return re.sub(r"\\(.)", r"\1", string[1:-1], flags=re.DOTALL)


def value(source: Source, formula: Part, atom: Callable[[Part], int], true: int, depth: int = 0) -> int:
    """The value of a formula over sets of bits: all bits of `true` mean t, and `atom` knows all but t and f."""
    if isinstance(formula, Token) and formula.type == "BOOL":
        return true if formula == "t" else 0
    if isinstance(formula, Token) or formula.data == "call":
        return atom(formula)
    if depth > 2 * MAX_DEPTH:  # `any` and `all` take turns
        raise source.mistake(f"parentheses are nested more than {MAX_DEPTH} deep", place(formula))
    parts = [part for part in formula.children if not (isinstance(part, Token) and part.type == "NOT")]
    values = [value(source, part, atom, true, depth + 1) for part in parts]
    if formula.data == "not":
        return values[0] ^ (true if len(tokens(formula, "NOT")) % 2 else 0)
    combine: Callable[[int, int], int] = operator.or_ if formula.data == "any" else operator.and_
    return functools.reduce(combine, values)


@functools.cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr")


def _without_comments(source: Source) -> str:
    """The same text with blanks for every comment, so that all places stay the same. Comments may nest."""
    kept, at, opened = [], 0, list[int]()
    while found := (INSIDE if opened else OUTSIDE).search(source.text, at):
        between = source.text[at : found.start()]
        kept.append(re.sub(r"[^\n]", " ", between) if opened else between)
        kept.append("  " if found[0] in ("/*", "*/") else found[0])
        if found[0] == "/*":
            opened.append(found.start())
        elif found[0] == "*/":
            opened.pop()
        at = found.end()
    if opened:
        raise source.mistake("this comment is never closed", opened[-1])
    return "".join([*kept, source.text[at:]])
