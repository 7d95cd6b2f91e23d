"""A cascade, drawn: one card for each level, with its components, their tiles, and what each letter does to them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from glassformer.algebra import Cascade
from glassformer.algebra.cascade import Level
from glassformer.algebra.holonomy import Component
from glassformer.algebra.permutations import Permutation
from glassformer.ui.drawing import svg
from glassformer.wording import counted

WIDTH, MARGIN, LINE, TILE = 760, 20, 22, 58
MOST_COMPONENTS = 4  # that are drawn on one level; the others are counted
MOST_TILES, MOST_ACTIONS, MOST_LETTERS = 5, 4, 12


def draw_cascade(cascade: Cascade, title: str) -> str:
    """The whole drawing, as SVG text."""
    marks, y = [svg.text(MARGIN, 34, title, 17, bold=True)], 48.0
    for line in _caption(cascade):
        y += 18
        marks.append(svg.text(MARGIN, y, line, 12, colour=svg.GREY))
    y += 20
    for number in range(len(cascade.levels)):
        if number:
            marks.append(svg.arrow_down(WIDTH / 2, y - 14, y + 14))
            marks.append(svg.text(WIDTH / 2 + 14, y + 5, "the tile is the set of the level below", 11, colour=svg.GREY))
            y += 24
        height, card = _card(cascade, number, y)
        marks += card
        y += height + 20
    return svg.page(WIDTH, y, marks, title)


def _caption(cascade: Cascade) -> list[str]:
    machine = cascade.machine
    levels = f"{counted(len(machine.states), 'state')} as {counted(len(cascade.levels), 'level')}"
    if not cascade.solvable:
        return [f"{levels}; not every group is solvable, so no constant depth is known"]
    return [f"{levels}; a transformer can follow it in {counted(cascade.height, 'layer')}, however long the word"]


def _card(cascade: Cascade, number: int, top: float) -> tuple[float, list[str]]:
    """One level, from `top` on: its height and its marks."""
    level = cascade.levels[number]
    layers = counted(level.height, "layer") if level.solvable else "logarithmic depth"
    memory = "resets" if level.ever_resets else "never resets"
    inner = [
        svg.text(2 * MARGIN, top + 26, f"Level {number + 1}", 15, bold=True),
        svg.text(WIDTH - 2 * MARGIN, top + 26, f"{memory} · {layers}", 12, "end", svg.GREY),
    ]
    y = top + 40
    for i, component in enumerate(level.components[:MOST_COMPONENTS]):
        height, marks = _component(cascade, level, i, component, y)
        inner += marks
        y += height
    left_out = len(level.components) - MOST_COMPONENTS
    if left_out > 0:
        inner.append(svg.text(2 * MARGIN, y + 14, f"and {counted(left_out, 'more component')}", 12, colour=svg.GREY))
        y += LINE
    height = y - top + 10
    return height, [svg.box(MARGIN, top, WIDTH - 2 * MARGIN, height, svg.PALE, corner=8), *inner]


def _component(cascade: Cascade, level: Level, i: int, component: Component, top: float) -> tuple[float, list[str]]:
    """Tiles on the left, letters on the right."""
    marks = [svg.text(2 * MARGIN, top + 14, _heading(cascade, component), 12)]
    first = component.members[0]
    tiles = cascade.decomposition.tiles[first]
    for place, tile in enumerate(tiles[:MOST_TILES]):
        x = 2 * MARGIN + TILE * (place + 0.5) - 6
        marks.append(svg.circle(x, top + 44, 15, svg.PAPER, svg.BLUE))
        marks.append(svg.text(x, top + 49, str(place + 1), 13, "middle", svg.BLUE, bold=True))
        marks.append(svg.text(x, top + 74, _states(cascade, tile, 8), 10, "middle", svg.GREY))
    if len(tiles) > MOST_TILES:
        x = 2 * MARGIN + TILE * MOST_TILES + 4
        marks.append(svg.text(x, top + 49, f"… {len(tiles)}", 13, colour=svg.BLUE))
    lines = list(_letters(cascade, level, i, component.points))
    for n, (letter, actions, colour) in enumerate(lines):
        y = top + 14 + n * LINE
        marks.append(svg.text(WIDTH / 2 + 30, y, letter, 13, "end", bold=True))
        marks.append(svg.text(WIDTH / 2 + 42, y, actions, 12, colour=colour))
    return max(88, len(lines) * LINE + 10), marks


def _heading(cascade: Cascade, component: Component) -> str:
    sets = len(component.members)
    what = f"{counted(component.points, 'tile')} of {{{_states(cascade, component.members[0], 16)}}}"
    others = f" and {counted(sets - 1, 'more set')}" if sets > 1 else ""
    group = "no group" if component.group.order == 1 else f"group {component.group.name}"
    return f"{group} · {what}{others}"


def _states(cascade: Cascade, number: int, most: int) -> str:
    """The names of the states in a set, cut short."""
    mask = cascade.decomposition.images.masks[number]
    names = ", ".join(name for q, name in enumerate(cascade.machine.states) if mask >> q & 1)
    return names if len(names) <= most else names[: most - 1] + "…"


def _letters(cascade: Cascade, level: Level, i: int, points: int) -> Iterator[tuple[str, str, str]]:
    """For each letter: its name, what it may do to the tiles of component i, and in which colour to write that."""
    symbols = cascade.machine.symbols
    rows = level.component == i
    for letter, symbol in enumerate(symbols[:MOST_LETTERS]):
        chosen = rows & (level.keys % len(symbols) == letter)
        turns = np.unique(level.moves[chosen & ~level.resets, :points], axis=0).tolist()
        targets = (np.unique(level.moves[chosen & level.resets, 0]) + 1).tolist()
        said = _few([cycles(tuple(turn)) for turn in turns], " · ")
        if targets:
            said += (" · " if said else "") + f"resets to {_few(list(map(str, targets)), ', ')}"
        colour = svg.ORANGE if targets else svg.INK if turns else svg.GREY
        yield symbol, said or "does not lead here", colour
    if len(symbols) > MOST_LETTERS:
        yield "…", f"and {counted(len(symbols) - MOST_LETTERS, 'more letter')}", svg.GREY


def _few(parts: list[str], separator: str) -> str:
    return separator.join(parts[:MOST_ACTIONS]) + (f"{separator}…" if len(parts) > MOST_ACTIONS else "")


def cycles(permutation: Permutation) -> str:
    """(1 2)(3 4), counted from 1; "stays" for the identity."""
    seen: set[int] = set()
    said = ""
    for first in range(len(permutation)):
        cycle = []
        here = first
        while here not in seen:
            seen.add(here)
            cycle.append(str(here + 1))
            here = permutation[here]
        if len(cycle) > 1:
            said += f"({' '.join(cycle)})"
    return (said if len(said) <= 40 else said[:39] + "…") or "stays"
