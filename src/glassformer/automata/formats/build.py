"""From the edges that a file lists to a machine, with a refusal that names state, letter and line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from glassformer.automata.place import Source
from glassformer.automata.semiautomaton import Machine
from glassformer.errors import InputError
from glassformer.messages import Message, listed


class Edge(NamedTuple):
    """A letter leads from a state to a state, and where in the file that stands."""

    source: str
    letter: str
    target: str
    at: int


def machine(source: Source, states: Sequence[str], symbols: Sequence[str], delta: Any, **rest: Any) -> Machine:
    """A machine; if it is none, the error names the text."""
    try:
        return Machine(tuple(states), tuple(symbols), np.array(delta, dtype=np.intp), **rest)
    except InputError as error:
        raise source.wrong(error.message) from None


def table(source: Source, states: Sequence[str], symbols: Sequence[str], edges: Sequence[Edge]) -> list[list[int]]:
    """The complete table of edges, one row for each letter."""
    if not symbols:
        raise source.wrong("formats.no_letters")
    number = {state: i for i, state in enumerate(states)}
    row = {symbol: i for i, symbol in enumerate(symbols)}
    delta = [[-1] * len(states) for _ in symbols]
    for edge in edges:
        place = delta[row[edge.letter]], number[edge.source]
        if place[0][place[1]] >= 0:
            raise _twice(source, edge, edges)
        place[0][place[1]] = number[edge.target]
    for symbol, line in zip(symbols, delta, strict=True):
        if -1 in line:
            raise _missing(source, states[line.index(-1)], symbol, symbols, edges)
    return delta


def _twice(source: Source, edge: Edge, edges: Sequence[Edge]) -> InputError:
    first = next(e for e in edges if (e.source, e.letter) == (edge.source, edge.letter))
    same = Message("formats.there_too")
    differs = Message("formats.elsewhere", first=first.target, this=edge.target)
    return source.mistake(
        "formats.two_edges",
        edge.at,
        letter=edge.letter,
        state=edge.source,
        other_line=source.line(first.at),
        where=same if first.target == edge.target else differs,
    )


def _missing(source: Source, state: str, letter: str, symbols: Sequence[str], edges: Sequence[Edge]) -> InputError:
    partial = Message("formats.partial", state=state, letter=letter, alphabet=listed(symbols))
    known = next((e for e in edges if state in (e.source, e.target)), None)
    return source.wrong(partial) if known is None else source.mistake(partial, known.at)
