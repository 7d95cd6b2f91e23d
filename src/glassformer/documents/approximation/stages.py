"""A built approximation drawn, stage by stage: values, quantised entries, ids, errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from jaxtyping import Float

from glassformer.compiler.constructions.universal import Approximation
from glassformer.messages import Message, verbatim
from glassformer.ui.drawing.chart import Panel, draw_charts

POINTS: Final = 241

Line = Float[np.ndarray, " point"]


def draw(built: Approximation, name: str, seed: int = 0) -> str:
    """The stages as one figure."""
    grid = built.grid
    sizes = {"d": grid.d, "n": grid.n, "cells": grid.cells, "blocks": built.certificate.blocks}
    return draw_charts(list(stages(built, seed).values()), Message("approximation.built", function=name, **sizes), "")


def stages(built: Approximation, seed: int = 0) -> dict[str, Panel]:
    """One entry of X goes from 0 to 1, all others stay: that entry at each stage, and the errors of all entries."""
    grid = built.grid
    t = np.linspace(0, 1, POINTS)
    t[-1] -= 2.0**-20  # 1 itself is outside, and just before it the quantiser's ramp goes there
    x = np.repeat(np.random.default_rng(seed).random((1, grid.d, grid.n)), POINTS, axis=0)
    x[:, 0, 0] = t
    exact = built.function(x)
    values = {stage: apply(x) for stage, apply in vars(built.stages).items()}
    corners = built.proof.parts["quantise"].run((x + grid.shift).transpose(0, 2, 1), grid.weights)
    errors = {
        "error_constant": values["constant"] - exact,
        "error_modified": values["modified"] - values["constant"],
        "error_ordinary": values["ordinary"] - values["modified"],
    }
    shown = {
        "f": exact[:, 0, 0],
        "constant": values["constant"][:, 0, 0],
        "transformer": values["ordinary"][:, 0, 0],
    }
    every = np.concatenate(list(shown.values()))
    return {
        "values": panel(
            "approximation.stage_values",
            t,
            shown,
            (min(0.0, float(every.min())), max(1.0, float(every.max()))),
        ),
        "quantise": panel(
            "approximation.stage_quantise",
            t,
            {"x": t, "quantised": corners[:, 0, 0]},
            (0.0, 1.0),
        ),
        "ids": ids(built),
        "errors": panel(
            "approximation.stage_errors",
            t,
            {stage: np.abs(error).max(axis=(1, 2)) + FLOOR for stage, error in errors.items()},
            (FLOOR, 10.0),
        ),
    }


FLOOR: Final = 1e-18
"""Added to errors, so that those of exactly 0 can be drawn upward by powers of ten."""
LINES: Final = {
    "f": verbatim("f"),
    "x": verbatim("x"),
    "constant": Message("approximation.line_constant"),
    "transformer": Message("approximation.line_transformer"),
    "quantised": Message("approximation.line_quantised"),
    "before": Message("approximation.line_before"),
    "after": Message("approximation.line_after"),
    "error_constant": verbatim("f̄ − f"),
    "error_modified": verbatim("hardmax − f̄"),
    "error_ordinary": verbatim("softmax − hardmax"),
}
"""The titles of all lines."""


def panel(title: str, t: Line, lines: Mapping[str, Line], between: tuple[float, float]) -> Panel:
    """A chart over the first entry of X."""
    points = {line: list(zip(t.tolist(), y.tolist(), strict=True)) for line, y in lines.items()}
    logarithmic, across = between[0] == FLOOR, Message("approximation.first_entry")
    return Panel(Message(title), across, points, between=between, logarithmic=logarithmic, names=LINES)


def ids(built: Approximation) -> Panel:
    """How many columns of all sequences of the grid have the same id: many before the shifts, one after them."""
    corners = built.grid.corners
    ids = {"before": built.grid.ids(corners), "after": built.proof.ids_of(corners)}
    shared = {}
    for when, values in ids.items():
        _, which, count = np.unique(values, return_inverse=True, return_counts=True)
        shared[when] = np.sort(count[which.ravel()])
    some = np.unique(np.linspace(0, corners[:, 0].size - 1, POINTS).round().astype(int))
    return Panel(
        Message("approximation.stage_ids"),
        Message("approximation.all_columns"),
        {name: [(float(i), float(line[i])) for i in some] for name, line in shared.items()},
        between=(1.0, 10.0 * max(float(line[-1]) for line in shared.values())),
        logarithmic=True,
        names=LINES,
    )
