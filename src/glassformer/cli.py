"""The command line: `glassformer COMMAND … [--json]`.

Every command prints a table to read, or with --json one JSON value on standard output; progress and messages go to
standard error. Exit codes: 0 done, 1 a check failed, 2 bad input. No mathematics lives here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from glassformer.automata import Machine, formats, machine
from glassformer.automata.spec import signature
from glassformer.automata.zoo import ZOO
from glassformer.errors import InputError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Transformers of glass: build one from an automaton, check it, and look inside.

    A machine SPEC is a zoo call such as parity, cyclic(5) or "dyck(pairs=2, depth=3)"; a regular expression,
    "regex:(ab)*"; or a .json, .dot, .hoa or .att file.

    Start with: glassformer compile "regex:(ab)*" --length 100 --out demo, then verify, run and show demo.""",
)
out = Console(markup=False, highlight=False)
err = Console(stderr=True, markup=False, highlight=False)

Spec = Annotated[str, typer.Argument(metavar="SPEC", help="A machine: zoo call, regex:…, or file.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder made by compile.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of a table.")]


@app.command()
def zoo(
    spec: Annotated[str | None, typer.Argument(metavar="[SPEC]", help="Show this machine's transitions.")] = None,
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
    table = Table("machine", "states", "what it computes", title="The zoo (states for the parameters shown)")
    for row in rows:
        table.add_row(f"{row['name']}{row['parameters']}", str(row["states"]), str(row["about"]))
    out.print(table)
    return None


@app.command()
def convert(
    spec: Spec, file: Annotated[Path, typer.Argument(help="Where to write: .json, .dot, .hoa or .att.")]
) -> None:
    """Write a machine to a file, in the format that the file's ending names."""
    formats.write(machine(spec), file)
    err.print(f"wrote {file}")


@app.command()
def compile(
    spec: Spec,
    length: Annotated[int, typer.Option(help="Longest word for which the model must be exact.")] = 128,
    method: Annotated[str, typer.Option(help="auto or log.")] = "auto",
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
    table = Table(title=spec, show_header=False, box=box.SIMPLE)
    for name in ("theorem", "method", "why", "layers", "heads", "width", "mlp", "parameters", "dtype", "exact_length"):
        value = getattr(promised, name)
        table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else value)
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
    seed: Annotated[int, typer.Option(help="Seed of the random words.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare a built model with its machine at every position of many words; exit 1 if one is wrong."""
    from glassformer.compiler import Built
    from glassformer.compiler import verify as check

    built = Built.load(folder)
    with progress_bar("verifying") as advance:
        report = check(built, words, length, seed, advance)
    if as_json:
        print_json(report.to_json())
    else:
        every = f"all {report.words:,} words" if report.exhaustive else f"{report.words:,} words"
        out.print(f"{every} of length {report.longest:,}: {report.positions:,} positions, {report.wrong:,} wrong")
        if report.first_mistake:
            out.print(f"first mistake: {report.first_mistake}")
    if report.wrong:
        raise typer.Exit(1)


@app.command()
def run(
    folder: Folder,
    word: Annotated[str, typer.Argument(help="Letters, with blanks between them if a letter has several signs.")],
    as_json: AsJson = False,
) -> None:
    """Run a built model on one word: the state, and its label, after every letter."""
    from glassformer.compiler import Built

    built = Built.load(folder)
    states, outputs = built.run(word)
    if as_json:
        return print_json({"states": states, "outputs": outputs})
    table = Table("position", "letter", "state", "output")
    for position, row in enumerate(zip(built.machine.split(word), states, outputs, strict=True), start=1):
        table.add_row(str(position), *map(str, row))
    out.print(table)
    return None


@app.command()
def show(folder: Folder, as_json: AsJson = False) -> None:
    """Say what each layer and head of a built model does, with the registers it reads and writes."""
    from glassformer.compiler import Built, describe

    built = Built.load(folder)
    promised, told = built.certificate, describe(built.model, built.certificate)
    if as_json:
        return print_json({"registers": promised.registers, **told.to_json()})
    print(
        f"{promised.theorem}\n"
        f"Exact for every word of up to {promised.exact_length:,} letters, in {promised.dtype}\n"
        f"{promised.layers} layers, {promised.heads} head, width {promised.width}, MLP {promised.mlp}, "
        f"{promised.parameters:,} parameters"
    )
    registers = Table("register", "columns", "holds", title="The residual stream", box=box.SIMPLE)
    for register in promised.registers:
        first, last = register["start"], register["start"] + register["size"] - 1
        registers.add_row(register["name"], f"{first} – {last}" if last > first else f"{first}", register["about"])
    out.print(registers)
    table = Table("layer", "part", "what it does", "reads", "writes", title="The layers", box=box.SIMPLE)
    table.add_row("", "tokens", "each letter's map; the start's is the identity", "", ", ".join(told.tokens_write))
    table.add_row("", "positions", "where we are", "", ", ".join(told.positions_write))
    for i, layer in enumerate(told.layers):
        for h, head in enumerate(layer.heads):
            does = f"{head.does}: match {', '.join(head.query)} with {', '.join(head.key)}"
            table.add_row(str(i), f"head {h}", does, ", ".join(head.value), ", ".join(head.writes))
        if layer.mlp:
            mlp = layer.mlp
            table.add_row("", "MLP", f"{mlp.does} ({mlp.units} units)", ", ".join(mlp.reads), ", ".join(mlp.writes))
    table.add_row("", "answer", "the state whose place is nearest", ", ".join(told.answer_reads), "")
    out.print(table)
    return None


@app.command()
def claims(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Which claims; default: all.")] = None,
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
        table = Table("claim", "claimed", "measured", "holds", show_lines=True)
        for outcome in outcomes:
            table.add_row(outcome.id, outcome.claimed, outcome.measured, "yes" if outcome.holds else "NO")
        out.print(table)
    if not all(outcome.holds for outcome in outcomes):
        raise typer.Exit(1)
    return None


def list_claims(chosen: list[Any]) -> None:
    """The ids and what they claim."""
    table = Table("claim", "claimed")
    for claim in chosen:
        table.add_row(claim.id, claim.claimed)
    out.print(table)


def show_machine(shown: Machine, as_json: bool) -> None:
    """The transition table of one machine."""
    if as_json:
        return print_json(json.loads(formats.dumps(shown, "json")))
    table = Table("state", *(f"after {symbol}" for symbol in shown.symbols), "output", title=repr(shown))
    for q, name in enumerate(shown.states):
        start = " (start)" if q == shown.start else ""
        table.add_row(f"{name}{start}", *(shown.states[row[q]] for row in shown.delta), str(shown.outputs[q]))
    out.print(table)
    return None


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    print(json.dumps(value, ensure_ascii=False))


@contextmanager
def progress_bar(what: str) -> Iterator[Any]:
    """A bar on standard error, if somebody is there to see it."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def main() -> None:
    """Run a command; what the user can mend is said in one line, with exit code 2."""
    try:
        app()
    except InputError as error:
        print(f"glassformer: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("glassformer: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
