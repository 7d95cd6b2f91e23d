"""A cascade, drawn: one card for each level, with its components, their tiles, and what each letter does to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassformer.algebra import Cascade
from glassformer.algebra.cascade import Level
from glassformer.algebra.holonomy import Component
from glassformer.algebra.permutations import Permutation
from glassformer.messages import Message
from glassformer.ui.drawing import svg

WIDTH, MARGIN, LINE, TILE = 760, 20, 22, 58
MOST_COMPONENTS = 4  # that are drawn on one level; the others are counted
MOST_TILES, MOST_ACTIONS, MOST_LETTERS = 5, 4, 12
LETTERS, ACTIONS = WIDTH / 2 + 30, WIDTH / 2 + 42
"""Where the letters of a component end, and where what they do begins; it has this room:"""
ROOM = WIDTH - 1.5 * MARGIN - ACTIONS


def draw_cascade(cascade: Cascade, title: str, language: str = "en") -> str:
    """The whole drawing, as SVG text."""
    return _Drawing(cascade, language).whole(title)


@dataclass(frozen=True)
class _Drawing:
    cascade: Cascade
    language: str

    def say(self, id: str, **values: Any) -> str:
        """A sentence in the language of the drawing."""
        return Message(id, **values).in_language(self.language)

    def whole(self, title: str) -> str:
        """Title, caption, and the levels from the first to the last."""
        width = max(WIDTH, svg.title_width(title) + MARGIN)
        marks = [svg.text(MARGIN, 34, title, svg.TITLE, bold=True)]
        marks.append(svg.text(MARGIN, 66, self._caption(), 12, colour=svg.GREY))
        y = 86.0
        for number in range(len(self.cascade.levels)):
            if number:
                marks.append(svg.arrow_down(WIDTH / 2, y - 14, y + 14))
                marks.append(svg.text(WIDTH / 2 + 14, y + 5, self.say("drawing.below"), 11, colour=svg.GREY))
                y += 24
            height, card = self._card(number, y)
            marks += card
            y += height + 20
        return svg.page(width, y, marks, title)

    def _caption(self) -> str:
        states, levels = len(self.cascade.machine.states), len(self.cascade.levels)
        if not self.cascade.solvable:
            return self.say("drawing.cascade_not_solvable", states=states, levels=levels)
        return self.say("drawing.cascade", states=states, levels=levels, layers=self.cascade.height)

    def _card(self, number: int, top: float) -> tuple[float, list[str]]:
        """One level, from `top` on: its height and its marks."""
        level = self.cascade.levels[number]
        layers = self.say("drawing.layers", layers=level.height) if level.solvable else self.say("drawing.logarithmic")
        memory = self.say("drawing.resets" if level.ever_resets else "drawing.never_resets")
        inner = [
            svg.text(2 * MARGIN, top + 26, self.say("drawing.level", number=number + 1), 15, bold=True),
            svg.text(WIDTH - 2 * MARGIN, top + 26, f"{memory} · {layers}", 12, "end", svg.GREY),
        ]
        y = top + 40
        for i, component in enumerate(level.components[:MOST_COMPONENTS]):
            height, marks = self._component(level, i, component, y)
            inner += marks
            y += height
        left_out = len(level.components) - MOST_COMPONENTS
        if left_out > 0:
            inner.append(
                svg.text(2 * MARGIN, y + 14, self.say("drawing.more_components", count=left_out), 12, colour=svg.GREY)
            )
            y += LINE
        height = y - top + 10
        return height, [svg.box(MARGIN, top, WIDTH - 2 * MARGIN, height, svg.PALE, corner=8), *inner]

    def _component(self, level: Level, i: int, component: Component, top: float) -> tuple[float, list[str]]:
        """Tiles on the left, letters on the right."""
        marks = [svg.text(2 * MARGIN, top + 14, svg.fitted(self._heading(component), 12, LETTERS - 3 * MARGIN), 12)]
        tiles = self.cascade.decomposition.tiles[component.members[0]]
        for place, tile in enumerate(tiles[:MOST_TILES]):
            x = 2 * MARGIN + TILE * (place + 0.5) - 6
            marks.append(svg.circle(x, top + 44, 15, svg.PAPER, svg.BLUE))
            marks.append(svg.text(x, top + 49, str(place + 1), 13, "middle", svg.BLUE, bold=True))
            marks.append(svg.text(x, top + 74, svg.fitted(self._states(tile), 10, TILE - 8), 10, "middle", svg.GREY))
        if len(tiles) > MOST_TILES:
            x = 2 * MARGIN + TILE * MOST_TILES + 4
            marks.append(svg.text(x, top + 49, f"… {len(tiles)}", 13, colour=svg.BLUE))
        lines = list(self._letters(level, i, component.points))
        for n, (letter, actions, colour) in enumerate(lines):
            y = top + 14 + n * LINE
            marks.append(svg.text(LETTERS, y, svg.fitted(letter, 13, 2 * MARGIN), 13, "end", bold=True))
            marks.append(svg.text(ACTIONS, y, actions, 12, colour=colour))
        return max(88, len(lines) * LINE + 10), marks

    def _heading(self, component: Component) -> str:
        group = component.group
        values: dict[str, Any] = {
            "group": self.say("drawing.no_group") if group.order == 1 else self.say("drawing.group", name=group.name),
            "tiles": component.points,
            "states": svg.fitted(self._states(component.members[0]), 12, 110),
        }
        others = len(component.members) - 1
        return (
            self.say("drawing.tiles_of_several_sets", sets=others, **values)
            if others
            else self.say("drawing.tiles", **values)
        )

    def _states(self, number: int) -> str:
        """The names of the states in a set."""
        mask = self.cascade.decomposition.images.masks[number]
        return ", ".join(name for q, name in enumerate(self.cascade.machine.states) if mask >> q & 1)

    def _letters(self, level: Level, i: int, points: int) -> Iterator[tuple[str, str, str]]:
        """For each letter: its name, what it may do to the tiles of component i, and in which colour to write that."""
        symbols = self.cascade.machine.symbols
        rows = level.component == i
        for letter, symbol in enumerate(symbols[:MOST_LETTERS]):
            chosen = rows & (level.keys % len(symbols) == letter)
            turns = np.unique(level.moves[chosen & ~level.resets, :points], axis=0).tolist()
            targets = (np.unique(level.moves[chosen & level.resets, 0]) + 1).tolist()
            resets = self.say("drawing.resets_to", tiles=_few(list(map(str, targets)), ", ")) if targets else ""
            room = ROOM - svg.width_of(f" · {resets}", 12)
            stays_or_turns = _few([cycles(tuple(turn)) or self.say("drawing.stays") for turn in turns], " · ")
            actions = " · ".join(filter(None, [svg.fitted(stays_or_turns, 12, room), resets]))
            colour = svg.ORANGE if targets else svg.INK if turns else svg.GREY
            yield symbol, actions or self.say("drawing.not_here"), colour
        if len(symbols) > MOST_LETTERS:
            yield "…", self.say("drawing.more_letters", count=len(symbols) - MOST_LETTERS), svg.GREY


def _few(parts: list[str], separator: str) -> str:
    return separator.join(parts[:MOST_ACTIONS]) + (f"{separator}…" if len(parts) > MOST_ACTIONS else "")


def cycles(permutation: Permutation) -> str:
    """(1 2)(3 4), counted from 1; nothing for the identity."""
    seen: set[int] = set()
    written = ""
    for first in range(len(permutation)):
        cycle = []
        here = first
        while here not in seen:
            seen.add(here)
            cycle.append(str(here + 1))
            here = permutation[here]
        if len(cycle) > 1:
            written += f"({' '.join(cycle)})"
    return written
