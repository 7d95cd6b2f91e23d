"""The command that sets every attention that led here beside the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.atomic import write_atomically
from glassformer.documents.verdict import yes_or_no
from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.ui.cli.terminal import AsJson, Label, app, note, out, print_json, print_table, progress_bar, table_of

if TYPE_CHECKING:
    from glassformer.documents.lineage.results import Family, Skips, Translating
    from glassformer.documents.lineage.translating import TranslationScale
    from glassformer.documents.verdict import Verdict
    from glassformer.training.store import TrialRow


@app.command()
def lineage(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where results, models and figures are kept.")
    ] = Path("lineage"),
    text: Annotated[
        str, typer.Option(help="Parallel text to translate: a file, the name of a corpus, or none.")
    ] = "help-en-de",
    quick: Annotated[bool, typer.Option("--quick", help="A few members, one seed; nothing is translated.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Every member on every task, not six of them; goes on from the usual run.")
    ] = False,
    listed: Annotated[
        bool, typer.Option("--list", help="List the family with its formulas, and train nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train every attention that led to the Transformer on the same tasks, with equal parameters, and compare.

    Copy, reverse, sort, recall, fetch two things, dates; stacks with and without skip connections; English to German
    with attention and without. What is done is kept: the same command goes on where it was stopped.
    """
    from glassformer.documents.lineage import aligned, figures, skips, translating, verdicts
    from glassformer.documents.lineage import family as bench
    from glassformer.documents.lineage.results import Lineage
    from glassformer.nn.files import to_json
    from glassformer.training.cluster import cores

    if listed:
        return list_family(as_json)
    if quick and full:
        raise InputError("cli.quick_or_full")
    if folder.exists() and not folder.is_dir():
        raise InputError("cli.a_file", folder=str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    translation = None if quick or text == "none" else brought(text)
    scale = bench.QUICK if quick else bench.FULL if full else bench.LAPTOP
    with trials_bar("cli.the_family") as watch:
        family = bench.family(scale, folder, cores(), watch)
    with trials_bar("cli.skips") as watch:
        stacked = skips.skips(skips.QUICK if quick else skips.SkipsScale(), folder / "skips.sqlite", cores(), watch)
    with trials_bar("cli.dates") as watch:
        dates = aligned.draw_dates(folder, 200 if quick else 400, cores(), watch)
    read = None
    if translation is not None:
        with trials_bar("cli.translating") as watch:
            read = translating.translating(translation, folder, cores(), watch)
    concluded = [*verdicts.of_family(family), *verdicts.of_skips(stacked)]
    concluded += verdicts.of_translating(read) if read else []
    found = asdict(Lineage.of(family, stacked, read, concluded, quick))
    drawn = figures.draw_family(family) | {"skips": figures.draw_skips(stacked), "dates": dates}
    drawn["reverse"] = aligned.draw_reverse(scale, folder)
    drawn |= {"bleu": figures.draw_translating(read)} if read else {}
    write_atomically(folder / "lineage.json", to_json(found).encode())
    for name, svg in drawn.items():
        write_atomically(folder / f"{name}.svg", svg.encode())
    if as_json:
        return print_json(found)
    print_family(family)
    print_skips(stacked)
    if read:
        print_translating(read)
    print_verdicts(concluded)
    note("cli.wrote_in", names=[f"{name}.svg" for name in drawn], folder=folder)
    return None


def brought(text: str) -> TranslationScale | None:
    """What is to be translated; if a corpus cannot be fetched, a warning, and the rest is done without."""
    from glassformer.documents.lineage.translating import TranslationScale, check
    from glassformer.training import fetching

    try:
        if text in fetching.SOURCES:
            fetching.fetch(text)
    except InputError as error:
        note("cli.nothing_translated", why=error.message)
        return None
    scale = TranslationScale(text)
    check(scale)
    return scale


@contextmanager
def trials_bar(id: str) -> Iterator[Callable[[list[TrialRow]], None]]:
    """How many steps of all trials are done."""
    with progress_bar(id) as advance:

        def watch(trials: list[TrialRow]) -> None:
            steps = [int(trial.settings["training"]["steps"]) for trial in trials]
            ended = [trial.status in ("done", "failed") for trial in trials]
            made = [of if end else trial.steps for trial, of, end in zip(trials, steps, ended, strict=True)]
            advance(sum(made), sum(steps))

        yield watch


def list_family(as_json: bool) -> None:
    """Names, sources and formulas."""
    from glassformer.nn.scores import FAMILY, WINDOWS, MultiHead

    windows = {name: part for name, part in WINDOWS.items() if part is not None}
    parts: dict[str, Any] = {**FAMILY, **windows, "multi-head": MultiHead}
    given = {name: f"score={name}" for name in FAMILY} | {name: f"window={name}" for name in windows}
    given["multi-head"] = "heads=4, groups=2"
    for name in ("rotary", "alibi"):
        given[name] = str(Message("cli.in_a_transformer", part=f"score={name}, positions={name}"))
    rows = [(name, part.source, (part.__doc__ or "").split("\n")[0], given[name]) for name, part in parts.items()]
    if as_json:
        keys = ("name", "source", "formula", "part")
        return print_json([dict(zip(keys, row, strict=True)) for row in rows])
    print_table(("mechanism", "source", "formula", "as_a_part"), rows)
    return None


def print_family(family: Family) -> None:
    """A table for each task: the median of seeds, their spread, and the step at which 99 % were right."""
    from glassformer.documents.lineage.results import BLOCK, RNN, titles

    names = titles()
    for host, task in dict.fromkeys((row.host, row.task) for row in family.rows):
        rows = family.of(host, task)
        tests = list(next(iter(rows.values())).tests)
        title = Message({RNN: "cli.in_an_encoder_decoder", BLOCK: "cli.in_a_block"}[host], task=names["tasks"][task])
        one_answer = all(row.whole == row.accuracy for row in rows.values())
        whole_names = [] if one_answer else ["whole_sequences"]
        tested = [names["tests"][test] for test in tests]
        measured: list[Label] = ["accuracy", "spread", *whole_names, *tested, "steps_to_99", "seconds"]
        table = table_of("mechanism", *measured, title=title)
        for name, row in rows.items():
            whole = [] if one_answer else [row.whole]
            right = [f"{value:.3f}" for value in (row.accuracy, row.spread, *whole, *row.tests.values())]
            reached = "" if row.reached is None else str(row.reached)
            table.add_row(str(names["members"][name]), *right, reached, f"{row.seconds:.1f}")
        out.print(table)


def print_skips(stacked: Skips) -> None:
    """Accuracy by depth, and the gradient of the first layer beside that of the last."""
    from glassformer.documents.lineage.results import titles

    names, depths = titles()["skips"], list(next(iter(stacked.accuracies.values())))
    ends = {kind: (norms[0], max(norms[-1], 1e-30)) for kind, norms in stacked.gradients.items()}
    rows = (
        (names[kind], *(f"{value:.3f}" for value in by_depth.values()), f"{ends[kind][0] / ends[kind][1]:.2g}")
        for kind, by_depth in stacked.accuracies.items()
    )
    print_table(("skips", *(Message("cli.layers", layers=depth) for depth in depths), "gradient_first_last"), rows)


def print_translating(read: Translating) -> None:
    """BLEU by length."""
    from glassformer.documents.lineage.results import titles

    names, lengths = titles()["members"], list(next(iter(read.bleu.values())))
    rows = ((names[score], *(f"{value:.1f}" for value in by_length.values())) for score, by_length in read.bleu.items())
    print_table(("bleu", *(Message("cli.up_to_tokens", tokens=most) for most in lengths)), rows)


def print_verdicts(verdicts: list[Verdict]) -> None:
    """What was claimed, and what was seen here."""
    rows = ((verdict.claim, verdict.seen_text, yes_or_no(verdict.holds)) for verdict in verdicts)
    print_table(("claim", "here", "holds"), rows, show_lines=True)
