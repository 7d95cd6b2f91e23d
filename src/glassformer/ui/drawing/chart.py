"""Line charts, two or three in a row, as SVG text. Each line has its colour and its dashes, so that none is hidden."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from glassformer.messages import Message
from glassformer.ui.drawing import svg

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#222222")
DASHES: Final = ("", "8 5", "2 4", "10 4 2 4", "5 5", "14 5", "1 5")
WIDTH, HEIGHT, LEFT, TOP, GAP, BOTTOM = 300.0, 220.0, 60.0, 64.0, 70.0, 50.0
LEGEND, LEGEND_WIDTH = 20.0, 230.0
MOST_TICKS: Final = 12
Text: TypeAlias = Message | str


@dataclass(frozen=True)
class Panel:
    """One chart: its words, and for each line its points; those across may be drawn at even distances."""

    title: Text
    across: Text
    lines: Mapping[str, Sequence[tuple[float, float]]]
    evenly: bool = False
    between: tuple[float, float] | None = None
    """What is drawn upward runs from the first to the second, if not as in the other panels."""
    logarithmic: bool = False
    """Upward, by powers of ten."""
    bars: Mapping[str, Sequence[tuple[float, float, float]]] | None = None
    """Error bars: for each line (x, lowest, highest)."""
    names: Mapping[str, Text] = field(default_factory=dict)
    """The titles of lines, where these are not their names."""


def draw_charts(panels: Sequence[Panel], title: Text, up: Text, high: float = 1.0) -> str:
    """All panels, with one legend if they have the same lines, and one below each otherwise."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    titles = {name: str(panel.names.get(name, name)) for panel in panels for name in panel.lines}
    shared = len(panels) > 1 and all(set(panel.lines) == set(names) for panel in panels)
    below = 0.0 if shared else LEGEND * max(len(panel.lines) for panel in panels)
    in_a_row = 2 if len(panels) == 4 else 3
    row_height = HEIGHT + BOTTOM + 40 + below
    marks = [svg.text(LEFT, 28, str(title), svg.TITLE, bold=True)]
    for i, panel in enumerate(panels):
        row, column = divmod(i, in_a_row)
        left, top = LEFT + column * (WIDTH + GAP), TOP + row * row_height
        own = names if shared else list(panel.lines)
        upward = "" if column and shared else str(up)
        marks += _panel(panel, (left, top), own, upward, *(panel.between or (0.0, high)))
        if not shared:
            marks += _legend([titles[name] for name in own], left, top + HEIGHT + BOTTOM + 14, 1)
    height = TOP + ((len(panels) - 1) // in_a_row + 1) * row_height
    if shared:
        marks += _legend([*titles.values()], LEFT, height - 16, 3)
        height += LEGEND * ((len(names) + 2) // 3)
    width = LEFT + min(len(panels), in_a_row) * (WIDTH + GAP)
    legend = LEFT + 3 * _legend_width([*titles.values()]) if shared else 0.0
    return svg.page(max(width, legend, LEFT + svg.title_width(str(title))), height, marks, str(title))


def _legend(titles: Sequence[str], left: float, top: float, across: int) -> list[str]:
    marks = []
    for i, title in enumerate(titles):
        x, y = left + (i % across) * _legend_width(titles), top + (i // across) * LEGEND
        marks += [_line(i, [(x, y - 4), (x + 28, y - 4)]), svg.text(x + 36, y, title, 12)]
    return marks


def _legend_width(titles: Sequence[str]) -> float:
    return max(LEGEND_WIDTH, *(svg.width_of(title, 12) + 50 for title in titles))


def _line(number: int, points: Iterable[tuple[float, float]]) -> str:
    return svg.line(points, COLOURS[number % len(COLOURS)], 2, DASHES[number % len(DASHES)])


def _panel(
    panel: Panel, corner: tuple[float, float], names: Sequence[str], up: str, low: float, high: float
) -> list[str]:
    left, top = corner
    xs = sorted({x for points in panel.lines.values() for x, _ in points})
    at = {x: float(i) if panel.evenly else x for i, x in enumerate(xs)}
    span = (at[xs[-1]] - at[xs[0]]) or 1.0
    upward: Callable[[float], float] = math.log10 if panel.logarithmic else float
    lowest, tallest = upward(low), upward(high) - upward(low)

    def place(x: float, y: float) -> tuple[float, float]:
        across = left + (at.get(x, x) - at[xs[0]]) / span * WIDTH
        return across, top + HEIGHT - (upward(min(max(y, low), high)) - lowest) / tallest * HEIGHT

    marks = [svg.text(left, top - 12, str(panel.title), 13)]
    for value in _ticks(low, high, panel.logarithmic):
        _, y = place(xs[0], value)
        marks += [svg.line([(left, y), (left + WIDTH, y)], svg.PALE, 1)]
        shown = _number(value) if panel.logarithmic else f"{value:.2f}"
        marks.append(svg.text(left - 8, y + 4, shown, 11, "end", svg.GREY))
    few = panel.evenly or len(xs) <= MOST_TICKS
    whole = all(x == round(x) for x in xs)
    for x in xs if few else dict.fromkeys(round(x) if whole else x for x in _ticks(xs[0], xs[-1])):
        marks.append(svg.text(place(x, low)[0], top + HEIGHT + 18, _number(x), 11, "middle", svg.GREY))
    marks.append(svg.text(left + WIDTH / 2, top + HEIGHT + 38, str(panel.across), 12, "middle"))
    if up:
        marks.append(svg.text(left - 8, top - 12, up, 11, "end", svg.GREY))
    for name, points in panel.lines.items():
        number = names.index(name)
        for x, least, most in (panel.bars or {}).get(name, ()):
            marks.append(svg.line([place(x, least), place(x, most)], COLOURS[number % len(COLOURS)], 1.2))
        marks.append(_line(number, [place(x, y) for x, y in sorted(points)]))
    return marks


def _ticks(low: float, high: float, logarithmic: bool = False) -> list[float]:
    if not logarithmic:
        return [low + (high - low) * step / 4 for step in range(5)]
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    return [10.0**k for k in range(first, last + 1, 1 + (last - first) // 6)]


def _number(x: float) -> str:
    return f"{x:,.0f}" if (x == round(x) or x > 20) and abs(x) < 1e7 else f"{x:.3g}"
