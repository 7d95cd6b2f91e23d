"""The command line: `glassformer COMMAND … [--json]`.

Every command prints a table to read, or with --json one JSON value on standard output; progress and messages go to
standard error. Exit codes: 0 done, 1 a check failed, 2 bad input or output that cannot be written, 130 interrupted.
No mathematics lives here.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from typer.core import TyperGroup

from glassformer.algebra.limits import Limits
from glassformer.atomic import write_atomically
from glassformer.automata import Machine, formats, machine
from glassformer.automata.spec import signature
from glassformer.automata.zoo import ZOO
from glassformer.errors import InputError
from glassformer.wording import counted, visible

if TYPE_CHECKING:
    from glassformer.algebra import Classification
    from glassformer.compiler import Built


class Commands(TyperGroup):
    """The commands, and how each may end badly: in one line on standard error, with its exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except InputError as error:
            leave(str(error), 2)
        except BrokenPipeError:  # whoever read our output has had enough
            drop_output()
            raise typer.Exit(141) from None
        except OSError as error:
            drop_output()
            leave(f"cannot write the output: {error.strerror}", 2)


def leave(message: str, code: int) -> NoReturn:
    """Say why, and exit."""
    print(f"glassformer: {message}", file=sys.stderr)
    raise typer.Exit(code) from None


def drop_output() -> None:
    """Standard output takes no more; what is still in its buffer goes nowhere, instead of failing once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Transformers of glass: build one from an automaton, check it, and look inside.

    A machine SPEC is a zoo call such as parity, cyclic(5) or "dyck(pairs=2, depth=3)"; a regular expression,
    "regex:(ab)*"; or a .json, .dot (.gv), .hoa or .att file.

    Start with: glassformer compile "regex:(ab)*" --length 100 --out demo, then verify, run and show demo.""",
)


class Output(Console):
    """Prints text as it is; a closed pipe is for `Commands` to handle."""

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled."""
        raise


out = Output(markup=False, highlight=False)
err = Output(stderr=True, markup=False, highlight=False)

Spec = Annotated[str, typer.Argument(metavar="SPEC", help="A machine: zoo call, regex:…, or file.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder made by compile.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of a table.")]


@app.command()
def zoo(
    spec: Annotated[str | None, typer.Argument(metavar="SPEC", help="Show this machine's transitions.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the machines that have a name, or show one machine."""
    if spec is not None:
        return show_machine(machine(spec), as_json)
    rows = [
        {"name": name, "parameters": signature(name), "states": len(make().states), "about": make.__doc__ or ""}
        for name, make in ZOO.items()
    ]
    if as_json:
        return print_json(rows)
    table = table_of("machine", "states", "what it computes", title="The zoo (states for the parameters shown)")
    for row in rows:
        table.add_row(f"{row['name']}{row['parameters']}", str(row["states"]), str(row["about"]))
    out.print(table)
    return None


@app.command()
def convert(
    spec: Spec,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write: .json, .dot (.gv), .hoa or .att.")],
) -> None:
    """Write a machine to a file, in the format that the file's ending names."""
    formats.write(machine(spec), file)
    err.print(f"wrote {file}")


@app.command()
def classify(
    spec: Spec,
    length: Annotated[int, typer.Option(min=1, help="Length of words for which depths are told.")] = 128,
    merge: Annotated[bool, typer.Option(help="Merge levels where that makes the cascade less deep.")] = True,
    drawing: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the cascade.")] = None,
    most_elements: Annotated[int, typer.Option(min=1, help="Most elements of the monoid.")] = Limits.elements,
    most_images: Annotated[int, typer.Option(min=1, help="Most images of the states.")] = Limits.images,
    most_rows: Annotated[int, typer.Option(min=1, help="Most rows of the cascade's tables.")] = Limits.rows,
    seconds: Annotated[float, typer.Option(min=0, help="Most time for each search.")] = Limits.seconds,
    as_json: AsJson = False,
) -> None:
    """Say what a machine is made of, how hard it is, and how shallow a transformer for it can be."""
    from glassformer.algebra import classify as judge

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
    from glassformer.report.cascade import draw_cascade

    if found.cascade is None:
        raise InputError(f"there is no cascade to draw: {'; '.join(found.notes)}")
    write_atomically(file, draw_cascade(found.cascade, spec).encode())
    err.print(f"wrote {file}")


def show_classification(found: Classification, spec: str) -> None:
    """One table of facts, one of the cascade's levels."""
    told = found.to_json()
    table = Table(title=spec, show_header=False, box=box.SIMPLE)
    fewer = told["minimal_states"] < told["states"]
    minimal = f"; {told['minimal_states']:,} when minimal" if fewer else ""
    table.add_row("states", f"{told['states']:,}{minimal}")
    if found.monoid:
        classes = ", ".join(f"{number:,} {kind}" for kind, number in told["green"].items())
        size = counted(told["monoid_size"], "element")
        table.add_row("monoid", f"{size}, {counted(told['idempotents'], 'idempotent')}; classes: {classes}")
    groups = ", ".join(f"{number} × {name}" if number > 1 else name for name, number in found.groups().items())
    if found.plain:
        table.add_row("simple groups", groups or "none")
    for name in ("aperiodic", "quasi_aperiodic", "solvable"):
        table.add_row(name.replace("_", "-"), {True: "yes", False: "no", None: "not decided"}[told[name]])
    if told["complexity"]:
        table.add_row("class", told["complexity"])
        table.add_row("because", told["theorem"])
        table.add_row("assuming", told["assumes"])
    for method, layers in told["depth"].items():
        if layers is None:
            said = "none of constant depth" if found.cascade else "not known"
        else:
            said = f"{counted(layers, 'layer')} for words of {counted(found.length, 'letter')}"
        table.add_row(f"depth by {method}", said)
    for note in found.notes:
        table.add_row("note", note)
    out.print(table)
    if found.components():
        show_cascade(found)


def show_cascade(found: Classification) -> None:
    """The levels of the cascade."""
    levels = counted(found.plain.decomposition.levels if found.plain else 0, "level")
    merged = len(found.cascade.levels) if found.cascade and found.cascade is not found.plain else None
    title = f"The cascade: {levels}" + (f", of which {merged} are left when merged" if merged else "")
    table = table_of("level", "group", "order", "tiles", "abelian layers", "simple factors", "alike", title=title)
    for level, component, number in found.components():
        group = component.group
        layers, factors = ", ".join(group.layers) or "–", ", ".join(group.simple_factors) or "none: a memory"
        table.add_row(str(level), group.name, f"{group.order:,}", str(component.points), layers, factors, str(number))
    out.print(table)


@app.command()
def compile(
    spec: Spec,
    length: Annotated[int, typer.Option(help="Longest word for which the model must be exact.")] = 128,
    method: Annotated[str, typer.Option(help="auto, log, cascade, gridworld or dyck.")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, float64, float16 or bfloat16.")] = "float32",
    folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Save the model here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Build a transformer that follows a machine exactly, every weight by theorem."""
    from glassformer.compiler import compile as build

    built = build(machine(spec), length, method, dtype)
    if folder is not None:
        built.save(folder)
    promised = built.certificate
    if as_json:
        summary = promised.to_json()
        return print_json({key: summary[key] for key in summary if key not in ("registers", "blocks")})
    table = table_of(title=spec, show_header=False, box=box.SIMPLE)
    for name in ("theorem", "method", "why", "layers", "heads", "width", "mlp", "parameters", "dtype", "exact_length"):
        value = getattr(promised, name)
        grows = f" ({promised.grows[name]})" if name in promised.grows else ""
        table.add_row(name.replace("_", " "), f"{value:,}{grows}" if isinstance(value, int) else value)
    for name, words in promised.margins.in_words().items():
        table.add_row(name, words)
    out.print(table)
    if folder is None:
        err.print("not saved: give --out DIR to keep the model")
    return None


@app.command()
def verify(
    folder: Folder,
    words: Annotated[int, typer.Option(min=1, help="Words to try when there are too many to try all.")] = 200,
    length: Annotated[int | None, typer.Option(min=1, help="Length of the words; default: the promised one.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random words.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare a built model with its machine at every position of many words; exit 1 if one is wrong."""
    from glassformer.compiler import verify as check

    built = open_model(folder)
    with progress_bar("verifying") as advance:
        report = check(built, words, length, seed, advance)
    if as_json:
        print_json(report.to_json())
    else:
        every = f"all {counted(report.words, 'word')}" if report.exhaustive else counted(report.words, "word")
        positions = counted(report.positions, "position")
        out.print(f"{every} of length {report.longest:,}: {positions}, {report.wrong:,} wrong")
        if report.first_mistake:
            out.print(f"first mistake: {report.first_mistake}")
    if report.wrong:
        raise typer.Exit(1)


@app.command()
def run(
    folder: Folder,
    word: Annotated[
        str,
        typer.Argument(
            metavar="WORD",
            help="Letters, with blanks between them if a letter has several signs. Write -- before a word that starts "
            "with a dash.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Run a built model on one word: the state, and its label, after every letter."""
    built = open_model(folder)
    states, outputs = built.run(word)
    if as_json:
        return print_json({"states": states, "outputs": outputs})
    table = table_of("position", "letter", "state", "output")
    first = built.machine.start
    table.add_row("start", "", visible(built.machine.states[first]), visible(str(built.machine.outputs[first])))
    for position, row in enumerate(zip(built.machine.split(word), states, outputs, strict=True), start=1):
        table.add_row(str(position), *(visible(str(part)) for part in row))
    out.print(table)
    return None


@app.command()
def show(folder: Folder, as_json: AsJson = False) -> None:
    """Say what each layer and head of a built model does, with the registers it reads and writes."""
    from glassformer.compiler import describe

    built = open_model(folder)
    promised, told = built.certificate, describe(built.model, built.certificate)
    if as_json:
        return print_json({"registers": promised.registers, **told.to_json()})
    print(
        f"{promised.theorem}\n"
        f"Exact for every word of up to {counted(promised.exact_length, 'letter')}, in {promised.dtype}\n"
        f"{counted(promised.layers, 'layer')}, {counted(promised.heads, 'head')}, width {promised.width}, "
        f"{counted(promised.mlp, 'MLP unit')}, {counted(promised.parameters, 'parameter')}"
    )
    registers = table_of("register", "columns", "holds", title="The residual stream", box=box.SIMPLE)
    for register in promised.registers:
        first, last = register["start"], register["start"] + register["size"] - 1
        registers.add_row(register["name"], f"{first} – {last}" if last > first else f"{first}", register["about"])
    out.print(registers)
    table = table_of("layer", "part", "what it does", "reads", "writes", title="The layers", box=box.SIMPLE)
    table.add_row("", "tokens", promised.tokens, "", ", ".join(told.tokens_write))
    table.add_row("", "positions", "where we are", "", ", ".join(told.positions_write))
    for i, layer in enumerate(told.layers):
        for h, head in enumerate(layer.heads):
            does = f"{head.does}: match {', '.join(head.query)} with {', '.join(head.key)}"
            table.add_row(str(i), f"head {h}", does, ", ".join(head.value), ", ".join(head.writes))
        if layer.mlp:
            mlp = layer.mlp
            table.add_row("", "MLP", f"{mlp.does} ({mlp.units} units)", ", ".join(mlp.reads), ", ".join(mlp.writes))
    table.add_row("", "answer", promised.answer, ", ".join(told.answer_reads), "")
    out.print(table)
    return None


@app.command()
def claims(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Which claims; default: all.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the claims without running them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run what the source documents claim, and print measured beside claimed; exit 1 if one does not hold."""
    from glassformer.claims import find
    from glassformer.claims import run as measure

    chosen = find(ids or [])
    if listed:
        return print_json([{"id": c.id, "claimed": c.claimed} for c in chosen]) if as_json else list_claims(chosen)
    outcomes = []
    with progress_bar("measuring") as advance:
        for outcome in measure(chosen):
            outcomes.append(outcome)
            advance(len(outcomes), len(chosen))
    if as_json:
        print_json([outcome.to_json() for outcome in outcomes])
    else:
        table = table_of("claim", "claimed", "measured", "holds", show_lines=True)
        for outcome in outcomes:
            table.add_row(outcome.id, outcome.claimed, outcome.measured, "yes" if outcome.holds else "NO")
        out.print(table)
    if not all(outcome.holds for outcome in outcomes):
        raise typer.Exit(1)
    return None


def open_model(folder: Path) -> Built:
    """The built model in a folder, with a word of warning if it is no longer as it was built."""
    from glassformer.compiler import Built

    built = Built.load(folder)
    if built.changed:
        err.print("warning: the weights were changed after the model was built; its certificate no longer holds")
    return built


def list_claims(chosen: list[Any]) -> None:
    """The ids and what they claim."""
    table = table_of("claim", "claimed")
    for claim in chosen:
        table.add_row(claim.id, claim.claimed)
    out.print(table)


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


def table_of(*columns: str, **style: Any) -> Table:
    """An empty table that breaks long words in a narrow terminal, and never drops a part of them."""
    return Table(*(Column(header, overflow="fold") for header in columns), **style)


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    print(json.dumps(value, ensure_ascii=False))


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error; where nobody watches, a line every ten seconds."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    if err.is_terminal:
        with Progress(*columns, console=err, transient=True) as progress:
            task = progress.add_task(what, total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)
        return
    said = time.monotonic()

    def say(done: int, total: int) -> None:
        nonlocal said
        if time.monotonic() > said + 10:
            said = time.monotonic()
            err.print(f"{what}: {done:,} of {total:,}")

    yield say
