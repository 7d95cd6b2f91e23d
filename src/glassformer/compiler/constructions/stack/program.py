"""Brackets of bounded depth, in three attention layers, however deep and however long.

    layer 1    a flat sum of +1 for opening and −1 for closing: how many brackets are open
    layer 2    for each depth, one head finds the bracket opened there last; a closing one must be of the same kind
    layer 3    one head finds an error so far, if there was any

After an error nothing above need be right, because an error is for ever; before it everything is. Brackets of one kind
are told by how many are open, and need no layer 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from glassformer.compiler.circuit import Circuit, OneHot, Signal, total
from glassformer.compiler.constructions.stack.stack import Stack
from glassformer.compiler.program import Answers, Program
from glassformer.messages import Message
from glassformer.operations.attention import AnyMatch, FlatSum, LatestMatch
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Head, Register, Stream, Units, refuse_if_too_large

TRUE = Signal(constant=1.0)


def dyck_program(stack: Stack, length: int) -> Program:
    """The program for words of up to `length` letters. The last token is the start token."""
    return _Brackets(stack, length).program()


class _Brackets:
    """The parts of the program."""

    def __init__(self, stack: Stack, length: int) -> None:
        self.stack, self.length, self.states = stack, length, len(stack.open_in) + 1
        self.at_start = stack.open_in.get(stack.start, ())
        self.depths = range(1, stack.depth + 1)
        stream = self.stream = Stream()
        self.step = stream.register("step", 1, Message("stack.step"), low=-1.0)
        self.sum = stream.register("sum", 1, Message("stack.sum"), low=-float(length), high=float(length))
        self.depth = stream.register("depth", stack.depth + 1, Message("stack.depth"))
        self.kind, self.none = list[Register](), list[Register]()
        if stack.kinds > 1:
            self.opens = stream.register("opens", stack.kinds, Message("stack.opens"))
            self.closes = stream.register("closes", stack.kinds, Message("stack.closes"))
            self.opened = stream.register("opened", stack.depth, Message("stack.opened"))
            self.kind = [stream.register(f"kind {d}", stack.kinds, Message("stack.kind", depth=d)) for d in self.depths]
            self.none = [
                stream.register(f"none {d}", 1, Message("stack.none", depth=d))
                for d, _ in enumerate(self.at_start, start=1)
            ]
        self.wrong = stream.register("wrong", 1, Message("stack.wrong"))
        self.error = stream.register("error", 1, Message("stack.error"))
        self.state = stream.register("state", self.states, Message("stack.state"))
        each_head = 4 * (stack.kinds + 1)  # numbers for each column of the stream
        refuse_if_too_large((self.states + stack.depth * each_head) * stream.width)
        self.positions = Positions(stream, length + 1, place=stack.kinds > 1, share=True)

    def program(self) -> Program:
        """All layers."""
        stream, states, layers = self.stream, self.states, 2 if self.stack.kinds == 1 else 3
        program = Program(
            stream,
            tokens=stream.into(self.letters()),
            positions=self.positions.table(),
            read_out=stream.form({self.state: np.eye(states)}),
            answers=Answers(torch.arange(states), stream.into({self.state: np.eye(states)})),
            tokens_hold=Message("stack.tokens"),
            answer_is=Message("compiler.the_state"),
            grows={"width": Message("stack.width"), "mlp": Message("stack.mlp")},
            theorem=Message("stack.theorem"),
            because=Message("stack.because", layers=layers),
        )
        program.block(FlatSum().head(self.positions, self.step, self.sum), mlp=self.depth_of_sum())
        if self.stack.kinds > 1:
            program.block(*(self.last_opened(d) for d in self.depths), mlp=self.mistakes())
        program.block(AnyMatch().head(self.positions, self.wrong, self.error), mlp=self.state_bits())
        return program

    def letters(self) -> dict[Register, list[list[float]]]:
        """What each letter puts into the registers, and at last the start, which may be lost already."""
        brackets, kinds = [*self.stack.brackets, (0, 0)], range(self.stack.kinds)
        lost = float(self.stack.start == self.stack.error)
        held = {
            self.step: [[float(step)] for step, _ in brackets],
            self.wrong: [*[[0.0]] * len(self.stack.brackets), [lost]],
        }
        if self.stack.kinds > 1:
            for register, sign in ((self.opens, 1), (self.closes, -1)):
                held[register] = [[float(step == sign and kind == k) for k in kinds] for step, kind in brackets]
        return held

    def depth_of_sum(self) -> Units:
        """How many brackets are open; too few or too many is an error."""
        circuit, most = Circuit(self.stream), self.stack.depth
        (so_far,), offset = circuit.read(self.sum), float(self.length)
        number = circuit.relu(so_far + offset, 2 * offset)  # counted from the fewest that there can be
        empty = offset - len(self.at_start)
        under = [circuit.below(number, empty + d, 2 * offset + len(self.at_start)) for d in range(most + 2)]
        depth = [under[d + 1] - under[d] for d in range(most + 1)]
        circuit.write(self.depth, depth)
        if self.stack.kinds > 1:
            opens = total(circuit.read(self.opens))
            circuit.write(self.opened, [circuit.all_of([depth[d], opens]) for d in self.depths])
        circuit.write(self.wrong, [under[0] + TRUE - under[-1]])
        return circuit.units(Message("stack.depth_of_sum"))

    def last_opened(self, d: int) -> Head:
        """Find the bracket that was opened last at this depth, or else the start."""
        here = np.eye(self.stack.depth)[:, d - 1 : d]
        match = self.stream.form({self.opened: here, self.positions.first: [[1.0]]})
        moves = {self.kind[d - 1]: self.opens} | dict.fromkeys(self.none[d - 1 : d], self.positions.first)
        return LatestMatch(Message("stack.last_opened", depth=d)).head(self.positions, match, moves)

    def kinds(self, circuit: Circuit) -> Sequence[OneHot]:
        """The kind of the bracket at each depth: the last one opened there, or the one that was there at the start."""
        found = [circuit.read(kind) for kind in self.kind]
        for bits, none, kind in zip(found, self.none, self.at_start, strict=False):
            bits[kind] += circuit.read(none)[0]
        return found

    def mistakes(self) -> Units:
        """A closing bracket must be of the same kind as the one that it closes."""
        circuit = Circuit(self.stream)
        depth, closes, kinds = circuit.read(self.depth), circuit.read(self.closes), self.kinds(circuit)
        of_another_kind = [
            circuit.all_of([depth[d], closing, TRUE - opened])
            for d in range(self.stack.depth)
            for closing, opened in zip(closes, kinds[d], strict=True)
        ]
        circuit.write(self.wrong, [total(of_another_kind)])
        return circuit.units(Message("stack.mistakes"))

    def state_bits(self) -> Units:
        """The state: the error, or the brackets up to the depth."""
        circuit = Circuit(self.stream)
        depth, kinds, (error,) = circuit.read(self.depth), self.kinds(circuit), circuit.read(self.error)
        right = circuit.below(error, 1, 1)
        bits = [TRUE - right] * self.states
        for q, stack in self.stack.open_in.items():
            open_ = (there[kind] for there, kind in zip(kinds, stack, strict=False))
            bits[q] = circuit.all_of([right, depth[len(stack)], *open_])
        circuit.write(self.state, bits)
        return circuit.units(Message("stack.state_bits"))
