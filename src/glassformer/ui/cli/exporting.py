"""Commands that give away: models to other libraries, and words with their states to other people's training code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glassformer.errors import InputError
from glassformer.ui.cli.measuring import AnyFolder
from glassformer.ui.cli.terminal import Spec, app, note

MOST_LETTERS = 10**8


@app.command()
def export(
    folder: AnyFolder,
    target: Annotated[str, typer.Option("--to", help="hf, gpt2, transformer-lens or onnx.")],
    out_folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the other library's model is written.")
    ],
    patterns: Annotated[
        bool, typer.Option("--patterns", help="For onnx: attention patterns are outputs, too.")
    ] = False,
) -> None:
    """Write a model for another library; what is known of it (machine, certificate) goes with it.

    hf: a folder with its own modelling file, bit for bit. gpt2: a stock GPT-2, without foreign code. transformer-lens:
    weights and config for TransformerLens 3 and 4. onnx: any batch and length.
    """
    from glassformer.interop.exporting import COMPARED
    from glassformer.interop.exporting import export as write
    from glassformer.nn.files import read_json

    write(folder, target, out_folder, patterns)
    note("common.wrote", place=out_folder)
    if (file := out_folder / COMPARED).is_file():
        seen = read_json(file)
        words = sum(each["count"] for each in seen["words"])
        note("cli.compared", dtype=seen["dtype"], words=words, apart=seen["apart"])


@app.command()
def dataset(
    spec: Spec,
    out_path: Annotated[
        Path,
        typer.Option("--out", metavar="PATH", help="A file NAME.parquet, or a folder for datasets.load_from_disk."),
    ],
    length: Annotated[int, typer.Option(min=1, help="Letters of every word.")] = 64,
    words: Annotated[int, typer.Option(min=1, max=10_000_000, help="Words to write.")] = 10_000,
    held_out: Annotated[int, typer.Option(min=0, help="Further words, as the split `test` of a folder.")] = 0,
    predict: Annotated[str, typer.Option(help="What is asked after every letter: state, or as in `train`.")] = "state",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the words.")] = 0,
) -> None:
    """Write words of a machine, and its state after every letter, as Parquet or a Hugging Face dataset."""
    import numpy as np

    from glassformer.automata import any_machine
    from glassformer.interop.exporting import columns
    from glassformer.interop.tables import check_place, write_tables
    from glassformer.training.tasks import StateTracking

    task = StateTracking(any_machine(spec), length, predict)
    if (letters := length * (words + held_out)) > MOST_LETTERS:
        raise InputError("cli.too_many_letters", letters=letters, limit=MOST_LETTERS)
    counts = {"train": words} | ({"test": held_out} if held_out else {})
    check_place(out_path, counts)
    drawn = {name: task.batch(np.random.default_rng([seed, i]), n) for i, (name, n) in enumerate(counts.items())}
    write_tables({name: columns(task, batch) for name, batch in drawn.items()}, out_path)
    note("common.wrote", place=out_path)
