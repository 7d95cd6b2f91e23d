"""The family side by side: every attention in a recurrent encoder–decoder, and in the block of the one Transformer.

Each member learns to change sequences, with as many parameters and steps as the others, by several seeds.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import torch

from glassformer.documents.lineage.results import BLOCK, PAIRS, RNN, Family, MemberResult
from glassformer.nn import files
from glassformer.training.architecture import Architecture
from glassformer.training.evaluation import accuracy_by_place
from glassformer.training.store import Store, TrialRow
from glassformer.training.sweep import OnRows, Sweep, results_of, sweep_of
from glassformer.training.transductions import Transduction
from glassformer.training.trial import task_of

Values: TypeAlias = Mapping[str, Any]

READERS: Final[dict[str, Values]] = {
    "none": {"score": "none"},
    "hard": {"score": "hard"},
    "additive": {"score": "additive"},
    "additive_before": {"score": "additive", "place": "before"},
    "dot": {"score": "dot"},
    "dot_before": {"score": "dot", "place": "before"},
    "dot_input_feeding": {"score": "dot", "feeding": True},
    "general": {"score": "general"},
    "concat": {"score": "concat"},
    "location": {"score": "location"},
    "local_m": {"score": "general", "window": "local-m"},
    "local_p": {"score": "general", "window": "local-p"},
    "lstmn": {"score": "none", "cell": "lstmn"},
    "decomposable": {"score": "decomposable"},
    "structured": {"score": "structured", "heads": 4},
    "intra_temporal": {"score": "intra-temporal"},
    "intra_temporal_decoder": {"score": "intra-temporal", "intra": True},
    "scaled_dot": {"score": "scaled dot"},
    "scaled_dot_before": {"score": "scaled dot", "place": "before"},
    "multi_head": {"score": "scaled dot", "heads": 4},
    "multi_query": {"score": "scaled dot", "heads": 4, "groups": 1},
    "grouped_query": {"score": "scaled dot", "heads": 4, "groups": 2},
    "linear": {"score": "linear"},
    "rotary": {"score": "rotary"},
    "alibi": {"score": "alibi"},
}
"""All of them in a recurrent encoder and decoder, by id, in the order in which they came."""
CORE: Final = ("none", "additive", "dot", "scaled_dot", "multi_head", "linear")
"""Those that learn every task; the others learn to reverse, if not all are to learn all."""
BLOCKS: Final[dict[str, Values]] = {
    "additive": {"score": "additive", "heads": 1},
    "dot": {"score": "dot", "heads": 1},
    "general": {"score": "general", "heads": 1},
    "scaled_dot": {"heads": 1},
    "multi_head": {"heads": 4},
    "multi_query": {"heads": 4, "groups": 1},
    "grouped_query": {"heads": 4, "groups": 2},
    "linear": {"score": "linear", "heads": 4},
    "rotary": {"heads": 4, "positions": "rotary"},
    "alibi": {"heads": 4, "positions": "alibi"},
}
"""Those that differ in the block of a Transformer, with learned positions if nothing else is given."""


@dataclass(frozen=True)
class FamilyTask:
    """A task, how long it is learned, and on what else it is tested."""

    task: Values
    steps: int
    tests: Mapping[str, Values]


IN_THE_BLOCK: Final = "reverse_8"
LONGER: Final = {"longer": {"length": 18, "shortest": 18}}
TASKS: Final[dict[str, FamilyTask]] = {
    "copy": FamilyTask({"sequence": "copy", "length": 12, "shortest": 4}, 400, LONGER),
    "reverse": FamilyTask({"sequence": "reverse", "length": 12, "shortest": 4}, 400, LONGER),
    "sort": FamilyTask({"sequence": "sort", "length": 12, "shortest": 4}, 400, LONGER),
    "recall": FamilyTask(
        {"sequence": "recall", "length": max(PAIRS), "shortest": min(PAIRS)},
        400,
        {str(n): {"length": n, "shortest": n, "distance": n} for n in PAIRS},
    ),
    IN_THE_BLOCK: FamilyTask(
        {"sequence": "reverse", "length": 8, "shortest": 4}, 400, {"longer": {"length": 12, "shortest": 12}}
    ),
    "fetch": FamilyTask({"sequence": "fetch", "length": 4}, 400, {}),
    "dates": FamilyTask({"sequence": "dates"}, 400, {}),
}
WORDS_BY_PLACE: Final = 256


@dataclass(frozen=True)
class FamilyScale:
    """What is trained: which members on which tasks, with how many parameters, by how many seeds."""

    encoder_decoders: Mapping[str, Sequence[str]]
    """For each task the members that learn it in a recurrent encoder–decoder."""
    blocks: Sequence[str]
    """Members that learn to reverse in the block of a Transformer."""
    seeds: int = 3
    parameters: int = 60_000

    def cases(self) -> dict[tuple[str, str, str], Sweep]:
        """The trainings of each host, task and member."""
        asked = [(RNN, task, name) for task, names in self.encoder_decoders.items() for name in names]
        asked += [(BLOCK, IN_THE_BLOCK, name) for name in self.blocks]
        return {case: self.sweep(*case) for case in asked}

    def sweep(self, host: str, task: str, name: str) -> Sweep:
        """All seeds of one member on one task."""
        learned = TASKS[task]
        training = {"steps": learned.steps, "seed": list(range(self.seeds)), "evaluate_every": learned.steps // 8}
        values = {
            "task": dict(learned.task),
            "model": self.model(host, task, name),
            "training": training | {"learning_rate": 3e-3, "evaluation_words": 128},
            "tests": {test: dict(changes) for test, changes in learned.tests.items()},
        }
        return sweep_of(values, f"{name} on {task}")

    def model(self, host: str, task: str, name: str) -> dict[str, Any]:
        """A member in its host, as wide as the number of parameters allows."""
        own = {"kind": "rnn", **READERS[name]} if host == RNN else {"layers": 2, **BLOCKS[name]}
        return {**own, "width": widest(own, TASKS[task], self.parameters)}


LAPTOP: Final = FamilyScale(
    {task: tuple(READERS) if task == "reverse" else CORE for task in TASKS if task != IN_THE_BLOCK}, tuple(BLOCKS)
)
FULL: Final = FamilyScale({task: tuple(READERS) for task in TASKS if task != IN_THE_BLOCK}, tuple(BLOCKS))
QUICK: Final = FamilyScale(
    {
        "reverse": ("none", "additive", "additive_before", "scaled_dot_before"),
        "recall": ("none", "additive"),
    },
    ("additive", "scaled_dot"),
    seeds=1,
    parameters=30_000,
)


def widest(model: Values, learned: FamilyTask, parameters: int) -> int:
    """The width, a multiple of 8, at which a model comes nearest to a number of parameters."""

    def count(width: int) -> int:
        with torch.device("meta"):  # where weights take neither room nor time
            made = Architecture(**model, width=width).model(task, seed=0)
        return sum(weights.numel() for weights in made.parameters())

    task, widths = task_of(learned.task), range(16, 129, 8)
    above = min(bisect_left(widths, parameters, key=count), len(widths) - 1)
    return min(widths[max(above - 1, 0) : above + 1], key=lambda width: abs(count(width) - parameters))


def family(scale: FamilyScale, folder: Path, processes: int, on_rows: OnRows | None = None) -> Family:
    """Train whatever is not done yet, and put the rows together; encoder–decoders that reverse are kept."""
    cases = scale.cases()
    looked_at = {case: sweep for case, sweep in cases.items() if case[:2] == (RNN, "reverse")}
    others = {case: sweep for case, sweep in cases.items() if case not in looked_at}
    everything, path = [trial for sweep in cases.values() for trial in sweep.ids], folder / "family.sqlite"
    store = Store(path)
    for sweep in cases.values():
        store.add(sweep.trials.items())

    def see(rows: list[TrialRow]) -> None:
        if on_rows:
            on_rows(store.rows(everything))

    results = results_of(looked_at, path, processes, see, folder / "reverse")
    results |= results_of(others, path, processes, see)
    store.close()
    rows = [MemberResult.of(case, scale.model(*case)["width"], results[case]) for case in cases]
    return Family(rows, {name: _by_distance(sweep, folder / "reverse") for (_, _, name), sweep in looked_at.items()})


def _by_distance(sweep: Sweep, folder: Path) -> list[float]:
    """What encoder–decoders that reverse have right of the longest sources, place by place: the median of all seeds."""
    task = task_of(TASKS["reverse"].task)
    assert isinstance(task, Transduction)
    batch = task.drawn(np.random.default_rng(1), WORDS_BY_PLACE, task.length)
    seeds = [accuracy_by_place(files.load(folder / run / "model")[0], task, batch) for run in sweep.ids]
    return [statistics.median(of_place) for of_place in zip(*seeds, strict=True)]
