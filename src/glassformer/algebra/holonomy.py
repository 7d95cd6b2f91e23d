"""The holonomy decomposition: which sets approximate a state, in how many levels, and with which groups.

Nested sets approximate a state: all states, then a *tile* of that set, then a tile of the tile, down to one state. The
tiles of a set are the largest images inside it. Strongly connected sets have their tiles in common, carried over by the
words between them, so they are one *component*: its group is how words permute the tiles. A component stands on a level
below all components that lead to it, by a letter or as a tile.

Levels may be merged: where a component leads to another of the same size, and the letters take tiles onto tiles, the
two can share their tiles, and so a level, if the group gets no larger by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter

from glassformer.algebra.groups import Group
from glassformer.algebra.images import Frame, Images, carry, images, maximal_subsets, turns
from glassformer.algebra.limits import TooLargeError, Watch
from glassformer.algebra.permutations import Permutation, inverse, then
from glassformer.automata import Semiautomaton


@dataclass(frozen=True)
class Component:
    """Sets that have their tiles in common; the group permutes the places of the tiles."""

    members: list[int]
    group: Group
    level: int

    @property
    def points(self) -> int:
        """How many tiles each set has."""
        return self.group.degree


@dataclass(frozen=True)
class Holonomy:
    """Images, the tiles of each (in the order of its component's places; none for a single state), and components."""

    machine: Semiautomaton
    images: Images
    tiles: list[Frame]
    components: list[Component]

    @property
    def levels(self) -> int:
        """How many levels, counted from 0."""
        return 1 + max((component.level for component in self.components), default=-1)

    def component_of(self) -> list[int]:
        """The number of each set's component; −1 for a single state."""
        return _numbers([component.members for component in self.components], len(self.tiles))


def holonomy(machine: Semiautomaton, watch: Watch | None = None) -> Holonomy:
    """Decompose a machine; no level is merged."""
    watch = watch or Watch()
    sets = images(machine, watch)
    if not sets.complete:
        count, most, seconds = len(sets.masks), watch.limits.images, watch.limits.seconds
        if math.isfinite(seconds):
            raise TooLargeError("algebra.images_or_time_over", count=count, limit=most, seconds=seconds)
        raise TooLargeError("algebra.images_over", count=count, limit=most)
    classes = sets.connected()
    largest_inside = maximal_subsets(sets.masks, len(machine.states))
    tiles: list[Frame] = [()] * len(sets.masks)
    groups = []
    for done, members in enumerate(classes):
        watch("algebra.components", done, len(classes))
        frames = carry(members, largest_inside(members[0]), sets.then, sets.then).frames
        for member, frame in frames.items():
            tiles[member] = frame
        degree = len(tiles[members[0]])
        moved = {turn for _, _, turn in turns(frames, sets.then, sets.then)} - {tuple(range(degree))}
        if moved:
            watch("algebra.points", degree, watch.limits.points)
        groups.append(Group.of(degree, moved))
    of = _numbers(classes, len(tiles))
    levels = _levels(len(classes), _arrows(sets, classes, tiles, of), same_level=set())
    components = [Component(*parts) for parts in zip(classes, groups, levels, strict=True)]
    return Holonomy(machine, sets, tiles, components)


def merged(whole: Holonomy, watch: Watch | None = None) -> Holonomy:
    """The same with as few levels as sharing tiles makes possible."""
    watch = watch or Watch()
    classes, of = [component.members for component in whole.components], whole.component_of()
    arrows = _arrows(whole.images, classes, whole.tiles, of)
    sharing = dict(_sharing(whole, of))
    while True:
        watch("algebra.pairs", len(sharing), len(sharing))
        levels = _levels(len(classes), arrows, same_level=set(sharing))
        joins = _Joins(whole)
        on_one_level = [pair for pair in sharing if levels[pair[0]] == levels[pair[1]]]
        failed = [pair for pair in on_one_level if not joins.join(pair, sharing[pair])]
        if not failed:
            return joins.result(levels)
        for pair in failed:
            del sharing[pair]


class _Joins:
    """Components that are being put together, each with the places that its tiles take in the whole."""

    def __init__(self, whole: Holonomy) -> None:
        self.whole = whole
        self.parts = {i: [i] for i in range(len(whole.components))}
        self.part_of = list(range(len(whole.components)))
        self.groups = [component.group for component in whole.components]
        self.place: list[Permutation] = [tuple(range(component.points)) for component in whole.components]

    def join(self, pair: tuple[int, int], turns_: Iterable[Permutation]) -> bool:
        """Put the first with the second, if the group of both is no larger than one of them; or leave them apart."""
        first, second = (self.part_of[i] for i in pair)
        seen = [self._seen_in_the_whole(pair, turn) for turn in turns_]
        if first == second:
            return all(turn in self.groups[first] for turn in seen)
        shift = seen[0]
        back = inverse(shift)
        ours = [then(back, then(generator, shift)) for generator in self.groups[first].generators]
        together = Group.of(len(shift), [*ours, *self.groups[second].generators, *(then(back, turn) for turn in seen)])
        if together.order > max(self.groups[first].order, self.groups[second].order):
            return False
        for part in self.parts[first]:
            self.place[part] = then(self.place[part], shift)
            self.part_of[part] = second
        self.parts[second] += self.parts.pop(first)
        self.groups[second] = together
        return True

    def _seen_in_the_whole(self, pair: tuple[int, int], turn: Permutation) -> Permutation:
        return then(inverse(self.place[pair[0]]), then(turn, self.place[pair[1]]))

    def result(self, levels: list[int]) -> Holonomy:
        tiles = list(self.whole.tiles)
        components = []
        for whole, parts in self.parts.items():
            for part in parts:
                back = inverse(self.place[part])
                for member in self.whole.components[part].members:
                    tiles[member] = tuple(self.whole.tiles[member][i] for i in back)
            members = [member for part in parts for member in self.whole.components[part].members]
            components.append(Component(members, self.groups[whole], levels[whole]))
        return Holonomy(self.whole.machine, self.whole.images, tiles, components)


def _sharing(whole: Holonomy, of: list[int]) -> Iterator[tuple[tuple[int, int], set[Permutation]]]:
    """Pairs of components where all letters from the first to the second, if any, take tiles onto tiles; and how."""
    masks, tiles = whole.images.masks, whole.tiles
    sharing: dict[tuple[int, int], set[Permutation]] = {}
    refused = set()
    for here in range(len(tiles)):
        for row in whole.images.then:
            there = row[here]
            pair = (of[here], of[there])
            if -1 in pair or pair[0] == pair[1] or masks[here].bit_count() != masks[there].bit_count():
                continue
            place = {tile: i for i, tile in enumerate(tiles[there])}
            turn = tuple(place.get(row[tile], -1) for tile in tiles[here])
            if sorted(turn) == list(range(len(place))):
                sharing.setdefault(pair, set()).add(turn)
            else:
                refused.add(pair)
    return ((pair, turn) for pair, turn in sharing.items() if pair not in refused)


def _arrows(sets: Images, classes: list[list[int]], tiles: list[Frame], of: list[int]) -> list[set[int]]:
    """For each component, those that lead to it: by a letter, or because it is a tile."""
    before: list[set[int]] = [set() for _ in classes]
    for i, members in enumerate(classes):
        ahead = {of[row[member]] for member in members for row in sets.then} | {of[t] for t in tiles[members[0]]}
        for j in ahead - {i, -1}:
            before[j].add(i)
    return before


def _levels(count: int, before: list[set[int]], same_level: set[tuple[int, int]]) -> list[int]:
    """The longest way from the top; an arrow that may stay on its level counts 0, any other 1."""
    level = [0] * count
    for i in TopologicalSorter(dict(enumerate(before))).static_order():
        level[i] = max((level[j] + ((j, i) not in same_level) for j in before[i]), default=0)
    return level


def _numbers(classes: list[list[int]], sets: int) -> list[int]:
    of = [-1] * sets
    for i, members in enumerate(classes):
        for member in members:
            of[member] = i
    return of
