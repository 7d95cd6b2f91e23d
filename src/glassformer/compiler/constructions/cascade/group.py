"""The product of a component's group elements over all letters before this one, as a transformer computes it.

An element of a group is encoded by counts, one for each abelian layer of its derived series, and by an element of the
perfect core, the last group of that series, if the group is not solvable. Counts are flat sums; elements of the perfect
core are multiplied by doubling, in a faithful permutation representation on few points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Integer

from glassformer.algebra.groups import Counter, Group
from glassformer.compiler.circuit import Circuit, OneHot, Signal, total
from glassformer.compiler.constructions.doubling.program import compose
from glassformer.compiler.constructions.points import fewest_moves
from glassformer.messages import Message
from glassformer.operations.attention import FlatSum, LookBack
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Head, Register, Stream, Units

Moves: TypeAlias = Sequence[OneHot]
"""For each point, where it is taken."""


@dataclass(frozen=True)
class PerfectCore:
    """The last group of the derived series, in a faithful permutation representation on few points."""

    elements: Integer[np.ndarray, " element"]
    """The numbers that they have in the whole group."""
    moves: Integer[np.ndarray, "element point"]

    @property
    def points(self) -> int:
        """How many points are moved."""
        return int(self.moves.shape[1])


@dataclass(frozen=True)
class GroupEncoding:
    """How elements of a group become counts, and an element of its perfect core; and how these act on tiles."""

    group: Group

    @property
    def counters(self) -> tuple[Counter, ...]:
        """One for each abelian layer."""
        return self.group.counters

    @cached_property
    def perfect(self) -> PerfectCore | None:
        """What the counters leave of a group that is not solvable."""
        if self.group.solvable:
            return None
        perfect = self.group.derived_series[-1]
        everything = np.arange(perfect.order)
        product = perfect.multiply(everything[:, None], everything)
        return PerfectCore(self.group.listed.number(perfect.elements), fewest_moves(product, 0, perfect.elements))

    def steps(self, stage: int) -> Integer[np.ndarray, "element modulus"]:
        """What each element adds to a stage's counters: the nearest to 0 that is right modulo m, to keep sums small."""
        counter = self.counters[stage]
        moduli = np.array(counter.moduli)
        return np.asarray((counter.steps + moduli // 2) % moduli - moduli // 2)

    def perfect_moves(self) -> Float[np.ndarray, "element point"]:
        """What each element of the perfect core does to its points; 0 for the others."""
        assert self.perfect
        moves = np.zeros((self.group.order, self.perfect.points))
        moves[self.perfect.elements] = self.perfect.moves
        return moves

    def left_by(self, stage: int, element: int) -> Integer[np.ndarray, " count"]:
        """The element that a stage hands to the one below, for each count before it: τ(before)·x·τ(after)⁻¹.

        τ is the stage's transversal: one element of the group for each count.
        """
        counter = self.counters[stage]
        before = np.stack(np.unravel_index(np.arange(len(counter.lift)), counter.moduli), axis=-1)
        after = counter.number((before + counter.steps[element]) % np.array(counter.moduli))
        return self.group.multiply(self.group.multiply(counter.lift, element), self.group.inverses[counter.lift[after]])

    @cached_property
    def products(self) -> Integer[np.ndarray, " counts"]:
        """The element for each combination of counts, and of elements of the perfect core."""
        element = np.zeros(1, dtype=np.int64)
        for lift in [counter.lift for counter in self.counters] + ([self.perfect.elements] if self.perfect else []):
            element = self.group.multiply(lift, element[:, None]).reshape(-1)
        return element

    def act(self, circuit: Circuit, tile: OneHot, counts: Sequence[OneHot], inverse: bool = False) -> OneHot:
        """Where the element that the counts encode, or its inverse, takes a tile."""
        possible = [place for place, bit in enumerate(tile) if bit.terms or bit.constant]
        circuit.refuse_if_too_large(len(possible) * len(self.products))
        moves = self.group.elements[self.group.inverses[self.products] if inverse else self.products]
        combinations = list(itertools.product(*(range(len(one_hot)) for one_hot in counts)))
        rows = {
            (place, *key): there
            for place in possible
            for key, there in zip(combinations, moves[:, place].tolist(), strict=True)
        }
        return circuit.look_up(rows, [tile, *counts], self.group.degree)


class PrefixProduct:
    """The registers of one component's group on one level, and what computes them."""

    def __init__(self, stream: Stream, group: Group, name: str, length: int) -> None:
        self.stream, self.length, self.encoding = stream, length, GroupEncoding(group)
        self.steps, self.sums, self.counts = (list[Register]() for _ in range(3))
        self.elements: dict[int, Register] = {}
        """What is left to multiply, at each stage but the first: there the case tells it."""
        for stage, counter in enumerate(self.encoding.counters):
            at, moduli = f"{name}.{stage + 1}", counter.moduli
            low, high, size = -(max(moduli) // 2), (max(moduli) - 1) // 2, len(moduli)
            step, sums = Message("cascade.step", moduli=moduli), Message("cascade.sum")
            self.steps.append(stream.register(f"step {at}", size, step, low, high))
            self.sums.append(stream.register(f"sum {at}", size, sums, low * length, high * length))
            count = Message("cascade.count", moduli=moduli)
            self.counts.append(stream.register(f"count {at}", math.prod(moduli), count))
            if stage:
                self.elements[stage] = stream.register(f"element {at}", group.order, Message("cascade.element"))
        if perfect := self.encoding.perfect:
            abouts = {"own": Message("cascade.own"), "now": Message("cascade.now"), "past": Message("cascade.past")}
            self.own, self.now, self.past = (
                stream.register(f"{each} {name}", perfect.points, about, high=perfect.points - 1)
                for each, about in abouts.items()
            )
            self.counts.append(stream.register(f"rest {name}", len(perfect.elements), Message("cascade.rest")))

    def on_entry(self, elements: Sequence[int]) -> dict[Register, Float[np.ndarray, "case column"]]:
        """What registers hold when the level is entered, for the element of each case."""
        if self.steps:
            return {self.steps[0]: self.encoding.steps(0)[elements].astype(float)}
        moves = self.encoding.perfect_moves()[elements]
        return {self.own: moves, self.now: moves}

    def read_counts(self, circuit: Circuit) -> list[OneHot]:
        """All counts, and the element of the perfect core, as they stand in the stream."""
        return [circuit.read(register) for register in self.counts]

    # -- counting --------------------------------------------------------------------------------------

    def sum_head(self, positions: Positions, stage: int) -> Head:
        """The head that sums the steps of all letters so far."""
        return FlatSum().head(positions, self.steps[stage], self.sums[stage])

    def write_count(self, circuit: Circuit, stage: int) -> OneHot:
        """The sum of all steps before this letter, modulo the moduli of the stage."""
        moduli, each = self.encoding.counters[stage].moduli, []
        sums = zip(circuit.read(self.steps[stage]), circuit.read(self.sums[stage]), moduli, strict=True)
        for own, so_far, modulus in sums:
            offset = modulus * math.ceil(self.length / 2)  # a multiple of the modulus that no sum falls below
            number = circuit.relu(so_far - own + float(offset), 2.0 * offset)
            each.append(circuit.remainder(number, 2 * offset, modulus))
        count = each[0]
        if len(each) > 1:
            combinations = itertools.product(*(range(modulus) for modulus in moduli))
            rows = {key: int(np.ravel_multi_index(key, moduli)) for key in combinations}
            count = circuit.look_up(rows, each, len(rows))
        circuit.write(self.counts[stage], count)
        return count

    def is_complete_after(self, stage: int) -> bool:
        """Whether nothing is left to multiply after this stage."""
        return stage + 1 == len(self.steps) and not self.encoding.perfect

    def hand_down(self, circuit: Circuit, stage: int, element: OneHot, count: OneHot, at_start: Signal) -> None:
        """What is left of this letter's element after a stage, for the next stage; or for the perfect core."""
        encoding, order = self.encoding, self.encoding.group.order
        possible = [x for x, bit in enumerate(element) if bit.terms]
        circuit.refuse_if_too_large(len(possible) * len(count))
        rows = {(x, h): left for x in possible for h, left in enumerate(encoding.left_by(stage, x).tolist())}
        left = circuit.look_up(rows, [element, count], order)
        if stage + 1 < len(self.steps):
            circuit.write(self.elements[stage + 1], left)
            circuit.combine(self.steps[stage + 1], left, encoding.steps(stage + 1))
        else:
            for register in (self.own, self.now):  # the start token's element is the identity
                circuit.combine(register, [left[0] + at_start, *left[1:]], encoding.perfect_moves())

    # -- doubling --------------------------------------------------------------------------------------

    def look_back_head(self, positions: Positions, distance: int) -> Head:
        """The head that fetches the window before this one."""
        return LookBack(distance).head(positions, self.now, self.past)

    def double(self) -> Units:
        """The window is twice as long."""
        return compose(self.stream, self.now, self.past)

    def finish(self, circuit: Circuit) -> OneHot:
        """The last doubling makes the window the whole prefix; this letter is taken back from it."""
        perfect = self.encoding.perfect
        assert perfect
        now, past, own = (
            [circuit.digits(number, perfect.points, perfect.points) for number in circuit.read(register)]
            for register in (self.now, self.past, self.own)
        )
        so_far = [_moved(circuit, place, now) for place in past]
        before = [_moved(circuit, place, _inverse(own)) for place in so_far]
        rows = {tuple(moves): x for x, moves in enumerate(perfect.moves.tolist())}
        element = circuit.look_up(rows, before, len(rows))
        circuit.write(self.counts[-1], element)
        return element


def _moved(circuit: Circuit, point: OneHot, moves: Moves) -> OneHot:
    """The point that a point is taken to."""
    pairs = [(bit, there) for bit, there in zip(point, moves, strict=True) if bit.terms or bit.constant]
    return [total(circuit.all_of([bit, there[q]]) for bit, there in pairs) for q in range(len(moves))]


def _inverse(moves: Moves) -> Moves:
    """The moves that take every point back."""
    return list(zip(*moves, strict=True))
