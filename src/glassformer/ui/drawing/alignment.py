"""Which source token each token of an answer looked at, as the papers drew it: white is all weight, black none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from glassformer.ui.drawing import svg

LETTER: Final = 7.0
FAINT: Final = 0.01
"""Weights up to this are black."""


@dataclass(frozen=True)
class Alignment:
    """Weights [answer, source], and the tokens of both."""

    title: str
    weights: Sequence[Sequence[float]]
    source: Sequence[str]
    answer: Sequence[str]


def draw_alignments(alignments: Sequence[Alignment], title: str, across: int = 1, cell: float = 20.0) -> str:
    """So many beside each other, then more below."""
    left = 24 + LETTER * max(len(name) for each in alignments for name in each.answer)
    wide = left + cell * max(len(each.source) for each in alignments) + 16
    high = cell * max(len(each.answer) for each in alignments) + 62
    marks = [svg.text(20, 28, title, svg.TITLE, bold=True)]
    for number, each in enumerate(alignments):
        row, column = divmod(number, across)
        marks += _marks(each, column * wide + left, 92 + row * high, cell)
    rows = -(-len(alignments) // across)
    width = max(20 + wide * min(across, len(alignments)), 20 + svg.title_width(title))
    return svg.page(width, 60 + rows * high, marks, title)


def _marks(each: Alignment, left: float, top: float, cell: float) -> list[str]:
    size = 11 if cell >= 14 else 8
    marks = [svg.text(left, top - 22, each.title, 12)]
    marks.append(svg.box(left, top, cell * len(each.source), cell * len(each.answer), grey(0.0)))
    for j, name in enumerate(each.source):
        marks.append(svg.text(left + (j + 0.5) * cell, top - 5, name, size, "middle", svg.GREY))
    for i, (name, row) in enumerate(zip(each.answer, each.weights, strict=True)):
        y = top + i * cell
        marks.append(svg.text(left - 5, y + cell / 2 + size / 3, name, size, "end", svg.GREY))
        seen = [(j, weight) for j, weight in enumerate(row) if weight > FAINT]
        marks += [svg.box(left + j * cell, y, cell - 0.5, cell - 0.5, grey(weight)) for j, weight in seen]
    return marks


def grey(part: float) -> str:
    """From black at 0 to white at 1."""
    level = round(255 * min(max(part, 0.0), 1.0))
    return f"#{level:02x}{level:02x}{level:02x}"
