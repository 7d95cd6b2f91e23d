"""Brackets of any depth, in three attention layers, however deep and however long.

    layer 1    a flat sum of +1 for opening and −1 for closing: how many are open, and so the level of this bracket
    layer 2    one head finds the bracket that was opened last at that level; one that closes must be of the same kind
    layer 3    one head finds an error so far, if there was any

The level of a bracket is the depth inside it: after one that opens, before one that closes. While nothing is wrong, the
last bracket that was opened at the level of one that closes is its partner: since then the depth was never less, and to
open another one at this level it must have been. Where there is no partner, the start token stands for one of no kind.
After an error nothing above need be right, because an error is for ever.

A level is a number in binary, as columns of ±1: the product of two that are equal is 2 more than if a bit differs, and
its width grows with log T. Of brackets of one kind it is enough whether the sum is below, at or above 0; that takes
neither layer 2 nor positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np
import torch
from jaxtyping import Float

from glassformer.compiler.circuit import Circuit, OneHot, Signal, total
from glassformer.compiler.constructions.dyck.nesting import Nesting, Stack
from glassformer.compiler.program import Answers, Program
from glassformer.messages import Message
from glassformer.operations.attention import AnyMatch, FlatSum, LatestMatch
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Form, Head, Register, Stream, Units, refuse_if_too_large

TRUE = Signal(constant=1.0)
LEAST: Final = 4
"""Letters that need all of the model: the last one of ()[] asks which of two was opened last."""


def brackets_program(plan: Nesting, length: int) -> Program:
    """The program for words of up to `length` letters, or more. The last token is the start token."""
    if isinstance(plan, Stack):
        return _BoundedDepth(plan, length).program()
    return _UnboundedDepth(plan, max(length, LEAST)).program()


class _UnboundedDepth:
    """The parts of the program that tells whether all are closed, some are open, or something was wrong."""

    about: ClassVar = Message("dyck.answer")

    def __init__(self, plan: Nesting, length: int, answers: int = 3, deepest: int | None = None) -> None:
        """`answers`: how many outputs; `deepest`: levels from here on are alike, None if all are distinguished."""
        self.plan, self.deepest = plan, deepest or length
        self.most = float(length + len(plan.begun) + 1)  # no depth or level is larger
        self.counts = plan.pairs > 1 or deepest is not None  # else it is enough whether any are open
        stream = self.stream = Stream()
        self.step = stream.register("step", 1, Message("dyck.step"), low=-1.0)
        self.sum = stream.register("sum", 1, Message("dyck.sum"), low=-float(length), high=float(length))
        if plan.pairs > 1:
            self.opens = stream.register("opens", plan.pairs, Message("dyck.opens"))
            self.closes = stream.register("closes", plan.pairs, Message("dyck.closes"))
            self.level = stream.register("level", self.deepest.bit_length(), Message("dyck.level"), low=-1.0)
            self.add_registers()
        self.wrong = stream.register("wrong", 1, Message("dyck.wrong"))
        self.error = stream.register("error", 1, Message("dyck.error"))
        self.answer = stream.register("answer", answers, self.about)
        self.positions = Positions(stream, length + 1, place=plan.pairs > 1, share=self.counts)

    def add_registers(self) -> None:
        """For what layer 2 finds."""
        self.partner = self.stream.register("partner", self.plan.pairs, Message("dyck.partner"))

    @property
    def grows(self) -> dict[str, Message]:
        """Of one kind, whether the sum is below, at or above 0 is all that counts."""
        if self.plan.pairs == 1:
            return {"width": Message("dyck.width_of_one_kind"), "mlp": Message("dyck.mlp_of_one_kind")}
        return {"width": Message("dyck.width"), "mlp": Message("dyck.mlp")}

    def program(self) -> Program:
        """Registers, and the layers one after another."""
        stream, answers = self.stream, np.eye(self.answer.size)
        program = Program(
            stream,
            tokens=stream.into(self.letters()),
            positions=self.positions.table(),
            read_out=stream.form({self.answer: answers}),
            answers=Answers(torch.arange(len(answers)), stream.into({self.answer: answers})),
            tokens_hold=Message("dyck.tokens"),
            answer_is=self.about,
            grows=self.grows,
            theorem=Message("dyck.theorem"),
            because=Message("dyck.because", layers=2 if self.plan.pairs == 1 else 3),
        )
        sum_up = FlatSum().head if self.counts else FlatSum().sign_head
        program.block(sum_up(self.positions, self.step, self.sum), mlp=self.levels())
        if self.plan.pairs > 1:
            program.block(*self.look_for_partners(), mlp=self.mistakes())
        program.block(AnyMatch().head(self.positions, self.wrong, self.error), mlp=self.answer_bits())
        return program

    def letters(self) -> dict[Register, list[list[float]]]:
        """What each letter puts into the registers, and at last the start, which may be lost already."""
        brackets, kinds = [*self.plan.brackets, (0, 0)], range(self.plan.pairs)
        held = {
            self.step: [[float(step)] for step, _ in brackets],
            self.wrong: [*[[0.0]] * len(self.plan.brackets), [float(self.plan.lost)]],
        }
        if self.plan.pairs > 1:
            for register, sign in ((self.opens, 1), (self.closes, -1)):
                held[register] = [[float(step == sign and kind == k) for k in kinds] for step, kind in brackets]
        return held

    def levels(self) -> Units:
        """The level of the bracket, in bits; and whether too few or too many are open, if layer 2 does not see that."""
        circuit = Circuit(self.stream)
        depth = self.depth(circuit)
        does = []
        if self.plan.pairs > 1:
            level = circuit.relu(depth + total(circuit.read(self.closes)), self.most)
            bits = circuit.bits(level, self.level.size, self.most)
            circuit.write(self.level, [bit * 2.0 - 1.0 for bit in bits])
            does.append(Message("dyck.levels"))
        if (wrong := self.out_of_bounds(circuit, depth)) is not None:
            circuit.write(self.wrong, [wrong])
            does.append(Message("dyck.out_of_bounds"))
        return circuit.units(*does)

    def depth(self, circuit: Circuit) -> Signal:
        """How many are open."""
        (so_far,) = circuit.read(self.sum)
        return so_far + float(len(self.plan.begun))

    def out_of_bounds(self, circuit: Circuit, depth: Signal) -> Signal | None:
        """Were more closed than opened? With several kinds, layer 2 sees that there was no partner."""
        return circuit.below(depth, 0, self.most) if self.plan.pairs == 1 else None

    def look_for_partners(self) -> list[Head]:
        """Find the bracket that was opened last at this level, or else the start."""
        level = self.stream.form({self.level: np.eye(self.level.size)})
        return [self.last_opened(level, Message("dyck.last_here"), {self.partner: self.opens})]

    def last_opened(self, level: Form, condition: Message, moves: dict[Register, Register]) -> Head:
        """Find the bracket that was opened last at a level, or else the start.

        A key is a level, and 2 if the bracket opens: so those that do not open are at least 2 below the right one, too.
        The start's own level is taken off again.
        """
        stream, bits, one = self.stream, self.level.size, np.ones((self.plan.pairs, 1))
        at_start = -plus_minus(len(self.plan.begun), bits)[None]
        key = stream.form({self.level: np.eye(bits), self.positions.first: at_start})
        query = level.beside(stream.form({self.opens: 0 * one}, 1.0))
        return LatestMatch(condition).head_where_equal(
            self.positions, query, key.beside(stream.form({self.opens: 2 * one})), bits + 1.0, bits + 2.0, moves
        )

    def mistakes(self) -> Units:
        """A closing bracket must be of the same kind as its partner."""
        circuit = Circuit(self.stream)
        of_another_kind = [
            circuit.all_of([*here, closing, TRUE - kind])
            for here, partner in self.partners(circuit)
            for closing, kind in zip(circuit.read(self.closes), partner, strict=True)
        ]
        circuit.write(self.wrong, [total(of_another_kind)])
        return circuit.units(Message("dyck.mistakes"))

    def partners(self, circuit: Circuit) -> Sequence[tuple[list[Signal], OneHot]]:
        """Where which bracket is the partner: bits that must be 1, and its kind."""
        return [([], circuit.read(self.partner))]

    def answer_bits(self) -> Units:
        """Empty, open, or error."""
        circuit = Circuit(self.stream)
        (error,) = circuit.read(self.error)
        right = circuit.below(error, 1, 1)
        empty = circuit.all_of([right, circuit.below(self.depth(circuit), 1, self.most)])
        circuit.write(self.answer, [empty, right - empty, TRUE - right])
        return circuit.units(Message("dyck.answer_bits"))


class _BoundedDepth(_UnboundedDepth):
    """The same where so many may be open at most, and the answer is all that are: with one head for each level."""

    plan: Stack
    about: ClassVar = Message("compiler.the_state")

    def __init__(self, plan: Stack, length: int) -> None:
        super().__init__(plan, length, answers=len(plan.open_in) + 1, deepest=plan.depth + 1)

    @property
    def grows(self) -> dict[str, Message]:
        """Only with the states."""
        return {"width": Message("dyck.width_of_stack"), "mlp": Message("dyck.mlp_of_stack")}

    def add_registers(self) -> None:
        """For the bracket at each level, and whether it is the one that was open at the start, if there was one."""
        stream, pairs, levels = self.stream, self.plan.pairs, range(1, self.plan.depth + 1)
        each_head = 4 * (pairs + self.level.size + 2)  # numbers for each column of the stream
        refuse_if_too_large((len(self.plan.open_in) + len(levels) * each_head) * stream.width)
        self.kinds = {d: stream.register(f"kind {d}", pairs, Message("dyck.kind", depth=d)) for d in levels}
        self.none = {
            d: stream.register(f"none {d}", 1, Message("dyck.none", depth=d)) for d in levels[: len(self.plan.begun)]
        }

    def out_of_bounds(self, circuit: Circuit, depth: Signal) -> Signal:
        """Are too few or too many open?"""
        return circuit.below(depth, 0, self.most) + TRUE - circuit.below(depth, self.deepest, self.most)

    def look_for_partners(self) -> list[Head]:
        """Find the bracket that was opened last at each level, or else the start."""
        nothing = np.zeros((self.level.size, self.level.size))
        return [
            self.last_opened(
                self.stream.form({self.level: nothing}, plus_minus(d, self.level.size)),
                Message("dyck.last_opened", depth=d),
                {kind: self.opens} | ({self.none[d]: self.positions.first} if d in self.none else {}),
            )
            for d, kind in self.kinds.items()
        ]

    def stack(self, circuit: Circuit) -> Sequence[OneHot]:
        """The kind of the bracket at each level: the last one opened there, or the one that was there at the start."""
        found = [circuit.read(kind) for kind in self.kinds.values()]
        for bits, none, kind in zip(found, self.none.values(), self.plan.begun, strict=False):
            bits[kind] += circuit.read(none)[0]
        return found

    def partners(self, circuit: Circuit) -> Sequence[tuple[list[Signal], OneHot]]:
        """At each level the bracket there."""
        level = circuit.read(self.level)
        wanted = [plus_minus(d, len(level)).tolist() for d in self.kinds]
        equal = [total(bit * sign for bit, sign in zip(level, signs, strict=True)) for signs in wanted]
        here = [[circuit.relu(product + (1.0 - len(level)), 1.0)] for product in equal]
        return list(zip(here, self.stack(circuit), strict=True))

    def answer_bits(self) -> Units:
        """The state: the error, or the brackets up to the depth."""
        circuit = Circuit(self.stream)
        (error,) = circuit.read(self.error)
        right, stack = circuit.below(error, 1, 1), self.stack(circuit) if self.plan.pairs > 1 else []
        depth = circuit.digits(self.depth(circuit), self.deepest, self.most)
        bits = [TRUE - right] * self.answer.size
        for q, kinds in self.plan.open_in.items():
            open_ = (there[kind] for there, kind in zip(stack, kinds, strict=False))
            bits[q] = circuit.all_of([right, depth[len(kinds)], *open_])
        circuit.write(self.answer, bits)
        return circuit.units(Message("dyck.answer_bits"))


def plus_minus(number: int, bits: int) -> Float[np.ndarray, " bit"]:
    """A number in binary, the lowest bit first, as ±1."""
    return 2.0 * (number >> np.arange(bits) & 1) - 1.0
