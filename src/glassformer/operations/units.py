"""What one MLP can be made to do at one position.

`units` adds a piecewise linear function of linear forms (`ramp`, `step`, `tent`), `table` looks rows up, and `clear`
empties a register.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.messages import Message
from glassformer.operations.stream import Form, Register, Stream, Units

Knots: TypeAlias = tuple[tuple[float, float], ...]
"""A piecewise linear function Σ slope·relu(x − knot), as its (knot, slope) pairs."""


def ramp() -> Knots:
    """x for x ≥ 0, else 0."""
    return ((0.0, 1.0),)


def step(threshold: float) -> Knots:
    """1 where x ≥ threshold, 0 where x ≤ threshold − 1; right for integers that are off by less than ¼."""
    return ((threshold - 0.75, 2.0), (threshold - 0.25, -2.0))


def tent(top: float) -> Knots:
    """x on [0, top], 0 for x ≤ 0 and for x ≥ top + 1."""
    return ((0.0, 1.0), (top, -(top + 1.0)), (top + 1.0, top))


def units(form: Form, knots: Knots, write: Float[Tensor, "form width"], *does: Message) -> Units:
    """Add f(form) · write to the stream for every one of the forms, where the knots are those of f."""
    first, *others = [Form(form.weight, form.constant - knot) for knot, _ in knots]
    return Units(
        does,
        first.beside(*others),
        torch.cat([slope * write for _, slope in knots]),
        torch.zeros(write.shape[1], dtype=torch.float64),
    )


def clear(stream: Stream, register: Register) -> Units:
    """Set a register that holds no negative numbers back to zero."""
    eye = torch.eye(register.size, dtype=torch.float64)
    return units(stream.form({register: eye}), ramp(), -stream.into({register: eye}))


def table(
    stream: Stream, rows: Sequence[tuple[Mapping[Register, int], Mapping[Register, int]]], *does: Message
) -> Units:
    """A look-up table over one-hot registers: in each row, where all inputs have these values, add these outputs."""
    weight = torch.zeros(stream.width, len(rows), dtype=torch.float64)
    write = torch.zeros(len(rows), stream.width, dtype=torch.float64)
    for row, (inputs, outputs) in enumerate(rows):
        for register, value in inputs.items():
            weight[register.start + value, row] = 1.0
        for register, value in outputs.items():
            write[row, register.start + value] = 1.0
    missing = torch.tensor([len(inputs) - 1.0 for inputs, _ in rows], dtype=torch.float64)
    return units(Form(weight, -missing), ramp(), write, *does)
