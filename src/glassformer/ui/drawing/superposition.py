"""Superposition in two pictures: the dimensionality of every feature, and whether a second feature is represented."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from glassformer.ui.drawing import svg

LEFT, TOP, WIDTH, HEIGHT, GAP = 70.0, 90.0, 480.0, 360.0, 110.0
PHASES: Final = {
    "left out": ("not represented", svg.PALE),
    "shared": ("in superposition", svg.ORANGE),
    "alone": ("dedicated dimension", svg.BLUE),
}
"""The name of each phase for a person, and its colour."""
MOST: Final = 1.05


def draw_superposition(
    dots: Sequence[tuple[float, Sequence[float]]],
    shapes: Mapping[str, float],
    phases: Sequence[Sequence[str]],
    importances: Sequence[float],
    rarities: Sequence[float],
) -> str:
    """Dots are (1/(1 − S), dimensionalities of features); phases are rows by importance, columns by 1/(1 − S)."""
    marks = [svg.text(20, 30, "Superposition: more features than dimensions", 16, bold=True)]
    marks += _dots(dots, shapes) + _plane(phases, importances, rarities)
    return svg.page(LEFT + 2 * WIDTH + GAP + 40, TOP + HEIGHT + 100, marks, "Superposition")


def _across(rarity: float, left: float, most: float) -> float:
    return left + WIDTH * math.log(rarity) / math.log(most)


def _dots(dots: Sequence[tuple[float, Sequence[float]]], shapes: Mapping[str, float]) -> list[str]:
    most = max(rarity for rarity, _ in dots)
    marks = [svg.text(LEFT, TOP - 26, "100 features in 10 dimensions: each dot is a feature", 13)]
    marks.append(svg.text(LEFT - 8, TOP - 10, "dimensionality", 11, colour=svg.GREY))
    for name, share in shapes.items():
        y = TOP + HEIGHT * (1 - share / MOST)
        marks.append(svg.line([(LEFT, y), (LEFT + WIDTH, y)], svg.PALE, 1.5))
        marks.append(svg.text(LEFT + WIDTH, y + (14 if share < 0.39 else -4), name, 11, "end", svg.GREY))
    marks += [
        svg.text(LEFT - 8, TOP + HEIGHT * (1 - share / MOST) + 4, f"{share:.2f}", 11, "end", svg.GREY)
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    for rarity, parts in dots:
        x = _across(rarity, LEFT, most)
        for y, count in Counter(round(TOP + HEIGHT * (1 - min(part, 1.0) / MOST)) for part in parts).items():
            darkness = 1 - 0.65**count
            marks.append(f'<circle cx="{x:.1f}" cy="{y}" r="2" fill="{svg.BLUE}" fill-opacity="{darkness:.2f}"/>')
    return marks + _axis(LEFT, most)


def _axis(left: float, most: float) -> list[str]:
    ticks = [rarity for rarity in (1, 2, 4, 10, 20, 40, 100) if rarity <= most * 1.01]
    marks = [
        svg.text(_across(rarity, left, most), TOP + HEIGHT + 18, f"{rarity}", 11, "middle", svg.GREY)
        for rarity in ticks
    ]
    words = "one sample in so many has a feature, 1/(1 − S)"
    return [*marks, svg.text(left + WIDTH / 2, TOP + HEIGHT + 40, words, 12, "middle")]


def _plane(phases: Sequence[Sequence[str]], importances: Sequence[float], rarities: Sequence[float]) -> list[str]:
    left = LEFT + WIDTH + GAP
    high, wide = HEIGHT / len(phases), WIDTH / len(rarities)
    marks = [svg.text(left, TOP - 26, "Two features in one dimension: is the second represented?", 13)]
    marks.append(svg.text(left - 8, TOP - 10, "its importance", 11, colour=svg.GREY))
    for i, row in enumerate(phases):
        marks += [
            svg.box(left + j * wide, TOP + i * high, wide + 0.5, high + 0.5, PHASES[phase][1])
            for j, phase in enumerate(row)
        ]
    for importance in (10, 3, 1, 0.3, 0.1):
        part = math.log(importances[0] / importance) / math.log(importances[0] / importances[-1])
        y = TOP + high / 2 + (HEIGHT - high) * part + 4
        marks.append(svg.text(left - 8, y, f"{importance:g}", 11, "end", svg.GREY))
    for i, (name, shade) in enumerate(PHASES.values()):
        x = left + 150 * i
        marks += [svg.box(x, TOP + HEIGHT + 62, 16, 16, shade), svg.text(x + 24, TOP + HEIGHT + 75, name, 12)]
    return marks + _axis(left, max(rarities))
