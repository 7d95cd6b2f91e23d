"""What a level's group does to its tiles, in the terms that a transformer has: counters, and a few points moved.

An element of the group is told by what its abelian layers count, one number for each, and by an element of the perfect
group that is left below them if the group is not solvable. The counts come from flat sums, the rest from doubling.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Integer

from glassformer.algebra.groups import Counter, Group
from glassformer.compiler.circuit import Circuit, OneHot, total
from glassformer.compiler.constructions.points import fewest_moves

Moves: TypeAlias = Sequence[OneHot]
"""For each point, where it is taken."""


@dataclass(frozen=True)
class Rest:
    """The perfect group that is left below the abelian layers, as moves of a few points."""

    elements: Integer[np.ndarray, " rest"]
    """The numbers that they have in the whole group."""
    moves: Integer[np.ndarray, "rest point"]

    @property
    def points(self) -> int:
        """How many points are moved."""
        return int(self.moves.shape[1])


@dataclass(frozen=True)
class Turning:
    """A component with a group: how elements step its counters, and what is left for the counter below."""

    group: Group

    @property
    def counters(self) -> tuple[Counter, ...]:
        """One for each abelian layer."""
        return self.group.counters

    @cached_property
    def rest(self) -> Rest | None:
        """What the counters leave of a group that is not solvable."""
        if self.group.solvable:
            return None
        perfect = self.group.derived_series[-1]
        everything = np.arange(perfect.order)
        product = perfect.multiply(everything[:, None], everything)
        return Rest(self.group.listed.number(perfect.elements), fewest_moves(product, 0, perfect.elements))

    @property
    def lifts(self) -> list[Integer[np.ndarray, " count"]]:
        """For each stage, and for the rest, the element that each count stands for."""
        return [counter.lift for counter in self.counters] + ([self.rest.elements] if self.rest else [])

    def steps(self, stage: int) -> Integer[np.ndarray, "element modulus"]:
        """What each element adds to a stage's counters: the nearest to 0 that is right modulo m, to keep sums small."""
        counter = self.counters[stage]
        moduli = np.array(counter.moduli)
        return np.asarray((counter.steps + moduli // 2) % moduli - moduli // 2)

    def rest_moves(self) -> Float[np.ndarray, "element point"]:
        """What each element that is in the rest does to its points."""
        assert self.rest
        moves = np.zeros((self.group.order, self.rest.points))
        moves[self.rest.elements] = self.rest.moves
        return moves

    def after(self, stage: int, element: int) -> Integer[np.ndarray, " count"]:
        """The element that a stage hands to the one below, for each count before it: τ(before)·x·τ(after)⁻¹."""
        counter = self.counters[stage]
        before = np.stack(np.unravel_index(np.arange(len(counter.lift)), counter.moduli), axis=-1)
        later = counter.number((before + counter.steps[element]) % np.array(counter.moduli))
        left = self.group.multiply(counter.lift, element)
        return self.group.multiply(left, self.group.inverses[counter.lift[later]])

    @cached_property
    def products(self) -> Integer[np.ndarray, " counts"]:
        """The product of all elements before, for each combination of what the stages may have counted."""
        element = np.zeros(1, dtype=np.int64)
        for lift in self.lifts:
            element = self.group.multiply(lift, element[:, None]).reshape(-1)
        return element

    def turned(self, circuit: Circuit, tile: OneHot, counts: Sequence[OneHot], back: bool = False) -> OneHot:
        """Where the product takes a tile that is given by bits; or back from."""
        possible = [place for place, bit in enumerate(tile) if bit.terms or bit.constant]
        circuit.refuse_if_too_large(len(possible) * len(self.products))
        combinations = list(itertools.product(*(range(len(one_hot)) for one_hot in counts)))
        moves = self.group.elements[self.group.inverses[self.products] if back else self.products]
        rows = {
            (place, *key): there
            for place in possible
            for key, there in zip(combinations, moves[:, place].tolist(), strict=True)
        }
        return circuit.look_up(rows, [tile, *counts], self.group.degree)


def moved(circuit: Circuit, point: OneHot, moves: Moves) -> OneHot:
    """The point that a point is taken to."""
    pairs = [(bit, there) for bit, there in zip(point, moves, strict=True) if bit.terms or bit.constant]
    return [total(circuit.all_of([bit, there[q]]) for bit, there in pairs) for q in range(len(moves))]


def reversed_moves(moves: Moves) -> Moves:
    """The way back."""
    return list(zip(*moves, strict=True))
