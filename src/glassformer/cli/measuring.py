"""Commands that measure: instruments on any model folder, built or trained."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.automata import formats
from glassformer.cli.terminal import AsJson, app, err, out, print_json, table_of
from glassformer.errors import InputError

if TYPE_CHECKING:
    from glassformer.learn.batch import Batch
    from glassformer.learn.tasks import WordTask
    from glassformer.nn import Transformer

measure = typer.Typer(no_args_is_help=True, help="Look inside a model, built or trained, with an instrument.")
app.add_typer(measure, name="measure")

AnyFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder, or the folder of a training run.")]


@measure.command()
def heads(
    folder: AnyFolder,
    words: Annotated[int, typer.Option(min=2, max=100_000, help="Words to look at.")] = 64,
    length: Annotated[
        int | None, typer.Option(min=3, help="Their length; default: as in training, or what it takes up to 64.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the words.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Name what every attention head does, by its patterns beside ideal ones.

    Built models are shown nasty words too, which move every head; trained ones only words like those they know. How
    much a head matters is the part of the answers that change when what it reads is replaced by its mean over words.
    """
    from glassformer.measure import score_heads

    model, task, is_trained = open_any(folder)
    task = replace(task, length=length or (task.length if is_trained else min(task.length, 64)))
    tokens = words_for(model, task, is_trained, words, seed).tokens
    scores = score_heads(model, tokens)
    if as_json:
        layers = range(len(model.config.blocks))
        return print_json(
            {"layers": [{"heads": [score.to_json() for score in scores if score.layer == i]} for i in layers]}
        )
    table = table_of("layer", "head", "job", "how clearly", "matters", "next best")
    for score in scores:
        others = {name: value for name, value in score.scores.items() if name != score.job}
        second = max(others, key=lambda name: others[name])
        at = "" if score.at is None else " at " + ", ".join(task.names[token] for token in score.at)
        table.add_row(
            str(score.layer),
            str(score.head),
            score.job + at,
            f"{score.confidence:.3f}",
            f"{score.matters:.3f}",
            f"{second} {others[second]:.3f}",
        )
    out.print(table)
    err.print(f"seen on {words} words of {tokens.shape[1]} tokens")
    return None


def words_for(model: Transformer, task: WordTask, is_trained: bool, words: int, seed: int) -> Batch:
    """Words like those of its training for a trained model; for a built one nasty words too."""
    import numpy as np

    from glassformer.automata.words import chosen_words
    from glassformer.learn import Following

    if task.context > model.config.context:
        raise InputError(f"the model takes {model.config.context} tokens; these words have {task.context}")
    if is_trained or not isinstance(task, Following):
        return task.batch(np.random.default_rng([seed, words, 2]), words)  # neither those of training nor of its tests
    return task.answered(chosen_words(task.machine, task.length, words, seed))


@measure.command()
def shortcut(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Models for words of different lengths.")],
    words: Annotated[int, typer.Option(min=2, max=100_000, help="Words to try each model on.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the words.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Say whether a family of models is a shortcut: right at every length, with a depth that grows more slowly."""
    from glassformer.learn.evaluation import mistakes
    from glassformer.measure.shortcut import Member, judge

    family, first = [], None
    for folder in folders:
        model, task, is_trained = open_any(folder)
        first = first or task
        if replace(task, length=first.length) != first:
            raise InputError(f"{folder} is no model of the same task as {folders[0]}: a family differs in length alone")
        wrong = mistakes(model, task, words_for(model, task, is_trained, words, seed))
        family.append(Member(task.length, len(model.config.blocks), int(wrong.sum())))
    verdict = judge(family)
    if as_json:
        return print_json({"layers": [asdict(member) for member in family], **asdict(verdict)})
    table = table_of("length", "layers", "wrong")
    for member in sorted(family, key=lambda member: member.length):
        table.add_row(f"{member.length:,}", f"{member.depth:,}", f"{member.wrong:,}")
    out.print(table)
    out.print(f"{'a' if verdict.shortcut else 'no'} shortcut: {verdict.why}")
    return None


def open_any(folder: Path) -> tuple[Transformer, WordTask, bool]:
    """The model in a folder, or of a run; what it was made for, and whether it was trained."""
    from glassformer.learn import Following
    from glassformer.learn.tasks import task_from_json
    from glassformer.learn.trainer import model_of
    from glassformer.nn import files

    place = model_of(folder)
    model, documents = files.load_transformer(place)
    if "training.json" in documents:
        told = files.parse_json(documents["training.json"], f"{place}/training.json")
        return model, task_from_json(told, f"{place}/training.json"), True
    if "machine.json" not in documents:
        raise InputError(f"{place} holds no machine.json, so it is not known which words the model reads")
    machine = formats.loads(documents["machine.json"], "json", f"{place}/machine.json")
    return model, Following(machine, model.config.context - 1), False
