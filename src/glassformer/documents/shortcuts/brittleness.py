"""Are learned shortcuts right elsewhere too (S0.16)? Models trained on even letters, tested on uneven and longer words.

Beside the plain transformer stand one that was trained on words at shifted positions, one that writes its states into a
scratchpad and sees the latest tokens best (ALiBi), an LSTM, and the model that a theorem built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from glassformer.automata import machine
from glassformer.compiler.pipeline import compile
from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.training import evaluate
from glassformer.training.sweep import OnRows, Sweep, results_of, sweep_of
from glassformer.training.tasks import StateTracking
from glassformer.ui.drawing.chart import Panel, draw_charts

PROBABILITIES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
BUILT: Final = "built"


@dataclass(frozen=True)
class Brittleness:
    """Accuracy of each model (the mean over seeds), by the probability of the last letter, and by the length."""

    spec: str
    length: int
    seeds: int
    by_letter: dict[str, dict[float, float]]
    by_length: dict[str, dict[int, float]]

    def draw(self) -> str:
        """Both as lines."""
        made = machine(self.spec)
        panels = [
            Panel(
                Message("shortcuts.words_of", length=self.length),
                Message("shortcuts.probability", letter=made.symbols[-1]),
                {name: list(values.items()) for name, values in self.by_letter.items()},
                names=titles(),
            ),
            Panel(
                Message("shortcuts.letters_alike"),
                Message("shortcuts.letters_in_word"),
                {name: list(values.items()) for name, values in self.by_length.items()},
                names=titles(),
            ),
        ]
        title = Message("shortcuts.trained_on", machine=self.spec, length=self.length)
        return draw_charts(panels, title, Message("shortcuts.accuracy"))


def models(length: int) -> dict[str, dict[str, dict[str, Any]]]:
    """What is trained: for each id, what differs from a plain transformer of two layers."""
    return {
        "transformer": {},
        "shifted": {"model": {"context": 4 * length + 1}, "training": {"shifted": True}},
        "scratchpad": {"task": {"scratchpad": True}, "model": {"positions": "alibi"}},
        "lstm": {"model": {"kind": "lstm", "layers": 1, "width": 128}},
    }


def titles() -> dict[str, Message]:
    """The titles of all models, by id."""
    return {
        name: Message(f"shortcuts.model_{name}") for name in ("transformer", "shifted", "scratchpad", "lstm", BUILT)
    }


def tests_of(spec: str, length: int) -> dict[str, dict[str, Any]]:
    """The tests, by name."""
    letters = {f"letter {p}": {"letters": probabilities(spec, p)} for p in PROBABILITIES}
    return letters | {f"length {n}": {"length": n} for n in lengths(length)}


def lengths(length: int) -> list[int]:
    """Words as long as in training, half as long again, and twice as long."""
    return [length, length + length // 2, 2 * length]


def probabilities(spec: str, last: float) -> list[float]:
    """The last letter has this probability, the others share the rest."""
    others = len(machine(spec).symbols) - 1
    if not others:
        raise InputError("shortcuts.one_letter", machine=spec)
    return [(1 - last) / others] * others + [last]


def sweep_for(spec: str, length: int, steps: int, seeds: int) -> dict[str, Sweep]:
    """The trials of each model."""
    found = {}
    for name, changes in models(length).items():
        values = {
            "task": {"machine": spec, "length": length, **changes.get("task", {})},
            "model": {"layers": 2, "width": 64, "heads": 4} | changes.get("model", {}),
            "training": {"steps": steps, "seed": list(range(seeds)), "evaluate_every": steps},
            "tests": tests_of(spec, length),
        }
        values["training"] |= changes.get("training", {})
        found[name] = sweep_of(values, name)
    return found


def brittleness(
    spec: str,
    length: int,
    steps: int,
    seeds: int,
    store: Path,
    processes: int,
    on_rows: OnRows | None = None,
) -> Brittleness:
    """Train all models that are not in the store yet, and put their accuracies together with those of the built one."""
    by_letter: dict[str, dict[float, float]] = {}
    by_length: dict[str, dict[int, float]] = {}
    for name, results in results_of(sweep_for(spec, length, steps, seeds), store, processes, on_rows).items():
        scores = [result["tests"] for result in results]
        by_letter[name] = {p: _mean(scores, f"letter {p}") for p in PROBABILITIES}
        by_length[name] = {n: _mean(scores, f"length {n}") for n in lengths(length)}
    by_letter[BUILT], by_length[BUILT] = built_scores(spec, length)
    return Brittleness(spec, length, seeds, by_letter, by_length)


def built_scores(spec: str, length: int) -> tuple[dict[float, float], dict[int, float]]:
    """The same tests for the built model."""
    model, made = compile(spec, 2 * length).model, machine(spec)
    by_letter = {
        p: evaluate(model, StateTracking(made, length, letters=tuple(probabilities(spec, p)))).accuracy
        for p in PROBABILITIES
    }
    return by_letter, {n: evaluate(model, StateTracking(made, n)).accuracy for n in lengths(length)}


def _mean(scores: Sequence[Mapping[str, float]], name: str) -> float:
    return sum(score[name] for score in scores) / len(scores)
