"""The three figures of the study of evolution, beside each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean

from glassformer.documents.evolution.results import FIGURES, ByLayer, Evolution, titles
from glassformer.messages import Message
from glassformer.ui.drawing.chart import Panel, draw_charts


def draw(found: Evolution) -> str:
    """Information, distances between models, and change, by layer."""
    lines = (found.information, found.distances, found.changes)
    panels = [panel(*each) for each in zip(FIGURES, lines, (found.most, None, None), strict=True)]
    return draw_charts(panels, Message("evolution.title"), "")


def panel(figure: str, lines: Mapping[str, list[ByLayer]], most: float | None = None) -> Panel:
    """The means of the curves by layer, with bars from the least to the largest."""
    points, bars = {}, {}
    for name, curves in lines.items():
        layers = list(curves[0])
        values = {layer: [curve[layer] for curve in curves] for layer in layers}
        at = {layer: 0.0 if layer == "embedding" else float(layer) for layer in layers}
        points[name] = [(at[layer], fmean(values[layer])) for layer in layers]
        bars[name] = [(at[layer], min(values[layer]), max(values[layer])) for layer in layers]
    tenths = math.ceil(10 * max(highest for own in bars.values() for _, _, highest in own))
    between = (0.0, most or max(1, tenths) / 10)
    names = titles()
    return Panel(names[figure], Message("evolution.layer"), points, bars=bars, between=between, names=names)
