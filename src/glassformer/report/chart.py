"""Line charts, side by side, as SVG text. Each line is thinner than the ones below it, so that none hides another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from glassformer.report import svg

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222")
WIDTH, HEIGHT, LEFT, TOP, GAP, BOTTOM = 300.0, 220.0, 60.0, 64.0, 70.0, 50.0


@dataclass(frozen=True)
class Panel:
    """One chart: its words, and for each line its points."""

    title: str
    across: str
    lines: Mapping[str, Sequence[tuple[float, float]]]


def draw_charts(panels: Sequence[Panel], title: str, up: str, low: float = 0.0, high: float = 1.0) -> str:
    """All panels in a row, with one legend; what is drawn upward runs from low to high."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    marks = [svg.text(LEFT, 28, title, 16, bold=True)]
    for i, panel in enumerate(panels):
        marks += _panel(panel, LEFT + i * (WIDTH + GAP), colour, up if i == 0 else "", low, high)
    y = TOP + HEIGHT + BOTTOM + 24
    for i, name in enumerate(names):
        x, row = LEFT + (i % 3) * 230, y + (i // 3) * 20
        marks += [svg.line([(x, row - 4), (x + 22, row - 4)], colour[name], 4), svg.text(x + 30, row, name, 12)]
    width = LEFT + len(panels) * (WIDTH + GAP)
    return svg.page(max(width, LEFT + 700), y + 20 * ((len(names) + 2) // 3), marks, title)


def _panel(panel: Panel, left: float, colour: Mapping[str, str], up: str, low: float, high: float) -> list[str]:
    xs = sorted({x for points in panel.lines.values() for x, _ in points})
    first, last = xs[0], xs[-1] if xs[-1] > xs[0] else xs[0] + 1

    def place(x: float, y: float) -> tuple[float, float]:
        across = left + (x - first) / (last - first) * WIDTH
        return across, TOP + HEIGHT - (min(max(y, low), high) - low) / (high - low) * HEIGHT

    marks, lines = [svg.text(left, TOP - 12, panel.title, 13)], list[str]()
    for step in range(5):
        value = low + (high - low) * step / 4
        _, y = place(first, value)
        marks += [svg.line([(left, y), (left + WIDTH, y)], svg.PALE, 1)]
        marks.append(svg.text(left - 8, y + 4, f"{value:.2f}", 11, "end", svg.GREY))
    for x in xs:
        marks.append(svg.text(place(x, low)[0], TOP + HEIGHT + 18, f"{x:g}", 11, "middle", svg.GREY))
    marks.append(svg.text(left + WIDTH / 2, TOP + HEIGHT + 38, panel.across, 12, "middle"))
    if up:
        marks.append(svg.text(left - 8, TOP - 12, up, 11, "end", svg.GREY))
    for above, (name, points) in enumerate(reversed(list(panel.lines.items())), start=1):
        placed = [place(x, y) for x, y in sorted(points)]
        lines.append(svg.line(placed, colour[name], 1.4 * above + 0.4))
    marks += reversed(lines)
    return marks
