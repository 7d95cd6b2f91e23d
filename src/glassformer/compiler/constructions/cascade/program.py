"""Theorem 2: every machine by its cascade; if it is solvable, in a depth that does not grow with the length.

The stream follows the plan of the cascade from the top level down. When a level is entered, every position knows the
case of its letter there, and so what the letter does on the level: multiply by a group element, or reset to a tile.
What is still unknown is the tile of P before the letter, and that is what the layers of the level find:

    flat sums     for each abelian layer of the groups: counts modulo m of all letters before this one
    doubling      for what is left of a group that is not solvable: Theorem 1, in layers that double the window
    a look-up     of the reset before this letter, and of the tile that it left

With h the product of all letters before, a reset to the tile x writes x·h⁻¹, and what is found is multiplied by h: so
the permutations since the reset are done. Case and tile lead to the case on the next level, and below the last level to
the state. Everything is found *before* this letter, so a position needs only what it knows and what it fetches.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float

from glassformer.compiler.circuit import Circuit, OneHot, Signal, total
from glassformer.compiler.constructions.cascade.group import PrefixProduct
from glassformer.compiler.constructions.cascade.look_ups import LOOK_UPS, Entry
from glassformer.compiler.constructions.cascade.plan import CascadePlan, Case, LevelPlan, LookUp
from glassformer.compiler.constructions.doubling.program import because
from glassformer.compiler.constructions.doubling.window import doublings
from glassformer.compiler.program import Answers, Program
from glassformer.messages import Message
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Register, Stream, Units

Counts = dict[int, list[OneHot]]
"""What each component's group has counted so far."""


def cascade_program(plan: CascadePlan, length: int) -> Program:
    """The program for words of up to `length` letters, or more. The last token is the start token.

    States that no word leads to are left out of the cascade.
    """
    length = max(length, _least_length(plan, length))
    stream, states = Stream(), len(plan.cascade.machine.states)
    levels = [_Level(stream, level, number, length) for number, level in enumerate(plan.levels, start=1)]
    state = stream.register("state", states, Message("cascade.state"))
    positions = _positions(plan, stream, length)
    reached, one_hot = sorted({*plan.final_states, plan.start}), np.eye(states)
    entries = [*(level.on_entry() for level in levels), {state: one_hot[[*plan.final_states, plan.start]]}]
    program = Program(
        stream,
        tokens=stream.into({register: rows[[*plan.entered, -1]] for register, rows in entries[0].items()}),
        positions=positions.table(),
        read_out=stream.form({state: one_hot}),
        answers=Answers(torch.tensor(reached), stream.into({state: one_hot[reached]})),
        tokens_hold=Message("cascade.tokens"),
        answer_is=Message("compiler.the_state"),
        grows=_grows(plan, stream, positions, levels),
    )
    for level, entry in zip(levels, entries[1:], strict=True):
        level.write(program, positions, entry)
    if not levels:
        program.block()  # the letter alone tells the state
    program.answer_among(plan.machine.reachable(), len(plan.machine.states))
    program.theorem, program.because = _why(plan, length, len(program.blocks))
    return program


def _least_length(plan: CascadePlan, length: int) -> int:
    """Words of which all layers and blocks are used, so that no head is idle."""
    return 2 * plan.layers(length) + 2 if plan.solvable else 2 ** max(1, doublings(length))


def _positions(plan: CascadePlan, stream: Stream, length: int) -> Positions:
    """What positions must tell, for the heads of all levels."""
    look_ups = {level.look_up for level in plan.levels}
    back = int(LookUp.PREVIOUS_LETTER in look_ups) if plan.solvable else max(1, doublings(length))
    return Positions(
        stream,
        length + 1,
        distances=[2**layer for layer in range(back)],
        place=LookUp.LATEST_RESET in look_ups,
        share=any(level.stages for level in plan.levels) or LookUp.FIRST_RESET in look_ups,
        blocks=LookUp.LATEST_RESET_BEFORE in look_ups,
    )


def _grows(plan: CascadePlan, stream: Stream, positions: Positions, levels: Sequence[_Level]) -> dict[str, Message]:
    """What the sizes depend on."""
    encodings = [product.encoding for level in levels for product in level.products.values()]
    counters = sum(len(counter.moduli) for encoding in encodings for counter in encoding.counters)
    width = {
        "own": stream.width - positions.width,
        "rows": sum(len(level.cases) for level in plan.levels),
        "position": positions.width,
    }
    blocks = any(level.look_up == LookUp.LATEST_RESET_BEFORE for level in plan.levels)
    return {
        "width": Message("cascade.width_with_blocks", **width) if blocks else Message("cascade.width", **width),
        "mlp": Message("cascade.mlp_with_counters", counters=counters) if counters else Message("cascade.mlp"),
    }


def _why(plan: CascadePlan, length: int, layers: int) -> tuple[Message, Message]:
    """The theorem, and why there are so many layers."""
    theorem = Message("cascade.theorem")
    if not plan.levels:
        return theorem, because(letters=1, length=length, layers=1)
    if not plan.solvable:
        groups = {group.name for level in plan.levels for group in level.groups.values() if not group.solvable}
        why = Message("cascade.because_not_solvable", layers=layers, groups=sorted(groups))
        return Message("cascade.theorem_not_solvable"), why
    if plan.cascade.height > layers:
        return theorem, Message("cascade.because_and_deeper", layers=layers)
    return theorem, Message("cascade.because", layers=layers)


class _Level:
    """One level of the program: its registers, and the layers that find the tile and the case on the next level."""

    def __init__(self, stream: Stream, plan: LevelPlan, number: int, length: int) -> None:
        self.stream, self.plan = stream, plan
        self.case = stream.register(f"case {number}", len(plan.cases) + 1, Message("cascade.case", level=number))
        self.products = {
            i: PrefixProduct(stream, group, f"{number}.{i + 1}", length)
            for i, group in plan.groups.items()
            if group.order > 1
        }
        self.look_up = LOOK_UPS[plan.look_up](stream, plan, number, length)

    def on_entry(self) -> Entry:
        """What registers hold when the level is entered: the case, and all that it tells at once."""
        held: dict[Register, Float[np.ndarray, "case column"]] = {self.case: np.eye(len(self.plan.cases) + 1)}
        for i, product in self.products.items():
            held |= product.on_entry([*(self.plan.element(case, i) for case in self.plan.cases), 0])
        if not self.products:
            tiles = [*(reset and reset[1] for reset in self.plan.resets), self.plan.start_tile]
            marks = np.array([[float(tile is not None)] for tile in tiles])
            one_hot = np.eye(self.plan.tiles)
            held |= self.look_up.on_entry(marks, marks * one_hot[[tile or 0 for tile in tiles]])
        return held

    def write(self, program: Program, positions: Positions, below: Entry) -> None:
        """The level's layers; the last one enters the level below."""
        for stage in range(self.plan.stages):
            heads = [p.sum_head(positions, stage) for p in self.products.values() if stage < len(p.steps)]
            program.block(*heads, mlp=self.counting_mlp(stage, below))
        if not self.plan.solvable:
            for distance in positions.distances:
                last = distance == positions.distances[-1]
                heads = [p.look_back_head(positions, distance) for p in self.not_solvable.values()]
                program.block(*heads, mlp=self.last_doubling_mlp(below) if last else self.doubling_mlp())
        if self.plan.look_up != LookUp.NO_RESET:
            program.block(*self.look_up.heads(positions), mlp=self.look_up_mlp(below))

    @property
    def not_solvable(self) -> dict[int, PrefixProduct]:
        """The components whose groups are not solvable."""
        return {i: product for i, product in self.products.items() if product.encoding.perfect}

    def counting_mlp(self, stage: int, below: Entry) -> Units:
        """Sums to counts, and what they leave of each letter's element."""
        circuit = Circuit(self.stream)
        counts = self.read_counts(circuit)
        for i, product in self.products.items():
            if stage >= len(product.steps):
                continue
            counts[i][stage] = product.write_count(circuit, stage)
            if not product.is_complete_after(stage):
                *cases, at_start = circuit.read(self.case)
                element = circuit.read(product.elements[stage]) if stage else self.elements(cases, i)
                product.hand_down(circuit, stage, element, counts[i][stage], at_start)
        if stage + 1 == self.plan.stages and self.plan.solvable:
            self.after_products(circuit, counts, below)
        return circuit.units(Message("cascade.counts"))

    def elements(self, cases: OneHot, component: int) -> OneHot:
        """The element of a component's group that this letter multiplies by, as the case tells it."""
        bits: list[list[Signal]] = [[] for _ in range(self.plan.groups[component].order)]
        for case, bit in zip(self.plan.cases, cases, strict=True):
            bits[self.plan.element(case, component)].append(bit)
        return [total(some) for some in bits]

    def read_counts(self, circuit: Circuit) -> Counts:
        """What stands in the stream of each group's product."""
        return {i: product.read_counts(circuit) for i, product in self.products.items()}

    def doubling_mlp(self) -> Units:
        """All windows are twice as long."""
        return functools.reduce(operator.add, (product.double() for product in self.not_solvable.values()))

    def last_doubling_mlp(self, below: Entry) -> Units:
        """The windows are whole prefixes."""
        circuit = Circuit(self.stream)
        counts = self.read_counts(circuit)
        for i, product in self.not_solvable.items():
            counts[i][-1] = product.finish(circuit)
        self.after_products(circuit, counts, below)
        return circuit.units(Message("cascade.complete"))

    def after_products(self, circuit: Circuit, counts: Counts, below: Entry) -> None:
        """The products are known: so is what a reset writes; or if no reset matters, the tile."""
        if self.plan.look_up == LookUp.NO_RESET:
            self.go_down(circuit, counts, below)
            return
        *cases, at_start = circuit.read(self.case)
        to: dict[int, list[list[Signal]]] = {}
        for case, reset in zip(cases, self.plan.resets, strict=True):
            if reset:
                component, tile = reset
                targets = to.setdefault(component, [[] for _ in range(self.plan.level.components[component].points)])
                targets[tile].append(case)
        written = [[at_start] if tile == self.plan.start_tile else [] for tile in range(self.plan.tiles)]
        for i in sorted(to):
            tile_bits: OneHot = [total(bits) for bits in to[i]]
            if i in self.products:
                tile_bits = self.products[i].encoding.act(circuit, tile_bits, counts[i], inverse=True)
            for bits, bit in zip(written, tile_bits, strict=False):
                bits.append(bit)
        marks = [at_start, *(case for case, reset in zip(cases, self.plan.resets, strict=True) if reset)]
        self.look_up.write(circuit, total(marks), [total(bits) for bits in written])

    def look_up_mlp(self, below: Entry) -> Units:
        """The tile is known, and so is the case on the next level."""
        circuit = Circuit(self.stream)
        self.go_down(circuit, self.read_counts(circuit), below)
        return circuit.units(Message("cascade.table"))

    def go_down(self, circuit: Circuit, counts: Counts, below: Entry) -> None:
        """From what the look-up found, and the products, to the tile of P; from case and tile to the next case."""
        *cases, at_start = circuit.read(self.case)
        found, tiles = self.look_up.tile(circuit), dict[int, OneHot]()
        for i, group in self.plan.groups.items():
            tile = found[: group.degree]
            tiles[i] = self.products[i].encoding.act(circuit, tile, counts[i]) if i in self.products else tile
        following: list[list[Signal]] = [[] for _ in range(1 + max(max(case.successors) for case in self.plan.cases))]
        for bit, case in zip(cases, self.plan.cases, strict=True):
            for lead, there in self._leads(case, tiles):
                following[lead].append(circuit.all_of([bit, *there]))
        bits = [*(total(some) for some in following), at_start]
        for register, rows in below.items():
            circuit.combine(register, bits, rows)

    def _leads(self, case: Case, tiles: Mapping[int, OneHot]) -> list[tuple[int, list[Signal]]]:
        """The cases that a case leads to, each with the condition on the tile, if there is any."""
        if not case.depends_on_tile:
            return [(case.successors[0], [])]
        assert case.component is not None
        here = tiles[case.component]
        return [
            (lead, [total(here[tile] for tile, there in enumerate(case.successors) if there == lead)])
            for lead in set(case.successors)
        ]
