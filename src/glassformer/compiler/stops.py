"""The way down a cascade: on each level the situations that can occur, and the situations on the next level.

A situation is what the levels above leave: the set of states P before a letter, the set P′ after it, and the letter.
Those that do the same on their level, and lead to the same on the next, are one for a transformer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from glassformer.algebra.cascade import Cascade, Level
from glassformer.algebra.depth import doubling
from glassformer.compiler.turning import Rest, Turning

Situation: TypeAlias = tuple[int, int, int]
"""P, P′ and the letter."""

Memory: TypeAlias = Literal["nothing", "the letter before", "the latest reset", "the latest reset before"]
"""What of its resets a letter must look up."""


@dataclass(frozen=True)
class Stop:
    """One level on the way down: the situations that can occur, and where each leads.

    The last situation, one more than are listed, is that of the start token.
    """

    level: Level
    situations: list[set[Situation]]
    """Each with all that are one with it."""
    row: list[int]
    """The row of the level's table for each situation; −1 where P′ is not on the level."""
    on: list[int]
    """Which of the level's components P belongs to; −1 where P is not on the level."""
    leads: list[list[int]]
    """For each situation, the situation on the next level for each tile of P (one, where P is not on the level)."""
    first: int
    """The coordinate of the start."""
    resets: bool = True
    """Whether resets ever change the coordinate."""

    @cached_property
    def turning(self) -> dict[int, Turning]:
        """The components that have a group."""
        parts = enumerate(self.level.components)
        return {i: Turning(c.group) for i, c in parts if c.group.order > 1}

    @property
    def places(self) -> int:
        """Tiles, of the component that has most."""
        return max(component.points for component in self.level.components)

    @property
    def stages(self) -> int:
        """Abelian layers, of the component that has most."""
        return max((len(part.counters) for part in self.turning.values()), default=0)

    @property
    def rests(self) -> dict[int, Rest]:
        """What is left of the groups that are not solvable, by component."""
        return {i: part.rest for i, part in self.turning.items() if part.rest}

    @property
    def memory(self) -> Memory:
        """What tells the tile before a letter, wherever that matters.

        It is what the letter before has written, if that always resets where it matters. A letter may see itself where
        the tile does not matter to those that reset: so on the last level, where a reset leads to one state.
        """
        asks = {i for i, leads in enumerate(self.leads) if len(set(leads)) > 1}
        resets = {i for i in range(len(self.situations)) if self.target(i)}
        asked = {old for i in asks for old, _, _ in self.situations[i]}
        left_as_they_are = {new for i, some in enumerate(self.situations) if i not in resets for _, new, _ in some}
        if not asks:
            return "nothing"
        if not asked & left_as_they_are:
            return "the letter before"
        return "the latest reset before" if asks & resets else "the latest reset"

    def element(self, situation: int, component: int) -> int:
        """The element of a component's group that a situation multiplies by."""
        row = self.row[situation]
        return int(self.level.elements[row]) if row >= 0 and self.level.component[row] == component else 0

    def target(self, situation: int) -> tuple[int, int] | None:
        """The component and the tile that a situation resets to, if it does."""
        row = self.row[situation]
        if not self.resets or row < 0 or not self.level.resets[row]:
            return None
        return int(self.level.component[row]), int(self.level.moves[row, 0])


@dataclass(frozen=True)
class Way:
    """All levels on the way down."""

    entered: list[int]
    """The situation on the first level for each letter."""
    stops: list[Stop]
    last: list[Situation]
    """The situations below the last level, where only P′ counts."""

    def layers(self, length: int) -> int:
        """Layers that it takes for words of this length."""
        return sum(stop.stages + stop.resets + bool(stop.rests) * doubling(length) for stop in self.stops)


def way_down(cascade: Cascade, start: int) -> Way:
    """The way of every letter; situations that do the same and lead to the same are one."""
    walked = list(_walked(cascade, start))
    letters = len(cascade.machine.symbols)
    last = walked[-1][1] if walked else [(0, 0, letter) for letter in range(letters)]
    became, found = list(range(len(last))), list[Stop]()
    for stop, _ in reversed(walked):
        merged, became = _merged(stop, became)
        found.append(merged)
    return Way(became, found[::-1], last)


def _merged(stop: Stop, ahead: Sequence[int]) -> tuple[Stop, list[int]]:
    """The stop when situations on the next level have become others, and which of its own each has become."""
    leads = [[ahead[there] for there in each] for each in stop.leads]
    alike: dict[object, list[int]] = {}
    for i, each in enumerate(leads):
        turns = tuple(stop.element(i, part) for part in range(len(stop.level.components)))
        goes = (stop.on[i], *each) if len(set(each)) > 1 else each[0]
        alike.setdefault((turns, stop.target(i), goes), []).append(i)
    became = [0] * len(leads)
    for number, some in enumerate(alike.values()):
        for i in some:
            became[i] = number
    first = [some[0] for some in alike.values()]
    return replace(
        stop,
        situations=[set().union(*(stop.situations[i] for i in some)) for some in alike.values()],
        row=[stop.row[i] for i in first],
        on=[stop.on[i] for i in first],
        leads=[leads[i] for i in first],
    ), became


def _settled(stop: Stop, begins: int, firsts: Iterable[int]) -> Stop:
    """The stop without its resets, if from some first coordinate none changes anything: so where a part of the machine
    is entered once, and always at the same place. Where the start does not need the level, any coordinate may be first.
    """
    settled = (first for first in firsts if stop.level.ever_resets and not _changes(stop, begins, first))
    first = next(settled, None)
    return replace(stop, resets=stop.level.ever_resets) if first is None else replace(stop, first=first, resets=False)


def _changes(stop: Stop, begins: int, first: int) -> bool:
    """Whether a reset ever finds the coordinate elsewhere than it leads; each component has one of its own."""
    ahead: dict[int, list[tuple[int, int]]] = {}
    for row, ((old, new, _),) in zip(stop.row, stop.situations, strict=True):
        ahead.setdefault(old, []).append((new, row))
    for component in range(len(stop.level.components)):
        reached = {(begins, first)}
        for old, place in (queue := [(begins, first)]):
            for new, row in ahead.get(old, ()):
                ours = row >= 0 and stop.level.component[row] == component
                then = int(stop.level.moves[row, place]) if ours else place
                if ours and stop.level.resets[row] and then != place:
                    return True
                if (new, then) not in reached:
                    reached.add((new, then))
                    queue.append((new, then))
    return False


def _walked(cascade: Cascade, start: int) -> Iterator[tuple[Stop, list[Situation]]]:
    """Each level with its situations, and the situations on the next level."""
    coordinates, begins = cascade.coordinates(start), 0
    situations: list[Situation] = [(0, 0, letter) for letter in range(len(cascade.machine.symbols))]
    for k, level in enumerate(cascade.levels):
        below: dict[Situation, int] = {}
        leads, rows, on = [], [], []
        for old, new, letter in situations:
            here = cascade.level_of[new] == k
            row = int(cascade.row(level, np.array(old), np.array(new), np.array(letter))) if here else -1
            olds = cascade.decomposition.tiles[old] if cascade.level_of[old] == k else (old,)
            ahead = []
            for place, tile in enumerate(olds):
                then = int(cascade.tiles[new, level.moves[row, place]]) if here else new
                found = (tile, then, letter) if k + 1 < len(cascade.levels) else (0, then, 0)
                ahead.append(below.setdefault(found, len(below)))
            leads.append(ahead)
            rows.append(row)
            among = (i for i, component in enumerate(level.components) if old in component.members)
            on.append(next(among) if cascade.level_of[old] == k else -1)
        stop = Stop(level, [{each} for each in situations], rows, on, leads, coordinates[k])
        here = cascade.level_of[begins] == k
        yield _settled(stop, begins, [stop.first] if here else range(stop.places)), list(below)
        begins = int(cascade.tiles[begins, stop.first]) if here else begins
        situations = list(below)
