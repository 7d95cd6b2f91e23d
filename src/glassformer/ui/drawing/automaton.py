"""An automaton, laid out and drawn: states on a circle, so that no arrow runs through a state.

Two ways between two states bend apart, loops lie outside, and every label takes the place beside its arrow that is
farthest from everything else. The page draws the layout itself, to mark states on it; notebooks get the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np
from jaxtyping import Float

from glassformer.automata import Machine, Semiautomaton, finite
from glassformer.messages import Message

MOST_STATES: Final = 24
"""That are drawn; more are a table."""
RADIUS: Final = 21.0
BENDS: Final = (1.0, 0.45, 0.1, -0.25, -2.2, -3.0, 2.0, 3.0)
"""How far a way may bend, the best first, as a part of the usual; below 0 to the other side."""
ONE_WAY: Final = (0.1, 0.45, 1.0, *BENDS[3:])
"""The same where there is no way back to bend away from."""
LONGEST_NAME, LONGEST_LABEL = 6, 14
LETTER_WIDTH, LINE_HEIGHT = 7.0, 14.0
APART: Final = 6.0
"""Between two labels, so that one sees which arrow each belongs to."""
Point = tuple[float, float]
Points = Float[np.ndarray, "_ 2"]


@dataclass(frozen=True)
class Arrow:
    """All letters that lead from one state to another: a curve, its head, and where the letters stand."""

    letters: list[str]
    label: str
    path: str
    head: str
    x: float
    y: float


@dataclass(frozen=True)
class Layout:
    """Where everything is, in a square of this size."""

    size: float
    radius: float
    states: list[Point]
    names: list[str]
    arrows: list[Arrow]
    start: tuple[str, str] | None
    """The arrow that leads to the start, if there is one, and its head."""


def layout(machine: Semiautomaton) -> Layout | None:
    """The layout of a machine, if it has few enough states."""
    count = len(machine.states)
    if count > MOST_STATES:
        return None
    circle = 0.0 if count == 1 else max(76.0, count * (2 * RADIUS + 34) / (2 * math.pi))
    size = 2 * (circle + 84)
    start = int(machine.start) if isinstance(machine, Machine) else 0
    angles = [2 * math.pi * rank / count - math.pi / 2 for rank in _ranks(machine, start)]
    places = [(size / 2 + circle * math.cos(angle), size / 2 + circle * math.sin(angle)) for angle in angles]
    joined: dict[tuple[int, int], list[str]] = {}
    for letter, row in zip(machine.symbols, machine.delta.tolist(), strict=True):
        for source, target in enumerate(row):
            joined.setdefault((source, target), []).append(letter)
    curves = {
        (source, target): _loop(places[source], angles[source])
        if source == target
        else _way(source, target, places, BENDS if (target, source) in joined else ONE_WAY)
        for source, target in joined
    }
    labels = {ends: _short(" ".join(letters), LONGEST_LABEL) for ends, letters in joined.items()}
    first = None
    if isinstance(machine, Machine):
        turn = angles[start] + (math.pi / 3.2 if (start, start) in joined else 0)
        near, far = _from(places[start], turn, RADIUS + 3), _from(places[start], turn, RADIUS + 34)
        first = _curve([far, far, near, near])
    lines = [*curves.values(), *([] if first is None else [first])]
    at = _label_places(list(curves.values()), lines, list(labels.values()), places)
    arrows = [
        Arrow(joined[ends], labels[ends], *_drawn(curves[ends]), *place) for ends, place in zip(joined, at, strict=True)
    ]
    names = [_short(name, LONGEST_NAME) for name in machine.states]
    whole = [(_round(x), _round(y)) for x, y in places]
    return Layout(_round(size), RADIUS, whole, names, arrows, None if first is None else _drawn(first))


def draw_machine(machine: Semiautomaton, language: str = "en") -> str | None:
    """The drawing as SVG text in the colour of the text around it, for light and dark; none of too many states."""
    found = layout(finite(machine))
    if found is None:
        return None
    line = 'fill="none" stroke="currentColor" stroke-width="1.3" stroke-opacity="0.65"'
    ends = 'fill="currentColor" fill-opacity="0.65"'
    heads = [(arrow.path, arrow.head) for arrow in found.arrows] + ([found.start] if found.start else [])
    marks = [f'<path d="{path}" {line}/><path d="{head}" {ends}/>' for path, head in heads]
    for q, (x, y) in enumerate(found.states):
        edge = 'stroke="currentColor" stroke-width="1.3"'
        marks.append(f'<circle cx="{x}" cy="{y}" r="{RADIUS:g}" fill="currentColor" fill-opacity="0.07" {edge}/>')
        if isinstance(machine, Machine) and machine.outputs[q] is True:
            marks.append(f'<circle cx="{x}" cy="{y}" r="{RADIUS - 4:g}" fill="none" {edge}/>')
        marks.append(_text(x, y, found.names[q], machine.states[q], 12 if len(found.names[q]) <= 4 else 10))
    marks += [_text(arrow.x, arrow.y, arrow.label, " ".join(arrow.letters), 12) for arrow in found.arrows]
    title = Message("drawing.automaton", states=len(machine.states)).in_language(language)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {found.size} {found.size}" width="{found.size}" '
        f'role="img" aria-label="{title}" style="max-width:100%;height:auto" font-family="sans-serif" '
        f'fill="currentColor">{"".join(marks)}</svg>'
    )


def _text(x: float, y: float, words: str, whole: str, size: int) -> str:
    hint = f"<title>{escape(whole)}</title>" if words != whole else ""
    return f'<text x="{x}" y="{_round(y + 4)}" font-size="{size}" text-anchor="middle">{escape(words)}{hint}</text>'


def _ranks(machine: Semiautomaton, start: int) -> list[int]:
    """The order on the circle: from the start, wherever the first letter that leads to somewhere new leads."""
    rank: dict[int, int] = {}
    waiting = [*reversed(range(len(machine.states))), start]
    while waiting:
        q = waiting.pop()
        if q not in rank:
            rank[q] = len(rank)
            waiting += [int(row[q]) for row in machine.delta[::-1] if int(row[q]) not in rank]
    return [rank[q] for q in range(len(machine.states))]


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def _round(value: float) -> float:
    return round(float(value), 1)


def _from(point: Point, angle: float, far: float) -> Point:
    return point[0] + far * math.cos(angle), point[1] + far * math.sin(angle)


def _towards(point: Point, other: Point, steps: float) -> Point:
    return _from(point, math.atan2(other[1] - point[1], other[0] - point[0]), steps)


def _way(source: int, target: int, places: Sequence[Point], bends: Sequence[float]) -> Points:
    """A curve between two states, bent as little as it must be to pass all others."""
    others = np.array([place for q, place in enumerate(places) if q not in (source, target)]).reshape(-1, 2)
    best, widest = None, -1.0
    for factor in bends:
        curve = _bend(places[source], places[target], factor)
        offsets = _along(curve, np.linspace(0, 1, 25))[:, None] - others[None]
        room = float(np.hypot(offsets[..., 0], offsets[..., 1]).min(initial=np.inf))
        if room > RADIUS + 5:
            return curve
        if room > widest:
            best, widest = curve, room
    assert best is not None
    return best


def _bend(source: Point, target: Point, factor: float) -> Points:
    """A curve to the left of the straight line, from rim to rim."""
    (x, y), (a, b) = source, target
    far = math.hypot(a - x, b - y)
    bend = factor * min(34.0, 0.16 * far + 8)
    middle = ((x + a) / 2 - (b - y) / far * bend, (y + b) / 2 + (a - x) / far * bend)
    begin, end = _towards(source, middle, RADIUS + 1), _towards(target, middle, RADIUS + 3)
    third = [tuple(p + 2 / 3 * (m - p) for p, m in zip(point, middle, strict=True)) for point in (begin, end)]
    return _curve([begin, *third, end])


def _loop(at: Point, angle: float) -> Points:
    begin, end = _from(at, angle - 0.42, RADIUS), _from(at, angle + 0.42, RADIUS + 3)
    return _curve([begin, _from(at, angle - 0.5, 58), _from(at, angle + 0.5, 58), end])


def _curve(points: Sequence[Sequence[float]]) -> Points:
    """The four points of a cubic curve."""
    return np.array(points, dtype=float)


def _along(curve: Points, t: Float[np.ndarray, " t"]) -> Points:
    weights = np.stack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3], axis=1)
    along: Points = weights @ curve
    return along


def _drawn(curve: Points) -> tuple[str, str]:
    """The path of a curve, and that of its head."""
    begin, one, two, end = [f"{x:.1f} {y:.1f}" for x, y in curve]
    before = _along(curve, np.array([0.93]))[0]
    way = (curve[3] - before) / max(float(np.hypot(*(curve[3] - before))), 1e-9)
    side = np.array([-way[1], way[0]])
    corners = (curve[3] + way, curve[3] - 7.5 * way + 3.8 * side, curve[3] - 7.5 * way - 3.8 * side)
    head = " L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    return f"M{begin} C{one} {two} {end}", f"M{head} Z"


def _label_places(
    curves: Sequence[Points], lines: Sequence[Points], labels: Sequence[str], states: Sequence[Point]
) -> list[Point]:
    """A place for every label, the longest first: beside its own arrow, off all arrows, states and other labels."""
    t = np.linspace(0.0, 1.0, 25)
    dots = np.concatenate([_along(line, t) for line in lines])
    circles = np.array(states)
    placed: dict[int, Points] = {}
    for i in sorted(range(len(labels)), key=lambda i: -len(labels[i])):
        half = np.array([LETTER_WIDTH * len(labels[i]) / 2, LINE_HEIGHT / 2])
        tried = _beside(curves[i], half)
        gaps = np.maximum(np.abs(tried[:, None] - dots[None]) - half, 0)
        crowded = (np.hypot(gaps[..., 0], gaps[..., 1]) < 2.5).sum(axis=1)
        rims = np.maximum(np.abs(tried[:, None] - circles[None]) - half, 0)
        hidden = (np.hypot(rims[..., 0], rims[..., 1]) < RADIUS + 1).sum(axis=1)
        covered = np.zeros(len(tried))
        for other, (place, size) in placed.items():
            assert other != i
            covered += (np.abs(tried - place) < half + size + APART).all(axis=1)
        best = int(np.argmin(crowded + 20 * hidden + 30 * covered + 0.01 * np.arange(len(tried))))
        placed[i] = np.stack([tried[best], half])
    return [(_round(placed[i][0, 0]), _round(placed[i][0, 1])) for i in range(len(labels))]


def _beside(curve: Points, half: Float[np.ndarray, " 2"]) -> Points:
    """Places for a label along a curve, outside and inside, the best first; those of a loop at its top."""
    t = np.array([0.5, 0.4, 0.6, 0.32, 0.68, 0.25, 0.75, 0.18, 0.82])
    on, ahead = _along(curve, t), _along(curve, t + 0.01)
    way = ahead - on
    side = np.stack([-way[:, 1], way[:, 0]], axis=1) / np.hypot(way[:, 0], way[:, 1])[:, None]
    if np.hypot(*(curve[3] - curve[0])) < 1.2 * RADIUS:  # a loop: outside is away from its ends
        side *= np.sign(((on - (curve[0] + curve[3]) / 2) * side).sum(axis=1))[:, None]
    room = (np.abs(side) * half).sum(axis=1)[:, None] + 4
    return np.concatenate([on + side * room, on - side * room])
