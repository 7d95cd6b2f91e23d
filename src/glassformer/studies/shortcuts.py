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

from glassformer.learn.store import Store
from glassformer.learn.sweep import Sweep, Watch, run_here, sweep_of
from glassformer.report.chart import Panel, draw_charts

PUBLISHED: Final[dict[str, tuple[float, ...]]] = {
    "gridworld(4)": (0.999, 1.0),
    "gridworld(9)": (0.922, 1.0),
    "parity": (0.776, 0.998, 0.999, 1.0),
    "dihedral(4)": (0.456, 0.98, 1.0),
    "symmetric(5)": (0.079, 0.118, 0.146, 0.197, 0.26, 0.284),
}
"""Accuracy by depth, from 1 on, as published."""


@dataclass(frozen=True)
class Plan:
    """What is trained: machines with the length of their words, depths, MLP widths at one depth, seeds, steps."""

    machines: dict[str, int]
    depths: Sequence[int]
    mlps: Sequence[int]
    mlp_depth: int
    seeds: int
    steps: int
    width: int = 64

    def sweep(self, spec: str, model: dict[str, Any]) -> Sweep:
        """All seeds of one model on one machine."""
        values = {
            "task": {"machine": spec, "length": self.machines[spec]},
            "model": {"width": self.width} | model,
            "training": {"steps": self.steps, "seed": list(range(self.seeds)), "evaluate_every": self.steps},
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


LAPTOP: Final = Plan(
    {"flipflop": 32, "gridworld(9)": 32, "parity": 16, "dihedral(4)": 16, "symmetric(5)": 16},
    depths=range(1, 7),
    mlps=(16, 64, 256),
    mlp_depth=2,
    seeds=3,
    steps=2000,
)
QUICK: Final = Plan({"flipflop": 8}, depths=(1, 2), mlps=(8, 16), mlp_depth=1, seeds=2, steps=5, width=16)


@dataclass(frozen=True)
class Curve:
    """Accuracies of all seeds, by depth or by MLP width."""

    scores: dict[int, list[float]]

    @property
    def best(self) -> dict[int, float]:
        """The best seed of each."""
        return {at: max(scores) for at, scores in self.scores.items() if scores}

    @property
    def median(self) -> dict[int, float]:
        """The median of each."""
        return {at: statistics.median(scores) for at, scores in self.scores.items() if scores}


@dataclass(frozen=True)
class Shortcuts:
    """For each machine: accuracy by depth, by MLP width, and of the LSTM."""

    plan: Plan
    by_depth: dict[str, Curve]
    by_mlp: dict[str, Curve]
    lstm: dict[str, float]

    def draw(self) -> str:
        """A panel for each machine."""
        panels = []
        for spec, curve in self.by_depth.items():
            depths = [float(depth) for depth in self.plan.depths]
            lines = {
                "best seed": [(float(depth), value) for depth, value in curve.best.items()],
                "median seed": [(float(depth), value) for depth, value in curve.median.items()],
                "LSTM, best seed": [(depths[0], self.lstm[spec]), (depths[-1], self.lstm[spec])],
            }
            known = [(float(i), value) for i, value in enumerate(PUBLISHED.get(spec, ()), start=1) if i <= depths[-1]]
            panels.append(
                Panel(
                    f"{spec}, T = {self.plan.machines[spec]}",
                    "layers",
                    lines | ({"published (T = 100)": known} if known else {}),
                )
            )
        return draw_charts(panels, "Does training find the shortcut?", "accuracy")


def shortcuts(plan: Plan, store: Path, processes: int, watch: Watch | None = None) -> Shortcuts:
    """Train whatever of the plan is not in the store yet, and put the accuracies together."""
    depth = {spec: plan.depth_sweeps(spec) for spec in plan.machines}
    mlp = {spec: plan.mlp_sweeps(spec) for spec in plan.machines}
    lstm = {spec: plan.lstm_sweep(spec) for spec in plan.machines}
    sweeps = [sweep for some in (*depth.values(), *mlp.values()) for sweep in some.values()] + list(lstm.values())
    everything = Sweep({key: trial for sweep in sweeps for key, trial in sweep.trials.items()})
    kept = Store(store)
    kept.add(everything.trials.items())
    run_here(everything, kept, processes, watch=watch)

    def accuracies(sweep: Sweep) -> list[float]:
        return [float(row.result["accuracy"]) for row in kept.rows(sweep.ids) if row.status == "done" and row.result]

    found = Shortcuts(
        plan,
        {spec: Curve({at: accuracies(sweep) for at, sweep in some.items()}) for spec, some in depth.items()},
        {spec: Curve({at: accuracies(sweep) for at, sweep in some.items()}) for spec, some in mlp.items()},
        {spec: max(accuracies(sweep), default=0.0) for spec, sweep in lstm.items()},
    )
    kept.close()
    return found
