"""Commands that measure: instruments on any model folder, built or trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import glassformer
from glassformer.messages import Message, verbatim
from glassformer.ui.cli.terminal import AsJson, app, label, note, print_result, progress_bar, say

if TYPE_CHECKING:
    from glassformer.instruments.heads import HeadScore

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

    Built models are shown adversarial words too, which move every head; trained ones only words like those they know.
    How much a head matters is the share of the answers that change when what it reads is replaced by its mean over
    words. Models of text are shown stretches of one.
    """
    from glassformer.instruments import score_heads

    opened = glassformer.load(folder)
    tokens = opened.rows(words, length, seed, text).tokens
    scores = score_heads(opened.model, tokens)
    layers = range(len(opened.model.config.blocks))
    found = {"layers": [{"heads": [score.to_json() for score in scores if score.layer == i]} for i in layers]}
    rows = (
        (
            score.layer,
            score.head,
            operation_of(score, opened.names),
            f"{score.confidence:.3f}",
            f"{score.matters:.3f}",
            f"{score.next_best.title} {score.scores[score.next_best]:.3f}",
        )
        for score in scores
    )
    print_result(found, as_json, ("layer", "head", "operation", "how_clearly", "matters", "next_best"), rows)
    if not as_json:
        note("measure.seen_on", words=len(tokens), tokens=tokens.shape[1])


def operation_of(score: HeadScore, names: Sequence[str]) -> Message:
    """What a head does, and at which tokens, if it is not at all of them."""
    if score.at is None:
        return score.title
    return Message("measure.operation_at", operation=score.title, tokens=[names[token] for token in score.at])


@measure.command()
def shortcut(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Models for words of different lengths.")],
    words: Annotated[int, typer.Option(min=2, max=100_000, help="Words to try each model on.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the words.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Say whether a family of models is a shortcut: right at every length, with a depth that grows more slowly."""
    from glassformer.instruments.shortcut import judge
    from glassformer.opening.loading import family_of

    family = family_of(folders, words, seed)
    judged = judge(family)
    members = sorted(family, key=lambda member: member.length)
    rows = ((f"{m.length:,}", f"{m.depth:,}", f"{m.wrong:,}") for m in members)
    print_result({"layers": family, **vars(judged)}, as_json, ("length", "layers", "wrong"), rows)
    if not as_json:
        say("measure.shortcut" if judged.shortcut else "measure.no_shortcut", why=judged.why)


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
    from glassformer.instruments.dictionary import DictionaryConfig, assess, save_dictionary, train_dictionary
    from glassformer.instruments.sites import Site

    opened = glassformer.load(folder)
    batches = opened.batches(words, seed=seed, text=text)
    vectors = opened.vectors(Site.parse(hook), [each.tokens for each in batches])
    config = DictionaryConfig(vectors.shape[1], features, kind, l1, k)
    with progress_bar("cli.training") as advance:
        trained = train_dictionary(vectors, config, steps, seed=seed, progress=advance)
    measured = assess(trained, vectors, opened.is_built)
    if out_folder is not None:
        save_dictionary(trained, out_folder, {"model_name": str(folder), "hook_name": hook})
    layer = int(hook.split(".")[1]) if hook.startswith("blocks.") else None
    found = {"hook": hook, "layers": [{"layer": layer, **measured}]}
    rows = ((label(name), f"{n:,}" if isinstance(n, int) else f"{n:.3f}") for name, n in measured.items())
    print_result(found, as_json, ("measured", verbatim("")), rows)
    if not as_json:
        note("measure.of_vectors", count=len(vectors), hook=hook)
        if out_folder:
            note("common.wrote", place=out_folder)
