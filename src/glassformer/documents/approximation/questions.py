"""The five questions that the proof leaves open (S1.12), each as an experiment that ends in a chart.

Does sharing parameters hinder? Why may the norm go? Does training reach what the construction proves? Why can layers
be regrouped? Do larger blocks mean fewer blocks? The first four train models on a function, the last builds them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

import torch

from glassformer.atomic import write_atomically
from glassformer.compiler.constructions.universal import FUNCTIONS, approximate, compact
from glassformer.messages import Message
from glassformer.nn import BlockShape
from glassformer.progress import Progress, silent
from glassformer.training import cluster
from glassformer.training.fitting import Recipe, fit_function
from glassformer.ui.drawing.chart import Panel, draw_charts

BLOCK: Final = BlockShape(2, 8, (32,))
BUILT: Final = "built"
ATTENDS, APPLIES = replace(BLOCK, mlp=()), replace(BLOCK, heads=0)
ASKED: Final = {
    question: Message(f"approximation.asked_{question}")
    for question in ("sharing", "norm", "training", "order", "size")
}


class Key(NamedTuple):
    """One training: the question, the line and the place across in its chart, and the seed."""

    question: str
    line: str
    across: float
    seed: int


@dataclass(frozen=True)
class QuestionsScale:
    """How much is trained."""

    steps: int = 1000
    seeds: int = 3
    depths: tuple[int, ...] = (1, 2, 4, 8)
    units: int = 1024
    cells: int = 8


def recipes(scale: QuestionsScale) -> dict[Key, tuple[str, Recipe]]:
    """Everything that is trained, with the function's name: sorting four numbers, but for the third question."""
    found: dict[Key, tuple[str, Recipe]] = {}
    for seed in range(scale.seeds):
        plain = Recipe(d=1, n=4, width=16, blocks=(), steps=scale.steps, seed=seed)
        for depth in scale.depths:
            stack = replace(plain, blocks=(BLOCK,) * depth)
            for (question, line), recipe in {
                ("sharing", "own"): stack,
                ("sharing", "shared"): replace(stack, shared=True),
                ("norm", "no_norm"): stack,
                ("norm", "norm_before"): replace(stack, norm="layer"),
                ("norm", "norm_after"): replace(stack, norm="layer", norm_place="post"),
                ("order", "in_turn"): stack,
                ("order", "attention_first"): replace(stack, blocks=(ATTENDS,) * depth + (APPLIES,) * depth),
                ("order", "mlps_first"): replace(stack, blocks=(APPLIES,) * depth + (ATTENDS,) * depth),
            }.items():
                found[Key(question, line, depth, seed)] = "sort", recipe
        mix = replace(plain, d=2, n=2, steps=4 * scale.steps)
        for line, recipe in {
            "trained_as_built": replace(
                mix, width=2, blocks=(BlockShape(1, 1, (scale.units,)),) * built_blocks(scale), rate=1e-3
            ),
            "trained_wide": replace(mix, blocks=(BLOCK,) * 2),
            "trained_deep": replace(mix, width=2, blocks=(BlockShape(2, 1, (4,)),) * 8),
        }.items():
            found[Key("training", line, mix.steps, seed)] = "mix", recipe
    return found


def built_blocks(scale: QuestionsScale) -> int:
    """The depth of the compact construction that the third question is about."""
    return compact("mix", 2, 2, 1 / scale.cells, scale.units, samples=10).blocks


def train(name: str, recipe: Recipe) -> dict[str, Any]:
    """One training, in one thread: the errors by step, and the number of parameters."""
    torch.set_num_threads(1)
    fitted = fit_function(FUNCTIONS[name], recipe, [recipe.steps * part // 8 for part in (1, 2, 4, 8)])
    return {"errors": fitted.errors, "parameters": fitted.parameters}


def train_all(
    wanted: Mapping[Key, tuple[str, Recipe]],
    done: Path | None,
    workers: int,
    progress: Progress = silent,
) -> dict[Key, dict[int, float]]:
    """All errors by step; what the file has (from a run that was stopped) is not trained again."""
    kept: dict[str, Any] = json.loads(done.read_text()) if done and done.exists() else {}
    equal = {key: json.dumps([name, repr(recipe)]) for key, (name, recipe) in wanted.items()}
    open_still = {equal[key]: wanted[key] for key in wanted if equal[key] not in kept}
    with ProcessPoolExecutor(workers, cluster.processes()) as pool:
        try:
            waiting = {pool.submit(train, *what): text for text, what in open_still.items()}
            for count, future in enumerate(as_completed(waiting), start=1):
                kept[waiting[future]] = future.result()
                if done:
                    write_atomically(done, json.dumps(kept).encode())
                progress(count, len(waiting))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return {key: {int(step): error for step, error in kept[text]["errors"].items()} for key, text in equal.items()}


@dataclass(frozen=True)
class Answers:
    """For each question the lines of its chart, by id: by x the mean, the least and the largest over seeds."""

    lines: dict[str, dict[str, dict[float, tuple[float, float, float]]]]
    built: Message
    """The title of what was built beside the trained ones."""

    def titles(self, question: str) -> dict[str, Message]:
        """The titles of the lines of one question."""
        if question == "size":
            return {
                "blocks": Message("approximation.blocks"),
                "blocks_in_proof": Message("approximation.blocks_in_proof"),
                "parameters": Message("approximation.parameters"),
                "parameters_in_proof": Message("approximation.parameters_in_proof"),
            }
        trained = {line: Message(f"approximation.line_{line}") for line in self.lines[question] if line != BUILT}
        return trained | {BUILT: self.built}

    def draw(self, question: str) -> str:
        """The chart of one question."""
        lines = self.lines[question]
        across = {"training": "approximation.steps", "size": "approximation.units"}.get(
            question, "approximation.blocks"
        )
        values = [value for line in lines.values() for three in line.values() for value in three]
        panel = Panel(
            Message("approximation.count" if question == "size" else "approximation.distances"),
            Message(across),
            {name: [(x, mean) for x, (mean, _, _) in line.items()] for name, line in lines.items()},
            evenly=True,
            between=(power_below(min(values)), 10 * power_below(max(values))),
            logarithmic=True,
            bars={name: [(x, least, most) for x, (_, least, most) in line.items()] for name, line in lines.items()},
            names=self.titles(question),
        )
        return draw_charts([panel], ASKED[question], "")

    def rows(self, question: str) -> Iterable[str]:
        """The same as text."""
        titles = self.titles(question)
        for name, line in self.lines[question].items():
            values = ", ".join(
                f"{x:,g}: {shown(mean)} ({shown(least)}…{shown(most)})" for x, (mean, least, most) in line.items()
            )
            yield f"{titles[name]!s:36} {values}"


def shown(value: float) -> str:
    """An error, or a count."""
    return f"{value:.4f}" if value < 1 else f"{value:,.0f}"


def power_below(value: float) -> float:
    """The largest power of ten that is not above it."""
    power = 1e-9
    while power * 10 <= value:
        power *= 10
    return power


def answers(scale: QuestionsScale, errors: Mapping[Key, Mapping[int, float]]) -> Answers:
    """The trainings by question, and what is built beside them."""
    gathered: dict[str, dict[str, dict[float, list[float]]]] = {question: {} for question in ASKED}
    for key, by_step in errors.items():
        points = by_step if key.question == "training" else {key.across: by_step[max(by_step)]}
        for x, error in points.items():
            gathered[key.question].setdefault(key.line, {}).setdefault(x, []).append(error)
    steps = next(iter(gathered["training"].values()))
    wide = {units: compact("mix", 2, 2, 1 / scale.cells, units) for units in (4, 64, scale.units)}
    built = wide[scale.units]
    gathered["training"][BUILT] = {x: [built.distance] for x in steps}
    proof = approximate("mix", 2, 2, 1 / scale.cells, positions=False, samples=100).certificate
    gathered["size"] = {
        "blocks": {units: [float(each.blocks)] for units, each in wide.items()},
        "blocks_in_proof": {units: [float(proof.blocks)] for units in wide},
        "parameters": {units: [float(each.parameters)] for units, each in wide.items()},
        "parameters_in_proof": {units: [float(proof.parameters)] for units in wide},
    }
    return Answers(
        {
            question: {
                line: {x: (fmean(found), min(found), max(found)) for x, found in sorted(points.items())}
                for line, points in lines.items()
            }
            for question, lines in gathered.items()
        },
        Message("approximation.line_built", blocks=built.blocks, units=built.units),
    )
