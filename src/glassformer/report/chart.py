"""Line charts, three in a row, as SVG text. Each line is thinner than the ones below it, so that none hides another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from glassformer.report import svg

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222")
WIDTH, HEIGHT, LEFT, TOP, GAP, BOTTOM = 300.0, 220.0, 60.0, 64.0, 70.0, 50.0
ROW, IN_A_ROW = HEIGHT + BOTTOM + 40, 3
MOST_TICKS: Final = 12


@dataclass(frozen=True)
class Panel:
    """One chart: its words, and for each line its points; those across may be drawn at even distances."""

    title: str
    across: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    evenly: bool = False


def draw_charts(panels: Sequence[Panel], title: str, up: str, low: float = 0.0, high: float = 1.0) -> str:
    """All panels, with one legend; what is drawn upward runs from low to high."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    marks = [svg.text(LEFT, 28, title, 16, bold=True)]
    for i, panel in enumerate(panels):
        row, column = divmod(i, IN_A_ROW)
        corner = LEFT + column * (WIDTH + GAP), TOP + row * ROW
        marks += _panel(panel, corner, colour, "" if column else up, low, high)
    y = TOP + (len(panels) - 1) // IN_A_ROW * ROW + HEIGHT + BOTTOM + 24
    for i, name in enumerate(names):
        x, below = LEFT + (i % 3) * 230, y + (i // 3) * 20
        marks += [svg.line([(x, below - 4), (x + 22, below - 4)], colour[name], 4), svg.text(x + 30, below, name, 12)]
    width = LEFT + min(len(panels), IN_A_ROW) * (WIDTH + GAP)
    return svg.page(max(width, LEFT + 700), y + 20 * ((len(names) + 2) // 3), marks, title)


def _panel(
    panel: Panel, corner: tuple[float, float], colour: Mapping[str, str], up: str, low: float, high: float
) -> list[str]:
    left, top = corner
    xs = sorted({x for points in panel.lines.values() for x, _ in points})
    at = {x: float(i) if panel.evenly else x for i, x in enumerate(xs)}
    span = (at[xs[-1]] - at[xs[0]]) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = left + (at[x] - at[xs[0]]) / span * WIDTH
        return across, top + HEIGHT - (min(max(y, low), high) - low) / (high - low) * HEIGHT

    marks, lines = [svg.text(left, top - 12, panel.title, 13)], list[str]()
    for step in range(5):
        value = low + (high - low) * step / 4
        _, y = place(xs[0], value)
        marks += [svg.line([(left, y), (left + WIDTH, y)], svg.PALE, 1)]
        marks.append(svg.text(left - 8, y + 4, f"{value:.2f}", 11, "end", svg.GREY))
    for x in xs if len(xs) <= MOST_TICKS else [xs[round(i * (len(xs) - 1) / 4)] for i in range(5)]:
        marks.append(svg.text(place(x, low)[0], top + HEIGHT + 18, f"{x:.3g}", 11, "middle", svg.GREY))
    marks.append(svg.text(left + WIDTH / 2, top + HEIGHT + 38, panel.across, 12, "middle"))
    if up:
        marks.append(svg.text(left - 8, top - 12, up, 11, "end", svg.GREY))
    for above, (name, points) in enumerate(reversed(list(panel.lines.items())), start=1):
        placed = [place(x, y) for x, y in sorted(points)]
        lines.append(svg.line(placed, colour[name], 1.4 * above + 0.4))
    marks += reversed(lines)
    return marks
