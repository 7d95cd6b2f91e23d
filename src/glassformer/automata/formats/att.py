"""Machines as AT&T text, the format of OpenFst and foma: one edge a line.

    0 1 a          from state 0 letter a leads to state 1
    0 1 a yes      the same, and the label of state 1 is "yes"
    1              state 1 is accepting

Names have no white space in them. The source of the first line is the start. Lines with three names and accepting
states make a language; lines with four make a machine with labels, where the fourth name is the label of the state
reached and all states, or none, are accepting. (foma writes a language with four names too, the letter twice; with
accepting states it is read as a language.) A weight at the end of a line must be zero, and labels that are all decimal
fractions are taken for weights. States
whose names are whole numbers are put in their order; others come as lines start with them, so that the start is
the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from glassformer.automata.formats.build import Edge, machine, table
from glassformer.automata.place import Source
from glassformer.automata.semiautomaton import Label, Machine
from glassformer.errors import InputError

EPSILON = ("<eps>", "<epsilon>", "@0@")


class Line(NamedTuple):
    """The names in a line, and where they stand."""

    fields: list[str]
    at: list[int]


def loads(text: str, name: str) -> Machine:
    """The machine that an AT&T text describes."""
    source = Source(text, name)
    lines = list(_lines(source))
    if not lines:
        raise InputError(f"{name}: the file is empty; a line such as '0 1 a' is an edge")
    arrows = [line for line in lines if len(line.fields) > 2]
    edges = [_edge(source, line) for line in arrows]
    symbols = list(dict.fromkeys(edge.letter for edge in edges))
    states = _ordered(lines)
    delta = table(source, states, symbols, edges)
    outputs = _outputs(source, states, arrows, _accepting(source, lines))
    return machine(source, states, symbols, delta, start=states.index(lines[0].fields[0]), outputs=outputs)


def dumps(machine: Machine) -> str:
    """The AT&T text of a machine."""
    _check_names(machine)
    lines = []
    for state in sorted(range(len(machine.states)), key=lambda q: q != machine.start):
        for symbol, target in zip(machine.symbols, machine.delta[:, state].tolist(), strict=True):
            fields = [machine.states[state], machine.states[target], symbol]
            lines.append(" ".join(fields if machine.is_language else [*fields, str(machine.outputs[target])]))
    lines += [name for name, label in zip(machine.states, machine.outputs, strict=True) if label is not False]
    return "\n".join(lines) + "\n"


def _check_names(machine: Machine) -> None:
    labels = () if machine.is_language else machine.outputs
    for name in (*machine.states, *machine.symbols, *labels):
        if str(name).split() != [name]:
            raise InputError(f"{name!r} cannot be written in AT&T text: names there are not empty and have no blanks")
    for symbol in machine.symbols:
        if symbol in EPSILON:
            raise InputError(f"the letter {symbol!r} means the empty word in AT&T text; rename it")
    if labels and all(_is_fraction(str(label)) for label in labels):
        raise InputError("labels that are all decimal fractions would be taken for weights in AT&T text; write JSON")
    letters = {(machine.outputs[q], a) for a, row in zip(machine.symbols, machine.delta, strict=True) for q in row}
    if labels and all(label == letter for label, letter in letters):
        raise InputError("labels that repeat the letters would be taken for a language in AT&T text; write JSON")
    lost = set(range(len(machine.states))) - set(machine.delta.ravel().tolist())
    if lost and labels:
        state = machine.states[min(lost)]
        raise InputError(
            f"the label of state {state!r} would be lost in AT&T text, because no letter leads there; "
            "write JSON, DOT or HOA"
        )


def _lines(source: Source) -> Iterator[Line]:
    """The lines that are not empty; each has one to five names."""
    begin = 0
    for text in source.text.split("\n"):
        found = list(re.finditer(r"\S+", text))
        if len(found) > 5:
            raise source.mistake("a line has at most five names: from, to, letter, label, weight", begin)
        if found:
            yield Line([match.group() for match in found], [begin + match.start() for match in found])
        begin += len(text) + 1


def _edge(source: Source, line: Line) -> Edge:
    if line.fields[2] in EPSILON:
        what = f"{line.fields[2]} is the empty word, which makes a machine non-deterministic; remove such edges"
        raise source.mistake(what, line.at[2])
    if len(line.fields) == 5:
        _check_weight(source, line, 4)
    return Edge(line.fields[0], line.fields[2], line.fields[1], line.at[0])


def _check_weight(source: Source, line: Line, column: int) -> None:
    if not re.fullmatch(r"[-+]?(0+\.?0*|\.0+)([eE][-+]?\d+)?", line.fields[column]):
        what = f"the weight {line.fields[column]!r} is not zero; a machine has no weights"
        raise source.mistake(what, line.at[column])


def _accepting(source: Source, lines: Sequence[Line]) -> set[str]:
    accepting: set[str] = set()
    for line in lines:
        if len(line.fields) < 3:
            if line.fields[0] in accepting:
                raise source.mistake(f"state {line.fields[0]!r} is named as accepting already", line.at[0])
            if len(line.fields) == 2:
                _check_weight(source, line, 1)
            accepting.add(line.fields[0])
    return accepting


def _ordered(lines: Sequence[Line]) -> list[str]:
    others = (name for line in lines for name in line.fields[: 2 if len(line.fields) > 2 else 1])
    names = list(dict.fromkeys([*(line.fields[0] for line in lines), *others]))
    if all(name.isascii() and name.isdigit() for name in names):
        names.sort(key=lambda name: (len(name.lstrip("0")), name.lstrip("0"), name))
    return names


def _outputs(source: Source, states: list[str], arrows: Sequence[Line], accepting: set[str]) -> tuple[Label, ...]:
    language = tuple(state in accepting for state in states)
    for line in arrows:
        if (len(line.fields) > 3) != (len(arrows[0].fields) > 3):
            raise source.mistake("some edges have a label and some have none", line.at[0])
    if len(arrows[0].fields) == 3 or (accepting and all(line.fields[2] == line.fields[3] for line in arrows)):
        return language
    if all(_is_fraction(line.fields[3]) for line in arrows):
        what = f"{arrows[0].fields[3]!r} looks like a weight, and a machine has none; labels need names"
        raise source.mistake(what, arrows[0].at[3])
    if len(accepting) in (0, len(states)):
        return _labels(source, states, arrows)
    mixed = next(line for line in arrows if line.fields[2] != line.fields[3])
    what = "a machine has labels or accepting states, but this file has both; make all states accepting"
    raise source.mistake(what, mixed.at[3])


def _is_fraction(name: str) -> bool:
    return bool(re.fullmatch(r"[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?", name))


def _labels(source: Source, states: list[str], arrows: Sequence[Line]) -> tuple[Label, ...]:
    labels: dict[str, str] = {}
    for line in arrows:
        state, label = line.fields[1], line.fields[3]
        if labels.setdefault(state, label) != label:
            what = f"state {state!r} has the label {labels[state]!r} in a line before, and {label!r} here; it takes one"
            raise source.mistake(what, line.at[3])
    for state in states:
        if state not in labels:
            raise InputError(f"{source.name}: the label of state {state!r} is unknown, because no edge leads there")
    return tuple(labels[state] for state in states)
