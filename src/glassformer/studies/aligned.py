"""Where a reader looks while it answers: alignments of dates and of reversed letters, as the papers drew them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from glassformer.learn.sweep import Watch, results_of, sweep_of
from glassformer.learn.transductions import Transduction
from glassformer.learn.trial import task_of
from glassformer.lineage import EncoderDecoder
from glassformer.nn import files
from glassformer.report.alignment import draw_alignments

TASKS: Final[Mapping[str, Mapping[str, Any]]] = {
    "dates": {"sequence": "dates"},
    "reverse": {"sequence": "reverse", "length": 12, "shortest": 4},
}
SHOWN: Final = 3


def alignments(folder: Path, steps: int, processes: int, watch: Watch | None = None) -> dict[str, str]:
    """A drawing for each task, by a reader with additive attention before each step; models are kept in the folder."""
    model = {"kind": "rnn", "score": "additive", "place": "before", "width": 56}
    training = {"steps": steps, "learning_rate": 3e-3, "evaluate_every": steps}
    sweeps = {
        name: sweep_of({"task": dict(task), "model": model, "training": training}, name) for name, task in TASKS.items()
    }
    results_of(sweeps, folder / "aligned.sqlite", processes, watch, folder / "aligned")
    return {name: _drawn(name, folder / "aligned" / sweep.ids[0] / "model") for name, sweep in sweeps.items()}


def _drawn(name: str, folder: Path) -> str:
    task, (model, _) = task_of(TASKS[name]), files.load(folder)
    assert isinstance(task, Transduction)
    assert isinstance(model, EncoderDecoder)
    batch = task.drawn(np.random.default_rng(1), SHOWN, task.length)
    weights, said = model.alignment(batch.tokens)[:, 0], model(batch.tokens).argmax(-1)
    asked = weights.shape[1]
    matrices = [
        (
            weights[row].tolist(),
            [*(task.names[token] for token in batch.tokens[row, : weights.shape[2] - 1].tolist()), "end"],
            [task.names[token] for token in said[row, -asked:].tolist()],
        )
        for row in range(SHOWN)
    ]
    return draw_alignments(matrices, f"{name}: source above, answer at the left, white where it looks")
