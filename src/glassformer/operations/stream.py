"""The residual stream as named registers, and what reads and writes them: attention heads and units of MLPs.

Each carries the gaps and sizes from which a certificate computes whether the arithmetic is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.errors import InputError
from glassformer.messages import Message, verbatim

if TYPE_CHECKING:
    from glassformer.operations.attention import Operation

NOTHING: Final = verbatim("")
"""Where there is nothing to tell a person."""
LARGEST_MODEL: Final = 2**28
"""Parameters; a larger model is refused before anything is allocated."""


@dataclass(frozen=True)
class Register:
    """Some columns of the residual stream with a name, a meaning, and the range of what they hold."""

    name: str
    about: Message
    start: int
    size: int
    low: float
    high: float

    @property
    def columns(self) -> slice:
        """Where it lies in the stream."""
        return slice(self.start, self.start + self.size)

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        known = {
            name: value if math.isfinite(value) else None for name, value in (("low", self.low), ("high", self.high))
        }
        return vars(self) | known | {"about": self.about.to_json()}

    @classmethod
    def from_json(cls, values: Any) -> Register:
        """What `to_json` wrote; earlier versions did not write the range."""
        unknown = {"low": -math.inf, "high": math.inf}
        known = {name: value for name, value in values.items() if value is not None}
        return cls(**unknown | known | {"about": Message.from_json(values["about"])})


class Stream:
    """The registers of a program, side by side."""

    def __init__(self) -> None:
        self.registers: list[Register] = []
        self.in_use = False
        self.reserved = 0

    @property
    def width(self) -> int:
        """Columns given out so far."""
        return sum(register.size for register in self.registers)

    def register(self, name: str, size: int, about: Message = NOTHING, low: float = 0.0, high: float = 1.0) -> Register:
        """A new register; all of a program's registers are made before its first instruction."""
        if self.in_use:
            raise RuntimeError(f"register {name!r} comes after the first instruction, whose weights it would not fit")
        made = Register(name, about, self.width, size, low, high)
        self.registers.append(made)
        return made

    def reserve(self, parameters: int) -> None:
        """Say how many weights are about to be written, so that a program too large is refused before they are."""
        self.reserved += parameters
        refuse_if_too_large(self.reserved)

    def form(self, parts: Mapping[Register, Any], constant: Any = 0.0) -> Form:
        """Linear forms Σ register·matrix + constant; a matrix is [register size, forms]."""
        self.in_use = True
        matrices = {register: torch.as_tensor(matrix, dtype=torch.float64) for register, matrix in parts.items()}
        count = next(iter(matrices.values())).shape[1]
        weight = torch.zeros(self.width, count, dtype=torch.float64)
        for register, matrix in matrices.items():
            weight[register.columns] += matrix
        return Form(weight, torch.zeros(count, dtype=torch.float64) + torch.as_tensor(constant, dtype=torch.float64))

    def into(self, parts: Mapping[Register, Any]) -> Float[Tensor, "form width"]:
        """Where forms are added to the stream: a matrix [forms, register size] for each register."""
        self.in_use = True
        matrices = {register: torch.as_tensor(matrix, dtype=torch.float64) for register, matrix in parts.items()}
        write = torch.zeros(next(iter(matrices.values())).shape[0], self.width, dtype=torch.float64)
        for register, matrix in matrices.items():
            write[:, register.columns] += matrix
        return write

    def largest_each(self, form: Form) -> Float[Tensor, " form"]:
        """The largest absolute value that a partial sum of each form can take, from the registers' ranges."""
        sizes = torch.cat([torch.full((r.size,), max(abs(r.low), abs(r.high))) for r in self.registers]).double()
        return sizes @ form.weight.abs() + form.constant.abs()


@dataclass(frozen=True)
class Form:
    """Several affine functions of the stream: x·weight + constant."""

    weight: Float[Tensor, "width form"]
    constant: Float[Tensor, " form"]

    def __add__(self, other: Form) -> Form:
        return Form(self.weight + other.weight, self.constant + other.constant)

    def __mul__(self, factor: float) -> Form:
        return Form(self.weight * factor, self.constant * factor)

    def beside(self, *others: Form) -> Form:
        """These functions, and then the others."""
        forms = (self, *others)
        weight, constant = [form.weight for form in forms], [form.constant for form in forms]
        return Form(torch.cat(weight, dim=1), torch.cat(constant))


@dataclass(frozen=True)
class Head:
    """One attention head, and what its exactness rests on.

    In exact arithmetic the chosen key's score beats every other by `gap`; no partial sum of a score passes
    `largest_score`; `inexact_terms` products of a score are rounded. A head that sums has no gap (infinity); instead,
    `summands` values of at most `largest_summand` are added up.
    """

    operation: Operation
    query: Form
    key: Form
    value: Form
    output: Float[Tensor, "value width"]
    gap: float
    largest_score: float
    inexact_terms: int
    summands: int = 0
    largest_summand: float = 0.0

    @property
    def width(self) -> int:
        """Numbers that this head needs per position."""
        return max(self.query.weight.shape[1], self.value.weight.shape[1])


@dataclass(frozen=True)
class Units:
    """Hidden ReLU units of one MLP: what they read, further hidden layers if any, and what they add to the stream."""

    does: tuple[Message, ...]
    read: Form
    write: Float[Tensor, "unit width"]
    constant: Float[Tensor, " width"]
    deeper: tuple[Form, ...] = ()
    largest: tuple[Tensor, ...] = ()
    """The largest value of each unit, layer by layer, where more is known than the ranges of the registers tell."""

    def __add__(self, other: Units) -> Units:
        """Both side by side in one MLP of one hidden layer."""
        if self.deeper or other.deeper:
            raise RuntimeError("only MLPs of one hidden layer are put side by side; write one circuit for both")
        does = (*self.does, *(each for each in other.does if each not in self.does))
        return Units(
            does, self.read.beside(other.read), torch.cat([self.write, other.write]), self.constant + other.constant
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many units each hidden layer has."""
        return tuple(form.weight.shape[1] for form in (self.read, *self.deeper))


def refuse_if_too_large(parameters: int) -> None:
    """Say no before the machine's memory does."""
    if parameters > LARGEST_MODEL:
        if parameters < 10**15:
            raise InputError("operations.too_large", parameters=parameters, limit=LARGEST_MODEL)
        raise InputError("operations.far_too_large", bits=parameters.bit_length(), limit=LARGEST_MODEL)
