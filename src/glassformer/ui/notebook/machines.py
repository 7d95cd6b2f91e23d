"""Machines and cascades as HTML: a machine drawn and as a table, a cascade level by level."""

from __future__ import annotations

from typing import Final

from glassformer.algebra import Cascade
from glassformer.automata import Machine, Semiautomaton
from glassformer.ui.drawing.automaton import draw_machine
from glassformer.ui.drawing.cascade import draw_cascade
from glassformer.ui.notebook.markup import folded, heading, on_paper, sentence, table, whole
from glassformer.wording import counted

MOST_ROWS: Final = 24
MOST_LETTERS: Final = 12


def html(thing: Semiautomaton | Cascade) -> str:
    """Either of them."""
    return _cascade(thing) if isinstance(thing, Cascade) else _machine(thing)


def _machine(machine: Semiautomaton) -> str:
    kind = "Machine" if isinstance(machine, Machine) else "Semiautomaton"
    words = f"{counted(len(machine.states), 'state')}, {counted(len(machine.symbols), 'letter')}"
    if isinstance(machine, Machine):
        words += f", starts at {machine.states[machine.start]}"
    drawn = draw_machine(machine)
    lines = _table(machine)
    return whole(heading(kind, words), *([drawn, folded("as a table", lines)] if drawn else [lines]))


def _table(machine: Semiautomaton) -> str:
    """Where every letter leads from every state, as far as a person reads."""
    letters, states = machine.symbols[:MOST_LETTERS], machine.states[:MOST_ROWS]
    labels = machine.outputs if isinstance(machine, Machine) else None
    columns = ["state", *(f"after {letter}" for letter in letters), *(["output"] if labels else [])]
    rows = [
        [name, *(machine.states[machine.delta[a, q]] for a in range(len(letters))), *([labels[q]] if labels else [])]
        for q, name in enumerate(states)
    ]
    left_out = [
        counted(len(every) - len(some), f"more {name}")
        for every, some, name in ((machine.states, states, "state"), (machine.symbols, letters, "letter"))
        if len(every) > len(some)
    ]
    return table(columns, rows) + (sentence(f"and {' and '.join(left_out)}") if left_out else "")


def _cascade(cascade: Cascade) -> str:
    levels, depth = counted(len(cascade.levels), "level"), "no constant depth is known"
    if cascade.solvable:
        depth = f"{counted(cascade.height, 'layer')}, however long the word"
    title = f"{counted(len(cascade.machine.states), 'state')}, {counted(len(cascade.machine.symbols), 'letter')}"
    return whole(heading("Cascade", f"{levels}; {depth}"), on_paper(draw_cascade(cascade, title)))
