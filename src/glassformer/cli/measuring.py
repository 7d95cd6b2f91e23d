"""Commands that measure: instruments on any model folder, built or trained."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.automata import Machine, formats
from glassformer.cli.terminal import AsJson, app, err, out, print_json, table_of
from glassformer.errors import InputError

if TYPE_CHECKING:
    from glassformer.nn import Transformer

measure = typer.Typer(no_args_is_help=True, help="Look inside a model, built or trained, with an instrument.")
app.add_typer(measure, name="measure")

AnyFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder, or the folder of a training run.")]


@measure.command()
def heads(
    folder: AnyFolder,
    words: Annotated[int, typer.Option(min=2, help="Words to look at.")] = 64,
    length: Annotated[
        int | None, typer.Option(min=3, help="Their length; default: what the model takes, up to 64.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the words.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Name what every attention head does, by its patterns beside ideal ones.

    Built models are shown nasty words too, which move every head; trained ones only words like those they know.
    """
    import numpy as np
    import torch

    from glassformer.automata.words import chosen_words
    from glassformer.measure import score_heads

    model, machine, is_trained = open_any(folder)
    most = model.config.context - 1
    length = min(most, 64) if length is None else length
    if length > most:
        raise InputError(f"the model takes words of up to {most} letters, not {length}")
    random = np.random.default_rng(seed).integers(0, len(machine.symbols), (words, length))
    letters = random if is_trained else chosen_words(machine, length, words, seed)
    tokens = torch.nn.functional.pad(torch.from_numpy(letters), (1, 0), value=len(machine.symbols))
    scores = score_heads(model, tokens)
    if as_json:
        layers = range(len(model.config.blocks))
        return print_json(
            {"layers": [{"heads": [score.to_json() for score in scores if score.layer == i]} for i in layers]}
        )
    table = table_of("layer", "head", "job", "how clearly", "next best")
    for score in scores:
        others = {name: value for name, value in score.scores.items() if name != score.job}
        second = max(others, key=lambda name: others[name])
        table.add_row(
            str(score.layer), str(score.head), score.job, f"{score.confidence:.3f}", f"{second} {others[second]:.3f}"
        )
    out.print(table)
    err.print(f"seen on {words} words of {length} letters")
    return None


@measure.command()
def shortcut(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Models for words of different lengths.")],
    words: Annotated[int, typer.Option(min=2, help="Words to try each model on.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the words.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Say whether a family of models is a shortcut: right at every length, with a depth that grows more slowly."""
    import torch

    from glassformer.automata.words import chosen_words
    from glassformer.measure.shortcut import Member, judge

    family = []
    for folder in folders:
        model, machine, _ = open_any(folder)
        if model.config.outputs != len(machine.states):
            raise InputError(f"{folder}: the model says labels and not states, which is all that can be judged here")
        length = model.config.context - 1
        letters = chosen_words(machine, length, words, seed)
        tokens = torch.nn.functional.pad(torch.from_numpy(letters), (1, 0), value=len(machine.symbols))
        with torch.no_grad():
            said = model(tokens).argmax(-1)[:, 1:].numpy()
        family.append(Member(length, len(model.config.blocks), int((said != machine.run(letters)).sum())))
    verdict = judge(family)
    if as_json:
        return print_json({"layers": [asdict(member) for member in family], **asdict(verdict)})
    table = table_of("length", "layers", "wrong")
    for member in sorted(family, key=lambda member: member.length):
        table.add_row(f"{member.length:,}", f"{member.depth:,}", f"{member.wrong:,}")
    out.print(table)
    out.print(f"{'a' if verdict.shortcut else 'no'} shortcut: {verdict.why}")
    return None


def open_any(folder: Path) -> tuple[Transformer, Machine, bool]:
    """The model in a folder, or of a run; the machine whose letters it reads; and whether it was trained."""
    from glassformer.nn import files

    place = folder / "model" if (folder / "run.json").exists() else folder
    model, documents = files.load_transformer(place)
    if "machine.json" not in documents:
        raise InputError(f"{place} holds no machine.json, so it is not known which words the model reads")
    machine = formats.loads(documents["machine.json"], "json", f"{place}/machine.json")
    if model.config.vocab != len(machine.symbols) + 1:
        raise InputError(f"{place}: the model reads more than the letters of its machine (a scratchpad?)")
    return model, machine, "training.json" in documents
