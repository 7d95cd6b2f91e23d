"""Commands that measure: instruments on any model folder, built or trained."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from glassformer.errors import InputError
from glassformer.ui.cli.terminal import AsJson, app, err, out, print_json, progress_bar, table_of

measure = typer.Typer(no_args_is_help=True, help="Look inside a model, built or trained, with an instrument.")
app.add_typer(measure, name="measure")

AnyText = Annotated[
    str | None, typer.Option("--text", metavar="FILE", help="For models of text: a file, or a fetched corpus.")
]
AnyFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder, or the folder of a training run.")]


@measure.command()
def heads(
    folder: AnyFolder,
    words: Annotated[int, typer.Option(min=2, max=100_000, help="Words to look at.")] = 64,
    length: Annotated[
        int | None, typer.Option(min=3, help="Their length; default: as in training, or what it takes up to 64.")
    ] = None,
    text: AnyText = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the words.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Name what every attention head does, by its patterns beside ideal ones.

    Built models are shown nasty words too, which move every head; trained ones only words like those they know. How
    much a head matters is the part of the answers that change when what it reads is replaced by its mean over words.
    Models of text are shown stretches of one.
    """
    from glassformer.instruments import score_heads
    from glassformer.subject import open_subject

    subject = open_subject(folder)
    tokens = subject.rows(words, length, seed, text).tokens
    scores = score_heads(subject.model, tokens)
    if as_json:
        layers = range(len(subject.model.config.blocks))
        return print_json(
            {"layers": [{"heads": [score.to_json() for score in scores if score.layer == i]} for i in layers]}
        )
    table = table_of("layer", "head", "job", "how clearly", "matters", "next best")
    for score in scores:
        at = "" if score.at is None else " at " + ", ".join(subject.names[token] for token in score.at)
        table.add_row(
            str(score.layer),
            str(score.head),
            f"{score.title}{at}",
            f"{score.confidence:.3f}",
            f"{score.matters:.3f}",
            f"{score.next_best.title} {score.scores[score.next_best]:.3f}",
        )
    out.print(table)
    err.print(f"seen on {len(tokens)} words of {tokens.shape[1]} tokens")
    return None


@measure.command()
def shortcut(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Models for words of different lengths.")],
    words: Annotated[int, typer.Option(min=2, max=100_000, help="Words to try each model on.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the words.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Say whether a family of models is a shortcut: right at every length, with a depth that grows more slowly."""
    from glassformer.instruments.shortcut import Member, judge
    from glassformer.subject import open_subject
    from glassformer.training.evaluation import mistakes

    family, first = [], None
    for folder in folders:
        subject = open_subject(folder)
        task = subject.words_task
        first = first or task
        if replace(task, length=first.length) != first:
            raise InputError(f"{folder} is no model of the same task as {folders[0]}: a family differs in length alone")
        wrong = mistakes(subject.model, task, subject.words(words, task.length, seed))
        family.append(Member(task.length, len(subject.model.config.blocks), int(wrong.sum())))
    verdict = judge(family)
    if as_json:
        return print_json({"layers": [asdict(member) for member in family], **asdict(verdict)})
    table = table_of("length", "layers", "wrong")
    for member in sorted(family, key=lambda member: member.length):
        table.add_row(f"{member.length:,}", f"{member.depth:,}", f"{member.wrong:,}")
    out.print(table)
    out.print(f"{'a' if verdict.shortcut else 'no'} shortcut: {verdict.why}")
    return None


@measure.command()
def dictionary(
    folder: AnyFolder,
    hook: Annotated[str, typer.Option(help="Where vectors are taken: blocks.0.hook_resid_post …")],
    features: Annotated[int, typer.Option(min=1, help="Directions of the dictionary.")] = 64,
    kind: Annotated[str, typer.Option(help="topk, or standard (ReLU and L1).")] = "topk",
    k: Annotated[int, typer.Option(min=1, help="Of topk: how many are active at once.")] = 4,
    l1: Annotated[float, typer.Option(min=0, help="Of standard: the price of activity.")] = 0.1,
    words: Annotated[int, typer.Option(min=2, max=100_000, help="Words, or sentences, to look at.")] = 512,
    text: AnyText = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of training.")] = 3000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of words and training.")] = 0,
    out_folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Keep it here, in SAELens's layout.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a sparse autoencoder on what a hook holds; on a built model, score it against the bits that are there."""
    from glassformer.instruments.dictionary import Shape, bits_in, fit, quality, recovery, save_dictionary
    from glassformer.instruments.sites import Site
    from glassformer.subject import open_subject

    subject = open_subject(folder)
    batches = subject.batches(words, seed=seed, text=text)
    vectors = subject.vectors(Site.parse(hook), [each.tokens for each in batches])
    shape = Shape(vectors.shape[1], features, kind, l1, k)
    with progress_bar("training") as advance:
        found = fit(vectors, shape, steps, seed=seed, tell=advance)
    told = asdict(quality(found, vectors))
    if subject.is_built and len(known := bits_in(vectors)):
        told |= {"known": len(known), **asdict(recovery(found, known))}
    if out_folder is not None:
        save_dictionary(found, out_folder, {"model_name": str(folder), "hook_name": hook})
    if as_json:
        layer = int(hook.split(".")[1]) if hook.startswith("blocks.") else None
        return print_json({"hook": hook, "layers": [{"layer": layer, **told}]})
    table = table_of("measured", "")
    for name, value in told.items():
        table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value:.3f}")
    out.print(table)
    err.print(f"of {len(vectors):,} vectors of {hook}" + (f"; wrote {out_folder}" if out_folder else ""))
    return None
