"""A machine as a cascade of permutation-reset levels (Krohn and Rhodes), run step by step or all positions at once.

On each level there is a set that approximates the state, and the level's coordinate says in which tile of that set the
state lies; that tile is the approximation for the level below. With P the set before a letter and P′ the set after it,
a letter s acts on the coordinate

    P′ is not on this level    not at all
    P·s = P′                   as a permutation of the places of the tiles
    P·s is smaller than P′     as a reset, to a tile of P′ that holds P·s

so the tables are keyed by (P, P′, s). Where for each reset of a level some permutation of its group takes every tile
into one that holds its image, these permutations can take the place of the resets, and the level needs no memory.

`run` does just that, letter by letter. `evaluate` does the same without any recurrence, by three means that an
attention layer has: looking one position back, sums of a prefix modulo some number, and the latest write: a check of
the cascade that does not depend on any transformer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Integer

from glassformer.algebra.groups import MOST_ELEMENTS, Group
from glassformer.algebra.holonomy import Component, Holonomy, holonomy, merged
from glassformer.algebra.limits import Watch
from glassformer.automata import Semiautomaton, finite
from glassformer.automata import machine as machine_of
from glassformer.automata.semiautomaton import Word
from glassformer.representation import HTMLRepresentation

Over: TypeAlias = Integer[np.ndarray, "word position"]
WithStart: TypeAlias = Integer[np.ndarray, "word position+1"]
"""Over all positions, and over the one before the first letter."""
Start: TypeAlias = int | str | Integer[np.ndarray, "*batch"]
"""The state that all words start from, or one for each."""


@dataclass(frozen=True)
class Level:
    """The table of one level: `moves[row]` says what happens to the coordinate for the (P, P′, letter) of that row."""

    components: list[Component]
    keys: Integer[np.ndarray, " row"]
    """(P, P′, letter) as one number each, ascending."""
    component: Integer[np.ndarray, " row"]
    """Which of the level's components P′ belongs to."""
    moves: Integer[np.ndarray, "row place"]
    resets: Bool[np.ndarray, " row"]

    @property
    def ever_resets(self) -> bool:
        """Whether any letter ever resets the coordinate."""
        return bool(self.resets.any())

    @property
    def height(self) -> int:
        """How many abelian groups stand one below the other in its groups, and one for the memory if it ever resets."""
        return max(c.group.derived_length for c in self.components) + self.ever_resets

    @property
    def solvable(self) -> bool:
        """Whether all groups of the level are."""
        return all(component.group.solvable for component in self.components)

    @cached_property
    def elements(self) -> Integer[np.ndarray, " row"]:
        """The group element of each row that permutes; the identity for a reset."""
        numbers = np.zeros(len(self.keys), dtype=np.int64)
        for i, component in enumerate(self.components):
            rows = (self.component == i) & ~self.resets
            numbers[rows] = component.group.listed.number(self.moves[rows, : component.points])
        return numbers


@dataclass(frozen=True)
class Cascade(HTMLRepresentation):
    """The levels of a machine, and what joins them: the tiles of each set, and the level it stands on."""

    decomposition: Holonomy
    levels: list[Level]
    tiles: Integer[np.ndarray, "set place"]
    level_of: Integer[np.ndarray, " set"]
    """The level of each set; for a single state, the number of levels."""
    has_replaceable_resets: bool
    """Whether on some level permutations would do in the place of all resets."""

    @property
    def machine(self) -> Semiautomaton:
        """The machine that is emulated."""
        return self.decomposition.machine

    @property
    def height(self) -> int:
        """The abelian groups and memories of all levels, one below the other."""
        return sum(level.height for level in self.levels)

    @property
    def solvable(self) -> bool:
        """Whether all groups are."""
        return all(level.solvable for level in self.levels)

    def coordinates(self, state: int | str) -> list[int]:
        """The coordinate of a state on each level (0 on levels that it needs not)."""
        state, current, found = self.machine.state(state), 0, []
        for k in range(len(self.levels)):
            place = 0
            if self.level_of[current] == k:
                place = self._tile_with(current, 1 << state)
                current = int(self.tiles[current, place])
            found.append(place)
        return found

    def _before_the_first_letter(self, start: Start, batch: tuple[int, ...]) -> Integer[np.ndarray, "word level"]:
        """The coordinates that each word of a batch starts with."""
        states = start if isinstance(start, np.ndarray) else np.array(self.machine.state(start))
        found = {state: self.coordinates(state) for state in np.unique(states).tolist()}
        rows = [found[state] for state in np.broadcast_to(states, batch).ravel().tolist()]
        return np.array(rows, dtype=np.intp).reshape(math.prod(batch), len(self.levels))

    def _tile_with(self, current: int, mask: int) -> int:
        masks = self.decomposition.images.masks
        return next(i for i, tile in enumerate(self.decomposition.tiles[current]) if mask & ~masks[tile] == 0)

    @cached_property
    def state_of(self) -> Integer[np.ndarray, " set"]:
        """The state in each set of one state."""
        return np.array([mask.bit_length() - 1 for mask in self.decomposition.images.masks])

    # -- step by step ----------------------------------------------------------------------------------

    def run(self, word: Word, start: Start = 0) -> Integer[np.ndarray, "*batch length"]:
        """The state after every prefix, letter by letter through all levels."""
        letters = self.machine.encode(word)
        words = letters.reshape(math.prod(letters.shape[:-1]), letters.shape[-1])
        coordinates = self._before_the_first_letter(start, letters.shape[:-1])
        states = np.empty(words.shape, dtype=np.intp)
        for t, letter in enumerate(words.T):
            old = new = np.zeros(len(words), dtype=np.intp)
            for k, level in enumerate(self.levels):
                row = self.row(level, old, new, letter)
                place = np.where(self.level_of[new] == k, level.moves[row, coordinates[:, k]], 0)
                old = self.refined(k, old, coordinates[:, k])
                new = self.refined(k, new, place)
                coordinates[:, k] = place
            states[:, t] = self.state_of[new]
        return states.reshape(letters.shape)

    def row(
        self, level: Level, old: Integer[np.ndarray, "*some"], new: Integer[np.ndarray, "*some"], letter: np.ndarray
    ) -> Integer[np.ndarray, "*some"]:
        """The row for (P, P′, letter); any row if P′ is not on the level."""
        key = (old * len(self.tiles) + new) * len(self.machine.symbols) + letter
        return np.asarray(np.minimum(np.searchsorted(level.keys, key), len(level.keys) - 1))

    def refined(
        self, k: int, current: Integer[np.ndarray, "*some"], place: Integer[np.ndarray, "*some"]
    ) -> Integer[np.ndarray, "*some"]:
        """The sets that are on level k, replaced by their tiles."""
        return np.where(self.level_of[current] == k, self.tiles[current, place], current)

    # -- all positions at once -------------------------------------------------------------------------

    def evaluate(self, word: Word, start: Start = 0) -> Integer[np.ndarray, "*batch length"]:
        """The state after every prefix, without recurrence: level by level, for all positions at once."""
        letters = self.machine.encode(word)
        words = letters.reshape(math.prod(letters.shape[:-1]), letters.shape[-1])
        current = np.zeros((len(words), words.shape[1] + 1), dtype=np.intp)  # position 0 is before the first letter
        firsts = self._before_the_first_letter(start, letters.shape[:-1]).T
        for k, (level, first) in enumerate(zip(self.levels, firsts, strict=True)):
            row = self.row(level, one_back(current), current[:, 1:], words)
            row = np.where(self.level_of[current[:, 1:]] == k, row, -1)
            place = np.zeros_like(current)
            for i, component in enumerate(level.components):
                here = np.isin(current, component.members)
                place[here] = _places(level, i, row, first)[here]
            current = self.refined(k, current, place)
        return self.state_of[current[:, 1:]].reshape(letters.shape)


def _places(level: Level, i: int, row: Over, first: Integer[np.ndarray, " word"]) -> WithStart:
    """The coordinate before the first letter and after each, as long as the set is in the level's component i.

    Since the latest reset, to the place x at time r, the letters have multiplied to h_r⁻¹·h_t; so the reset
    writes x·h_r⁻¹ into a memory m, and the coordinate is m·h_t.
    """
    group = level.components[i].group
    ours = (row >= 0) & (level.component[row] == i)
    product = prefix_product(group, np.where(ours, level.elements[row], 0))
    undone = group.inverses[product[:, 1:]]
    resets = ours & level.resets[row]
    written = np.where(resets, group.elements[undone, np.where(resets, level.moves[row, 0], 0)], -1)
    memory = latest_write(np.column_stack([np.minimum(first, group.degree - 1), written]))
    return np.asarray(group.elements[product, memory])


def one_back(values: Over) -> Integer[np.ndarray, "word position-1"]:
    """At each position but the first, what stands one position before."""
    return values[:, :-1]


def prefix_sum(values: Integer[np.ndarray, "word position some"], moduli: tuple[int, ...]) -> np.ndarray:
    """At each position, the sum of all values so far, modulo some numbers."""
    return np.asarray(np.cumsum(values, axis=1) % np.array(moduli, dtype=np.int64))


def latest_write(written: Over) -> Over:
    """At each position, what was written last; −1 means that nothing is written."""
    latest = np.maximum.accumulate(np.where(written >= 0, np.arange(written.shape[1]), 0), axis=1)
    return np.take_along_axis(written, latest, axis=1)


def prefix_product(group: Group, elements: Over) -> WithStart:
    """The identity, then the product of all elements so far, at each position; elements go by their numbers.

    Along the derived series: count in an abelian quotient, and with τ the lift of a count into the group, hand
    τ(count before)·x·τ(count after)⁻¹ to the subgroup below. What is left of a group that is not solvable is
    multiplied by doubling, in logarithmic depth.
    """
    lifts = []
    for counter in group.counters:
        steps = counter.steps[elements]
        after = prefix_sum(steps, counter.moduli)
        before = (after - steps) % np.array(counter.moduli)
        lifts.append(counter.lift[counter.number(after)])
        inverse = group.inverses[lifts[-1]]
        elements = group.multiply(group.multiply(counter.lift[counter.number(before)], elements), inverse)
    if not group.solvable:
        lifts.append(_by_doubling(group, elements))
    product = np.zeros_like(elements)
    for lift in lifts[::-1]:
        product = group.multiply(product, lift)
    return np.pad(product, ((0, 0), (1, 0)))


def _by_doubling(group: Group, elements: Over) -> Over:
    products, window = elements.copy(), 1
    while window < products.shape[1]:
        products[:, window:] = group.multiply(products[:, :-window], products[:, window:])
        window *= 2
    return products


# -- building ----------------------------------------------------------------------------------------------


def decompose(machine: Semiautomaton | str, merge: bool = True, watch: Watch | None = None) -> Cascade:
    """The cascade of a machine (or the one that a spec names), as low as is known.

    It is made by holonomy alone, with every level, if `merge` is False.
    """
    machine = machine_of(machine) if isinstance(machine, str) else finite(machine)
    plain = tabulated(holonomy(machine, watch), watch)
    return lowest(plain, watch) if merge else plain


def lowest(plain: Cascade, watch: Watch | None = None) -> Cascade:
    """The cascade with levels merged, and permutations in the place of resets where they do, if that is lower."""
    shared = merged(plain.decomposition, watch)
    if shared.levels == plain.decomposition.levels and not plain.has_replaceable_resets:
        return plain
    return min(plain, tabulated(shared, watch, replace_resets=True), key=lambda cascade: cascade.height)


class Transition(NamedTuple):
    """The sets before and after a letter, and the letter."""

    old: int
    new: int
    letter: int


class Move(NamedTuple):
    """Where a letter takes each place of a tile, and whether it is a reset."""

    places: tuple[int, ...]
    reset: bool


Table: TypeAlias = dict[Transition, Move]
"""What each transition does to the coordinate of a level, for those whose set after the letter is on the level."""


def tabulated(whole: Holonomy, watch: Watch | None = None, replace_resets: bool = False) -> Cascade:
    """The tables of all levels, for the transitions that can occur; what never occurs is left out."""
    watch = watch or Watch()
    component_of, sets, letters = whole.component_of(), len(whole.tiles), len(whole.machine.symbols)
    level_of = [whole.components[c].level if c >= 0 else whole.levels for c in component_of]
    transitions = {Transition(0, 0, letter) for letter in range(letters)}
    levels: list[Level] = []
    number_of_level = np.full(whole.levels + 1, -1)
    count, has_replaceable_resets = 0, False
    for k in range(whole.levels):
        table = {each: _move(whole, level_of, each) for each in transitions if level_of[each.new] == k}
        permutations = _permutations_for_resets(whole, component_of, table)
        has_replaceable_resets |= bool(permutations)
        if replace_resets:
            table |= permutations
        below = set[Transition]()
        for done, each in enumerate(transitions):
            below.update(_refined(whole, level_of[each.old] == k, each, table.get(each)))
            if done % 1000 == 0:
                watch("algebra.table_rows", count + len(below), watch.limits.rows)
        transitions, count = below, count + len(below)
        watch("algebra.table_rows", count, watch.limits.rows)
        if table:
            number_of_level[k] = len(levels)
            rows = sorted(
                ((old * sets + new) * letters + letter, component_of[new], *move)
                for (old, new, letter), move in table.items()
            )
            levels.append(_level(whole, rows))
    number_of_level[-1] = len(levels)
    tiles = np.zeros((sets, max(map(len, whole.tiles), default=0)), dtype=np.intp)
    for i, frame in enumerate(whole.tiles):
        tiles[i, : len(frame)] = frame
    return Cascade(whole, levels, tiles, number_of_level[level_of], has_replaceable_resets)


def _move(whole: Holonomy, level_of: Sequence[int], transition: Transition) -> Move:
    """What a transition does to the coordinate of the level that the set after it is on."""
    old, new, letter = transition
    then, tiles, masks = whole.images.then[letter], whole.tiles, whole.images.masks
    if then[old] == new:
        place = {tile: i for i, tile in enumerate(tiles[new])}
        return Move(tuple([place[then[tile]] for tile in tiles[old]]), reset=False)
    image = masks[then[old]]
    target = next(i for i, tile in enumerate(tiles[new]) if image & ~masks[tile] == 0)
    return Move((target,) * (len(tiles[old]) if level_of[old] == level_of[new] else 1), reset=True)


def _permutations_for_resets(whole: Holonomy, component_of: Sequence[int], table: Table) -> Table:
    """For each reset a permutation that does as well: each tile is taken into the tile that its place is taken to.

    None at all, if some reset has no such permutation: then the level needs its memory anyway.
    """
    found: Table = {}
    for transition, move in table.items():
        if move.reset:
            old, new, letter = transition
            group = whole.components[component_of[new]].group
            if component_of[old] != component_of[new] or group.order > MOST_ELEMENTS:
                return {}
            then, masks = whole.images.then[letter], whole.images.masks
            holds = [[masks[then[a]] & ~masks[b] == 0 for b in whole.tiles[new]] for a in whole.tiles[old]]
            forced = [row.index(True) for row in holds if row.count(True) == 1]
            if len({*forced}) < len(forced):  # two tiles have to go into one: no need to try the whole group
                return {}
            able = np.flatnonzero(np.array(holds)[range(group.degree), group.elements].all(axis=1))
            if not len(able):
                return {}
            found[transition] = Move(tuple(group.elements[able[0]].tolist()), reset=False)
    return found


def _refined(whole: Holonomy, old_is_here: bool, transition: Transition, move: Move | None) -> Iterator[Transition]:
    """The transitions that follow on the level below: for each tile of the old set, with the tile that it moves to."""
    old, new, letter = transition
    for place, tile in enumerate(whole.tiles[old] if old_is_here else (old,)):
        yield Transition(tile, whole.tiles[new][move.places[place]] if move else new, letter)


def _level(whole: Holonomy, rows: list[tuple[int, int, tuple[int, ...], bool]]) -> Level:
    occurring, component = np.unique([component for _, component, _, _ in rows], return_inverse=True)
    places = max(whole.components[i].points for i in occurring)
    return Level(
        [whole.components[i] for i in occurring],
        keys=np.array([key for key, _, _, _ in rows]),
        component=component,
        moves=np.array([[*move, *[move[0]] * (places - len(move))] for _, _, move, _ in rows]),
        resets=np.array([is_reset for _, _, _, is_reset in rows]),
    )
