"""Theorem 2: every solvable machine, in a depth that does not grow with the length.

The stream follows the cascade from the top level down. On each level it knows the *situation*: the set of states P that
the levels above left before this letter, the set P′ that they leave after it, and the letter. The situation says what
the letter does on this level: multiply by a group element, or reset. What is still unknown is the tile of P before the
letter, and that is what the layers of the level find:

    a flat sum    for each abelian layer of the group: counts modulo m of all letters before this one
    a reset       the latest reset before this one, and the tile that it left, with the group's turns since undone

The tile leads to the situation on the next level, and below the last level P′ is a single state: the answer. Everything
is told *before* this letter, so a position needs only what it knows of itself and what it fetches from earlier ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Integer

from glassformer.algebra.cascade import Cascade, Level, decompose
from glassformer.algebra.groups import Counter, Group
from glassformer.automata import Machine
from glassformer.compiler.circuit import Circuit, OneHot, Signal, total
from glassformer.compiler.instructions import Clock
from glassformer.compiler.stream import Answers, Head, Program, Register, Stream, Units
from glassformer.errors import InputError

Situation: TypeAlias = tuple[int, int, int]
"""P, P′ and the letter."""
Counts: TypeAlias = dict[int, list[OneHot]]
"""For each component with a group, what each stage has counted."""


@dataclass(frozen=True)
class Turning:
    """A component with a group: how elements step its counters, and what is left for the counter below."""

    group: Group
    members: frozenset[int]

    @property
    def counters(self) -> tuple[Counter, ...]:
        """One for each abelian layer."""
        return self.group.counters

    def steps(self, stage: int) -> Integer[np.ndarray, "element modulus"]:
        """What each element adds to a stage's counters: the nearest to 0 that is right modulo m, to keep sums small."""
        counter = self.counters[stage]
        moduli = np.array(counter.moduli)
        return np.asarray((counter.steps + moduli // 2) % moduli - moduli // 2)

    def after(self, stage: int, element: int, count: int) -> int:
        """The element that a stage hands to the one below, if `count` was counted before: τ(before)·x·τ(after)⁻¹."""
        counter = self.counters[stage]
        before = np.array(np.unravel_index(count, counter.moduli))
        later = counter.number((before + counter.steps[element]) % np.array(counter.moduli))
        left = self.group.multiply(counter.lift[count], element)
        return int(self.group.multiply(left, self.group.inverses[counter.lift[later]]))

    def product(self, counts: Sequence[int]) -> int:
        """The product of all elements before, from what each stage has counted."""
        element = 0
        for counter, count in zip(self.counters[::-1], counts[::-1], strict=True):
            element = int(self.group.multiply(element, counter.lift[count]))
        return element

    def place(self, counts: Sequence[int], start: int, back: bool = False) -> int:
        """Where the product of all elements before takes a tile; or back from."""
        product = self.product(counts)
        return int(self.group.elements[self.group.inverses[product] if back else product, start])


@dataclass(frozen=True)
class Stop:
    """One level on the way down: the situations that can occur, and where each leads.

    The last situation, one more than are listed, is that of the start token.
    """

    level: Level
    situations: list[Situation]
    row: list[int]
    """The row of the level's table for each situation; −1 where P′ is not on the level."""
    on: list[int]
    """Which of the level's components P belongs to; −1 where P is not on the level."""
    leads: list[list[int]]
    """For each situation, the situation on the next level for each tile of P (one, where P is not on the level)."""
    first: int
    """The coordinate of the start."""

    @cached_property
    def turning(self) -> dict[int, Turning]:
        """The components that have a group."""
        parts = enumerate(self.level.components)
        return {i: Turning(c.group, frozenset(c.members)) for i, c in parts if c.group.order > 1}

    @property
    def stages(self) -> int:
        """Abelian layers, of the component that has most."""
        return max((len(part.counters) for part in self.turning.values()), default=0)

    def element(self, situation: int, component: int) -> int:
        """The element of a component's group that a situation multiplies by."""
        row = self.row[situation]
        return int(self.level.elements[row]) if row >= 0 and self.level.component[row] == component else 0

    def target(self, situation: int) -> tuple[int, int] | None:
        """The component and the tile that a situation resets to, if it does."""
        row = self.row[situation]
        if row < 0 or not self.level.resets[row]:
            return None
        return int(self.level.component[row]), int(self.level.moves[row, 0])


def stops(cascade: Cascade, start: int) -> Iterator[tuple[Stop, list[Situation]]]:
    """Each level with its situations, and the situations on the next level."""
    coordinates = cascade.coordinates(start)
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
                ahead.append(below.setdefault((tile, then, letter), len(below)))
            leads.append(ahead)
            rows.append(row)
            among = (i for i, component in enumerate(level.components) if old in component.members)
            on.append(next(among) if cascade.level_of[old] == k else -1)
        yield Stop(level, situations, rows, on, leads, coordinates[k]), list(below)
        situations = list(below)


class Registers:
    """What the stream holds for one level."""

    def __init__(self, stream: Stream, stop: Stop, k: int, length: int) -> None:
        self.situation = stream.register(f"situation {k}", len(stop.situations) + 1, f"P, P′ and letter on level {k}")
        self.steps: dict[tuple[int, int], Register] = {}
        self.sums: dict[tuple[int, int], Register] = {}
        self.counts: dict[tuple[int, int], Register] = {}
        self.elements: dict[tuple[int, int], Register] = {}
        for i, part in stop.turning.items():
            for stage, counter in enumerate(part.counters):
                name, moduli = f"{k}.{i + 1}.{stage + 1}", counter.moduli
                low, high, size = -(max(moduli) // 2), (max(moduli) - 1) // 2, len(moduli)
                about = f"modulo {' and '.join(map(str, moduli))}"
                self.steps[i, stage] = stream.register(f"step {name}", size, f"what to add, {about}", low, high)
                far = (low * length, high * length)
                self.sums[i, stage] = stream.register(f"sum {name}", size, "all steps so far", *far)
                counts = math.prod(moduli)
                self.counts[i, stage] = stream.register(f"count {name}", counts, f"the steps before this one, {about}")
                if stage:
                    self.elements[i, stage] = stream.register(f"element {name}", part.group.order, "what is left to do")
        self.resets = stop.level.ever_resets
        if self.resets:
            places = max(component.points for component in stop.level.components)
            self.writes = stream.register(f"reset {k}", 1, f"does this letter reset level {k}?")
            self.written = stream.register(f"to {k}", places, "the tile that it resets to, with earlier turns undone")
            self.elsewhere = stream.register(f"earlier {k}", places, "the latest in an earlier block")
            self.nearby = stream.register(f"nearby {k}", places, "the latest in this block")
            self.no_one = stream.register(f"none {k}", 1, "was there none in this block?")


class Writer:
    """Writes the program of a cascade, level by level."""

    def __init__(self, cascade: Cascade, machine: Machine, length: int) -> None:
        self.machine, self.length = machine, length
        walked = list(stops(cascade, machine.start))
        self.stops = [stop for stop, _ in walked]
        self.last = walked[-1][1] if walked else [(0, 0, letter) for letter in range(len(machine.symbols))]
        self.state_of = cascade.state_of
        self.stream = Stream()
        self.registers = [Registers(self.stream, stop, k + 1, length) for k, stop in enumerate(self.stops)]
        self.end = self.stream.register("end", len(self.last) + 1, "state before, state after, and letter")
        sums, resets = any(stop.stages for stop in self.stops), any(r.resets for r in self.registers)
        self.clock = Clock(self.stream, length + 1, share=sums, blocks=resets)

    def program(self) -> Program:
        """The whole program."""
        states = [int(self.state_of[new]) for _, new, _ in self.last] + [self.machine.start]
        logits = np.zeros((len(states), len(self.machine.states)))
        logits[np.arange(len(states)), states] = 1.0
        program = Program(
            self.stream,
            tokens=self.stream.into(dict(self.entry(0))),
            positions=self.clock.table(),
            read_out=self.stream.form({self.end: logits}),
            answers=Answers(torch.tensor(states), self.stream.into({self.end: np.eye(len(states))})),
            tokens_hold="the letter's situation on level 1: all states before, all states after",
            answer_is="the state after",
        )
        for k, stop in enumerate(self.stops):
            for stage in range(stop.stages):
                program.block(*self.counting(k, stage), mlp=self.after_counting(k, stage))
            if self.registers[k].resets:
                program.block(*self.resetting(k), mlp=self.after_resetting(k))
        return program

    # -- what a situation says at once -----------------------------------------------------------------

    def entry(self, k: int) -> Mapping[Register, np.ndarray]:
        """What registers hold when level k is entered: a matrix [situation, register size] for each."""
        if k == len(self.stops):
            return {self.end: np.eye(len(self.last) + 1)}
        stop, registers = self.stops[k], self.registers[k]
        count = len(stop.situations)
        if not stop.stages and not registers.resets:  # the coordinate never changes: straight on to the next level
            ahead = [leads[stop.first if on >= 0 else 0] for leads, on in zip(stop.leads, stop.on, strict=True)]
            return {register: matrix[[*ahead, -1]] for register, matrix in self.entry(k + 1).items()}
        held = {registers.situation: np.eye(count + 1)}
        for i, part in stop.turning.items():
            steps = part.steps(0)[[stop.element(situation, i) for situation in range(count)] + [0]]
            held[registers.steps[i, 0]] = steps.astype(float)
        if registers.resets and not stop.stages:
            targets = [stop.target(situation) for situation in range(count)]
            places = [target[1] if target else None for target in targets] + [stop.first]
            held[registers.writes] = np.array([[float(place is not None)] for place in places])
            rows = np.zeros((count + 1, registers.written.size))
            for row, place in enumerate(places):
                if place is not None:
                    rows[row, place] = 1.0
            held[registers.written] = rows
        return held

    def enter(self, circuit: Circuit, k: int, situation: OneHot) -> None:
        """Write what level k's registers hold, given the bits of the situation there."""
        for register, matrix in self.entry(k).items():
            circuit.combine(register, situation, matrix)

    # -- flat sums -------------------------------------------------------------------------------------

    def counting(self, k: int, stage: int) -> list[Head]:
        """One head for each counter of this stage."""
        registers = self.registers[k]
        pairs = [(registers.steps[key], registers.sums[key]) for key in registers.steps if key[1] == stage]
        return [self.clock.flat_sum(steps, sums) for steps, sums in pairs]

    def after_counting(self, k: int, stage: int) -> Units:
        """Sums to counts; then the step of the next stage, or what the level writes, or the next situation."""
        stop, registers, circuit = self.stops[k], self.registers[k], Circuit(self.stream)
        situation = circuit.read(registers.situation)
        counts: Counts = {}
        for i, part in stop.turning.items():
            done = min(stage, len(part.counters))
            counts[i] = [circuit.read(registers.counts[i, s]) for s in range(done)]
            if stage < len(part.counters):
                fresh = self.counted(circuit, k, i, stage)
                counts[i].append(fresh)
                circuit.write(registers.counts[i, stage], fresh)
            if stage + 1 < len(part.counters):
                self.hand_down(circuit, k, i, stage, counts[i][-1])
        if stage + 1 == stop.stages:
            if registers.resets:
                self.write_resets(circuit, k, situation, counts)
            else:
                self.go_down(circuit, k, situation, [Signal(constant=1.0)], counts)
        return circuit.units("counts: sums modulo m")

    def counted(self, circuit: Circuit, k: int, i: int, stage: int) -> list[Signal]:
        """The count of all steps before this one, as a one-hot over all moduli of the stage."""
        registers, moduli = self.registers[k], self.stops[k].turning[i].counters[stage].moduli
        steps, sums = circuit.read(registers.steps[i, stage]), circuit.read(registers.sums[i, stage])
        each = []
        for own, so_far, modulus in zip(steps, sums, moduli, strict=True):
            offset = modulus * math.ceil(self.length / 2)  # a multiple of the modulus that no sum falls below
            number = circuit.relu(so_far - own + float(offset), 2.0 * offset)
            each.append(circuit.remainder(number, 2 * offset, modulus))
        if len(each) == 1:
            return each[0]
        ranges = itertools.product(*(range(modulus) for modulus in moduli))
        rows = {key: int(np.ravel_multi_index(key, moduli)) for key in ranges}
        return circuit.look_up(rows, each, len(rows))

    def hand_down(self, circuit: Circuit, k: int, i: int, stage: int, count: OneHot) -> None:
        """The element that is left for the next stage, and its steps there."""
        stop, registers = self.stops[k], self.registers[k]
        part = stop.turning[i]
        now = self.elements_now(circuit, k, i, stage)
        possible = [x for x, bit in enumerate(now) if bit.terms]
        rows = {(x, h): part.after(stage, x, h) for x in possible for h in range(len(count))}
        left = circuit.look_up(rows, [now, count], part.group.order)
        circuit.write(registers.elements[i, stage + 1], left)
        circuit.combine(registers.steps[i, stage + 1], left, part.steps(stage + 1))

    def elements_now(self, circuit: Circuit, k: int, i: int, stage: int) -> list[Signal]:
        """The element that a stage counts: told by the situation at first, later by the stage above."""
        stop, registers = self.stops[k], self.registers[k]
        if stage:
            return circuit.read(registers.elements[i, stage])
        bits: list[list[Signal]] = [[] for _ in range(stop.turning[i].group.order)]
        for number, bit in enumerate(circuit.read(registers.situation)[:-1]):
            bits[stop.element(number, i)].append(bit)
        return [total(some) for some in bits]

    # -- resets ----------------------------------------------------------------------------------------

    def write_resets(self, circuit: Circuit, k: int, situation: OneHot, counts: Counts) -> None:
        """Does this letter reset, and to which tile, counted from where the group began."""
        stop, registers = self.stops[k], self.registers[k]
        written: list[list[Signal]] = [[] for _ in range(registers.written.size)]
        written[stop.first].append(situation[-1])
        writes = [situation[-1]]
        by_target: dict[tuple[int, int], list[Signal]] = {}
        for number, bit in enumerate(situation[:-1]):
            target = stop.target(number)
            if target:
                writes.append(bit)
                by_target.setdefault(target, []).append(bit)
        for (i, place), bits in by_target.items():
            if i not in stop.turning:
                written[place].append(total(bits))
                continue
            part, sizes = stop.turning[i], [len(one_hot) for one_hot in counts[i]]
            combinations = itertools.product(*(range(size) for size in sizes))
            rows = {(0, *key): part.place(key, place, back=True) for key in combinations}
            for m, signal in enumerate(circuit.look_up(rows, [[total(bits)], *counts[i]], part.group.degree)):
                written[m].append(signal)
        circuit.write(registers.writes, [total(writes)])
        circuit.write(registers.written, [total(bits) for bits in written])

    def resetting(self, k: int) -> tuple[Head, Head]:
        """The two heads that find the latest reset before this position."""
        registers = self.registers[k]
        match = self.stream.form({registers.writes: [[1.0]]})
        return self.clock.attend_last_before(
            match, registers.written, registers.elsewhere, registers.nearby, registers.no_one
        )

    def after_resetting(self, k: int) -> Units:
        """The tile before this letter, and so the situation on the next level."""
        stop, registers, circuit = self.stops[k], self.registers[k], Circuit(self.stream)
        (none,) = circuit.read(registers.no_one)
        pairs = zip(circuit.read(registers.elsewhere), circuit.read(registers.nearby), strict=True)
        memory = [
            circuit.all_of([far, none]) + circuit.all_of([near, Signal(constant=1.0) - none]) for far, near in pairs
        ]
        counts: Counts = {
            i: [circuit.read(registers.counts[i, stage]) for stage in range(len(part.counters))]
            for i, part in stop.turning.items()
        }
        self.go_down(circuit, k, circuit.read(registers.situation), memory, counts)
        return circuit.units("table: tile and next situation")

    def go_down(self, circuit: Circuit, k: int, situation: OneHot, memory: OneHot, counts: Counts) -> None:
        """From memory and counts to the tile of P, and from situation and tile to the next situation."""
        stop = self.stops[k]
        starts = [stop.first] if len(memory) == 1 else list(range(len(memory)))
        tiles: dict[int, OneHot] = {}
        for i in {on for on in stop.on if on >= 0}:
            degree = stop.level.components[i].points
            here = [(m, place) for m, place in enumerate(starts) if place < degree]
            if i in stop.turning:
                part, sizes = stop.turning[i], [len(one_hot) for one_hot in counts[i]]
                combinations = list(itertools.product(*(range(size) for size in sizes)))
                rows = {(m, *key): part.place(key, place) for m, place in here for key in combinations}
                tiles[i] = circuit.look_up(rows, [memory, *counts[i]], degree)
            else:
                tiles[i] = [total(memory[m] for m, place in here if place == tile) for tile in range(degree)]
        below = [list[Signal]() for _ in range(1 + max(max(leads) for leads in stop.leads))]
        for number, (on, leads) in enumerate(zip(stop.on, stop.leads, strict=True)):
            if on < 0:
                below[leads[0]].append(situation[number])
                continue
            for tile, ahead in enumerate(leads):
                below[ahead].append(circuit.all_of([situation[number], tiles[on][tile]]))
        self.enter(circuit, k + 1, [*(total(bits) for bits in below), situation[-1]])


def cascade_program(machine: Machine, length: int) -> Program:
    """The program of Theorem 2 for words of up to `length` letters. The last token is the start token."""
    cascade = decompose(machine)
    if not cascade.solvable:
        names = sorted({c.group.name for level in cascade.levels for c in level.components if not c.group.solvable})
        raise InputError(f"the cascade has groups that are not solvable ({', '.join(names)}): use method log")
    return Writer(cascade, machine, length).program()
