"""Commands about learning: train one model, or sweep through many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.live import Live
from rich.table import Table

from glassformer.errors import InputError
from glassformer.messages import Message, verbatim
from glassformer.ui.cli.terminal import (
    AsJson,
    Label,
    Spec,
    app,
    err,
    label,
    leave,
    note,
    out,
    print_facts,
    print_json,
    progress_bar,
    table_of,
)

if TYPE_CHECKING:
    from glassformer.training import Trained
    from glassformer.training.store import TrialRow


@app.command()
def train(
    spec: Spec,
    length: Annotated[
        int | None, typer.Option(min=1, help="Letters in a word; default: 32, of sequences 12 (4 pairs).")
    ] = None,
    predict: Annotated[
        str, typer.Option(help="What is asked after every letter: state, output, start, boundary, first or top.")
    ] = "state",
    letters: Annotated[str | None, typer.Option(help="Probabilities of the letters, as in 0.9,0.1.")] = None,
    reveal: Annotated[float, typer.Option(help="Share of the answers that training shows.")] = 1.0,
    scratchpad: Annotated[bool, typer.Option(help="Let the model write the states into the word.")] = False,
    ignore: Annotated[float, typer.Option(help="Of the flip-flop language: how much is to be ignored.")] = 0.8,
    kind: Annotated[
        str, typer.Option(help="transformer, lstm, or rnn: a recurrent encoder and decoder, for sequences.")
    ] = "transformer",
    layers: Annotated[int, typer.Option(min=1, help="Layers.")] = 2,
    width: Annotated[int, typer.Option(min=1, help="Width of the residual stream, or of an LSTM's state.")] = 64,
    heads: Annotated[int | None, typer.Option(min=1, help="Heads; default: 4 in each layer, or 1 of an rnn.")] = None,
    mlp: Annotated[int | None, typer.Option(min=1, help="Units of each MLP; default: 4 × the width.")] = None,
    positions: Annotated[str, typer.Option(help="learned, sinusoidal, rotary, alibi (recency) or none.")] = "learned",
    part: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Another part of the model, as in score=additive or skip=highway."),
    ] = None,
    shifted: Annotated[bool, typer.Option(help="Begin words at random positions of twice the context.")] = False,
    steps: Annotated[int, typer.Option(min=1, help="Steps.")] = 1000,
    batch: Annotated[int, typer.Option(min=1, help="Words in a step.")] = 64,
    learning_rate: Annotated[float, typer.Option("--lr", help="Learning rate, after warm-up.")] = 1e-3,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of weights and words.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="Threads; small models are fastest with one.")] = 1,
    test: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT=VALUE", help="Also test on other words, as in length=64 or letters=0.9,0.1."),
    ] = None,
    folder: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Keep the run here.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in DIR.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train a model on the same task that compile builds one for: say the state after every letter.

    With "flip-flop language" as SPEC it is to predict the next token of w 0 i 1 r 0 …, FFL(0.8). With copy, reverse,
    sort, recall, fetch or dates it is to change one sequence into another.
    """
    from glassformer.training import DivergedError
    from glassformer.training import train as learn
    from glassformer.training.transductions import TRANSDUCTIONS
    from glassformer.training.trial import parts_of

    if resume and folder is None:
        raise InputError("cli.resume_without_folder")
    if resume and folder is not None and not (folder / "run.json").exists():
        raise InputError("cli.nothing_to_resume", folder=str(folder))
    given = {"predict": predict, "reveal": reveal, "scratchpad": scratchpad, "ignore": ignore}
    usual = {"predict": "state", "reveal": 1.0, "scratchpad": False, "ignore": 0.8}
    usual_length = (4 if spec in ("recall", "fetch") else 12) if spec in TRANSDUCTIONS else 32
    task: dict[str, Any] = {"sequence" if spec in TRANSDUCTIONS else "machine": spec, "length": length or usual_length}
    task |= {name: value for name, value in given.items() if value != usual[name]}
    if letters is not None:
        task["letters"] = probabilities(letters)
    model = {"kind": kind, "layers": layers, "width": width, "heads": heads, "mlp": mlp, "positions": positions}
    model |= dict(map(part_of, part or []))
    training = {"steps": steps, "batch": batch, "learning_rate": learning_rate, "seed": seed, "shifted": shifted}
    training["threads"] = threads
    tests = dict(map(test_of, test or []))
    with progress_bar("cli.training") as advance:

        def show(step: int, loss: float, accuracy: float | None) -> None:
            now = Message("cli.training_loss", loss=loss)
            advance(step, steps, now if accuracy is None else Message("cli.and_accuracy", now=now, accuracy=accuracy))

        try:
            asked, architecture, settings, tested = parts_of(
                {"task": task, "model": model, "training": training, "tests": tests}
            )
            trained = learn(asked, architecture, settings, folder, resume, tested, show)
        except DivergedError as error:
            leave(error.message, 1)
    if as_json:
        return print_json(trained.to_json())
    print_trained(spec, trained)
    if folder is None:
        note("cli.not_saved")
    return None


def print_trained(spec: str, trained: Trained) -> None:
    """How a training went, as a table."""
    facts: dict[Label, object] = {"accuracy": Message("cli.on_fresh_words", accuracy=trained.score.accuracy)}
    facts["whole_words"] = f"{trained.score.whole_words:.4f}"
    facts |= {verbatim(name): f"{score.accuracy:.4f}" for name, score in trained.tests.items()}
    facts |= {"loss": f"{trained.loss:.4f}", "steps": f"{trained.steps:,}"}
    facts["tokens_per_second"] = f"{trained.tokens_per_second:,.0f}"
    print_facts(spec, facts.items())


def part_of(text: str) -> tuple[str, Any]:
    """A part of the model by its name; numbers and yes or no as they are meant."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError("cli.part", text=text)
    if value in ("true", "false"):
        return name, value == "true"
    return name, int(value) if value.isdecimal() else value


def test_of(text: str) -> tuple[str, dict[str, Any]]:
    """A test by its name, and in what it differs from the task."""
    what, _, value = text.partition("=")
    reading: dict[str, Callable[[str], Any]] = {"length": int, "letters": probabilities, "ignore": float}
    if what not in reading:
        raise InputError("cli.test", names=list(reading), text=text)
    try:
        return text, {what: reading[what](value)}
    except ValueError:
        raise InputError("cli.test_number", what=what, value=value) from None


def probabilities(text: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError("cli.probabilities", text=text) from None


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file that says what to train.")],
    store: Annotated[Path | None, typer.Option(help="Where results are kept; default: FILE with .sqlite.")] = None,
    engine: Annotated[str, typer.Option(help="here, ray (a cluster on this machine), or ray://address.")] = "here",
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine; default: one a core.")
    ] = None,
    keep: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep every run, with its model, here.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Try those again that failed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train all models that a file asks for; stop and start again as you like, nothing is trained twice."""
    from glassformer.training import cluster
    from glassformer.training.store import Store
    from glassformer.training.sweep import read_sweep, run_here, run_on_ray

    on_cluster = cluster.asked_for(engine)
    if keep is not None and on_cluster:
        raise InputError("cli.keep_on_a_cluster")
    asked = read_sweep(file)
    kept = Store(store or file.with_suffix(".sqlite"))
    kept.add(asked.trials.items())
    if retry:
        kept.retry_failed(asked.ids)
    if elsewhere := kept.running(asked.ids):
        note("cli.waiting", trials=elsewhere)
    with live_table() as watch:
        if on_cluster:
            run_on_ray(asked, kept, engine, watch)
        else:
            run_here(asked, kept, processes or cluster.cores(), keep, watch)
    rows = kept.rows(asked.ids)
    if as_json:
        print_json([{"id": r.id, "settings": r.settings, "status": r.status, "result": r.result} for r in rows])
    else:
        out.print(table_of_trials(rows, varied(rows)))
    if any(row.status != "done" for row in rows):
        raise typer.Exit(1)


@contextmanager
def live_table() -> Iterator[Callable[[list[TrialRow]], None] | None]:
    """The trials that are running, on standard error, and how many are done; nothing where nobody watches."""
    if not err.is_terminal:
        yield None
        return
    with Live(console=err, transient=True, refresh_per_second=2) as live:
        yield lambda rows: live.update(running_table(rows))


def running_table(rows: list[TrialRow]) -> Table:
    """What is being trained now."""
    running = [row for row in rows if row.status == "running"]
    done = sum(row.status == "done" for row in rows)
    failed = sum(row.status == "failed" for row in rows)
    title = Message("cli.trials_done", done=done, trials=len(rows))
    title = Message("cli.and_failed", done=title, failed=failed) if failed else title
    return table_of_trials(running, varied(rows), title)


def varied(rows: list[TrialRow]) -> list[tuple[str, str]]:
    """The settings in which trials differ."""
    keys = dict.fromkeys(
        (part, key) for row in rows for part in ("task", "model", "training") for key in row.settings[part]
    )
    return [key for key in keys if len({str(row.settings[key[0]].get(key[1])) for row in rows}) > 1]


def table_of_trials(rows: list[TrialRow], differing: list[tuple[str, str]], title: Message | None = None) -> Table:
    """One row for each trial."""
    table = table_of(*(verbatim(key.replace("_", " ")) for _, key in differing), "status", "accuracy", title=title)
    for row in rows:
        settings = [str(row.settings[part].get(key, "")) for part, key in differing]
        result = row.result or {}
        status = str(Message("cli.at_step", step=row.steps)) if row.status == "running" else label(row.status)
        table.add_row(*settings, status, result.get("error") or f"{result['accuracy']:.4f}" if result else "")
    return table
