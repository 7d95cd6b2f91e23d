"""Theorem 2: every machine by its cascade; if it is solvable, in a depth that does not grow with the length.

The stream follows the cascade from the top level down. On each level it knows the *situation*: the set of states P that
the levels above left before this letter, the set P′ that they leave after it, and the letter; or as much of that as
makes a difference. The situation says what the letter does on this level: multiply by a group element, or reset. What
is still unknown is the tile of P before the letter, and that is what the layers of the level find:

    a flat sum    for each abelian layer of the group: counts modulo m of all letters before this one
    doubling      for what is left of a group that is not solvable: Theorem 1, in layers that double the window
    a reset       the latest reset before this one, and the tile that it left, with the group's turns since undone

The tile leads to the situation on the next level, and below the last level P′ is a single state: the answer. Everything
is told *before* this letter, so a position needs only what it knows of itself and what it fetches from earlier ones.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import torch

from glassformer.algebra.cascade import Cascade
from glassformer.algebra.way import Stop, way_down
from glassformer.automata import Machine
from glassformer.compiler.circuit import Circuit, OneHot, Signal, total
from glassformer.compiler.constructions.doubling.program import because, compose
from glassformer.compiler.constructions.doubling.window import doublings
from glassformer.compiler.program import Answers, Program
from glassformer.compiler.turning import Turning, moved, reversed_moves
from glassformer.messages import Message, verbatim
from glassformer.operations.attention import FlatSum, LatestMatch, LookBack
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Head, Register, Stream, Units

LAST = Message("operations.last_match")

Counts: TypeAlias = dict[int, list[OneHot]]
"""For each component with a group, what each stage has counted."""


class Registers:
    """What the stream holds for one level."""

    def __init__(self, stream: Stream, stop: Stop, k: int, length: int) -> None:
        self.situation = stream.register(
            f"situation {k}", len(stop.situations) + 1, verbatim(f"P, P′ and letter on level {k}")
        )
        self.steps: dict[tuple[int, int], Register] = {}
        self.sums: dict[tuple[int, int], Register] = {}
        self.counts: dict[tuple[int, int], Register] = {}
        self.elements: dict[tuple[int, int], Register] = {}
        self.turning = {i: Turning(group) for i, group in stop.groups.items() if group.order > 1}
        self.rests = {i: part.rest for i, part in self.turning.items() if part.rest}
        for i, part in self.turning.items():
            for stage, counter in enumerate(part.counters):
                name, moduli = f"{k}.{i + 1}.{stage + 1}", counter.moduli
                low, high, size = -(max(moduli) // 2), (max(moduli) - 1) // 2, len(moduli)
                about = f"modulo {' and '.join(map(str, moduli))}"
                self.steps[i, stage] = stream.register(
                    f"step {name}", size, verbatim(f"what to add, {about}"), low, high
                )
                far = (low * length, high * length)
                self.sums[i, stage] = stream.register(f"sum {name}", size, verbatim("all steps so far"), *far)
                counts = math.prod(moduli)
                self.counts[i, stage] = stream.register(
                    f"count {name}", counts, verbatim(f"the steps before this one, {about}")
                )
                if stage:
                    self.elements[i, stage] = stream.register(
                        f"element {name}", part.group.order, verbatim("what is left to do")
                    )
        self.own, self.now, self.past = (dict[int, Register]() for _ in range(3))
        for i, rest in self.rests.items():
            name, stage = f"{k}.{i + 1}", len(self.turning[i].counters)
            words = {
                "own": "where this letter takes each point, after all that was counted",
                "now": "the same for the last letters",
                "past": "the same for as many letters before them",
            }
            self.own[i], self.now[i], self.past[i] = (
                stream.register(f"{what} {name}", rest.points, verbatim(meaning), high=rest.points - 1)
                for what, meaning in words.items()
            )
            self.counts[i, stage] = stream.register(
                f"rest {name}", len(rest.elements), verbatim("the same for all before")
            )
        self.memory = stop.memory
        if self.memory not in ("nothing", "the first"):
            about = "the tile that this letter resets to, with earlier turns undone"
            self.written = stream.register(f"to {k}", stop.places, verbatim(about))
        if self.memory in ("the latest reset", "the latest reset before", "the first"):
            self.writes = stream.register(f"reset {k}", 1, verbatim(f"does this letter reset level {k}?"))
        if self.memory in ("the letter before", "the latest reset"):
            self.found = stream.register(f"found {k}", stop.places, verbatim(f"the same of {self.memory}"))
        if self.memory == "the latest reset before":
            self.elsewhere = stream.register(f"earlier {k}", stop.places, verbatim("the latest in an earlier block"))
            self.nearby = stream.register(f"nearby {k}", stop.places, verbatim("the latest in this block"))
            self.no_one = stream.register(f"none {k}", 1, verbatim("was there none in this block?"))
        if self.memory == "the first":
            self.so_far = stream.register(f"resets {k}", 1, verbatim("how many resets so far"), high=length)


class Writer:
    """Writes the program of a cascade, level by level."""

    def __init__(self, cascade: Cascade, machine: Machine, length: int) -> None:
        self.way = way_down(cascade, machine.start)
        self.stops, self.last = self.way.stops, self.way.last
        self.state_of = cascade.state_of
        doubled = self.way.depth is None
        least = (
            2 ** max(1, doublings(length)) if doubled else 2 * self.way.layers(length) + 2
        )  # shorter words need not all
        length = max(length, least)
        self.machine, self.length, self.stream = machine, length, Stream()
        self.registers = [Registers(self.stream, stop, k + 1, length) for k, stop in enumerate(self.stops)]
        self.end = self.stream.register("state", len(machine.states), verbatim("the state after the letter"))
        memories = {r.memory for r in self.registers}
        self.sums = any(s.stages for s in self.stops) or "the first" in memories
        self.blocks = "the latest reset before" in memories
        layers = max(1, doublings(length)) if doubled else int("the letter before" in memories)
        self.distances = [2**layer for layer in range(layers)]
        place = "the latest reset" in memories
        self.positions = Positions(self.stream, length + 1, self.distances, place, share=self.sums, blocks=self.blocks)

    def program(self) -> Program:
        """The whole program."""
        reached, each = sorted({*self.last_states()}), np.eye(len(self.machine.states))
        program = Program(
            self.stream,
            tokens=self.stream.into(
                {register: matrix[[*self.way.entered, -1]] for register, matrix in self.entry(0).items()}
            ),
            positions=self.positions.table(),
            read_out=self.stream.form({self.end: each}),
            answers=Answers(torch.tensor(reached), self.stream.into({self.end: each[reached]})),
            tokens_hold=verbatim("the letter's situation on level 1: all states before, all states after"),
            answer_is=Message("compiler.the_state"),
            grows=self.grows(),
        )
        for k, stop in enumerate(self.stops):
            for stage in range(stop.stages):
                program.block(*self.counting(k, stage), mlp=self.after_counting(k, stage))
            if not stop.solvable:
                for distance in self.distances[:-1]:
                    program.block(*self.doubling(k, distance), mlp=self.composed(k))
                program.block(*self.doubling(k, self.distances[-1]), mlp=self.after_doubling(k))
            if stop.resets:
                program.block(*self.resetting(k), mlp=self.after_resetting(k))
        if not self.stops:
            program.block()  # the letter alone tells the state
        return program

    def last_states(self) -> list[int]:
        """The state of each situation below the last level, and of the start token."""
        return [int(self.state_of[new]) for _, new, _ in self.last] + [self.machine.start]

    def grows(self) -> dict[str, Message]:
        """What the sizes depend on."""
        rows = sum(len(stop.situations) for stop in self.stops)
        counters = sum(
            len(counter.moduli) for r in self.registers for part in r.turning.values() for counter in part.counters
        )
        position = f"{self.positions.width} for the position" + ", some 2√T" * self.blocks
        own = self.stream.width - self.positions.width
        return {
            "width": verbatim(f"{own:,} for states, groups and {rows:,} table rows; {position}"),
            "mlp": verbatim(
                "one or more for each table row" + f"; some 4√T for each of {counters} counters" * bool(counters)
            ),
        }

    # -- what a situation says at once -----------------------------------------------------------------

    def entry(self, k: int) -> Mapping[Register, np.ndarray]:
        """What registers hold when level k is entered: a matrix [situation, register size] for each."""
        if k == len(self.stops):
            return {self.end: np.eye(len(self.machine.states))[self.last_states()]}
        stop, registers = self.stops[k], self.registers[k]
        count = len(stop.situations)
        held = {registers.situation: np.eye(count + 1)}
        for i, part in registers.turning.items():
            elements = [stop.element(situation, i) for situation in range(count)] + [0]
            if part.counters:
                held[registers.steps[i, 0]] = part.steps(0)[elements].astype(float)
            else:
                held[registers.own[i]] = held[registers.now[i]] = part.rest_moves()[elements]
        if registers.memory == "the first":
            held[registers.writes] = np.array([[float(i in stop.resets)] for i in range(count + 1)])
        elif registers.memory != "nothing" and not registers.turning:
            targets = [stop.target(situation) for situation in range(count)]
            places = [target[1] if target else None for target in targets] + [stop.first]
            if registers.memory != "the letter before":
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
        return [FlatSum().head(self.positions, steps, sums) for steps, sums in pairs]

    def after_counting(self, k: int, stage: int) -> Units:
        """Sums to counts; then the step of the next stage, or the end of the level's turning."""
        stop, registers, circuit = self.stops[k], self.registers[k], Circuit(self.stream)
        counts: Counts = {i: self.counts(circuit, k, i) for i in registers.turning}
        for i, part in registers.turning.items():
            if stage < len(part.counters):
                counts[i][stage] = self.counted(circuit, k, i, stage)
                circuit.write(registers.counts[i, stage], counts[i][stage])
                self.hand_down(circuit, k, i, stage, counts[i][stage])
        if stage + 1 == stop.stages and stop.solvable:
            self.after_turning(circuit, k, counts)
        return circuit.units(verbatim("counts: sums modulo m"))

    def after_turning(self, circuit: Circuit, k: int, counts: Counts) -> None:
        """How far the level's groups have turned is known: so is what the level writes, or the next situation."""
        if self.registers[k].memory != "nothing":
            self.write_resets(circuit, k, counts)
        else:
            stop = self.stops[k]
            self.go_down(
                circuit, k, [Signal(constant=float(place == stop.first)) for place in range(stop.places)], counts
            )

    def counted(self, circuit: Circuit, k: int, i: int, stage: int) -> list[Signal]:
        """The count of all steps before this one, as a one-hot over all moduli of the stage."""
        registers, moduli = self.registers[k], self.registers[k].turning[i].counters[stage].moduli
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
        """The element that is left for the next stage, and its steps there; or for the rest, and its moves."""
        registers = self.registers[k]
        part = registers.turning[i]
        last = stage + 1 == len(part.counters)
        if last and not part.rest:
            return
        now = self.elements_now(circuit, k, i, stage)
        possible = [x for x, bit in enumerate(now) if bit.terms]
        circuit.refuse_if_too_large(len(possible) * len(count))
        rows = {(x, h): left for x in possible for h, left in enumerate(part.after(stage, x).tolist())}
        left = circuit.look_up(rows, [now, count], part.group.order)
        if last:
            at_start = circuit.read(registers.situation)[-1]
            for register in (registers.own[i], registers.now[i]):
                circuit.combine(register, [left[0] + at_start, *left[1:]], part.rest_moves())
            return
        circuit.write(registers.elements[i, stage + 1], left)
        circuit.combine(registers.steps[i, stage + 1], left, part.steps(stage + 1))

    def elements_now(self, circuit: Circuit, k: int, i: int, stage: int) -> list[Signal]:
        """The element that a stage counts: told by the situation at first, later by the stage above."""
        stop, registers = self.stops[k], self.registers[k]
        if stage:
            return circuit.read(registers.elements[i, stage])
        bits: list[list[Signal]] = [[] for _ in range(registers.turning[i].group.order)]
        for number, bit in enumerate(circuit.read(registers.situation)[:-1]):
            bits[stop.element(number, i)].append(bit)
        return [total(some) for some in bits]

    # -- doubling --------------------------------------------------------------------------------------

    def doubling(self, k: int, distance: int) -> list[Head]:
        """One head for each group that is not solvable."""
        registers = self.registers[k]
        return [LookBack(distance).head(self.positions, registers.now[i], registers.past[i]) for i in registers.now]

    def composed(self, k: int) -> Units:
        """The window is twice as long."""
        registers = self.registers[k]
        return functools.reduce(
            operator.add, (compose(self.stream, registers.now[i], registers.past[i]) for i in registers.now)
        )

    def after_doubling(self, k: int) -> Units:
        """The window is the whole prefix; this letter is taken back from it, and that ends the level's turning."""
        registers, circuit = self.registers[k], Circuit(self.stream)
        counts: Counts = {i: self.counts(circuit, k, i) for i in registers.turning}
        for i, rest in registers.rests.items():
            now, past, own = (
                [circuit.digits(number, rest.points, rest.points) for number in circuit.read(register)]
                for register in (registers.now[i], registers.past[i], registers.own[i])
            )
            so_far = [moved(circuit, place, now) for place in past]
            before = [moved(circuit, place, reversed_moves(own)) for place in so_far]
            rows = {tuple(moves): x for x, moves in enumerate(rest.moves.tolist())}
            counts[i][-1] = circuit.look_up(rows, before, len(rows))
            circuit.write(registers.counts[i, len(registers.turning[i].counters)], counts[i][-1])
        self.after_turning(circuit, k, counts)
        return circuit.units(verbatim("compose: all letters before this one"))

    def counts(self, circuit: Circuit, k: int, i: int) -> list[OneHot]:
        """What all stages of a group have counted, and the product of the rest."""
        return [circuit.read(register) for (part, _), register in self.registers[k].counts.items() if part == i]

    # -- resets ----------------------------------------------------------------------------------------

    def write_resets(self, circuit: Circuit, k: int, counts: Counts) -> None:
        """Does this letter reset, and to which tile, counted from where the group began."""
        stop, registers = self.stops[k], self.registers[k]
        situation = circuit.read(registers.situation)
        written: list[list[Signal]] = [[] for _ in range(registers.written.size)]
        written[stop.first].append(situation[-1])
        writes = [situation[-1]]
        by_target: dict[tuple[int, int], list[Signal]] = {}
        for number, bit in enumerate(situation[:-1]):
            target = stop.target(number)
            if target:
                writes.append(bit)
                by_target.setdefault(target, []).append(bit)
        for i in {i for i, _ in by_target}:
            tile: OneHot = [total(by_target.get((i, place), ())) for place in range(stop.level.components[i].points)]
            if i in registers.turning:
                tile = registers.turning[i].turned(circuit, tile, counts[i], back=True)
            for m, signal in enumerate(tile):
                written[m].append(signal)
        if registers.memory != "the letter before":
            circuit.write(registers.writes, [total(writes)])
        circuit.write(registers.written, [total(bits) for bits in written])

    def resetting(self, k: int) -> Sequence[Head]:
        """The head that finds the latest reset; two, where a letter must not see its own."""
        registers = self.registers[k]
        if registers.memory == "the letter before":
            return [LookBack(1).head(self.positions, registers.written, registers.found)]
        match = self.stream.form({registers.writes: [[1.0]]})
        if registers.memory == "the first":
            count = FlatSum().head(self.positions, registers.writes, registers.so_far)
            return [replace(count, largest_summand=2 / count.summands)]  # one before beside this one must be told: 2
        if registers.memory == "the latest reset":
            return [LatestMatch(LAST).head(self.positions, match, {registers.found: registers.written})]
        return LatestMatch(LAST).heads_before(
            self.positions, match, registers.written, registers.elsewhere, registers.nearby, registers.no_one
        )

    def after_resetting(self, k: int) -> Units:
        """The tile before this letter, and so the situation on the next level."""
        registers, circuit = self.registers[k], Circuit(self.stream)
        counts: Counts = {i: self.counts(circuit, k, i) for i in registers.turning}
        self.go_down(circuit, k, self.memory(circuit, k), counts)
        return circuit.units(verbatim("table: tile and next situation"))

    def memory(self, circuit: Circuit, k: int) -> OneHot:
        """What the latest reset has written, as it was found."""
        registers = self.registers[k]
        if registers.memory == "the first":
            return self.since_the_first(circuit, k)
        if registers.memory != "the latest reset before":
            return circuit.read(registers.found)
        (none,) = circuit.read(registers.no_one)
        pairs = zip(circuit.read(registers.elsewhere), circuit.read(registers.nearby), strict=True)
        some = Signal(constant=1.0) - none
        return [circuit.all_of([far, none]) + circuit.all_of([near, some]) for far, near in pairs]

    def since_the_first(self, circuit: Circuit, k: int) -> OneHot:
        """The one tile that resets lead to, if the first of them was before this letter; else the start's."""
        stop, registers = self.stops[k], self.registers[k]
        (so_far,), (this,) = circuit.read(registers.so_far), circuit.read(registers.writes)
        none = circuit.below(so_far - this, 1, self.length)
        (there,) = {target[1] for target in map(stop.target, stop.resets) if target}
        bits = {stop.first: none, there: Signal(constant=1.0) - none}
        return [bits.get(place, Signal()) for place in range(stop.places)]

    def go_down(self, circuit: Circuit, k: int, memory: OneHot, counts: Counts) -> None:
        """From memory and turning to the tile of P, and from situation and tile to the next situation."""
        stop, registers = self.stops[k], self.registers[k]
        situation = circuit.read(registers.situation)
        tiles: dict[int, OneHot] = {}
        for i, group in stop.groups.items():
            here = memory[: group.degree]
            tiles[i] = registers.turning[i].turned(circuit, here, counts[i]) if i in registers.turning else here
        below = [list[Signal]() for _ in range(1 + max(max(leads) for leads in stop.leads))]
        for number, (on, leads) in enumerate(zip(stop.on, stop.leads, strict=True)):
            if number not in stop.asks:
                below[leads[0]].append(situation[number])
                continue
            for ahead in set(leads):
                some = [tiles[on][tile] for tile, there in enumerate(leads) if there == ahead]
                below[ahead].append(circuit.all_of([situation[number], total(some)]))
        self.enter(circuit, k + 1, [*(total(bits) for bits in below), situation[-1]])


def cascade_program(machine: Machine, length: int, cascade: Cascade) -> Program:
    """The program of Theorem 2 for words of up to `length` letters, or more. The last token is the start token.

    States that no word leads to are left out of the cascade.
    """
    writer = Writer(cascade, machine.trim(), length)
    program = writer.program()
    program.answer_among(machine.reachable(), len(machine.states))
    layers = len(program.blocks)
    program.theorem = Message("cascade.theorem")
    if not writer.stops:
        program.because = because(letters=1, length=writer.length, layers=1)
    elif writer.way.depth is not None:
        deeper = sum(level.depth for level in cascade.levels) > layers
        program.because = Message("cascade.because_and_deeper" if deeper else "cascade.because", layers=layers)
    else:
        names = sorted({group.name for stop in writer.stops for group in stop.groups.values() if not group.solvable})
        program.theorem = Message("cascade.theorem_not_solvable")
        program.because = Message("cascade.because_not_solvable", layers=layers, groups=names)
    return program
