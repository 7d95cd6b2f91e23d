"""A built approximation drawn: the function, f̄ and the transformer along a line, and what each stage adds."""

from __future__ import annotations

from typing import Final

import numpy as np

from glassformer.compiler.universal import Approximation
from glassformer.report.chart import Panel, draw_charts

POINTS: Final = 240


def draw(built: Approximation, name: str, seed: int = 0) -> str:
    """One entry of X goes from 0 to 1, all others stay; the same entry of f, f̄ and g, and the errors of all entries."""
    grid = built.grid
    t = np.arange(POINTS) / POINTS
    x = np.repeat(np.random.default_rng(seed).random((1, grid.d, grid.n)), POINTS, axis=0)
    x[:, 0, 0] = t
    exact = built.function(x)
    values = {stage: apply(x) for stage, apply in built.stages.items()}
    lines = {
        "f": exact,
        "f̄, constant on cells": values["constant"],
        "g, the transformer": values["ordinary"],
    }
    errors = {
        "f̄ − f": values["constant"] - exact,
        "hardmax − f̄": values["modified"] - values["constant"],
        "softmax − hardmax": values["ordinary"] - values["modified"],
    }
    panels = [
        Panel(
            f"{name}, d = {grid.d}, n = {grid.n}, δ = 1/{grid.cells}",
            "first entry of X, the others fixed",
            {line: list(zip(t.tolist(), y[:, 0, 0].tolist(), strict=True)) for line, y in lines.items()},
        ),
        Panel(
            "largest error of any entry",
            "first entry of X",
            {
                stage: list(zip(t.tolist(), np.abs(error).max(axis=(1, 2)).tolist(), strict=True))
                for stage, error in errors.items()
            },
        ),
    ]
    every = np.concatenate([y[:, 0, 0] for y in lines.values()])
    return draw_charts(
        panels, f"{name}, by {built.certificate.blocks:,} blocks", "", min(0.0, every.min()), max(1.0, every.max())
    )
