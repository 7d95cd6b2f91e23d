"""Commands about machines: what there is, what one is made of, and files of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.algebra.limits import Limits
from glassformer.atomic import write_atomically
from glassformer.automata import AnyMachine, Machine, formats, machine
from glassformer.automata.spec import CALLS, signature
from glassformer.documents.verdict import yes_or_no
from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.ui.cli.terminal import (
    AsJson,
    Label,
    Spec,
    app,
    label,
    note,
    out,
    print_facts,
    print_json,
    print_result,
    print_table,
    progress_bar,
    table_of,
)
from glassformer.wording import visible

if TYPE_CHECKING:
    from glassformer.compiler.classification import Classification


@app.command()
def zoo(
    spec: Annotated[str | None, typer.Argument(metavar="SPEC", help="Show this machine's transitions.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the machines that have a name, or show one machine."""
    if spec is not None:
        return show_machine(machine(spec), as_json)
    rows = [
        {"name": name, "parameters": signature(name), "states": number_of_states(make()), "about": make.__doc__ or ""}
        for name, make in CALLS.items()
    ]
    named = ((f"{row['name']}{row['parameters']}", row["states"] or "∞", row["about"]) for row in rows)
    columns = ("machine", "states", "what_it_computes")
    return print_result(rows, as_json, columns, named, title=Message("cli.the_zoo"))


def number_of_states(shown: AnyMachine) -> int | None:
    """How many there are, or None if there is no end of them."""
    return len(shown.states) if isinstance(shown, Machine) else None


@app.command()
def convert(
    spec: Spec,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write: .json, .dot (.gv) or .att.")],
) -> None:
    """Write a machine to a file, in the format that the file's ending names."""
    formats.write(machine(spec), file)
    note("common.wrote", place=file)


@app.command()
def classify(
    spec: Spec,
    length: Annotated[int, typer.Option(min=1, help="Length of words for which depths are given.")] = 128,
    merge: Annotated[bool, typer.Option(help="Merge levels where that makes the cascade less deep.")] = True,
    drawing: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the cascade.")] = None,
    most_elements: Annotated[int, typer.Option(min=1, help="Most elements of the monoid.")] = Limits.elements,
    most_images: Annotated[int, typer.Option(min=1, help="Most images of the states.")] = Limits.images,
    most_rows: Annotated[int, typer.Option(min=1, help="Most rows of the cascade's tables.")] = Limits.rows,
    seconds: Annotated[float, typer.Option(min=0, help="Most time for each search.")] = Limits.seconds,
    as_json: AsJson = False,
) -> None:
    """Say what a machine is made of, how hard it is, and how shallow a transformer for it can be."""
    from glassformer.compiler.classification import classify as judge

    limits = Limits(elements=most_elements, images=most_images, rows=most_rows, seconds=seconds)
    with progress_bar("cli.searching") as advance:
        found = judge(machine(spec), length, merge, limits, lambda what, done, most: advance(done, most))
    if drawing is not None:
        draw(found, spec, drawing)
    if as_json:
        return print_json(found.to_json())
    show_classification(found, spec)
    return None


def draw(found: Classification, spec: str, file: Path) -> None:
    """The cascade into a file."""
    from glassformer.ui.drawing.cascade import draw_cascade

    if found.cascade is None:
        raise InputError("cli.no_cascade", notes=found.notes)
    write_atomically(file, draw_cascade(found.cascade, spec).encode())
    note("common.wrote", place=file)


def show_classification(found: Classification, spec: str) -> None:
    """One table of facts, one of the cascade's levels."""
    print_facts(spec, facts_of(found))
    if found.components():
        show_cascade(found)


def facts_of(found: Classification) -> Iterator[tuple[Label, object]]:
    """What is known, line by line."""
    values = found.to_json()
    states, minimal = values["states"], values["minimal_states"]
    smaller = Message("cli.smaller_when_minimal", states=states, minimal=minimal)
    yield "states", smaller if minimal < states else f"{states:,}"
    if found.monoid:
        classes = [f"{number:,} {kind}" for kind, number in values["green"].items()]
        sizes = {"elements": values["monoid_size"], "idempotents": values["idempotents"]}
        yield "monoid", Message("cli.monoid", **sizes, classes=classes)
    if found.plain:
        groups = (f"{number} × {name}" if number > 1 else str(name) for name, number in found.groups().items())
        yield "simple_groups", ", ".join(groups) or label("none")
    for name in ("aperiodic", "quasi_aperiodic", "solvable"):
        yield name, Message("cli.not_decided") if values[name] is None else yes_or_no(values[name])
    if values["complexity"]:
        yield from (("class", values["complexity"]), ("because", values["theorem"]), ("assuming", values["assumes"]))
    for method, layers in values["depth"].items():
        if layers is not None:
            depth = Message("cli.depth", layers=layers, letters=found.length)
        elif doubled := found.layers.get(method):
            depth = Message("cli.no_constant_depth", layers=doubled)
        else:
            depth = Message("cli.not_known")
        yield Message("cli.depth_by", method=method), depth
    yield from (("note", note) for note in found.notes)


def show_cascade(found: Classification) -> None:
    """The levels of the cascade."""
    levels = found.plain.decomposition.levels if found.plain else 0
    title = Message("cli.the_cascade", levels=levels)
    if found.cascade and found.cascade is not found.plain:
        title = Message("cli.the_cascade_merged", levels=levels, merged=len(found.cascade.levels))
    rows = (
        (
            level,
            group.name,
            f"{group.order:,}",
            component.points,
            ", ".join(map(str, group.layers)) or "–",
            ", ".join(map(str, group.simple_factors)) or label("memory"),
            number,
        )
        for level, component, number in found.components()
        for group in [component.group]
    )
    print_table(("level", "group", "order", "tiles", "abelian_layers", "simple_factors", "count"), rows, title=title)


def show_machine(shown: Machine, as_json: bool) -> None:
    """The transitions of one machine: a column for each letter if there is room, or all letters in one."""
    if as_json:
        return print_json(json.loads(formats.dumps(shown, "json")))
    states, letters = [visible(name) for name in shown.states], [visible(symbol) for symbol in shown.symbols]
    wide = table_of("state", *(Message("cli.after", letter=a) for a in letters), "output", title=shown)
    narrow = table_of("state", "where_letters_lead", "output", title=shown)
    for q, name in enumerate(states):
        state = str(Message("cli.start_state", state=name)) if q == shown.start else name
        output = visible(str(shown.outputs[q]))
        targets = [states[target] for target in shown.delta[:, q]]
        wide.add_row(state, *targets, output)
        letters_to = {
            target: " ".join(a for a, b in zip(letters, targets, strict=True) if b == target) for target in targets
        }
        narrow.add_row(state, "; ".join(f"{some} → {target}" for target, some in letters_to.items()), output)
    out.print(wide if wide.__rich_measure__(out, out.options).minimum <= out.width else narrow)
    return None
