"""Superposition in two pictures: the dimensionality of every feature, and whether a second feature is represented."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from glassformer.messages import Message
from glassformer.ui.drawing import svg

LEFT, TOP, WIDTH, HEIGHT, GAP = 70.0, 90.0, 480.0, 360.0, 110.0
COLOURS: Final = {"left_out": svg.PALE, "shared": svg.ORANGE, "alone": svg.BLUE}
"""Of each phase."""
MOST: Final = 1.05


def draw_superposition(
    dots: Sequence[tuple[float, Sequence[float]]],
    shares: Mapping[str, float],
    phases: Sequence[Sequence[str]],
    importances: Sequence[float],
    inverse_densities: Sequence[float],
    titles: Mapping[str, Message],
) -> str:
    """Dots are (1/(1 − S), dimensionalities of features); phases are rows by importance, columns by 1/(1 − S).

    Shares are those of geometries; titles are of figures, geometries and phases, by id.
    """
    title = str(Message("inside.more_features"))
    marks = [svg.text(20, 30, title, 16, bold=True), *_dots(dots, shares, titles)]
    marks += _plane(phases, importances, inverse_densities, titles)
    return svg.page(LEFT + 2 * WIDTH + GAP + 40, TOP + HEIGHT + 100, marks, title)


def _across(inverse_density: float, left: float, most: float) -> float:
    return left + WIDTH * math.log(inverse_density) / math.log(most)


def _dots(
    dots: Sequence[tuple[float, Sequence[float]]], shares: Mapping[str, float], titles: Mapping[str, Message]
) -> list[str]:
    most = max(inverse_density for inverse_density, _ in dots)
    marks = [svg.text(LEFT, TOP - 26, str(titles["dots"]), 13)]
    marks.append(svg.text(LEFT - 8, TOP - 10, str(Message("inside.dimensionality")), 11, colour=svg.GREY))
    for name, share in shares.items():
        y = TOP + HEIGHT * (1 - share / MOST)
        marks.append(svg.line([(LEFT, y), (LEFT + WIDTH, y)], svg.PALE, 1.5))
        marks.append(svg.text(LEFT + WIDTH, y + (14 if share < 0.39 else -4), str(titles[name]), 11, "end", svg.GREY))
    marks += [
        svg.text(LEFT - 8, TOP + HEIGHT * (1 - share / MOST) + 4, f"{share:.2f}", 11, "end", svg.GREY)
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    for inverse_density, parts in dots:
        x = _across(inverse_density, LEFT, most)
        for y, count in Counter(round(TOP + HEIGHT * (1 - min(part, 1.0) / MOST)) for part in parts).items():
            darkness = 1 - 0.65**count
            marks.append(f'<circle cx="{x:.1f}" cy="{y}" r="2" fill="{svg.BLUE}" fill-opacity="{darkness:.2f}"/>')
    return marks + _axis(LEFT, most, titles)


def _axis(left: float, most: float, titles: Mapping[str, Message]) -> list[str]:
    marks = [
        svg.text(_across(tick, left, most), TOP + HEIGHT + 18, f"{tick}", 11, "middle", svg.GREY)
        for tick in (1, 2, 4, 10, 20, 40, 100)
        if tick <= most * 1.01
    ]
    return [*marks, svg.text(left + WIDTH / 2, TOP + HEIGHT + 40, str(titles["inverse_density"]), 12, "middle")]


def _plane(
    phases: Sequence[Sequence[str]],
    importances: Sequence[float],
    inverse_densities: Sequence[float],
    titles: Mapping[str, Message],
) -> list[str]:
    left = LEFT + WIDTH + GAP
    high, wide = HEIGHT / len(phases), WIDTH / len(inverse_densities)
    marks = [svg.text(left, TOP - 26, str(titles["phases"]), 13)]
    marks.append(svg.text(left - 8, TOP - 10, str(Message("inside.importance")), 11, colour=svg.GREY))
    for i, row in enumerate(phases):
        marks += [
            svg.box(left + j * wide, TOP + i * high, wide + 0.5, high + 0.5, COLOURS[phase])
            for j, phase in enumerate(row)
        ]
    for importance in (10, 3, 1, 0.3, 0.1):
        part = math.log(importances[0] / importance) / math.log(importances[0] / importances[-1])
        y = TOP + high / 2 + (HEIGHT - high) * part + 4
        marks.append(svg.text(left - 8, y, f"{importance:g}", 11, "end", svg.GREY))
    for i, (phase, shade) in enumerate(COLOURS.items()):
        x, title = left + 150 * i, str(titles[phase])
        marks += [svg.box(x, TOP + HEIGHT + 62, 16, 16, shade), svg.text(x + 24, TOP + HEIGHT + 75, title, 12)]
    return marks + _axis(left, max(inverse_densities), titles)
