"""Commands about built models: compile one, verify it, run it, show what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box

from glassformer.automata import machine
from glassformer.messages import Message
from glassformer.ui.cli.terminal import AsJson, Folder, Spec, app, err, out, print_json, progress_bar, table_of
from glassformer.wording import counted, visible

if TYPE_CHECKING:
    from glassformer.compiler.built import Built


@app.command()
def compile(
    spec: Spec,
    length: Annotated[
        int, typer.Option(help="Longest word for which the model must be exact; it may be exact for longer ones.")
    ] = 128,
    method: Annotated[str, typer.Option(help="auto, log, cascade, gridworld or dyck.")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, float64, float16 or bfloat16.")] = "float32",
    folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Save the model here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Build a transformer that follows a machine exactly, every weight by theorem."""
    from glassformer.compiler.pipeline import compile as build

    built = build(machine(spec), length, method, dtype)
    if folder is not None:
        built.save(folder)
    certificate = built.certificate
    if as_json:
        return print_json(certificate.summary())
    table = table_of(title=spec, show_header=False, box=box.SIMPLE)
    for name in ("theorem", "method", "why", "layers", "heads", "width", "mlp", "parameters", "dtype", "exact_length"):
        value = getattr(certificate, name)
        grows = f" ({certificate.grows[name]})" if name in certificate.grows else ""
        table.add_row(name.replace("_", " "), f"{value:,}{grows}" if isinstance(value, int) else str(value))
    for name, message in certificate.margins.summary().items():
        table.add_row(str(Message(f"margins.{name}_name")), str(message))
    out.print(table)
    if folder is None:
        err.print("not saved: give --out DIR to keep the model")
    return None


@app.command()
def verify(
    folder: Folder,
    words: Annotated[int, typer.Option(min=1, help="Words to try when there are too many to try all.")] = 200,
    length: Annotated[
        int | None, typer.Option(min=1, help="Length of the words; default: the certificate one.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random words.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare a built model with its machine at every position of many words; exit 1 if one is wrong."""
    from glassformer.compiler.verification import verify as check

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
            help="Letters, with blanks between them if one has several characters. Write -- before a word that starts "
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
    from glassformer.compiler.description import describe

    built = open_model(folder)
    certificate, described = built.certificate, describe(built.model, built.certificate)
    if as_json:
        return print_json(described.to_json())
    print(
        f"{certificate.theorem}\n"
        f"Exact for every word of up to {counted(certificate.exact_length, 'letter')}, in {certificate.dtype}\n"
        f"{counted(certificate.layers, 'layer')}, {counted(certificate.heads, 'head')}, width {certificate.width}, "
        f"{counted(certificate.mlp, 'MLP unit')}, {counted(certificate.parameters, 'parameter')}"
    )
    registers = table_of("register", "columns", "holds", title="The residual stream", box=box.SIMPLE)
    for register in certificate.registers:
        first, last = register.start, register.start + register.size - 1
        registers.add_row(register.name, f"{first} – {last}" if last > first else f"{first}", str(register.about))
    out.print(registers)
    table = table_of("layer", "part", "what it does", "reads", "writes", title="The layers", box=box.SIMPLE)
    table.add_row("", "tokens", str(certificate.tokens), "", ", ".join(described.tokens_write))
    table.add_row("", "positions", "where we are", "", ", ".join(described.positions_write))
    for i, layer in enumerate(described.layers):
        for h, head in enumerate(layer.heads):
            does = f"{head.operation.title}: match {', '.join(head.query)} with {', '.join(head.key)}"
            table.add_row(str(i), f"head {h}", does, ", ".join(head.value), ", ".join(head.writes))
        if layer.mlp:
            mlp, does = layer.mlp, "; ".join(map(str, layer.mlp.does))
            table.add_row("", "MLP", f"{does} ({mlp.units} units)", ", ".join(mlp.reads), ", ".join(mlp.writes))
    table.add_row("", "answer", str(certificate.answer), ", ".join(described.answer_reads), "")
    out.print(table)
    return None


def open_model(folder: Path) -> Built:
    """The built model in a folder, with a word of warning if it is no longer as it was built."""
    from glassformer.compiler.built import Built

    built = Built.load(folder)
    if built.changed:
        err.print("warning: the weights were changed after the model was built; its certificate no longer holds")
    return built
