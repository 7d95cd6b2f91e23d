"""Which source token each token of an answer looked at, as the papers drew it: white is all weight, black none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from glassformer.report import svg

CELL: Final = 20.0


def draw_alignments(
    matrices: Sequence[tuple[Sequence[Sequence[float]], Sequence[str], Sequence[str]]], title: str
) -> str:
    """One matrix below the other: weights [answer, source], and the tokens of source and answer."""
    marks, top, widest = [svg.text(20, 28, title, 16, bold=True)], 70.0, 0.0
    for weights, source, answer in matrices:
        left = 30 + 8 * max(map(len, answer))
        for j, name in enumerate(source):
            marks.append(svg.text(left + (j + 0.5) * CELL, top - 6, name, 11, "middle"))
        for i, (name, row) in enumerate(zip(answer, weights, strict=True)):
            y = top + i * CELL
            marks.append(svg.text(left - 6, y + CELL / 2 + 4, name, 11, "end"))
            marks += [svg.box(left + j * CELL, y, CELL - 1, CELL - 1, grey(weight)) for j, weight in enumerate(row)]
        widest = max(widest, left + CELL * len(source))
        top += CELL * len(answer) + 50
    return svg.page(max(widest + 20, 40 + 9 * len(title)), top - 30, marks, title)


def grey(part: float) -> str:
    """From black at 0 to white at 1."""
    level = round(255 * min(max(part, 0.0), 1.0))
    return f"#{level:02x}{level:02x}{level:02x}"
