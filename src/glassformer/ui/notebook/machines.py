"""Machines and cascades as HTML: a machine drawn and as a table, a cascade level by level."""

from __future__ import annotations

from typing import Final

from glassformer.algebra import Cascade
from glassformer.automata import Machine, Semiautomaton
from glassformer.messages import Message
from glassformer.ui.drawing.automaton import draw_machine
from glassformer.ui.drawing.cascade import draw_cascade
from glassformer.ui.notebook.markup import Markup, on_paper, whole

MOST_ROWS: Final = 24
MOST_LETTERS: Final = 12


def html(thing: Semiautomaton | Cascade, language: str = "en") -> str:
    """HTML of a machine or a cascade."""
    marks = Markup(language)
    return _cascade(thing, marks) if isinstance(thing, Cascade) else _machine(thing, marks)


def _machine(machine: Semiautomaton, marks: Markup) -> str:
    kind, words = Message("notebook.semiautomaton"), _sizes(machine)
    if isinstance(machine, Machine):
        kind = Message("notebook.machine")
        words = Message("notebook.starts_at", sizes=words, state=machine.states[machine.start])
    drawn = draw_machine(machine, marks.language)
    lines = _table(machine, marks)
    folded = marks.folded(Message("notebook.as_table"), lines)
    return whole(marks.heading(kind, words), *([drawn, folded] if drawn else [lines]))


def _sizes(machine: Semiautomaton) -> Message:
    return Message("notebook.sizes", states=len(machine.states), letters=len(machine.symbols))


def _table(machine: Semiautomaton, marks: Markup) -> str:
    """Where every letter leads from every state, as far as a person reads."""
    letters, states = machine.symbols[:MOST_LETTERS], machine.states[:MOST_ROWS]
    labels = machine.outputs if isinstance(machine, Machine) else None
    columns = [Message("notebook.state"), *(Message("notebook.after", letter=letter) for letter in letters)]
    columns += [Message("notebook.output")] if labels else []
    rows = [
        [name, *(machine.states[machine.delta[a, q]] for a in range(len(letters))), *([labels[q]] if labels else [])]
        for q, name in enumerate(states)
    ]
    left_out = []
    if len(machine.states) > len(states):
        left_out.append(Message("notebook.more_states", states=len(machine.states) - len(states)))
    if len(machine.symbols) > len(letters):
        left_out.append(Message("notebook.more_letters", letters=len(machine.symbols) - len(letters)))
    return marks.table(columns, rows) + "".join(map(marks.sentence, left_out))


def _cascade(cascade: Cascade, marks: Markup) -> str:
    words = Message("notebook.not_solvable", levels=len(cascade.levels))
    if cascade.solvable:
        words = Message("notebook.solvable", levels=len(cascade.levels), layers=cascade.height)
    title = _sizes(cascade.machine).in_language(marks.language)
    drawn = draw_cascade(cascade, title, marks.language)
    return whole(marks.heading(Message("notebook.cascade"), words), on_paper(drawn))
