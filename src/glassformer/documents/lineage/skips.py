"""Skip connections (S2.6, where the document stops): who still trains when layers are stacked, and why?

The one Transformer without skips, with highways (Srivastava et al. 2015), with residuals (He et al. 2015), and these
with norms behind the sublayers (Vaswani et al. 2017) or before them (Xiong et al. 2020), 2 to 16 layers deep.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F

from glassformer.documents.verdict import Verdict
from glassformer.nn import Transformer
from glassformer.training.architecture import Architecture
from glassformer.training.batch import IGNORE_INDEX
from glassformer.training.sweep import Sweep, Watch, results_of, sweep_of
from glassformer.training.trial import task_of
from glassformer.ui.drawing.chart import Panel, draw_charts

TASK: Final = {"sequence": "reverse", "length": 6}
KINDS: Final[dict[str, Mapping[str, str]]] = {
    "none": {"skip": "none", "norm": "none"},
    "highway": {"skip": "highway", "norm": "none"},
    "residual": {"norm": "none"},
    "residual, norm behind": {"norm_place": "post"},
    "residual, norm before": {"norm_place": "pre"},
}


LOST: Final = 0.1
"""The part of the answers that a deeper stack may lose and still be called one that trains, if half are left."""


@dataclass(frozen=True)
class Plan:
    """What is trained: depths, seeds, and how long."""

    depths: Sequence[int] = (2, 4, 8, 16)
    seeds: int = 3
    steps: int = 150
    width: int = 32

    def model(self, kind: str, depth: int) -> dict[str, Any]:
        """A Transformer with these skips; all weights begin so that what they multiply keeps its size."""
        return {"layers": depth, "width": self.width, "heads": 4, "start": "kept", **KINDS[kind]}

    def sweep(self, kind: str, depth: int) -> Sweep:
        """All seeds of one depth."""
        training = {"steps": self.steps, "seed": list(range(self.seeds)), "evaluate_every": self.steps}
        values = {
            "task": TASK,
            "model": self.model(kind, depth),
            "training": training | {"learning_rate": 2e-3, "evaluation_words": 256},
        }
        return sweep_of(values, f"{kind}, {depth} layers")


QUICK: Final = Plan(depths=(2, 8), seeds=1, steps=80)


@dataclass(frozen=True)
class Skips:
    """Accuracy by kind and depth, and for the deepest the gradient that reaches each layer before the first step."""

    accuracies: dict[str, dict[int, float]]
    gradients: dict[str, list[float]]

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return dict(vars(self))

    def draw(self) -> str:
        """Both, side by side."""
        right = {kind: [(float(d), value) for d, value in by.items()] for kind, by in self.accuracies.items()}
        most = max(max(norms) for norms in self.gradients.values())
        least = max(min(min(norms) for norms in self.gradients.values()), most * 1e-9)
        arriving = {kind: [(float(i), max(g, least)) for i, g in enumerate(by)] for kind, by in self.gradients.items()}
        depth = len(next(iter(self.gradients.values())))
        return draw_charts(
            [
                Panel("right answers after training", "layers", right, evenly=True),
                Panel(
                    f"size of the gradient in each of {depth} layers, untrained",
                    "layer",
                    arriving,
                    between=(least, most),
                    logarithmic=True,
                ),
            ],
            "Who still trains when layers are stacked?",
            "",
        )


def skips(plan: Plan, store: Path, processes: int, watch: Watch | None = None) -> Skips:
    """Train whatever is not in the store yet; gradients are computed anew."""
    sweeps = {(kind, depth): plan.sweep(kind, depth) for kind in KINDS for depth in plan.depths}
    results = results_of(sweeps, store, processes, watch)
    accuracies = {
        kind: {depth: statistics.median(float(r["accuracy"]) for r in results[kind, depth]) for depth in plan.depths}
        for kind in KINDS
    }
    deepest = max(plan.depths)
    return Skips(accuracies, {kind: gradients(plan, kind, deepest) for kind in KINDS})


def verdicts(found: Skips) -> list[Verdict]:
    """Who trains at the smallest depth, and who still does at the largest."""
    shallow, *_, deep = next(iter(found.accuracies.values()))
    said = "; ".join(f"{kind} {by[shallow]:.3f}, {by[deep]:.3f}" for kind, by in found.accuracies.items())
    none = found.accuracies["none"]
    others = [by for kind, by in found.accuracies.items() if kind != "none"]
    return [
        Verdict(
            "without skip connections depth does not train; with highways and residuals it does",
            f"right with {shallow} and {deep} layers: {said}",
            none[deep] < min(none[shallow] - LOST, 0.5)
            and all(by[deep] > max(by[shallow] - LOST, 0.5) for by in others),
        )
    ]


def gradients(plan: Plan, kind: str, depth: int) -> list[float]:
    """For each layer of an untrained model, the size of the loss's gradient in all its weights."""
    task = task_of(TASK)
    model = Architecture(**plan.model(kind, depth)).model(task, seed=0)
    assert isinstance(model, Transformer)
    batch = task.batch(np.random.default_rng(0), 64)
    loss = F.cross_entropy(model(batch.tokens).flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE_INDEX)
    loss.backward()
    return [
        float(torch.stack([p.grad.norm() for p in block.parameters() if p.grad is not None]).norm())
        for block in model.blocks
    ]
