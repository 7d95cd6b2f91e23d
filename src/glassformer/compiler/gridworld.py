"""Theorem 3: a walk on a row of cells, in two attention layers.

The walker steps left or right, and stops at the walls. Let S be the sum of all steps, +1 and −1, as if there were no
walls. The walls are where S was turned back, so they are n − 1 apart: one of the n windows of that width around S is
the corridor that the walker is in, and it is the one both of whose ends were reached most recently.

    layer 1    a flat sum gives S; modulo m = 2n − 1 it tells all values in reach of the windows apart
    layer 2    for each of the m − 1 other values in reach, one head finds when S had it last

The earlier of the times at a window's two ends is when it was last complete; the window with the latest such time wins.
Before the word, the walker is taken to have come from the right end to the left one and from there to its start.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from glassformer.algebra.walk import walk_of
from glassformer.automata import Machine
from glassformer.compiler.circuit import Circuit, Signal, total
from glassformer.compiler.instructions import RECENCY, Clock
from glassformer.compiler.stream import Answers, Head, Program, Stream, Units, refuse_if_too_large
from glassformer.errors import InputError


def gridworld_program(machine: Machine, length: int) -> Program:
    """The program of Theorem 3 for words of up to `length` letters. The last token is the start token."""
    walk = walk_of(machine)
    if walk is None:
        raise InputError("this machine is no walk on a row of cells between two walls: use method auto")
    return _Walk(machine, length, *walk).program()


class _Walk:
    """The parts of the program."""

    def __init__(self, machine: Machine, length: int, cells: list[int], steps: list[int]) -> None:
        self.machine, self.length, self.cells, self.steps = machine, length, cells, steps
        self.n = len(cells)
        self.modulus = 2 * self.n - 1
        self.reach = range(-(self.n - 1), self.n)
        stream = self.stream = Stream()
        self.step = stream.register("step", 1, "−1, 0 or 1", low=-1.0)
        self.sum = stream.register("sum", 1, "all steps so far", low=-float(length), high=float(length))
        self.residue = stream.register("residue", self.modulus, f"that sum modulo {self.modulus}; nothing at the start")
        away = [c for c in self.reach if c]
        about = "when the sum last differed by {} from now"
        self.times = {c: stream.register(f"time {c:+}", 1, about.format(c), high=float(length)) for c in away}
        about = "did the sum never differ by {} from now?"
        self.never = {c: stream.register(f"never {c:+}", 1, about.format(c)) for c in away}
        self.cell = stream.register("cell", self.n, "where the walker is")
        refuse_if_too_large(2 * self.n**2 * stream.width)  # two units for each pair of windows
        self.clock = Clock(stream, length + 1, place=True, share=True)

    def program(self) -> Program:
        """Both layers."""
        stream, n = self.stream, self.n
        logits = np.zeros((n, n))
        logits[np.arange(n), self.cells] = 1.0
        program = Program(
            stream,
            tokens=stream.into({self.step: [[float(step)] for step in (*self.steps, 0)]}),
            positions=self.clock.table(),
            read_out=stream.form({self.cell: logits}),
            answers=Answers(torch.tensor(self.cells), stream.into({self.cell: np.eye(n)})),
            tokens_hold="the step of each letter; the start's is 0",
            answer_is="the cell",
            grows={"width": "7n for n cells, for any T", "mlp": "some 4√T to count, and n² to compare"},
            theorem="Theorem 3: a walk between two walls, in two attention layers",
            because="a walk between two walls: 2 layers for words of any length and any number of cells",
        )
        program.block(self.clock.flat_sum(self.step, self.sum), mlp=self.residues())
        decision = self.cells_of_times()  # first, because it is what may be too large
        program.block(*(self.last_time(c) for c in self.times), mlp=decision)
        return program

    def residues(self) -> Units:
        """The sum modulo m, as a one-hot."""
        circuit, m = Circuit(self.stream), self.modulus
        (so_far,), (first,) = circuit.read(self.sum), circuit.read(self.clock.first)
        offset = m * math.ceil((self.length + 1) / m)  # a multiple of m that makes it positive
        number = circuit.relu(so_far + float(offset), 2.0 * offset)
        bits = circuit.remainder(number, 2 * offset, m)
        circuit.write(self.residue, [circuit.all_of([bit, Signal(constant=1.0) - first]) for bit in bits])
        return circuit.units(f"the sum modulo {m}")

    def last_time(self, c: int) -> Head:
        """Find the last position whose residue is c more than here, or else the start."""
        stream, context = self.stream, float(self.length + 1)
        shifted = np.roll(np.eye(self.modulus), c, axis=1)  # residue r asks for r + c
        columns = self.modulus
        query = stream.form(
            {self.residue: np.hstack([2 * context * shifted, np.zeros((columns, 1))])},
            torch.tensor([*[0.0] * columns, 1.0]),
        )
        key = stream.form(
            {
                self.residue: RECENCY * np.eye(columns, columns + 1),
                self.clock.place: RECENCY * np.eye(columns + 1)[-1:],
                self.clock.first: RECENCY * 1.5 * context * np.eye(columns + 1)[-1:],
            }
        )
        moves = {self.times[c]: self.clock.place, self.never[c]: self.clock.first}
        return self.clock.head_of(
            f"conditional reset: the last time at {c:+}", query, key, moves, RECENCY, RECENCY * 5 * context, 0
        )

    def cells_of_times(self) -> Units:
        """The window whose ends were both reached most recently."""
        circuit, n = Circuit(self.stream), self.n
        late = 12 * n  # times are counted from before all that is taken to have happened before the word
        here = circuit.read(self.residue)
        (now,) = circuit.read(self.clock.place)
        times = {0: circuit.relu(now + float(late), float(self.length + late))}
        for c in self.times:
            (time,), (never,) = circuit.read(self.times[c]), circuit.read(self.never[c])
            before = [
                circuit.all_of([never, bit]) * float(self.before((residue + c) % self.modulus))
                for residue, bit in enumerate(here)
            ]
            times[c] = circuit.relu(time + total(before) + float(late), float(self.length + late))
        most = float(self.length + late)
        complete = [circuit.relu(times[a] - circuit.relu(times[a] - times[a - (n - 1)], most), most) for a in range(n)]
        is_last = [
            circuit.all_of([circuit.below(complete[b] - complete[a], 0, most) for b in range(n) if b != a])
            for a in range(n)
        ]
        circuit.write(self.cell, is_last[::-1])  # the further the window reaches to the right, the further left we are
        return circuit.units("the window that was complete last")

    def before(self, residue: int) -> int:
        """When, before the word, the sum last had a residue: 0 or less."""
        start = self.cells.index(self.machine.start)
        for value in range(-start, self.n - start):
            if value % self.modulus == residue:
                return value if value <= 0 else -2 * start - value
        return -10 * self.n  # never
