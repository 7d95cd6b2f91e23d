"""Commands that run whole experiments; what was done is kept, so they can be stopped and started again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box

from glassformer.atomic import write_atomically
from glassformer.messages import Message, verbatim
from glassformer.ui.cli.learning import live_table
from glassformer.ui.cli.lineage import print_verdicts, trials_bar
from glassformer.ui.cli.terminal import AsJson, Spec, app, note, print_json, print_table, progress_bar


@app.command()
def evolve(
    corpus: Annotated[str, typer.Option(help="Parallel text: a file, or the name of a fetched corpus.")] = "help-en-de",
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where models, numbers and figure are kept.")
    ] = Path("evolution"),
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of each training; default: 4,000.")] = None,
    norm: Annotated[str, typer.Option(help="Where norms are: post (behind attention and MLP) or pre.")] = "post",
    quick: Annotated[bool, typer.Option("--quick", help="Smaller models, fewer steps: minutes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a language model, a masked one and a translator on one text, and follow meaning through their layers.

    Two seeds of each. Trainings are kept: the same command goes on where it was stopped. Only what is measured, some
    minutes, is measured again.
    """
    from dataclasses import asdict, replace

    from glassformer.documents.evolution.figure import draw
    from glassformer.documents.evolution.measuring import measure
    from glassformer.documents.evolution.training import QUICK, EvolutionScale, train_all
    from glassformer.documents.evolution.verdicts import verdicts
    from glassformer.nn.files import to_json
    from glassformer.training.cluster import cores

    scale = replace(QUICK if quick else EvolutionScale(), corpus=corpus, norm_place=norm)
    scale = scale if steps is None else replace(scale, steps=steps)
    with trials_bar("cli.training") as watch:
        learned = train_all(scale, folder, cores(), watch)
    with progress_bar("cli.measuring") as advance:

        def show(what: str, count: int, of: int) -> None:
            advance(count, of, Message(f"cli.measuring_{what}"))

        found = measure(scale, folder, learned, show)
    concluded = verdicts(found)
    everything = asdict(replace(found, quick=quick, claims=[verdict.written() for verdict in concluded]))
    write_atomically(folder / "evolution.json", to_json(everything).encode())
    write_atomically(folder / "evolution.svg", draw(found).encode())
    if as_json:
        return print_json(everything)
    numbers = ((n, f"{m.accuracy:.3f}", f"{m.guess:.3f}", f"{m.tokens_per_second:,.0f}") for n, m in learned.items())
    print_table(("model", "accuracy", "majority_baseline", "tokens_per_second"), numbers)
    print_verdicts(concluded)
    note("common.wrote", place=folder / "evolution.svg")
    return None


study = typer.Typer(no_args_is_help=True, help="Run a whole experiment: a table, a figure, and all runs kept.")
app.add_typer(study, name="study")

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where runs, table and figure are kept.")]


@study.command()
def brittleness(
    spec: Spec = "parity",
    length: Annotated[int, typer.Option(min=4, help="Letters in the words of training.")] = 16,
    steps: Annotated[int, typer.Option(min=1, help="Steps of each training.")] = 2000,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each model.")] = 1,
    folder: Out = Path("brittleness"),
    as_json: AsJson = False,
) -> None:
    """Train models on letters drawn uniformly, and test them on other mixes and longer words, beside a built one."""
    from glassformer.documents.shortcuts.brittleness import brittleness as measure
    from glassformer.documents.shortcuts.brittleness import titles
    from glassformer.training.cluster import cores

    with live_table() as watch:
        found = measure(spec, length, steps, seeds, folder / "runs.sqlite", cores(), watch)
    write_atomically(folder / "brittleness.svg", found.draw().encode())
    if as_json:
        return print_json(found)
    letters = [verbatim(f"p={p:g}") for p in next(iter(found.by_letter.values()))]
    longer = [verbatim(f"T={n}") for n in next(iter(found.by_length.values()))]
    title = Message("cli.brittleness", spec=spec)
    scores = {titles()[name]: [*by.values(), *found.by_length[name].values()] for name, by in found.by_letter.items()}
    rows = ((name, *(f"{score:.3f}" for score in row)) for name, row in scores.items())
    print_table(("model", *letters, *longer), rows, title=title, box=box.SIMPLE, padding=(0, 1, 0, 0))
    note("common.wrote", place=folder / "brittleness.svg")
    return None
