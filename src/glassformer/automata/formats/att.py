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
        raise source.wrong("formats.att_empty")
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
            raise InputError("formats.att_name", name=name)
    for symbol in machine.symbols:
        if symbol in EPSILON:
            raise InputError("formats.att_letter", letter=symbol)
    if labels and all(_is_fraction(str(label)) for label in labels):
        raise InputError("formats.att_labels_like_weights")
    letters = {(machine.outputs[q], a) for a, row in zip(machine.symbols, machine.delta, strict=True) for q in row}
    if labels and all(label == letter for label, letter in letters):
        raise InputError("formats.att_labels_like_letters")
    lost = set(range(len(machine.states))) - set(machine.delta.ravel().tolist())
    if lost and labels:
        raise InputError("formats.att_label_lost", state=machine.states[min(lost)])


def _lines(source: Source) -> Iterator[Line]:
    """The lines that are not empty; each has one to five names."""
    begin = 0
    for text in source.text.split("\n"):
        found = list(re.finditer(r"\S+", text))
        if len(found) > 5:
            raise source.mistake("formats.att_long_line", begin)
        if found:
            yield Line([match.group() for match in found], [begin + match.start() for match in found])
        begin += len(text) + 1


def _edge(source: Source, line: Line) -> Edge:
    if line.fields[2] in EPSILON:
        raise source.mistake("formats.att_empty_word", line.at[2], letter=line.fields[2])
    if len(line.fields) == 5:
        _check_weight(source, line, 4)
    return Edge(line.fields[0], line.fields[2], line.fields[1], line.at[0])


def _check_weight(source: Source, line: Line, column: int) -> None:
    if not re.fullmatch(r"[-+]?(0+\.?0*|\.0+)([eE][-+]?\d+)?", line.fields[column]):
        raise source.mistake("formats.att_weight", line.at[column], weight=line.fields[column])


def _accepting(source: Source, lines: Sequence[Line]) -> set[str]:
    accepting: set[str] = set()
    for line in lines:
        if len(line.fields) < 3:
            if line.fields[0] in accepting:
                raise source.mistake("formats.att_accepting_twice", line.at[0], state=line.fields[0])
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
            raise source.mistake("formats.att_some_labels", line.at[0])
    if len(arrows[0].fields) == 3 or (accepting and all(line.fields[2] == line.fields[3] for line in arrows)):
        return language
    if all(_is_fraction(line.fields[3]) for line in arrows):
        raise source.mistake("formats.att_label_like_weight", arrows[0].at[3], label=arrows[0].fields[3])
    if len(accepting) in (0, len(states)):
        return _labels(source, states, arrows)
    mixed = next(line for line in arrows if line.fields[2] != line.fields[3])
    raise source.mistake("formats.att_both", mixed.at[3])


def _is_fraction(name: str) -> bool:
    return bool(re.fullmatch(r"[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?", name))


def _labels(source: Source, states: list[str], arrows: Sequence[Line]) -> tuple[Label, ...]:
    labels: dict[str, str] = {}
    for line in arrows:
        state, label = line.fields[1], line.fields[3]
        if labels.setdefault(state, label) != label:
            before = labels[state]
            raise source.mistake("formats.att_two_labels", line.at[3], state=state, before=before, label=label)
    for state in states:
        if state not in labels:
            raise source.wrong("formats.att_label_unknown", state=state)
    return tuple(labels[state] for state in states)
