"""The plan of a cascade from one start: the cases that each level must tell apart, and where each of them leads.

A *situation* on a level is what the levels above leave of one letter: the set P that approximates the state before the
letter, the set P′ that approximates it after the letter, and the letter. It decides what the letter does on the level.
What it leaves open is the tile of P, the level's coordinate before the letter; with it, it leads to a situation on the
next level, and below the last level P′ is a single state. The passes of `plan_levels`:

    enumerate    downward from the start: the situations that can occur, and where each tile that can occur leads
    skip         upward: a level on which no tile makes a difference takes no layers at all
    merge        situations that act alike and lead alike are one case; so are those that only a tile above tells apart,
                 if they differ in nothing that can occur, unless that makes the level's look-up more expensive
    choose       the cheapest look-up of resets that tells the tile wherever it makes a difference
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from glassformer.algebra.cascade import Cascade, Level
from glassformer.algebra.groups import Group
from glassformer.algebra.permutations import Permutation
from glassformer.automata import Machine
from glassformer.compiler.constructions.doubling.window import doublings


class Situation(NamedTuple):
    """What the levels above leave of one letter: the sets before and after it, by their numbers, and the letter."""

    before: int
    after: int
    letter: int


class LookUp(IntEnum):
    """How a letter finds out which tile the resets before it have left, the cheapest first."""

    NO_RESET = 0
    """No reset changes anything."""
    PREVIOUS_LETTER = 1
    """The letter before has reset, wherever the tile makes a difference."""
    LATEST_RESET = 2
    """The latest reset so far, this letter's included: where a letter resets, the tile makes no difference."""
    FIRST_RESET = 3
    """All resets lead to one tile, which nothing leaves: it is enough to know whether there was one before."""
    LATEST_RESET_BEFORE = 4
    """The latest reset before this letter."""


@dataclass(frozen=True)
class Action:
    """What a letter does to the coordinate of one component of a level."""

    component: int
    """The component that P′ belongs to."""
    moves: tuple[int, ...]
    """Where each tile is taken."""
    is_reset: bool
    row: int
    """The row of the level's table that says so."""


@dataclass(frozen=True)
class Case:
    """Situations on a level that need not be told apart."""

    situations: frozenset[Situation]
    action: Action | None
    """None where P′ is not on the level."""
    component: int | None
    """The component that P belongs to, which need not be the action's; None where P is not on the level."""
    successors: tuple[int, ...] = ()
    """The case on the next level for each tile of P; only one, where P is not on the level."""

    @cached_property
    def depends_on_tile(self) -> bool:
        """Whether the tile makes a difference to where it leads."""
        return len(set(self.successors)) > 1

    def moved(self, component: int, tile: int) -> int:
        """Where a component's coordinate is taken."""
        return self.action.moves[tile] if self.action and self.action.component == component else tile


Reachable: TypeAlias = Mapping[tuple[int, int], set[int]]
"""For a component and a set P: the coordinates of the component that words lead to when they lead to P."""


@dataclass(frozen=True)
class LevelPlan:
    """One level: the cases that it tells apart, and its coordinate before the first letter."""

    level: Level
    cases: tuple[Case, ...]
    start_tile: int
    reachable: Reachable

    @cached_property
    def groups(self) -> dict[int, Group]:
        """The groups of the components whose tile makes a difference in some case."""
        asked_for = {case.component for case in self.cases if case.depends_on_tile}
        return {i: component.group for i, component in enumerate(self.level.components) if i in asked_for}

    @property
    def tiles(self) -> int:
        """How many tiles the largest of these components has."""
        return max(group.degree for group in self.groups.values())

    @property
    def stages(self) -> int:
        """How many abelian layers the groups have, the one with most."""
        return max(group.derived_length for group in self.groups.values())

    @property
    def solvable(self) -> bool:
        """Whether all groups are."""
        return all(group.solvable for group in self.groups.values())

    def permutation(self, case: Case) -> tuple[int, Permutation] | None:
        """The component that a case permutes, and how, if it moves any tile that is asked for."""
        action = case.action
        if action is None or action.is_reset or action.component not in self.groups:
            return None
        moves = action.moves[: self.groups[action.component].degree]
        return (action.component, moves) if moves != tuple(range(len(moves))) else None

    def reset(self, case: Case) -> tuple[int, int] | None:
        """The component that a case resets, and to which tile, if that is asked for and can change anything."""
        action = case.action
        if action is None or not action.is_reset or action.component not in self.groups or self.resets_change_nothing:
            return None
        return action.component, action.moves[0]

    def element(self, case: Case, component: int) -> int:
        """The element of a component's group, by its number, that a case multiplies by."""
        action = case.action
        return int(self.level.elements[action.row]) if action and action.component == component else 0

    @cached_property
    def resets(self) -> list[tuple[int, int] | None]:
        """For each case the component that it resets, and to which tile."""
        return [self.reset(case) for case in self.cases]

    @cached_property
    def resets_change_nothing(self) -> bool:
        """Whether every reset finds the coordinate where it leads: so where a part is entered once, at one place."""
        return all(
            self.reachable[case.action.component, situation.before] <= {case.action.moves[0]}
            for case in self.cases
            if case.action and case.action.is_reset
            for situation in case.situations
        )

    @cached_property
    def look_up(self) -> LookUp:
        """The cheapest look-up that tells the tile before a letter, wherever it makes a difference."""
        if not any(self.resets):
            return LookUp.NO_RESET
        asked = {s.before for case in self.cases if case.depends_on_tile for s in case.situations}
        not_reset = {s.after for case, reset in self._with_resets() if not reset for s in case.situations}
        if not asked & not_reset:
            return LookUp.PREVIOUS_LETTER
        if not any(case.depends_on_tile for case, reset in self._with_resets() if reset):
            return LookUp.LATEST_RESET
        nothing_permutes = all(group.order == 1 for group in self.groups.values())
        one_target = len({*self.resets} - {None}) == 1
        return LookUp.FIRST_RESET if one_target and nothing_permutes else LookUp.LATEST_RESET_BEFORE

    def _with_resets(self) -> Iterator[tuple[Case, tuple[int, int] | None]]:
        return zip(self.cases, self.resets, strict=True)

    def layers(self, length: int) -> int:
        """Layers for words of a length: flat sums, doubling for what is not solvable, and a look-up of resets."""
        return self.stages + (0 if self.solvable else max(1, doublings(length))) + (self.look_up != LookUp.NO_RESET)


@dataclass(frozen=True)
class CascadePlan:
    """The levels of a cascade on which a tile makes a difference, from the top down."""

    machine: Machine
    cascade: Cascade
    """Of the states that words lead to."""
    start: int
    """The state before the first letter, among these."""
    entered: list[int]
    """The case on the first level for each letter."""
    levels: list[LevelPlan]
    final: list[Situation]
    """The situations below the last level, where P′ is one state and nothing else counts."""

    @property
    def solvable(self) -> bool:
        """Whether all groups are; then the number of layers does not depend on the length of words."""
        return all(level.solvable for level in self.levels)

    def layers(self, length: int) -> int:
        """Layers for words of a length; one that is empty, if the letter alone tells the state."""
        return max(1, sum(level.layers(length) for level in self.levels))

    @property
    def final_states(self) -> list[int]:
        """The state that each situation below the last level stands for."""
        return [int(self.cascade.state_of[situation.after]) for situation in self.final]


def plan_levels(machine: Machine, cascade: Cascade) -> CascadePlan:
    """The plan for a machine, from its start, by the cascade of the states that words lead to."""
    start = machine.trim().start
    levels, final = _enumerate(cascade, start)
    merged_into, kept = list(range(len(final))), list[LevelPlan]()
    for number in reversed(range(len(levels))):
        level = _leading_to(merged_into, levels[number])
        if not level.groups:  # skip: no case depends on the tile
            merged_into = [case.successors[0] for case in level.cases]
            continue
        above = [case.successors for case in levels[number - 1].cases] if number else []
        merged = [_merge(_with_representatives(level, above)), _merge(level)]
        level, merged_into = min(merged, key=lambda plan: plan[0].look_up)  # choose: the cheapest look-up
        kept.insert(0, level)
    return CascadePlan(machine, cascade, start, merged_into, kept, final)


def _leading_to(merged_into: Sequence[int], level: LevelPlan) -> LevelPlan:
    """The level, after the cases of the next one were merged."""
    cases = (
        replace(case, successors=tuple(merged_into[following] for following in case.successors)) for case in level.cases
    )
    return replace(level, cases=tuple(cases))


# -- enumerate ---------------------------------------------------------------------------------------------


def _enumerate(cascade: Cascade, start: int) -> tuple[list[LevelPlan], list[Situation]]:
    """All levels, with a case for each situation that can occur; and the situations below the last level."""
    situations, levels = [Situation(0, 0, letter) for letter in range(len(cascade.machine.symbols))], list[LevelPlan]()
    first = 0  # the set that approximates the start
    for k, coordinate in enumerate(cascade.coordinates(start)):
        level = _with_reachable(cascade, k, situations, first, coordinate)
        level, situations = _with_leads(cascade, k, level)
        levels.append(level)
        if cascade.level_of[first] == k:
            first = int(cascade.tiles[first, coordinate])
    return levels, situations


def _with_reachable(
    cascade: Cascade, k: int, situations: Sequence[Situation], first: int, coordinate: int
) -> LevelPlan:
    """The level with the coordinates that can occur.

    If the set before the first letter is not on the level, its coordinate may be any: one that settles the level, if
    there is one.
    """
    level = cascade.levels[k]
    cases = tuple(_cases(cascade, k, situations))

    def started(at: int) -> LevelPlan:
        return LevelPlan(level, cases, at, _reachable(level, cases, first, at))

    possible = [coordinate] if cascade.level_of[first] == k else range(level.moves.shape[1])
    settled = (plan for plan in map(started, possible) if plan.resets_change_nothing)
    return next(settled, None) or started(coordinate)


def _cases(cascade: Cascade, k: int, situations: Sequence[Situation]) -> Iterator[Case]:
    """What each situation does on level k."""
    level = cascade.levels[k]
    component_of = {member: i for i, component in enumerate(level.components) for member in component.members}
    before, after, letter = np.array(situations).T
    rows = np.where(cascade.level_of[after] == k, cascade.row(level, before, after, letter), -1)
    components, moves, resets = level.component.tolist(), level.moves.tolist(), level.resets.tolist()
    for situation, row in zip(situations, rows.tolist(), strict=True):
        action = Action(components[row], tuple(moves[row]), resets[row], row) if row >= 0 else None
        yield Case(frozenset([situation]), action, component_of.get(situation.before))


def _reachable(level: Level, cases: Sequence[Case], first: int, coordinate: int) -> Reachable:
    """The coordinates that words lead to, from a set before the first letter and one coordinate for all components."""
    steps: dict[int, list[tuple[int, Case]]] = {}
    for case in cases:
        for situation in case.situations:
            steps.setdefault(situation.before, []).append((situation.after, case))
    queue = [(i, first, coordinate) for i in range(len(level.components))]
    found = {(i, first): {coordinate} for i in range(len(level.components))}
    for i, before, tile in queue:
        for after, case in steps.get(before, ()):
            there, tiles = case.moved(i, tile), found.setdefault((i, after), set())
            if there not in tiles:
                tiles.add(there)
                queue.append((i, after, there))
    return found


def _with_leads(cascade: Cascade, k: int, level: LevelPlan) -> tuple[LevelPlan, list[Situation]]:
    """The level with the situation that each case leads to for each tile; and these situations.

    A tile that does not occur leads where some other leads.
    """
    numbers: dict[Situation, int] = {}
    is_last, cases = k + 1 == len(cascade.levels), []
    for case in level.cases:
        (situation,) = case.situations
        successors: list[int | None] = []
        for tile, before in enumerate(_approximations(cascade, case)):
            after = int(cascade.tiles[situation.after, case.action.moves[tile]]) if case.action else situation.after
            following = Situation(0, after, 0) if is_last else Situation(before, after, situation.letter)
            occurs = case.component is None or tile in level.reachable[case.component, situation.before]
            successors.append(numbers.setdefault(following, len(numbers)) if occurs else None)
        some = next(lead for lead in successors if lead is not None)
        cases.append(replace(case, successors=tuple(some if lead is None else lead for lead in successors)))
    return replace(level, cases=tuple(cases)), list(numbers)


def _approximations(cascade: Cascade, case: Case) -> Sequence[int]:
    """The tiles of P; where it is not on the level, P itself."""
    (situation,) = case.situations
    return (situation.before,) if case.component is None else cascade.decomposition.tiles[situation.before]


# -- merge -------------------------------------------------------------------------------------------------


def _with_representatives(level: LevelPlan, above: Sequence[Sequence[int]]) -> LevelPlan:
    """The level with one case for all that a tile above tells apart, where one can stand in for all of them.

    `above` has the cases that each case of the level above leads to.
    """
    representative, members = list(range(len(level.cases))), [{i} for i in range(len(level.cases))]
    for successors in above:
        some = {representative[i] for i in successors}
        merged = set[int]().union(*(members[i] for i in some))
        candidates = (one for one in sorted(some) if all(_stands_in(level, one, other) for other in merged - {one}))
        if len(some) > 1 and (one := next(candidates, None)) is not None:
            members[one] = merged
            for other in merged:
                representative[other] = one
    cases = (
        replace(level.cases[one], situations=case.situations)
        for case, one in zip(level.cases, representative, strict=True)
    )
    return replace(level, cases=tuple(cases))


def _stands_in(level: LevelPlan, one: int, other: int) -> bool:
    """Whether a case acts as the other and leads where it leads, with every coordinate that can occur there."""
    case, instead_of = level.cases[one], level.cases[other]
    asked = case.component if case.depends_on_tile else None
    if instead_of.depends_on_tile and instead_of.component != asked:
        return False
    if asked is None and case.successors[0] != instead_of.successors[0]:
        return False
    if len(level.groups) > 1 and level.reset(case) != level.reset(instead_of):
        return False  # components share one memory: without a reset it may hold the tile of another component
    for i, group in level.groups.items():
        for tile in {tile for s in instead_of.situations for tile in level.reachable[i, s.before]}:
            if tile >= group.degree:  # it is the start's, which is in another component
                return False
            if i == asked and case.successors[tile] != instead_of.successors[tile if instead_of.depends_on_tile else 0]:
                return False
            if case.moved(i, tile) != instead_of.moved(i, tile):
                return False
    return True


def _merge(level: LevelPlan) -> tuple[LevelPlan, list[int]]:
    """The level with one case for all that act and lead alike, and the new number of each."""
    equal: dict[object, list[int]] = {}
    for i, case in enumerate(level.cases):
        goes = (case.component, *case.successors) if case.depends_on_tile else case.successors[0]
        equal.setdefault((level.permutation(case), level.reset(case), goes), []).append(i)
    merged_into = [0] * len(level.cases)
    cases = []
    for number, some in enumerate(equal.values()):
        everything = frozenset[Situation]().union(*(level.cases[i].situations for i in some))
        cases.append(replace(level.cases[some[0]], situations=everything))
        for i in some:
            merged_into[i] = number
    start_tile = min(level.start_tile, level.tiles - 1)  # beyond, it is in a component that no case asks for
    return LevelPlan(level.level, tuple(cases), start_tile, level.reachable), merged_into
