"""Where encoder–decoders look while they answer: alignments of dates and of reversed letters, as papers drew them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from glassformer.documents.lineage.family import READERS, TASKS, FamilyScale
from glassformer.documents.lineage.results import RNN, titles
from glassformer.messages import Message
from glassformer.nn import files
from glassformer.nn.encoder_decoder import EncoderDecoder
from glassformer.training.sweep import OnRows, results_of, sweep_of
from glassformer.training.transductions import Transduction
from glassformer.training.trial import task_of
from glassformer.ui.drawing.alignment import Alignment, draw_alignments

SHOWN: Final = 3


def draw_dates(folder: Path, steps: int, processes: int, on_rows: OnRows | None = None) -> str:
    """Some dates, by an encoder–decoder with additive attention before each step; its model is kept in the folder."""
    values = {
        "task": dict(TASKS["dates"].task),
        "model": {"kind": "rnn", **READERS["additive_before"], "width": 56},
        "training": {"steps": steps, "learning_rate": 3e-3, "evaluate_every": steps},
    }
    sweep = sweep_of(values, "dates")
    results_of({"dates": sweep}, folder / "dates.sqlite", processes, on_rows, folder / "dates")
    shown = alignments(
        "dates",
        folder / "dates" / sweep.ids[0] / "model",
        [str(Message("lineage.date", number=i + 1)) for i in range(SHOWN)],
    )
    return draw_alignments(shown, str(Message("lineage.dates")))


def draw_reverse(scale: FamilyScale, folder: Path) -> str:
    """The same source by every member that has learned to reverse, the mean of its heads."""
    shown = []
    for name in scale.encoder_decoders["reverse"]:
        if READERS[name]["score"] != "none":
            run = scale.sweep(RNN, "reverse", name).ids[0]
            shown += alignments("reverse", folder / "reverse" / run / "model", [str(titles()["members"][name])])
    return draw_alignments(shown, str(Message("lineage.reverse")), across=4, cell=13.0)


def alignments(task_name: str, folder: Path, titles: list[str]) -> list[Alignment]:
    """One for each title, of random sources."""
    task, (model, _) = task_of(TASKS[task_name].task), files.load(folder)
    assert isinstance(task, Transduction)
    assert isinstance(model, EncoderDecoder)
    batch = task.drawn(np.random.default_rng(1), len(titles), task.length)
    weights, answer = model.alignment(batch.tokens).mean(1), model(batch.tokens).argmax(-1)
    answers, sources = weights.shape[1:]
    return [
        Alignment(
            title,
            weights[row].tolist(),
            [*(task.names[token] for token in batch.tokens[row, : sources - 1].tolist()), "·"],
            [task.names[token] for token in answer[row, -answers:].tolist()],
        )
        for row, title in enumerate(titles)
    ]
