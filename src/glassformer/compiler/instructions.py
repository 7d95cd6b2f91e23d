"""The instructions: what one attention head, or a few ReLUs, can be made to do on named registers.

Heads fetch a register from other positions:

    Clock.attend_back     the position a fixed distance back (or the start, if that is nearer)
    Clock.attend_last     the last position that matches
    Clock.flat_sum        all positions so far, summed

Units compute at one position: `units` adds a bent line of linear forms (`ramp`, `step`, `tent`), `table` looks
rows up, `clear` empties a register.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.compiler.stream import Form, Head, Register, Stream, Units
from glassformer.nn.positions import dyadic_table

SHARPNESS: Final = 512.0
"""How much a unit of score counts. A gap of 2 then silences all other keys in every precision: exp(−1024) = 0."""

Bend: TypeAlias = tuple[tuple[float, float], ...]
"""A bent line Σ slope·relu(x − knot), as its (knot, slope) pairs."""


class Clock:
    """What positions put into the stream, and the heads that use it. Position 0 is the start token.

    `angles` holds cos and sin of 2πp/2^k, k = 1 … ⌈log₂ context⌉. `early` says for each distance d whether p < d.
    `place` is p itself and `share` is log(context − p); both are made only if asked for.
    """

    def __init__(
        self, stream: Stream, context: int, distances: Sequence[int] = (), place: bool = False, share: bool = False
    ) -> None:
        self.stream, self.context, self.distances = stream, context, list(distances)
        position = torch.arange(context, dtype=torch.float64)[:, None]
        columns: list[tuple[Register, Tensor]] = []

        def hold(name: str, values: Tensor, about: str) -> Register:
            register = stream.register(name, values.shape[1], about, float(values.min()), float(values.max()))
            columns.append((register, values))
            return register

        self.first = hold("first", (position == 0).double(), "1 at the start token, else 0")
        if distances:
            self.angles = hold("angles", dyadic_table(context), "cos and sin of 2π·position/2, /4, /8, …")
            self.early = hold(
                "early",
                (position < torch.tensor(distances)).double(),
                f"is the start nearer than d = {_few(distances)}?",
            )
        if place:
            self.place = hold("place", position, "the position")
        if share:
            self.share = hold("share", (context - position).log(), "log of the positions still to come")
        self.columns = columns

    def table(self) -> Float[Tensor, "context width"]:
        """The position embedding."""
        made = torch.zeros(self.context, self.stream.width, dtype=torch.float64)
        for register, values in self.columns:
            made[:, register.columns] = values
        return made

    def attend_back(self, distance: int, source: Register, target: Register) -> Head:
        """Fetch `source` from `distance` positions back, or from the start if the word is not that long.

        A step back turns every pair of angles by a fixed amount, so the query is a rotation of the position.
        For a wrong key at distance Δ the frequency 2^(v₂(Δ) + 1) contributes −1 instead of 1: it loses by at
        least 2. Early queries add a bonus for the start token that outweighs all angles.
        """
        pairs = self.angles.size // 2
        bonus = 2.0 * pairs + 2.0
        rotation = torch.zeros(self.angles.size, self.angles.size + 1, dtype=torch.float64)
        for k in range(pairs):
            rotation[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = _turn(-2 * math.pi * distance / 2 ** (k + 1))
        is_early = torch.zeros(self.early.size, self.angles.size + 1, dtype=torch.float64)
        is_early[self.distances.index(distance), -1] = bonus
        same_angles = torch.eye(self.angles.size, self.angles.size + 1, dtype=torch.float64)
        is_first = torch.eye(self.angles.size + 1, dtype=torch.float64)[-1:]
        return self._head(
            f"look {distance} back",
            self.stream.form({self.angles: SHARPNESS * rotation, self.early: SHARPNESS * is_early}),
            self.stream.form({self.angles: same_angles, self.first: is_first}),
            (source, target),
            gap=2.0 * SHARPNESS,
            largest_score=SHARPNESS * (pairs + bonus),
            inexact_terms=2 * pairs,
        )

    def attend_last(self, match: Form, source: Register, target: Register) -> Head:
        """Fetch `source` from the last position where the form `match` is 1 and not 0 (it is 1 at the start).

        The score is the position, less the whole context where there is no match: later beats earlier by 1,
        a match beats anything else by more.
        """
        place = self.stream.form({self.place: [[1.0]]})
        key = Form(
            SHARPNESS * (place.weight + self.context * match.weight),
            SHARPNESS * (place.constant + self.context * (match.constant - 1.0)),
        )
        always = self.stream.form({self.first: [[0.0]]}, 1.0)
        largest = SHARPNESS * 2 * self.context
        return self._head("look at the last match", always, key, (source, target), SHARPNESS, largest, 0)

    def flat_sum(self, source: Register, target: Register) -> Head:
        """Sum `source` over all positions so far.

        Every token scores 0 and the start token log(context − p), so all weights are 1/context whatever the
        position; the value is multiplied by the context again. `source` must be 0 at the start token.
        """
        query, key = self.stream.form({self.share: [[1.0]]}), self.stream.form({self.first: [[1.0]]})
        largest = math.log(self.context)
        return self._head("sum over the prefix", query, key, (source, target), 0.0, largest, 1, float(self.context))

    def _head(
        self,
        does: str,
        query: Form,
        key: Form,
        move: tuple[Register, Register],
        gap: float,
        largest_score: float,
        inexact_terms: int,
        gain: float = 1.0,
    ) -> Head:
        source, target = move
        eye = torch.eye(source.size, dtype=torch.float64)
        value, output = self.stream.form({source: gain * eye}), self.stream.into({target: eye})
        return Head(does, query, key, value, output, gap, largest_score, inexact_terms)


def _few(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) if len(numbers) < 5 else f"{numbers[0]}, {numbers[1]}, … {numbers[-1]}"


def _turn(angle: float) -> Float[Tensor, "2 2"]:
    """(cos p, sin p) · turn = (cos(p + angle), sin(p + angle))."""
    cos, sin = math.cos(angle), math.sin(angle)
    turn = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
    return torch.where(turn.abs() < 1e-15, 0.0, turn)  # quarter turns are exact


def ramp() -> Bend:
    """x for x ≥ 0, else 0."""
    return ((0.0, 1.0),)


def step(threshold: float) -> Bend:
    """1 where x ≥ threshold, 0 where x ≤ threshold − 1; right for integers that are off by less than ¼."""
    return ((threshold - 0.75, 2.0), (threshold - 0.25, -2.0))


def tent(top: float) -> Bend:
    """x on [0, top], 0 for x ≤ 0 and for x ≥ top + 1."""
    return ((0.0, 1.0), (top, -(top + 1.0)), (top + 1.0, top))


def units(form: Form, bend: Bend, write: Float[Tensor, "form width"], does: str = "") -> Units:
    """Add bend(form) · write to the stream, for every one of the forms."""
    reads = [Form(form.weight, form.constant - knot) for knot, _ in bend]
    return Units(
        does,
        Form(torch.cat([read.weight for read in reads], dim=1), torch.cat([read.constant for read in reads])),
        torch.cat([slope * write for _, slope in bend]),
        torch.zeros(write.shape[1], dtype=torch.float64),
    )


def clear(stream: Stream, register: Register) -> Units:
    """Set a register that holds no negative numbers back to zero."""
    eye = torch.eye(register.size, dtype=torch.float64)
    return units(stream.form({register: eye}), ramp(), -stream.into({register: eye}))


def table(stream: Stream, rows: Sequence[tuple[Mapping[Register, int], Mapping[Register, int]]], does: str) -> Units:
    """A look-up table over one-hot registers: in each row, where all inputs have these values, add these outputs."""
    weight = torch.zeros(stream.width, len(rows), dtype=torch.float64)
    write = torch.zeros(len(rows), stream.width, dtype=torch.float64)
    for row, (inputs, outputs) in enumerate(rows):
        for register, value in inputs.items():
            weight[register.start + value, row] = 1.0
        for register, value in outputs.items():
            write[row, register.start + value] = 1.0
    missing = torch.tensor([len(inputs) - 1.0 for inputs, _ in rows], dtype=torch.float64)
    return units(Form(weight, -missing), ramp(), write, does)
