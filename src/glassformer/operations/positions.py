"""What positions put into the stream: the start, angles of the position, the position itself, blocks of positions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.messages import Message
from glassformer.nn.positions import dyadic_table
from glassformer.operations.stream import Register, Stream, refuse_if_too_large


class Positions:
    """What positions put into the stream. Position 0 is the start token.

    `angles` holds cos and sin of 2πp/2^k, k = 1 … ⌈log₂ context⌉. `early` says for each distance d whether p < d.
    `place` is p itself, `share` is log(context − p), `block` and `spot` are p in blocks of √context; made if asked for.
    """

    def __init__(
        self,
        stream: Stream,
        context: int,
        distances: Sequence[int] = (),
        place: bool = False,
        share: bool = False,
        blocks: bool = False,
    ) -> None:
        self.stream, self.context, self.distances = stream, context, list(distances)
        size = math.isqrt(context - 1) + 1
        refuse_if_too_large(context * (1 + 3 * len(distances) + 2 * size * blocks))
        position = torch.arange(context, dtype=torch.float64)[:, None]
        columns: list[tuple[Register, Tensor]] = []

        def hold(name: str, values: Tensor, about: Message) -> Register:
            register = stream.register(name, values.shape[1], about, float(values.min()), float(values.max()))
            columns.append((register, values))
            return register

        self.first = hold("first", (position == 0).double(), Message("operations.first"))
        if distances:
            self.angles = hold("angles", dyadic_table(context), Message("operations.angles"))
            self.early = hold(
                "early",
                (position < torch.tensor(distances)).double(),
                Message("operations.early", distances=_few(distances)),
            )
        if blocks:
            tokens = position[1:, 0].long() - 1  # the start is in no block
            self.block = hold("block", _one_hot(tokens // size), Message("operations.block"))
            self.spot = hold("spot", _one_hot(tokens % size), Message("operations.spot"))
        if place or blocks:
            self.place = hold("place", position, Message("operations.place"))
        if share:
            self.share = hold("share", (context - position).log(), Message("operations.share"))
        self.columns = columns

    @property
    def width(self) -> int:
        """How many columns positions take."""
        return sum(register.size for register, _ in self.columns)

    def table(self) -> Float[Tensor, "context width"]:
        """The position embedding."""
        refuse_if_too_large(self.context * self.stream.width)
        made = torch.zeros(self.context, self.stream.width, dtype=torch.float64)
        for register, values in self.columns:
            made[:, register.columns] = values
        return made


def _one_hot(numbers: Tensor) -> Tensor:
    """One row for each number, below a row of zeros for the start."""
    rows = torch.nn.functional.one_hot(numbers).double()
    return torch.cat([torch.zeros(1, rows.shape[1], dtype=torch.float64), rows])


def _few(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) if len(numbers) < 5 else f"{numbers[0]}, {numbers[1]}, … {numbers[-1]}"
