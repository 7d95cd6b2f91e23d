"""Circuits of bits and whole numbers, as the hidden layers of one MLP.

A `Signal` is an affine combination of ReLU units, or of columns of the stream. `relu` makes a unit of a signal, one
layer above the units that it reads; what is needed higher up is carried there. So a circuit is written as formulas, and
its layers come by themselves. All bits are exactly 0 or 1: `below` makes exact bits of a number that is off by less
than ¼, and from exact bits the gates make exact bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
import torch

from glassformer.messages import Message
from glassformer.operations.stream import Form, Register, Stream, Units, refuse_if_too_large

STREAM = -1  # the layer of what is read from the stream


@dataclass(frozen=True)
class Wire:
    """A unit of a hidden layer, or a column of the stream, and the largest value it takes."""

    layer: int
    index: int
    largest: float


class Signal:
    """Σ weight·wire + constant."""

    __slots__ = ("constant", "terms")

    def __init__(self, terms: Mapping[Wire, float] | None = None, constant: float = 0.0) -> None:
        self.terms: dict[Wire, float] = dict(terms or {})
        self.constant = constant

    def __add__(self, other: Signal | float) -> Signal:
        if not isinstance(other, Signal):
            return Signal(self.terms, self.constant + other)
        total = Signal(self.terms, self.constant + other.constant)
        for wire, weight in other.terms.items():
            total.terms[wire] = total.terms.get(wire, 0.0) + weight
        return total

    def __mul__(self, factor: float) -> Signal:
        return Signal({wire: factor * weight for wire, weight in self.terms.items()}, factor * self.constant)

    def __sub__(self, other: Signal | float) -> Signal:
        return self + (other * -1.0)

    @property
    def layer(self) -> int:
        """The highest layer that it reads."""
        return max((wire.layer for wire in self.terms), default=STREAM)


Key = TypeVar("Key", bound=tuple[int, ...])
OneHot: TypeAlias = Sequence[Signal]
"""Bits of which exactly one is 1, or none."""


def total(signals: Iterable[Signal]) -> Signal:
    """Their sum."""
    result = Signal()
    for signal in signals:
        result = result + signal
    return result


class Circuit:
    """The hidden layers of one MLP, while they are written."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.layers: list[list[tuple[Signal, float]]] = []
        self.carried: dict[tuple[Wire, int], Wire] = {}
        self.outputs: list[tuple[int, Signal]] = []
        self.gates: dict[tuple[int, ...], tuple[tuple[Signal, ...], Signal]] = {}

    def read(self, register: Register) -> list[Signal]:
        """The columns of a register."""
        largest = max(abs(register.low), abs(register.high))
        return [Signal({Wire(STREAM, register.start + i, largest): 1.0}) for i in range(register.size)]

    def relu(self, signal: Signal, largest: float) -> Signal:
        """max(signal, 0), which is known never to pass the largest."""
        layer = signal.layer + 1
        lifted = self.lift(signal, layer - 1)
        while len(self.layers) <= layer:
            self.layers.append([])
        self.layers[layer].append((lifted, largest))
        return Signal({Wire(layer, len(self.layers[layer]) - 1, largest): 1.0})

    def lift(self, signal: Signal, layer: int) -> Signal:
        """The same signal, read from units of this layer. Only what is never negative can be carried."""
        lifted = Signal(constant=signal.constant)
        for wire, weight in signal.terms.items():
            lifted = lifted + Signal({self._carry(wire, layer): weight})
        return lifted

    def _carry(self, wire: Wire, layer: int) -> Wire:
        if wire.layer == layer:
            return wire
        if (wire, layer) not in self.carried:
            below = self._carry(wire, layer - 1)
            (carried,) = self.relu(Signal({below: 1.0}), wire.largest).terms
            self.carried[wire, layer] = carried
        return self.carried[wire, layer]

    # -- gates -----------------------------------------------------------------------------------------

    def all_of(self, bits: Sequence[Signal]) -> Signal:
        """1 if all bits are 1, else 0."""
        if len(bits) == 1:
            return bits[0]
        return self.relu(total(bits) + (1.0 - len(bits)), 1.0)

    def below(self, number: Signal, threshold: float, largest: float) -> Signal:
        """1 if a whole number is below the threshold, else 0; exactly, even if the number is off by less than ¼."""
        excess = self.relu(number + (0.5 - threshold), largest + 1.0)  # 0 below, at least ¼ from the threshold on
        return self.relu(excess * -8.0 + 1.0, 1.0)

    def digits(self, number: Signal, count: int, largest: float, unit: int = 1) -> list[Signal]:
        """How many whole units a number has, from 0 to count − 1, as a one-hot; what lies beyond is the nearest."""
        under = [self.below(number, unit * i, largest) for i in range(1, count)]
        edges = [Signal(), *under, Signal(constant=1.0)]
        return [high - low for low, high in itertools.pairwise(edges)]

    def bits(self, number: Signal, count: int, largest: float, stages: int = 3) -> list[Signal]:
        """A whole number as so many bits, the lowest first; what lies beyond has the highest ones set.

        Each stage compares the number with all values of some bits, the highest first, and takes them off. In three
        stages that is some 2^(count/3) units each time, and no more hidden layers for any count. Fewer than 3 bits are
        not worth a stage.
        """
        found: list[Signal] = []
        size = max(3, -(-count // stages))
        for low in reversed(range(0, count, size)):
            digits = self.digits(number, 2 ** min(size, count - low), largest, 2**low)
            number = number - total(digit * float(i << low) for i, digit in enumerate(digits))
            at = range(min(size, count - low))
            found = [total(digit for i, digit in enumerate(digits) if i >> bit & 1) for bit in at] + found
        return found

    def remainder(self, number: Signal, largest: int, modulus: int, stages: int = 2) -> list[Signal]:
        """number mod modulus as a one-hot, for whole numbers from 0 to the largest.

        In one stage, all multiples of the modulus are compared with the number: largest/modulus units. In two, first
        the multiples of a larger modulus are taken off: some √(largest/modulus) units each time.
        """
        if stages == 2 and largest > 8 * modulus:
            coarse = modulus * math.isqrt(largest // modulus)
            number, largest = self._less_multiples(number, largest, coarse), coarse - 1
        return self.digits(self._less_multiples(number, largest, modulus), modulus, modulus)

    def _less_multiples(self, number: Signal, largest: int, modulus: int) -> Signal:
        """A whole number, less the multiples of the modulus in it."""
        multiples = range(modulus, largest + 1, modulus)
        under = total(self.below(number, multiple, largest) for multiple in multiples)
        return number + under * float(modulus) - float(modulus * len(multiples))

    def refuse_if_too_large(self, gates: int) -> None:
        """Say no before so many gates are made, if they would not fit into a model."""
        refuse_if_too_large(gates * self.stream.width)

    def look_up(self, rows: Mapping[Key, int], inputs: Sequence[OneHot], size: int) -> list[Signal]:
        """The one-hot that a table gives for one-hot inputs; combinations that are not in the table give no bit."""
        given: list[list[Signal]] = [[] for _ in range(size)]
        for key, value in rows.items():
            bits = tuple(one_hot[i] for one_hot, i in zip(inputs, key, strict=True))
            name = tuple(id(bit) for bit in bits)
            if name not in self.gates:
                self.gates[name] = (bits, self.all_of(bits))  # the bits are kept, so that no other gets their id
            given[value].append(self.gates[name][1])
        return [total(bits) for bits in given]

    # -- the result ------------------------------------------------------------------------------------

    def write(self, register: Register, signals: Sequence[Signal]) -> None:
        """Add the signals to a register."""
        for i, signal in enumerate(signals):
            if signal.terms or signal.constant:
                self.outputs.append((register.start + i, signal))

    def combine(self, register: Register, bits: OneHot, matrix: np.ndarray) -> None:
        """Add bits·matrix to a register."""
        columns = [total(bit * float(w) for bit, w in zip(bits, column, strict=True) if w) for column in matrix.T]
        self.write(register, columns)

    def units(self, *does: Message) -> Units:
        """All layers as weights."""
        top = max([0, *(signal.layer for _, signal in self.outputs)])
        outputs = [(column, self.lift(signal, top)) for column, signal in self.outputs]
        layers = self.layers[: top + 1]
        widths = [self.stream.width, *map(len, layers), self.stream.width]
        self.stream.reserve(sum(a * b for a, b in itertools.pairwise(widths)))
        forms = [_dense([signal for signal, _ in layer], width) for layer, width in zip(layers, widths, strict=False)]
        write, constant = torch.zeros(widths[-2], widths[-1]).double(), torch.zeros(widths[-1]).double()
        for column, signal in outputs:
            constant[column] += signal.constant
            for wire, weight in signal.terms.items():
                write[wire.index, column] += weight
        largest = tuple(torch.tensor([size for _, size in layer], dtype=torch.float64) for layer in layers)
        return Units(does, forms[0], write, constant, tuple(forms[1:]), largest)


def _dense(signals: list[Signal], width: int) -> Form:
    weight, constant = torch.zeros(width, len(signals)).double(), torch.zeros(len(signals)).double()
    for i, signal in enumerate(signals):
        constant[i] = signal.constant
        for wire, value in signal.terms.items():
            weight[wire.index, i] += value
    return Form(weight, constant)
