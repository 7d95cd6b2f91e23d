"""Commands about built models: compile one, verify it, run it, show what is in it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from rich import box

from glassformer.messages import Message
from glassformer.ui.cli.terminal import (
    AsJson,
    Folder,
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
    say,
)
from glassformer.wording import visible

if TYPE_CHECKING:
    from glassformer.compiler.built import Built
    from glassformer.compiler.certificate import Certificate
    from glassformer.compiler.description import Description
    from glassformer.operations.stream import Register

TrustChanges: TypeAlias = Annotated[
    bool, typer.Option("--trust-changes", help="Go on although the model was changed since it was built.")
]


@app.command()
def compile(
    spec: Spec,
    length: Annotated[
        int, typer.Option(help="Longest word for which the model must be exact; it may be exact for longer ones.")
    ] = 128,
    method: Annotated[str, typer.Option(help="auto, or a construction by name (see `glassformer classify`).")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, float64, float16 or bfloat16.")] = "float32",
    folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Save the model here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Build a transformer that follows a machine exactly, every weight by theorem."""
    from glassformer.compiler.pipeline import compile as build

    built = build(spec, length, method, dtype)
    if folder is not None:
        built.save(folder)
    certificate = built.certificate
    if as_json:
        return print_json(certificate.summary())
    print_facts(spec, facts_of(certificate))
    if folder is None:
        note("cli.not_saved")
    return None


def facts_of(certificate: Certificate) -> Iterator[tuple[Label, object]]:
    """What a model promises, with what its sizes grow with, and its margins."""
    for name in ("theorem", "method", "why", "layers", "heads", "width", "mlp", "parameters", "dtype", "exact_length"):
        value = getattr(certificate, name)
        grows = certificate.grows.get(name)
        yield name, Message("cli.grows", value=value, grows=grows) if grows else Message("common.verbatim", text=value)
    yield from ((Message(f"margins.{name}_name"), m) for name, m in certificate.margins.summary().items())


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

    built = open_model(folder, trust_changes=True)  # whether it is right is the question
    with progress_bar("cli.verifying") as advance:
        report = check(built, words, length, seed, advance)
    if as_json:
        print_json(report)
    else:
        counts = {"words": report.words, "positions": report.positions, "wrong": report.wrong}
        say("cli.verified_all" if report.exhaustive else "cli.verified", **counts, length=report.longest)
        if report.first_mistake:
            say("cli.first_mistake", what=report.first_mistake)
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
    trust_changes: TrustChanges = False,
    as_json: AsJson = False,
) -> None:
    """Run a built model on one word: the state, and its label, after every letter."""
    built = open_model(folder, trust_changes)
    states, outputs = built.run(word)
    first, letters = built.machine.start, built.machine.split(word)
    rows = zip(letters, states, outputs, strict=True)
    shown = [[str(i), *(visible(str(part)) for part in row)] for i, row in enumerate(rows, start=1)]
    start = [label("start"), "", visible(built.machine.states[first]), visible(str(built.machine.outputs[first]))]
    found = {"states": states, "outputs": outputs}
    print_result(found, as_json, ("position", "letter", "state", "output"), [start, *shown])


@app.command()
def show(folder: Folder, trust_changes: TrustChanges = False, as_json: AsJson = False) -> None:
    """Say what each layer and head of a built model does, with the registers it reads and writes."""
    from glassformer.compiler.description import describe

    built = open_model(folder, trust_changes)
    certificate, described = built.certificate, describe(built.model, built.certificate)
    if as_json:
        return print_json(described.to_json())
    out.print(str(certificate.theorem))
    if not built.changed:
        say("cli.exact", letters=certificate.exact_length, dtype=certificate.dtype)
    say("cli.sizes", **{name: getattr(certificate, name) for name in ("layers", "heads", "width", "mlp", "parameters")})
    registers = map(register_row, certificate.registers)
    print_table(("register", "columns", "content"), registers, title=Message("cli.residual_stream"), box=box.SIMPLE)
    parts = part_rows(certificate, described)
    columns = ("layer", "part", "what_it_does", "reads", "writes")
    print_table(columns, parts, title=Message("cli.the_layers"), box=box.SIMPLE)
    return None


def register_row(register: Register) -> tuple[object, ...]:
    """Its name, its columns, and what it holds."""
    first, last = register.start, register.start + register.size - 1
    return register.name, f"{first} – {last}" if last > first else first, register.about


def part_rows(certificate: Certificate, described: Description) -> Iterator[tuple[object, ...]]:
    """Tokens, positions, every head and MLP, and the answer."""
    yield "", label("tokens"), certificate.tokens, "", ", ".join(described.tokens_write)
    yield "", label("positions"), Message("cli.where_we_are"), "", ", ".join(described.positions_write)
    for i, layer in enumerate(described.layers):
        for h, head in enumerate(layer.heads):
            what = Message("cli.matches", operation=head.operation.title, query=head.query, key=head.key)
            yield i, Message("labels.head_number", head=h), what, ", ".join(head.value), ", ".join(head.writes)
        if mlp := layer.mlp:
            what = Message("cli.mlp_does", does=mlp.does, units=mlp.units)
            yield "", "MLP", what, ", ".join(mlp.reads), ", ".join(mlp.writes)
    yield "", label("answer"), certificate.answer, ", ".join(described.answer_reads), ""


def open_model(folder: Path, trust_changes: bool) -> Built:
    """The built model in a folder; one that was changed since is refused, or if that is trusted there is a warning."""
    from glassformer.compiler.built import Built

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = Built.load(folder, trust_changes)
    if built.changed:
        note("cli.model_changed")
    return built
