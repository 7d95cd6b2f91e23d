"""Theorem 3: a walk on a row of cells, in two attention layers.

The walker steps left or right, and stops at the walls. Let S be the sum of all steps, +1 and −1, as if there were no
walls. The walls are where S was turned back, so they are n − 1 apart: one of the n windows of that width around S is
the corridor that the walker is in, and it is the one both of whose ends were reached most recently.

    layer 1    a flat sum gives S; modulo m = 2n − 1 it tells all values in reach of the windows apart
    layer 2    for each of the m − 1 other values in reach, one head finds when S had it last

The earlier of the times at a window's two ends is when it was last complete; the window with the latest such time wins.
A value out of reach with the same remainder lies beyond S ± (n − 1). The walker has passed that end since, so the
window from S to that end was complete later, and the value's time never wins.
Before the word, the walker is taken to have come from the right end to the left one and from there to its start.
The model is for words of 2n letters at least, which can cross the corridor and come back: shorter ones need not use all
of it. A walker that never turns is at the wall or where the sum says: then layer 1 is all it takes.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from glassformer.compiler.circuit import Circuit, Signal, total
from glassformer.compiler.constructions.gridworld.walk import Walk
from glassformer.compiler.program import Answers, Program
from glassformer.messages import Message
from glassformer.operations.attention import FlatSum, LatestMatch
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Head, Stream, Units, refuse_if_too_large


def gridworld_program(walk: Walk, length: int) -> Program:
    """The program of Theorem 3 for words of up to `length` letters, or more. The last token is the start token."""
    return (_OneWay if walk.one_way else _BothWays)(walk, length).program()


class _Walking:
    """What all walks begin and end with: the sum of the steps, and the cell."""

    def __init__(self, walk: Walk, length: int) -> None:
        self.length, self.walk, self.n, self.start = length, walk, len(walk.cells), walk.start
        stream = self.stream = Stream()
        self.step = stream.register("step", 1, Message("gridworld.step"), low=-1.0)
        self.sum = stream.register("sum", 1, Message("gridworld.sum"), low=-float(length), high=float(length))
        self.cell = stream.register("cell", self.n, Message("gridworld.cell"))
        refuse_if_too_large(self.n * stream.width)

    def without_layers(self, positions: Positions, kind: str) -> Program:
        """The program before its first layer; its messages are those of the kind of walk."""
        stream, cells = self.stream, self.walk.cells
        logits = np.zeros((self.n, self.n))
        logits[np.arange(self.n), cells] = 1.0
        return Program(
            stream,
            tokens=stream.into({self.step: [[float(step)] for step in (*self.walk.steps, 0)]}),
            positions=positions.table(),
            read_out=stream.form({self.cell: logits}),
            answers=Answers(torch.tensor(cells), stream.into({self.cell: np.eye(self.n)})),
            tokens_hold=Message("gridworld.tokens"),
            answer_is=Message("gridworld.answer"),
            grows={"width": Message(f"gridworld.{kind}_width"), "mlp": Message(f"gridworld.{kind}_mlp")},
            theorem=Message(f"gridworld.{kind}_theorem"),
            because=Message(f"gridworld.{kind}_because"),
        )


class _OneWay(_Walking):
    """A walker that never turns, in one layer."""

    def program(self) -> Program:
        """The only layer."""
        positions = Positions(self.stream, self.length + 1, share=True)
        program = self.without_layers(positions, "one_way")
        program.block(FlatSum().head(positions, self.step, self.sum), mlp=self.cell_of_sum())
        return program

    def cell_of_sum(self) -> Units:
        """The sum from the start on, but no cell beyond the wall."""
        circuit = Circuit(self.stream)
        (so_far,) = circuit.read(self.sum)
        circuit.write(self.cell, circuit.digits(so_far + float(self.start), self.n, self.length + self.n))
        return circuit.units(Message("gridworld.cell_of_sum"))


class _BothWays(_Walking):
    """A walker that turns, in two layers."""

    def __init__(self, walk: Walk, length: int) -> None:
        super().__init__(walk, max(length, 2 * len(walk.cells)))
        length = self.length
        self.modulus = 2 * self.n - 1
        stream = self.stream
        self.residue = stream.register("residue", self.modulus, Message("gridworld.residue", modulus=self.modulus))
        away = [c for c in range(1 - self.n, self.n) if c]
        self.times = {
            c: stream.register(f"time {c:+}", 1, Message("gridworld.time", offset=c), high=float(length)) for c in away
        }
        self.never = {c: stream.register(f"never {c:+}", 1, Message("gridworld.never", offset=c)) for c in away}
        refuse_if_too_large(2 * self.n**2 * stream.width)  # two units for each pair of windows
        self.positions = Positions(stream, length + 1, place=True, share=True)

    def program(self) -> Program:
        """Both layers."""
        program = self.without_layers(self.positions, "both_ways")
        program.block(FlatSum().head(self.positions, self.step, self.sum), mlp=self.residues())
        decision = self.cells_of_times()  # first, because it is what may be too large
        program.block(*(self.last_time(c) for c in self.times), mlp=decision)
        return program

    def residues(self) -> Units:
        """The sum modulo m, as a one-hot."""
        circuit, m = Circuit(self.stream), self.modulus
        (so_far,), (first,) = circuit.read(self.sum), circuit.read(self.positions.first)
        offset = m * math.ceil((self.length + 1) / m)  # a multiple of m that makes it positive
        number = circuit.relu(so_far + float(offset), 2.0 * offset)
        bits = circuit.remainder(number, 2 * offset, m)
        circuit.write(self.residue, [circuit.all_of([bit, Signal(constant=1.0) - first]) for bit in bits])
        return circuit.units(Message("gridworld.modulo", modulus=m))

    def last_time(self, c: int) -> Head:
        """Find the last position whose residue is c more than here, or else the start."""
        residues = np.eye(self.modulus)
        query = self.stream.form({self.residue: 2 * np.roll(residues, c, axis=1)})  # residue r asks for r + c
        key = self.stream.form({self.residue: residues})
        moves = {self.times[c]: self.positions.place, self.never[c]: self.positions.first}
        last = LatestMatch(Message("gridworld.last_time", offset=c))
        return last.head_where_equal(self.positions, query, key, start=1.0, most=2.0, moves=moves)

    def cells_of_times(self) -> Units:
        """The window whose ends were both reached most recently."""
        circuit, n = Circuit(self.stream), self.n
        late = 12 * n  # times are counted from before all that is taken to have happened before the word
        here = circuit.read(self.residue)
        (now,) = circuit.read(self.positions.place)
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
        return circuit.units(Message("gridworld.decision"))

    def before(self, residue: int) -> int:
        """When, before the word, the sum last had a residue: 0 or less."""
        for value in range(-self.start, self.n - self.start):
            if value % self.modulus == residue:
                return value if value <= 0 else -2 * self.start - value
        return -10 * self.n  # never
