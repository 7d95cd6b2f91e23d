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
from glassformer.errors import InputError
from glassformer.ui.cli.terminal import (
    AsJson,
    Spec,
    app,
    err,
    out,
    print_facts,
    print_json,
    print_table,
    progress_bar,
    table_of,
)
from glassformer.wording import counted, visible

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
    if as_json:
        return print_json(rows)
    named = ((f"{row['name']}{row['parameters']}", row["states"] or "∞", row["about"]) for row in rows)
    print_table(("machine", "states", "what it computes"), named, title="The zoo (states for the parameters shown)")
    return None


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
    err.print(f"wrote {file}")


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
    with progress_bar("searching") as advance:
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
    err.print(f"wrote {file}")


def show_classification(found: Classification, spec: str) -> None:
    """One table of facts, one of the cascade's levels."""
    print_facts(spec, facts_of(found))
    if found.components():
        show_cascade(found)


def facts_of(found: Classification) -> Iterator[tuple[str, object]]:
    """What is known, line by line."""
    values = found.to_json()
    fewer = values["minimal_states"] < values["states"]
    yield "states", f"{values['states']:,}" + (f"; {values['minimal_states']:,} when minimal" if fewer else "")
    if found.monoid:
        classes = ", ".join(f"{number:,} {kind}" for kind, number in values["green"].items())
        size = counted(values["monoid_size"], "element")
        yield "monoid", f"{size}, {counted(values['idempotents'], 'idempotent')}; classes: {classes}"
    if found.plain:
        groups = (f"{number} × {name}" if number > 1 else str(name) for name, number in found.groups().items())
        yield "simple groups", ", ".join(groups) or "none"
    for name in ("aperiodic", "quasi_aperiodic", "solvable"):
        yield name.replace("_", "-"), {True: "yes", False: "no", None: "not decided"}[values[name]]
    if values["complexity"]:
        yield from (("class", values["complexity"]), ("because", values["theorem"]), ("assuming", values["assumes"]))
    for method, layers in values["depth"].items():
        doubled = found.layers.get(method)
        unknown = (
            f"none of constant depth; {doubled} with doubling for what is not solvable" if doubled else "not known"
        )
        known = f"{counted(layers or 0, 'layer')} for words of {counted(found.length, 'letter')}"
        yield f"depth by {method}", unknown if layers is None else known
    yield from (("note", note) for note in found.notes)


def show_cascade(found: Classification) -> None:
    """The levels of the cascade."""
    levels = counted(found.plain.decomposition.levels if found.plain else 0, "level")
    merged = len(found.cascade.levels) if found.cascade and found.cascade is not found.plain else None
    title = f"The cascade: {levels}" + (f", of which {merged} are left when merged" if merged else "")
    rows = (
        (
            level,
            group.name,
            f"{group.order:,}",
            component.points,
            ", ".join(map(str, group.layers)) or "–",
            ", ".join(map(str, group.simple_factors)) or "none: a memory",
            number,
        )
        for level, component, number in found.components()
        for group in [component.group]
    )
    print_table(("level", "group", "order", "tiles", "abelian layers", "simple factors", "count"), rows, title=title)


def show_machine(shown: Machine, as_json: bool) -> None:
    """The transitions of one machine: a column for each letter if there is room, or all letters in one."""
    if as_json:
        return print_json(json.loads(formats.dumps(shown, "json")))
    states, letters = [visible(name) for name in shown.states], [visible(symbol) for symbol in shown.symbols]
    wide = table_of("state", *(f"after {letter}" for letter in letters), "output", title=repr(shown))
    narrow = table_of("state", "where the letters lead", "output", title=repr(shown))
    for q, name in enumerate(states):
        state, output = f"{name} (start)" if q == shown.start else name, visible(str(shown.outputs[q]))
        targets = [states[target] for target in shown.delta[:, q]]
        wide.add_row(state, *targets, output)
        letters_to = {
            target: " ".join(a for a, b in zip(letters, targets, strict=True) if b == target) for target in targets
        }
        narrow.add_row(state, "; ".join(f"{some} → {target}" for target, some in letters_to.items()), output)
    out.print(wide if wide.__rich_measure__(out, out.options).minimum <= out.width else narrow)
    return None
