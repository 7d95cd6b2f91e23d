"""A table of numbers as coloured cells: blue is less than nothing, white nothing, orange more, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from glassformer.ui.drawing import svg

CELL: Final = 46.0
LOW: Final = 34.0
LETTER: Final = 7.2
BAR: Final = 120.0
LONG: Final = 16
"""Letters from which on the columns' names rise."""
MOST_WRITTEN: Final = 400
"""Cells in which the number is written, too."""
BLUE: Final = (0, 114, 178)
ORANGE: Final = (213, 94, 0)


def draw_heatmap(
    values: Sequence[Sequence[float | None]],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    full: float = 0.0,
) -> str:
    """Values with the names of rows and columns; None is a dash.

    Colours are full at the largest value. Where two drawings are to be compared, they are full at `full`, 1 for parts
    of a whole, or at the largest value if that is more, and a bar below is their scale.
    """
    least = min((value for row in values for value in row if value is not None), default=0.0)
    largest = max([full, *(abs(value) for row in values for value in row if value is not None)]) or 1.0
    written = len(rows) * len(columns) <= MOST_WRITTEN
    longest = LETTER * max(map(len, columns), default=1)
    rise = longest / math.sqrt(2) if written and longest >= LETTER * LONG else 0.0
    wide = max(CELL, 0.0 if rise else longest + 6) if written else 10.0
    left, top = 24 + LETTER * max(map(len, rows), default=1), 78.0 + rise
    marks = [svg.text(20, 28, title, svg.TITLE, bold=True)]
    for j, name in enumerate(columns):
        if written:
            x, y = left + (j + 0.5) * wide, top - 8
            marks.append(svg.rising(x, y, svg.text(x, y, name, 12)) if rise else svg.text(x, y, name, 12, "middle"))
    for i, (name, row) in enumerate(zip(rows, values, strict=True)):
        y = top + i * LOW
        marks.append(svg.text(left - 8, y + LOW / 2 + 4, name, 12, "end"))
        for j, value in enumerate(row):
            if value is None:
                marks.append(svg.text(left + (j + 0.5) * wide, y + LOW / 2 + 4, "–", 11, "middle", svg.GREY))
                continue
            marks.append(svg.box(left + j * wide, y, wide - 1, LOW - 1, shade(value / largest)))
            if written:
                ink = svg.PAPER if abs(value) > 0.6 * largest else svg.INK
                marks.append(svg.text(left + (j + 0.5) * wide, y + LOW / 2 + 4, number(value), 11, "middle", ink))
    below = top + LOW * len(rows) + 14
    if full:
        marks += scale(left, below, -largest if least < 0 else 0.0, largest)
    width = max(left + wide * len(columns) + rise + 20, 20 + svg.title_width(title))
    return svg.page(width, below + (30 if full else 6), marks, title)


def scale(x: float, y: float, low: float, high: float) -> list[str]:
    """What the colours mean: a bar from the lowest to the highest value."""
    steps = 24
    parts = [low + (high - low) * (i + 0.5) / steps for i in range(steps)]
    marks = [svg.box(x + i * BAR / steps, y, BAR / steps + 0.5, 8, shade(part / high)) for i, part in enumerate(parts)]
    ends = ((low, "start", 0.0), (high, "end", BAR))
    return marks + [svg.text(x + at, y + 20, number(value), 10, anchor, svg.GREY) for value, anchor, at in ends]


def number(value: float) -> str:
    """Two digits behind the point, and no more characters than are needed."""
    shown = f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
    return "0" if float(shown) == 0 else shown


def shade(part: float) -> str:
    """From blue at −1 by white to orange at 1."""
    full = ORANGE if part > 0 else BLUE
    strength = min(abs(part), 1.0)
    mixed = (round(255 + (colour - 255) * strength) for colour in full)
    return "#" + "".join(f"{colour:02x}" for colour in mixed)
