"""The residual stream as named registers, and programs over it that are real weights.

A construction is a `Program`: it names registers, says what tokens and positions put into them, and lists
blocks of instructions (`glassformer.compiler.instructions`): attention heads that fetch a register from other
positions, and MLP units that compute at one position. `assemble` writes it all down as one `Transformer`.
Each instruction carries the gaps and sizes from which the certificate computes whether the arithmetic is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from glassformer.errors import InputError
from glassformer.nn import BlockShape, Config, Transformer

LARGEST_MODEL: Final = 2**28
"""Parameters; a larger model is refused before anything is allocated."""


@dataclass(frozen=True)
class Register:
    """Some columns of the residual stream with a name, a meaning, and the range of what they hold."""

    name: str
    about: str
    start: int
    size: int
    low: float
    high: float

    @property
    def columns(self) -> slice:
        """Where it lies in the stream."""
        return slice(self.start, self.start + self.size)


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

    def register(self, name: str, size: int, about: str, low: float = 0.0, high: float = 1.0) -> Register:
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


@dataclass(frozen=True)
class Head:
    """One attention head, and what its exactness rests on.

    In exact arithmetic the chosen key's score beats every other by `gap`; no partial sum of a score passes
    `largest_score`; `inexact_terms` products of a score are rounded. A head that sums has no gap (infinity); instead,
    `summands` values of at most `largest_summand` are added up.
    """

    does: str
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

    does: str
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
        read = Form(
            torch.cat([self.read.weight, other.read.weight], dim=1),
            torch.cat([self.read.constant, other.read.constant]),
        )
        does = "; ".join(dict.fromkeys(text for text in (self.does, other.does) if text))
        return Units(does, read, torch.cat([self.write, other.write]), self.constant + other.constant)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many units each hidden layer has."""
        return tuple(form.weight.shape[1] for form in (self.read, *self.deeper))


@dataclass(frozen=True)
class Answers:
    """What the stream holds at the end, where it is read, for each output that can occur."""

    outputs: Int[Tensor, " answer"]
    stream: Float[Tensor, "answer width"]


@dataclass
class Program:
    """Registers, what fills them, blocks of instructions, and how the answer is read out."""

    stream: Stream
    tokens: Float[Tensor, "vocab width"]
    positions: Float[Tensor, "context width"]
    read_out: Form
    answers: Answers
    blocks: list[tuple[list[Head], Units | None]] = field(default_factory=list)
    tokens_hold: str = ""
    """In words: what a token puts into the stream."""
    answer_is: str = ""
    """In words: how the answer is read."""
    theorem: str = ""
    because: str = ""
    """In words: why one would build it so."""
    grows: dict[str, str] = field(default_factory=dict)
    """In words: what width and MLP grow with."""

    def block(self, *heads: Head, mlp: Units | None = None) -> None:
        """One more layer: these heads, then this MLP."""
        self.blocks.append((list(heads), mlp))
        refuse_if_too_large(self.parameters())

    def answer_among(self, outputs: Integer[np.ndarray, " output"], count: int) -> None:
        """Tell the answers that these outputs are of so many; the others never occur, and never lead."""
        weight, constant = torch.zeros(self.stream.width, count).double(), torch.full((count,), -1.0).double()
        constant[outputs] = self.read_out.constant
        if len(outputs) > 1:  # else there is nothing to read
            weight[:, outputs] = self.read_out.weight
        self.read_out = Form(weight, constant)
        self.answers = replace(self.answers, outputs=torch.tensor(outputs)[self.answers.outputs])

    def parameters(self) -> int:
        """How many there are so far."""
        width = self.stream.width
        attention = sum(4 * len(heads) * max((h.width for h in heads), default=0) * width for heads, _ in self.blocks)
        mlps = (itertools.pairwise([width, *mlp.sizes, width]) for _, mlp in self.blocks if mlp)
        return attention + sum(a * b for layers in mlps for a, b in layers) + self.positions.numel()

    def config(self) -> Config:
        """The shape of the transformer that this program is."""
        shapes = tuple(
            BlockShape(
                heads=len(heads),
                head_width=max((head.width for head in heads), default=1),
                mlp=mlp.sizes if mlp else (),
            )
            for heads, mlp in self.blocks
        )
        return Config(
            vocab=self.tokens.shape[0],
            outputs=self.read_out.weight.shape[1],
            context=self.positions.shape[0],
            width=self.stream.width,
            blocks=shapes,
            scaled=False,
            positions="table",
        )

    def assemble(self, dtype: torch.dtype) -> Transformer:
        """The transformer, with every weight written."""
        config = self.config()
        weights = {
            "embed.W_E": self.tokens,
            "pos_embed.W_pos": self.positions,
            "unembed.W_U": self.read_out.weight,
            "unembed.b_U": self.read_out.constant,
        }
        for i, (heads, mlp) in enumerate(self.blocks):
            if heads:
                weights |= _attention_weights(f"blocks.{i}.attn.", heads, config.blocks[i].head_width)
            if mlp:
                names = ("W_in", "b_in", "W_out", "b_out")
                values = (mlp.read.weight, mlp.read.constant, mlp.write, mlp.constant)
                weights |= {f"blocks.{i}.mlp.{name}": value for name, value in zip(names, values, strict=True)}
                for j, form in enumerate(mlp.deeper):
                    weights |= {f"blocks.{i}.mlp.W_mid.{j}": form.weight, f"blocks.{i}.mlp.b_mid.{j}": form.constant}
        with torch.device("meta"):  # no memory and no random numbers for weights that are replaced at once
            model = Transformer(config)
        model.load_state_dict(
            {name: value.to(dtype, copy=True).contiguous() for name, value in weights.items()}, assign=True
        )
        return model.eval()


def refuse_if_too_large(parameters: int) -> None:
    """Say no before the machine's memory does."""
    if parameters > LARGEST_MODEL:
        count = f"{parameters:,}" if parameters < 10**15 else f"some 2^{parameters.bit_length()}"
        raise InputError(
            f"this model would have at least {count} parameters; the limit is {LARGEST_MODEL:,}: fewer states or a "
            "shorter length would do"
        )


def _attention_weights(prefix: str, heads: list[Head], head_width: int) -> dict[str, Tensor]:
    def stacked(forms: list[Form]) -> tuple[Tensor, Tensor]:
        padded = [(_pad(form.weight, head_width), _pad(form.constant, head_width)) for form in forms]
        return torch.stack([weight for weight, _ in padded]), torch.stack([bias for _, bias in padded])

    weights = {}
    for name, part in (("Q", "query"), ("K", "key"), ("V", "value")):
        weights[f"{prefix}W_{name}"], weights[f"{prefix}b_{name}"] = stacked([getattr(head, part) for head in heads])
    weights[f"{prefix}W_O"] = torch.stack([_pad(head.output.T, head_width).T for head in heads])
    weights[f"{prefix}b_O"] = torch.zeros(heads[0].output.shape[1], dtype=torch.float64)
    return weights


def _pad(x: Tensor, size: int) -> Tensor:
    return torch.nn.functional.pad(x, (0, size - x.shape[-1]))
