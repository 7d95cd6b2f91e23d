"""The instructions: what one attention head, or a few ReLUs, can be made to do on named registers.

Heads fetch a register from other positions:

    Clock.attend_back     the position a fixed distance back (or the start, if that is nearer)
    Clock.attend_last     the last position that matches, this one included
    Clock.attend_last_before   the last one before this one, by two heads
    Clock.attend_any      any position so far that has a bit
    Clock.flat_sum        all positions so far, summed

Units compute at one position: `units` adds a bent line of linear forms (`ramp`, `step`, `tent`), `table` looks
rows up, `clear` empties a register.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.compiler.stream import Form, Head, Register, Stream, Units, refuse_if_too_large
from glassformer.nn.positions import dyadic_table

SHARPNESS: Final = 512.0
"""How much a unit of score counts. A gap of 2 then silences all other keys in every precision: exp(−1024) = 0."""

RECENCY: Final = 2 * SHARPNESS
"""How much one position counts where the latest one wins: exp(−1024) = 0 again."""

Bend: TypeAlias = tuple[tuple[float, float], ...]
"""A bent line Σ slope·relu(x − knot), as its (knot, slope) pairs."""


class Clock:
    """What positions put into the stream, and the heads that use it. Position 0 is the start token.

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
        if blocks:
            tokens = position[1:, 0].long() - 1  # the start is in no block
            self.block = hold("block", _one_hot(tokens // size), "which block of positions")
            self.spot = hold("spot", _one_hot(tokens % size), "which position of its block")
        if place or blocks:
            self.place = hold("place", position, "the position")
        if share:
            self.share = hold("share", (context - position).log(), "log of the positions still to come")
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
        return self.head_of(
            f"look {distance} back",
            self.stream.form({self.angles: SHARPNESS * rotation, self.early: SHARPNESS * is_early}),
            self.stream.form({self.angles: same_angles, self.first: is_first}),
            {target: source},
            gap=2.0 * SHARPNESS,
            largest_score=SHARPNESS * (pairs + bonus),
            inexact_terms=2 * pairs,
        )

    def attend_last(self, match: Form, moves: Mapping[Register, Register], which: str = "") -> Head:
        """Fetch targets from sources at the last position where the form `match` is 1, not 0 (it is 1 at the start).

        The score is the position, less the whole context where there is no match: later beats earlier by 1,
        a match beats anything else by more.
        """
        key = self._recency(match, self.context)
        always = self.stream.form({self.first: [[0.0]]}, 1.0)
        return self._reset_head(which, always, key, moves, 2.0)

    def attend_last_before(
        self, match: Form, source: Register, elsewhere: Register, nearby: Register, no_one: Register
    ) -> tuple[Head, Head]:
        """Fetch `source` from the last match *before* this position, which no mask keeps a head from looking at.

        Positions are cut into blocks. One head looks at the last match in an earlier block, or at the start, which is
        in no block; the other at the last match at another spot of this block, or else at the start, and says by
        `no_one` that it did. Its answer, if there is one, is the later. With c the context, the scores are

            position + 2c·match − 4c·(same block)
            position + 2c·match + 4c·(same block) − 8c·(same spot) + 3.5c·(start)
        """
        c, block, spot = float(self.context), self.block, self.spot
        recency, always = self._recency(match, 2 * c), self.stream.form({self.first: [[0.0]]}, 1.0)
        blocks, spots = torch.eye(block.size).double(), torch.eye(spot.size).double()
        in_block, at_spot = self.stream.form({block: blocks}), self.stream.form({spot: spots})
        bonus = self.stream.form({self.first: [[3.5 * c]]})
        earlier = self._reset_head(
            " of an earlier block",
            _beside(always, in_block),
            _beside(recency, _scaled(in_block, -4 * c)),
            {elsewhere: source},
            7.0,
        )
        here = self._reset_head(
            " of this block",
            _beside(always, in_block, at_spot),
            _beside(_plus(recency, bonus), _scaled(in_block, 4 * c), _scaled(at_spot, -8 * c)),
            {nearby: source, no_one: self.first},
            19.0,
        )
        return earlier, here

    def attend_any(self, bit: Register, target: Register) -> Head:
        """Did any position so far have the bit? All that have it share the weight; if none has, all share nothing."""
        always = self.stream.form({bit: [[0.0]]}, 1.0)
        key = self.stream.form({bit: [[RECENCY]]})
        head = self.head_of("flat sum: all matches, if any", always, key, {target: bit}, RECENCY, RECENCY, 0)
        return replace(head, summands=self.context, largest_summand=1 / self.context)

    def _recency(self, match: Form, bonus: float) -> Form:
        """The position, and a bonus for a match."""
        place = self.stream.form({self.place: [[1.0]]})
        return Form(place.weight + bonus * match.weight, place.constant + bonus * match.constant)

    def _reset_head(
        self, where: str, query: Form, key: Form, moves: Mapping[Register, Register], contexts: float
    ) -> Head:
        """A head whose right key leads by 1; no partial sum of its scores passes so many contexts."""
        largest = RECENCY * contexts * self.context
        return self.head_of(
            f"conditional reset: the last match{where}", query, _scaled(key, RECENCY), moves, RECENCY, largest, 0
        )

    def flat_sum(self, source: Register, target: Register) -> Head:
        """Sum `source` over all positions so far.

        Every token scores 0 and the start token log(context − p), so all weights are 1/context whatever the
        position; the value is multiplied by the context again. `source` must be 0 at the start token.
        """
        query, key = self.stream.form({self.share: [[1.0]]}), self.stream.form({self.first: [[1.0]]})
        largest = math.log(self.context)
        head = self.head_of("flat sum", query, key, {target: source}, math.inf, largest, 1, float(self.context))
        largest_summand = max(abs(source.low), abs(source.high))
        return replace(head, summands=self.context - 1, largest_summand=largest_summand)

    def head_of(
        self,
        does: str,
        query: Form,
        key: Form,
        moves: Mapping[Register, Register],
        gap: float,
        largest_score: float,
        inexact_terms: int,
        gain: float = 1.0,
    ) -> Head:
        """A head that fetches each source into its target, times the gain, by these queries and keys."""
        eyes = {target: torch.eye(target.size, dtype=torch.float64) for target in moves}
        value = _beside(*(self.stream.form({source: gain * eyes[target]}) for target, source in moves.items()))
        output = torch.cat([self.stream.into({target: eyes[target]}) for target in moves])
        return Head(does, query, key, value, output, gap, largest_score, inexact_terms)


def _beside(*forms: Form) -> Form:
    return Form(torch.cat([form.weight for form in forms], dim=1), torch.cat([form.constant for form in forms]))


def _scaled(form: Form, factor: float) -> Form:
    return Form(factor * form.weight, factor * form.constant)


def _plus(first: Form, second: Form) -> Form:
    return Form(first.weight + second.weight, first.constant + second.constant)


def _one_hot(numbers: Tensor) -> Tensor:
    """One row for each number, below a row of zeros for the start."""
    rows = torch.nn.functional.one_hot(numbers).double()
    return torch.cat([torch.zeros(1, rows.shape[1], dtype=torch.float64), rows])


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
