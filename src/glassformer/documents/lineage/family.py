"""The family side by side: every attention in a recurrent reader, and in the block of the one Transformer.

Each member learns to change sequences, with as many parameters and steps as the others, by several seeds. What the
story says (without attention distance kills, attention repairs it, many heads beat one where several things must be
fetched) is then read off the numbers, and so is what contradicts it.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import torch

from glassformer.documents.verdict import Verdict
from glassformer.nn import files
from glassformer.training.architecture import Architecture
from glassformer.training.evaluation import accuracy_by_place
from glassformer.training.store import Row as Trial
from glassformer.training.store import Store
from glassformer.training.sweep import Sweep, Watch, results_of, sweep_of
from glassformer.training.transductions import Transduction
from glassformer.training.trial import task_of
from glassformer.ui.drawing.chart import Panel, draw_charts
from glassformer.ui.drawing.heatmap import draw_heatmap

Values: TypeAlias = Mapping[str, Any]
RNN, BLOCK = "rnn", "block"

READERS: Final[dict[str, Values]] = {
    "none": {"score": "none"},
    "hard": {"score": "hard"},
    "additive": {"score": "additive"},
    "additive, before the step": {"score": "additive", "place": "before"},
    "dot": {"score": "dot"},
    "dot, before the step": {"score": "dot", "place": "before"},
    "dot, fed to the next step": {"score": "dot", "feeding": True},
    "general": {"score": "general"},
    "concat": {"score": "concat"},
    "location": {"score": "location"},
    "local-m": {"score": "general", "window": "local-m"},
    "local-p": {"score": "general", "window": "local-p"},
    "LSTMN, no other": {"score": "none", "cell": "lstmn"},
    "decomposable": {"score": "decomposable"},
    "structured, 4 hops": {"score": "structured", "heads": 4},
    "intra-temporal": {"score": "intra-temporal"},
    "intra-temporal and -decoder": {"score": "intra-temporal", "intra": True},
    "scaled dot": {"score": "scaled dot"},
    "scaled dot, before the step": {"score": "scaled dot", "place": "before"},
    "multi-head": {"score": "scaled dot", "heads": 4},
    "multi-query": {"score": "scaled dot", "heads": 4, "groups": 1},
    "grouped-query": {"score": "scaled dot", "heads": 4, "groups": 2},
    "linear": {"score": "linear"},
    "rotary": {"score": "rotary"},
    "alibi": {"score": "alibi"},
}
"""All of them in a recurrent encoder and decoder, by name, in the order in which they came."""
CORE: Final = ("none", "additive", "dot", "scaled dot", "multi-head", "linear")
"""Those that learn every task; the others learn to reverse, if not all are to learn all."""
DRAWN: Final = ("none", "location", "linear", "additive", "scaled dot, before the step", "dot")
"""Those of which it is drawn how far back they remember."""
WORDS_BY_PLACE: Final = 256
BLOCKS: Final[dict[str, Values]] = {
    "additive": {"score": "additive", "heads": 1},
    "dot": {"score": "dot", "heads": 1},
    "general": {"score": "general", "heads": 1},
    "scaled dot": {"heads": 1},
    "multi-head": {"heads": 4},
    "multi-query": {"heads": 4, "groups": 1},
    "grouped-query": {"heads": 4, "groups": 2},
    "linear": {"score": "linear", "heads": 4},
    "rotary": {"heads": 4, "positions": "rotary"},
    "alibi": {"heads": 4, "positions": "alibi"},
}
"""Those that are told apart in the block of a Transformer, with learned positions if not said otherwise."""


@dataclass(frozen=True)
class Lesson:
    """A task, how long it is learned, and on what else it is tested."""

    task: Values
    steps: int
    tests: Mapping[str, Values]


PAIRS: Final = (2, 4, 6, 8)
IN_THE_BLOCK: Final = "reverse, up to 8"
LONGER: Final = {"longer": {"length": 18, "shortest": 18}}
LESSONS: Final[dict[str, Lesson]] = {
    "copy": Lesson({"sequence": "copy", "length": 12, "shortest": 4}, 400, LONGER),
    "reverse": Lesson({"sequence": "reverse", "length": 12, "shortest": 4}, 400, LONGER),
    "sort": Lesson({"sequence": "sort", "length": 12, "shortest": 4}, 400, LONGER),
    "recall": Lesson(
        {"sequence": "recall", "length": max(PAIRS), "shortest": min(PAIRS)},
        400,
        {str(n): {"length": n, "shortest": n, "distance": n} for n in PAIRS},
    ),
    IN_THE_BLOCK: Lesson(
        {"sequence": "reverse", "length": 8, "shortest": 4}, 400, {"longer": {"length": 12, "shortest": 12}}
    ),
    "fetch": Lesson({"sequence": "fetch", "length": 4}, 400, {}),
    "dates": Lesson({"sequence": "dates"}, 400, {}),
}


@dataclass(frozen=True)
class Plan:
    """What is trained: which members on which tasks, with how many parameters, by how many seeds."""

    readers: Mapping[str, Sequence[str]]
    """For each task the members that learn it in a recurrent reader."""
    blocks: Sequence[str]
    """Members that learn to reverse in the block of a Transformer."""
    seeds: int = 3
    parameters: int = 60_000

    def cases(self) -> dict[tuple[str, str, str], Sweep]:
        """The trainings of each host, task and member."""
        asked = [(RNN, task, name) for task, names in self.readers.items() for name in names]
        asked += [(BLOCK, IN_THE_BLOCK, name) for name in self.blocks]
        return {case: self.sweep(*case) for case in asked}

    def sweep(self, host: str, task: str, name: str) -> Sweep:
        """All seeds of one member on one task."""
        lesson = LESSONS[task]
        training = {"steps": lesson.steps, "seed": list(range(self.seeds)), "evaluate_every": lesson.steps // 8}
        values = {
            "task": dict(lesson.task),
            "model": self.model(host, task, name),
            "training": training | {"learning_rate": 3e-3, "evaluation_words": 128},
            "tests": {test: dict(changes) for test, changes in lesson.tests.items()},
        }
        return sweep_of(values, f"{name} on {task}")

    def model(self, host: str, task: str, name: str) -> dict[str, Any]:
        """A member in its host, as wide as the number of parameters allows."""
        own = {"kind": "rnn", **READERS[name]} if host == RNN else {"layers": 2, **BLOCKS[name]}
        return {**own, "width": widest(own, LESSONS[task], self.parameters)}


LAPTOP: Final = Plan(
    {task: tuple(READERS) if task == "reverse" else CORE for task in LESSONS if task != IN_THE_BLOCK}, tuple(BLOCKS)
)
FULL: Final = Plan({task: tuple(READERS) for task in LESSONS if task != IN_THE_BLOCK}, tuple(BLOCKS))
QUICK: Final = Plan(
    {
        "reverse": ("none", "additive", "additive, before the step", "scaled dot, before the step"),
        "recall": ("none", "additive"),
    },
    ("additive", "scaled dot"),
    seeds=1,
    parameters=30_000,
)


def widest(model: Values, lesson: Lesson, parameters: int) -> int:
    """The width, a multiple of 8, at which a model comes nearest to a number of parameters."""

    def count(width: int) -> int:
        with torch.device("meta"):  # where weights take neither room nor time
            made = Architecture(**model, width=width).model(task, seed=0)
        return sum(weights.numel() for weights in made.parameters())

    task, widths = task_of(lesson.task), range(16, 129, 8)
    above = min(bisect_left(widths, parameters, key=count), len(widths) - 1)
    return min(widths[max(above - 1, 0) : above + 1], key=lambda width: abs(count(width) - parameters))


@dataclass(frozen=True)
class Row:
    """One member on one task: the accuracy of every seed, and medians of the rest."""

    width: int
    seeds: list[float]
    whole: float
    tests: dict[str, float]
    reached: int | None
    """The median step at which 99 % were right; none if most seeds did not get there."""
    seconds: float

    @property
    def accuracy(self) -> float:
        """The median of the seeds."""
        return statistics.median(self.seeds)

    @property
    def spread(self) -> float:
        """How far the seeds are apart."""
        return max(self.seeds) - min(self.seeds)


@dataclass(frozen=True)
class Family:
    """The whole bench."""

    rows: dict[tuple[str, str, str], Row]
    by_distance: dict[str, list[float]]
    """Of readers that reverse: the part that is right of the last letter of the longest sources, the one before, …"""

    def to_json(self) -> list[dict[str, Any]]:
        """The rows as plain values."""
        return [
            {"host": host, "task": task, "member": name, "accuracy": row.accuracy, **vars(row)}
            for (host, task, name), row in self.rows.items()
        ]

    def of(self, host: str, task: str) -> dict[str, Row]:
        """The rows of one task."""
        return {name: row for (at, what, name), row in self.rows.items() if (at, what) == (host, task)}

    @property
    def tasks(self) -> list[str]:
        """Those that recurrent readers learned."""
        return list(dict.fromkeys(task for host, task, _ in self.rows if host == RNN))

    @property
    def everywhere(self) -> list[str]:
        """Readers that learned every task."""
        return [name for name in CORE if all((RNN, task, name) in self.rows for task in self.tasks)]

    def draw(self) -> str:
        """Accuracy of the readers that learned every task."""
        return self._by_task(lambda row: row.accuracy, "Right answers in a recurrent reader, by what it attends with")

    def draw_steps(self) -> str:
        """The step at which they had 99 % right, if they came so far."""
        return self._by_task(lambda row: row.reached, "Steps until 99 % of the answers were right")

    def draw_seconds(self) -> str:
        """How long they were trained for it."""
        return self._by_task(lambda row: row.seconds, "Seconds of training")

    def _by_task(self, measured: Callable[[Row], float | None], title: str) -> str:
        values = [[measured(self.rows[RNN, task, name]) for task in self.tasks] for name in self.everywhere]
        return draw_heatmap(values, self.everywhere, self.tasks, title)

    def draw_members(self) -> str:
        """What readers that reverse have right: letters, whole answers, and letters of longer ones."""
        rows = self.of(RNN, "reverse")
        values = [[row.accuracy, row.whole, row.tests["longer"]] for row in rows.values()]
        return draw_heatmap(values, list(rows), ["letters", "answers", "longer"], "Reversed by every member, right are")

    def draw_distance(self) -> str:
        """What is right of letters that were read last, and of those that were read first."""
        lines: dict[str, list[tuple[float, float]]] = {
            name: [(float(i), value) for i, value in enumerate(self.by_distance[name], start=1)]
            for name in DRAWN
            if name in self.by_distance
        }
        panel = Panel("one of twelve letters that are said in reverse", "letters from the end", lines)
        return draw_charts([panel], "What distance does to memory", "accuracy")

    def verdicts(self) -> list[Verdict]:
        """What the story says, and what was seen; only of what was trained."""
        found = [_distance(self.by_distance), _repaired(self), _heads(self), _inverted(self)]
        return [verdict for verdict in found if verdict is not None]


def family(plan: Plan, folder: Path, processes: int, watch: Watch | None = None) -> Family:
    """Train whatever of the plan is not done yet, and put the rows together; readers that reverse are kept."""
    cases = plan.cases()
    looked_at = {case: sweep for case, sweep in cases.items() if case[:2] == (RNN, "reverse")}
    others = {case: sweep for case, sweep in cases.items() if case not in looked_at}
    everything, path = [trial for sweep in cases.values() for trial in sweep.ids], folder / "family.sqlite"
    store = Store(path)
    for sweep in cases.values():
        store.add(sweep.trials.items())

    def see(rows: list[Trial]) -> None:
        if watch:
            watch(store.rows(everything))

    results = results_of(looked_at, path, processes, see, folder / "reverse")
    results |= results_of(others, path, processes, see)
    store.close()
    rows = {case: _row(results[case], plan.model(*case)["width"]) for case in cases}
    return Family(rows, {name: _by_distance(sweep, folder / "reverse") for (_, _, name), sweep in looked_at.items()})


def _by_distance(sweep: Sweep, folder: Path) -> list[float]:
    """What readers that reverse have right of the longest sources, place by place: the median of all seeds."""
    task = task_of(LESSONS["reverse"].task)
    assert isinstance(task, Transduction)
    batch = task.drawn(np.random.default_rng(1), WORDS_BY_PLACE, task.length)
    seeds = [accuracy_by_place(files.load(folder / run / "model")[0], task, batch) for run in sweep.ids]
    return [statistics.median(of_place) for of_place in zip(*seeds, strict=True)]


def _row(results: Sequence[Values], width: int) -> Row:
    reached = sorted(float("inf") if r["reached"] is None else float(r["reached"]) for r in results)
    middle = statistics.median_low(reached)
    return Row(
        width=width,
        seeds=[float(result["accuracy"]) for result in results],
        whole=statistics.median(float(result["whole_words"]) for result in results),
        tests={test: statistics.median(float(r["tests"][test]) for r in results) for test in results[0]["tests"]},
        reached=None if middle == float("inf") else int(middle),
        seconds=statistics.median(float(result["seconds"]) for result in results),
    )


# -- what the story says -----------------------------------------------------------------------------------


def _distance(right: Mapping[str, Sequence[float]]) -> Verdict | None:
    """Of as many letters, those read last and those read first; attention must lose less than half as much."""
    if not {"none", "additive"} <= right.keys():
        return None
    (near, *_, far), (near_seen, *_, far_seen) = right["none"], right["additive"]
    said = (
        f"of {len(right['none'])} letters in reverse the one read last and the one read first: without attention "
        f"{near:.3f} and {far:.3f}, with additive attention {near_seen:.3f} and {far_seen:.3f}"
    )
    kills = near - far > 0.3 and near_seen - far_seen < (near - far) / 2
    return Verdict("without attention, distance kills", said, kills)


def _repaired(found: Family) -> Verdict | None:
    gains = {
        task: (rows["additive"].accuracy, rows["none"].accuracy)
        for task in found.tasks
        if {"none", "additive"} <= (rows := found.of(RNN, task)).keys()
    }
    if not gains:
        return None
    said = "additive beside none: " + ", ".join(f"{t} {a:.3f} and {n:.3f}" for t, (a, n) in gains.items())
    return Verdict("attention repairs it", said, all(with_it > without + 0.05 for with_it, without in gains.values()))


def _heads(found: Family) -> Verdict | None:
    fetch = found.of(RNN, "fetch")
    if not {"scaled dot", "multi-head"} <= fetch.keys():
        return None
    one, many = fetch["scaled dot"], fetch["multi-head"]
    said = (
        f"two values at once: one head {one.accuracy:.3f}, 99 % {_when(one)}; "
        f"four heads {many.accuracy:.3f}, 99 % {_when(many)}"
    )
    sooner = (many.reached or 10**9) < (one.reached or 10**9)
    return Verdict("many heads beat one where several things must be fetched", said, sooner)


def _inverted(found: Family) -> Verdict | None:
    """In the recurrent reader both look before the step, where additive attention was made for."""
    pairs = [
        [found.rows.get((host, task, name + where)) for name in ("additive", "scaled dot")]
        for host, task, where in ((RNN, "reverse", ", before the step"), (BLOCK, IN_THE_BLOCK, ""))
    ]
    (add_rnn, dot_rnn), (add_block, dot_block) = pairs
    if not (add_rnn and dot_rnn and add_block and dot_block):
        return None
    said = (
        f"reverse: in the recurrent reader additive {add_rnn.accuracy:.3f}, scaled dot {dot_rnn.accuracy:.3f}; "
        f"in the block additive {add_block.accuracy:.3f}, scaled dot {dot_block.accuracy:.3f}"
    )
    by_seed = zip(add_rnn.seeds, dot_rnn.seeds, add_block.seeds, dot_block.seeds, strict=True)
    always = all(a > b and c < d for a, b, c, d in by_seed)
    return Verdict("which of two scores is better depends on the host, with every seed", said, always)


def _when(row: Row) -> str:
    return "never" if row.reached is None else f"after {row.reached} steps"
