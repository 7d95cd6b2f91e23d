"""The way down a cascade from one start: on each level the situations that can occur, and where each of them leads.

A situation is what the levels above leave: the set of states P before a letter, the set P′ after it, and the letter.
What is still unknown is the tile of P before the letter, and it leads to the situation on the next level. A transformer
need not know more than makes a difference from this start:

    situations that do the same, and lead to the same, are one
    situations that only a tile above tells apart are one too, if they differ only in what cannot occur
    a component whose tile nobody asks for is not followed
    a level is passed over if nobody asks for any of its tiles: so where its coordinate never changes
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from glassformer.algebra.cascade import Cascade, Level
from glassformer.algebra.depth import doubling
from glassformer.algebra.groups import Group
from glassformer.algebra.permutations import Permutation

Situation: TypeAlias = tuple[int, int, int]
"""P, P′ and the letter."""

Memory: TypeAlias = Literal["nothing", "the letter before", "the latest reset", "the first", "the latest reset before"]
"""What of its resets a letter must look up, the dearest last."""
MEMORIES: tuple[Memory, ...] = get_args(Memory)

Places: TypeAlias = dict[tuple[int, int], set[int]]
"""For a component and a P, the coordinates that words lead to."""


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
    places_at: Places

    @cached_property
    def asks(self) -> set[int]:
        """The situations in which the tile makes a difference."""
        return {i for i, leads in enumerate(self.leads) if len(set(leads)) > 1}

    @cached_property
    def groups(self) -> dict[int, Group]:
        """The groups of the components whose tile is asked for."""
        return {i: self.level.components[i].group for i in sorted({self.on[asking] for asking in self.asks})}

    @cached_property
    def resets(self) -> set[int]:
        """The situations that reset a tile which is asked for, if any reset changes anything."""
        return {i for i in range(len(self.situations)) if self.target(i)}

    @cached_property
    def settled(self) -> bool:
        """Whether no reset ever changes the coordinate."""
        met = ((row, old) for row, some in zip(self.row, self.situations, strict=True) for old, _, _ in some)
        return _settled(self.level, met, self.places_at)

    @property
    def places(self) -> int:
        """Tiles, of the component that has most."""
        return max(group.degree for group in self.groups.values())

    @property
    def stages(self) -> int:
        """Abelian layers, of the group that has most."""
        return max(group.derived_length for group in self.groups.values())

    @property
    def solvable(self) -> bool:
        """Whether all groups that are asked for are."""
        return all(group.solvable for group in self.groups.values())

    @property
    def memory(self) -> Memory:
        """What tells the tile before a letter, wherever that matters.

        It is what the letter before has written, if that always resets where it matters. A letter may see itself where
        the tile does not matter to those that reset: so on the last level, where a reset leads to one state. Where all
        resets lead to one tile, which nothing leaves, it is enough to know whether the first of them was before.
        """
        asked = {old for i in self.asks for old, _, _ in self.situations[i]}
        as_it_is = {new for i, some in enumerate(self.situations) if i not in self.resets for _, new, _ in some}
        if not self.resets:
            return "nothing"
        if not asked & as_it_is:
            return "the letter before"
        if not self.asks & self.resets:
            return "the latest reset"
        targets, turns = {self.target(i) for i in self.resets}, any(group.order > 1 for group in self.groups.values())
        return "the first" if len(targets) == 1 and not turns else "the latest reset before"

    def element(self, situation: int, component: int) -> int:
        """The element of a component's group that a situation multiplies by."""
        row = self.row[situation]
        return int(self.level.elements[row]) if row >= 0 and self.level.component[row] == component else 0

    def turn(self, situation: int) -> tuple[int, Permutation] | None:
        """The component and the permutation by which a situation turns it, if it does, and if its tile is asked for."""
        row = self.row[situation]
        if row < 0 or self.level.resets[row] or self.level.component[row] not in self.groups:
            return None
        component = int(self.level.component[row])
        moves = tuple(self.level.moves[row, : self.groups[component].degree].tolist())
        return (component, moves) if moves != tuple(range(len(moves))) else None

    def target(self, situation: int) -> tuple[int, int] | None:
        """The component and the tile that a situation resets to, if it does, and if the tile is asked for."""
        row = self.row[situation]
        if self.settled or row < 0 or not self.level.resets[row] or self.level.component[row] not in self.groups:
            return None
        return int(self.level.component[row]), int(self.level.moves[row, 0])

    def moved(self, situation: int, component: int, place: int) -> int:
        """Where a situation takes a component's coordinate."""
        row = self.row[situation]
        return int(self.level.moves[row, place]) if row >= 0 and self.level.component[row] == component else place

    def stands_in(self, one: int, other: int) -> bool:
        """Whether one situation does as the other and leads where it leads, with every coordinate that can occur."""
        asking = self.on[one] if one in self.asks else None
        if other in self.asks and self.on[other] != asking:
            return False
        if asking is None and self.leads[one][0] != self.leads[other][0]:
            return False
        for i, group in self.groups.items():
            for place in {place for old, _, _ in self.situations[other] for place in self.places_at[i, old]}:
                if place >= group.degree:  # it is the start's, which is in another component
                    return False
                if i == asking and self.leads[one][place] != self.leads[other][place if other in self.asks else 0]:
                    return False
                if self.moved(one, i, place) != self.moved(other, i, place):
                    return False
        return True

    def layers(self, length: int) -> int:
        """Layers that it takes for words of this length."""
        return self.stages + bool(self.resets) + (0 if self.solvable else doubling(length))


@dataclass(frozen=True)
class Way:
    """All levels on the way down whose tile makes a difference somewhere."""

    entered: list[int]
    """The situation on the first level for each letter."""
    stops: list[Stop]
    last: list[Situation]
    """The situations below the last level, where only P′ counts."""

    def layers(self, length: int) -> int:
        """Layers that it takes for words of this length; one that is empty, if the letter alone tells the state."""
        return max(1, sum(stop.layers(length) for stop in self.stops))

    @property
    def depth(self) -> int | None:
        """Layers for words of any length; None if some group on the way is not solvable."""
        return self.layers(1) if all(stop.solvable for stop in self.stops) else None


def way_down(cascade: Cascade, start: int) -> Way:
    """The way of every letter from a start, with no more than makes a difference."""
    walked = list(_walked(cascade, start))
    last = walked[-1][1] if walked else [(0, 0, letter) for letter in range(len(cascade.machine.symbols))]
    became, stops = list(range(len(last))), list[Stop]()
    told_apart = [list[list[int]](), *(stop.leads for stop, _ in walked)]
    for (stop, _), above in zip(reversed(walked), reversed(told_apart[:-1]), strict=True):
        ahead = replace(stop, leads=[[became[there] for there in leads] for leads in stop.leads])
        if ahead.asks:
            merged, became = _leaner(ahead, above)
            stops.append(merged)
        else:
            became = [leads[0] for leads in ahead.leads]
    return Way(became, stops[::-1], last)


def _leaner(stop: Stop, told_apart: Sequence[Sequence[int]]) -> tuple[Stop, list[int]]:
    """The stop with situations put together, and which of them each has become.

    What a tile above tells apart is put together where it can be, unless that makes memory dearer.
    """
    plain, together = _merged(stop), _merged(_with_stand_ins(stop, told_apart))
    return min(together, plain, key=lambda merged: MEMORIES.index(merged[0].memory))


def _with_stand_ins(stop: Stop, told_apart: Sequence[Sequence[int]]) -> Stop:
    """The stop with one situation in place of all that a tile above tells apart, where one can stand in for all."""
    stands_in, stand_for = list(range(len(stop.leads))), [{i} for i in range(len(stop.leads))]
    for leads in told_apart:
        some = {stands_in[i] for i in leads}
        everyone = set[int]().union(*(stand_for[i] for i in some))
        can = (one for one in sorted(some) if all(stop.stands_in(one, other) for other in everyone - {one}))
        if len(some) > 1 and (one := next(can, None)) is not None:
            stand_for[one] = everyone
            for other in everyone:
                stands_in[other] = one
    return replace(
        stop,
        row=[stop.row[one] for one in stands_in],
        on=[stop.on[one] for one in stands_in],
        leads=[stop.leads[one] for one in stands_in],
    )


def _merged(stop: Stop) -> tuple[Stop, list[int]]:
    """The stop with one situation for all that do and lead the same, and which of them each has become."""
    alike: dict[object, list[int]] = {}
    for i, leads in enumerate(stop.leads):
        goes = (stop.on[i], *leads) if i in stop.asks else leads[0]
        alike.setdefault((stop.turn(i), stop.target(i), goes), []).append(i)
    became = [0] * len(stop.leads)
    for number, some in enumerate(alike.values()):
        for i in some:
            became[i] = number
    first = [some[0] for some in alike.values()]
    return replace(
        stop,
        situations=[set().union(*(stop.situations[i] for i in some)) for some in alike.values()],
        row=[stop.row[i] for i in first],
        on=[stop.on[i] for i in first],
        leads=[stop.leads[i] for i in first],
        first=min(stop.first, stop.places - 1),  # beyond, the start is in a component that nobody asks for
    ), became


def _walked(cascade: Cascade, start: int) -> Iterator[tuple[Stop, list[Situation]]]:
    """Each level with its situations, and the situations on the next level."""
    coordinates, begins = cascade.coordinates(start), 0
    situations: list[Situation] = [(0, 0, letter) for letter in range(len(cascade.machine.symbols))]
    for k, level in enumerate(cascade.levels):
        component_of = {member: i for i, component in enumerate(level.components) for member in component.members}
        old, new, letter = np.array(situations).T
        rows = np.where(cascade.level_of[new] == k, cascade.row(level, old, new, letter), -1).tolist()
        starts_here = begins in component_of
        firsts = [coordinates[k]] if starts_here else range(level.moves.shape[1])  # any, where the start needs it not
        met = list(zip(rows, old.tolist(), strict=True))
        settles = (i for i in firsts if _settled(level, met, _wandered(level, situations, rows, begins, i)))
        first = next(settles, coordinates[k])
        places_at = _wandered(level, situations, rows, begins, first)
        below: dict[Situation, int] = {}
        leads = []
        for (old, new, letter), row in zip(situations, rows, strict=True):
            tiles = cascade.decomposition.tiles[old] if old in component_of else (old,)
            ahead: list[int | None] = []
            for place, tile in enumerate(tiles):
                then = int(cascade.tiles[new, level.moves[row, place]]) if row >= 0 else new
                found = (tile, then, letter) if k + 1 < len(cascade.levels) else (0, then, 0)
                occurs = old not in component_of or place in places_at[component_of[old], old]
                ahead.append(below.setdefault(found, len(below)) if occurs else None)
            some = next(there for there in ahead if there is not None)
            leads.append([some if there is None else there for there in ahead])
        on = [component_of.get(old, -1) for old, _, _ in situations]
        yield Stop(level, [{each} for each in situations], rows, on, leads, first, places_at), list(below)
        begins = int(cascade.tiles[begins, coordinates[k]]) if starts_here else begins
        situations = list(below)


def _wandered(level: Level, situations: Sequence[Situation], rows: Sequence[int], begins: int, first: int) -> Places:
    """Where words lead on a level from one coordinate."""
    steps: dict[int, list[tuple[int, int]]] = {}
    for (old, new, _), row in zip(situations, rows, strict=True):
        steps.setdefault(old, []).append((new, row))
    moves, component_of = level.moves.tolist(), level.component.tolist()
    queue = [(i, begins, first) for i in range(len(level.components))]
    places_at = {(i, begins): {first} for i, _, _ in queue}
    for i, old, place in queue:
        for new, row in steps.get(old, ()):
            then = moves[row][place] if row >= 0 and component_of[row] == i else place
            there = places_at.setdefault((i, new), set())
            if then not in there:
                there.add(then)
                queue.append((i, new, then))
    return places_at


def _settled(level: Level, met: Iterable[tuple[int, int]], places_at: Places) -> bool:
    """Whether no reset finds the coordinate elsewhere than it leads: so where a part is entered once, at one place.

    Met are rows of the level's table, each with a P before.
    """
    resets = ((row, old) for row, old in met if row >= 0 and level.resets[row])
    return all(places_at[int(level.component[row]), old] <= {int(level.moves[row, 0])} for row, old in resets)
