"""Does training find the shortcut (S0.14), and what pays for it (S0.17)? Accuracy by depth, and by the width of MLPs.

Each machine is learned at every depth by several seeds; the best and the median are set beside an LSTM and beside the
published curve (Liu et al., ICLR 2023: T = 100, width 512, 8 heads, the best of 20 seeds).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from glassformer.messages import Message
from glassformer.training.sweep import OnRows, Sweep, results_of, sweep_of
from glassformer.ui.drawing.chart import Panel, draw_charts

PUBLISHED: Final[dict[str, tuple[float, ...]]] = {
    "gridworld(9)": (0.922, 1.0),
    "parity": (0.776, 0.998, 0.999, 1.0),
    "dihedral(4)": (0.456, 0.98, 1.0),
    "symmetric(5)": (0.079, 0.118, 0.146, 0.197, 0.26, 0.284),
}
"""Accuracy by depth, from 1 on, as published."""
LINES: Final = {
    "best_seed": Message("shortcuts.best_seed"),
    "median_seed": Message("shortcuts.median_seed"),
    "lstm": Message("shortcuts.lstm"),
    "published": Message("shortcuts.published"),
}
"""The titles of the lines of all charts."""


@dataclass(frozen=True)
class MachineTask:
    """How long the words of a machine are, and how many steps it is learned."""

    length: int
    steps: int


@dataclass(frozen=True)
class ShortcutsScale:
    """What is trained: machines, depths, MLP widths at one depth, seeds."""

    machines: dict[str, MachineTask]
    depths: Sequence[int]
    mlps: Sequence[int]
    mlp_depth: int
    seeds: int
    width: int = 64

    def sweep(self, spec: str, model: dict[str, Any]) -> Sweep:
        """All seeds of one model on one machine."""
        task = self.machines[spec]
        values = {
            "task": {"machine": spec, "length": task.length},
            "model": {"width": self.width, "mlp": 4 * self.width} | model,
            "training": {"steps": task.steps, "seed": list(range(self.seeds)), "evaluate_every": task.steps},
        }
        return sweep_of(values, spec)

    def depth_sweeps(self, spec: str) -> dict[int, Sweep]:
        """For each depth."""
        return {depth: self.sweep(spec, {"layers": depth}) for depth in self.depths}

    def mlp_sweeps(self, spec: str) -> dict[int, Sweep]:
        """For each width of the MLPs, at one depth."""
        return {mlp: self.sweep(spec, {"layers": self.mlp_depth, "mlp": mlp}) for mlp in self.mlps}

    def lstm_sweep(self, spec: str) -> Sweep:
        """The reference."""
        return self.sweep(spec, {"kind": "lstm", "layers": 1, "width": 2 * self.width})


LAPTOP: Final = ShortcutsScale(
    {
        "flipflop": MachineTask(32, 500),
        "gridworld(9)": MachineTask(32, 2000),
        "parity": MachineTask(16, 2000),
        "dihedral(4)": MachineTask(16, 1500),
        "symmetric(5)": MachineTask(16, 1500),
    },
    depths=range(1, 7),
    mlps=(4, 16, 64, 256),
    mlp_depth=2,
    seeds=3,
)
QUICK: Final = ShortcutsScale(
    {"flipflop": MachineTask(8, 5)}, depths=(1, 2), mlps=(8, 64), mlp_depth=1, seeds=2, width=16
)


@dataclass(frozen=True)
class Curve:
    """Accuracies of all seeds, by depth or by MLP width."""

    scores: dict[int, list[float]]

    @property
    def best(self) -> dict[int, float]:
        """The best seed of each."""
        return {at: max(scores) for at, scores in self.scores.items()}

    @property
    def median(self) -> dict[int, float]:
        """The median of each."""
        return {at: statistics.median(scores) for at, scores in self.scores.items()}


@dataclass(frozen=True)
class Shortcuts:
    """For each machine: accuracy by depth, by MLP width, and of the LSTM."""

    scale: ShortcutsScale
    by_depth: dict[str, Curve]
    by_mlp: dict[str, Curve]
    lstm: dict[str, float]

    def draw(self) -> str:
        """Accuracy by depth, a panel for each machine."""
        panels = []
        for spec, curve in self.by_depth.items():
            first, *_, last = self.scale.depths
            lines = _lines(curve) | {"lstm": [(d, self.lstm[spec]) for d in (first, last)]}
            if known := [(i, value) for i, value in enumerate(PUBLISHED.get(spec, ()), start=1) if i <= last]:
                lines["published"] = known
            title = Message("shortcuts.machine_length", machine=spec, length=self.scale.machines[spec].length)
            panels.append(Panel(title, Message("shortcuts.layers"), lines, names=LINES))
        return draw_charts(panels, Message("shortcuts.by_depth_title"), Message("shortcuts.accuracy"))

    def draw_mlp(self) -> str:
        """Accuracy by the units of MLPs, a panel for each machine."""
        panels = []
        for spec, curve in self.by_mlp.items():
            sizes = {"length": self.scale.machines[spec].length, "layers": self.scale.mlp_depth}
            title = Message("shortcuts.machine_length_layers", machine=spec, **sizes)
            panels.append(Panel(title, Message("shortcuts.units"), _lines(curve), evenly=True, names=LINES))
        return draw_charts(panels, Message("shortcuts.by_width_title"), Message("shortcuts.accuracy"))


def _lines(curve: Curve) -> dict[str, list[tuple[int, float]]]:
    """The best seed and the median one."""
    return {"best_seed": list(curve.best.items()), "median_seed": list(curve.median.items())}


def shortcuts(scale: ShortcutsScale, store: Path, processes: int, on_rows: OnRows | None = None) -> Shortcuts:
    """Train whatever is not in the store yet, and put the accuracies together."""
    sweeps = {
        (kind, spec, at): sweep
        for spec in scale.machines
        for kind, some in (
            ("depth", scale.depth_sweeps(spec)),
            ("mlp", scale.mlp_sweeps(spec)),
            ("lstm", {1: scale.lstm_sweep(spec)}),
        )
        for at, sweep in some.items()
    }
    results = results_of(sweeps, store, processes, on_rows)

    def curve(kind: str, spec: str) -> Curve:
        return Curve(
            {
                at: [float(result["accuracy"]) for result in found]
                for (this, machine, at), found in results.items()
                if (this, machine) == (kind, spec)
            }
        )

    return Shortcuts(
        scale,
        {spec: curve("depth", spec) for spec in scale.machines},
        {spec: curve("mlp", spec) for spec in scale.machines},
        {spec: curve("lstm", spec).best[1] for spec in scale.machines},
    )
