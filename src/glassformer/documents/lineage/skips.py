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

from glassformer.documents.lineage.results import Skips
from glassformer.nn import Transformer
from glassformer.training.architecture import Architecture
from glassformer.training.batch import IGNORE_INDEX
from glassformer.training.sweep import OnRows, Sweep, results_of, sweep_of
from glassformer.training.trial import task_of

TASK: Final = {"sequence": "reverse", "length": 6}
KINDS: Final[dict[str, Mapping[str, str]]] = {
    "none": {"skip": "none", "norm": "none"},
    "highway": {"skip": "highway", "norm": "none"},
    "residual": {"norm": "none"},
    "residual_norm_behind": {"norm_place": "post"},
    "residual_norm_before": {"norm_place": "pre"},
}


@dataclass(frozen=True)
class SkipsScale:
    """What is trained: depths, seeds, and how long."""

    depths: Sequence[int] = (2, 4, 8, 16)
    seeds: int = 3
    steps: int = 150
    width: int = 32

    def model(self, kind: str, depth: int) -> dict[str, Any]:
        """A Transformer with these skips; all weights begin so that what they multiply keeps its size."""
        return {"layers": depth, "width": self.width, "heads": 4, "initialisation": "fan_in", **KINDS[kind]}

    def sweep(self, kind: str, depth: int) -> Sweep:
        """All seeds of one depth."""
        training = {"steps": self.steps, "seed": list(range(self.seeds)), "evaluate_every": self.steps}
        values = {
            "task": TASK,
            "model": self.model(kind, depth),
            "training": training | {"learning_rate": 2e-3, "evaluation_words": 256},
        }
        return sweep_of(values, f"{kind}, {depth} layers")


QUICK: Final = SkipsScale(depths=(2, 8), seeds=1, steps=80)


def skips(scale: SkipsScale, store: Path, processes: int, on_rows: OnRows | None = None) -> Skips:
    """Train whatever is not in the store yet; gradients are computed anew."""
    sweeps = {(kind, depth): scale.sweep(kind, depth) for kind in KINDS for depth in scale.depths}
    results = results_of(sweeps, store, processes, on_rows)
    accuracies = {
        kind: {depth: statistics.median(float(r["accuracy"]) for r in results[kind, depth]) for depth in scale.depths}
        for kind in KINDS
    }
    deepest = max(scale.depths)
    return Skips(accuracies, {kind: gradients(scale, kind, deepest) for kind in KINDS})


def gradients(scale: SkipsScale, kind: str, depth: int) -> list[float]:
    """For each layer of an untrained model, the size of the loss's gradient in all its weights."""
    task = task_of(TASK)
    model = Architecture(**scale.model(kind, depth)).model(task, seed=0)
    assert isinstance(model, Transformer)
    batch = task.batch(np.random.default_rng(0), 64)
    loss = F.cross_entropy(model(batch.tokens).flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE_INDEX)
    loss.backward()
    return [
        float(torch.stack([p.grad.norm() for p in block.parameters() if p.grad is not None]).norm())
        for block in model.blocks
    ]
