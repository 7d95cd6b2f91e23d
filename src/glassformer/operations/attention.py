"""What one attention head does. Each operation is one class, and all that is known of it stands there.

    LookBack(d)     the position d back, or the start if that is nearer
    FlatSum()       all positions so far, summed
    AnyMatch()      any position so far that has a bit
    LatestMatch()   the latest position of some condition
    Itself(), Start(), SameToken()   where trained heads may look, too

An operation that a construction uses writes its weights (`head`, `heads_before`), with the gap by which the right key
leads and the sizes that bound rounding. All of them say how much of an attention pattern is theirs (`share`), which is
what an instrument compares a head with; have a title in every language; and go through JSON.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from glassformer.messages import Message, verbatim
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Form, Head, Register, Stream

SHARPNESS: Final = 512.0
"""How much a unit of score counts. A gap of 2 then silences all other keys in every precision: exp(−1024) = 0."""
RECENCY: Final = 2 * SHARPNESS
"""How much one position counts where the latest one wins: exp(−1024) = 0 again."""

Patterns = Float[Tensor, "word head query key"]
Tokens = Int[Tensor, "word pos"]
Share = Float[Tensor, "word head query"]


@dataclass(frozen=True)
class Operation(ABC):
    """What an attention head does."""

    kind: ClassVar[str]
    """The name in JSON; the title is the message `operations.<kind>`."""

    @property
    def title(self) -> Message:
        """Its name, for a person."""
        return Message(f"operations.{self.kind}", **{field.name: getattr(self, field.name) for field in fields(self)})

    def to_json(self) -> dict[str, Any]:
        """The kind and what else it has, for a file."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"kind": self.kind} | {k: v.to_json() if isinstance(v, Message) else v for k, v in values.items()}

    @property
    def pattern(self) -> Operation:
        """The plainest operation with the same attention pattern: what an instrument can tell."""
        return self

    @abstractmethod
    def share(self, patterns: Patterns, tokens: Tokens) -> Share:
        """How much of each query's attention is where this operation looks; NaN where that is undefined."""


@dataclass(frozen=True)
class Itself(Operation):
    """Every position looks at itself."""

    kind = "itself"

    def share(self, patterns: Patterns, tokens: Tokens) -> Share:
        """The attention on the query's own position."""
        return _on_one_key(patterns, torch.arange(patterns.shape[-1]))


@dataclass(frozen=True)
class Start(Operation):
    """Every position looks at the start token."""

    kind = "start"

    def share(self, patterns: Patterns, tokens: Tokens) -> Share:
        """The attention on the start token."""
        return patterns[..., 0]


@dataclass(frozen=True)
class LookBack(Operation):
    """Every position looks a fixed distance back, or at the start if the word is not that long.

    A step back turns every pair of angles by a fixed amount, so the query is a rotation of the position. For a wrong
    key at distance Δ the frequency 2^(v₂(Δ) + 1) contributes −1 instead of 1: it loses by at least 2. Early queries
    add a bonus for the start token that outweighs all angles.
    """

    distance: int
    kind = "look_back"

    def share(self, patterns: Patterns, tokens: Tokens) -> Share:
        """The attention that far back."""
        return _on_one_key(patterns, (torch.arange(patterns.shape[-1]) - self.distance).clamp_min(0))

    def head(self, positions: Positions, source: Register, target: Register) -> Head:
        """Fetch the source into the target; `positions` must hold this distance."""
        stream, angles, early = positions.stream, positions.angles, positions.early
        pairs = angles.size // 2
        bonus = 2.0 * pairs + 2.0
        rotation = torch.zeros(angles.size, angles.size + 1, dtype=torch.float64)
        for k in range(pairs):
            rotation[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = _rotation(-2 * math.pi * self.distance / 2 ** (k + 1))
        is_early = torch.zeros(early.size, angles.size + 1, dtype=torch.float64)
        is_early[positions.distances.index(self.distance), -1] = bonus
        same_angles = torch.eye(angles.size, angles.size + 1, dtype=torch.float64)
        is_first = torch.eye(angles.size + 1, dtype=torch.float64)[-1:]
        query = stream.form({angles: SHARPNESS * rotation, early: SHARPNESS * is_early})
        key = stream.form({angles: same_angles, positions.first: is_first})
        value, output = _moving(stream, {target: source})
        return Head(self, query, key, value, output, 2.0 * SHARPNESS, SHARPNESS * (pairs + bonus), 2 * pairs)


@dataclass(frozen=True)
class FlatSum(Operation):
    """Every position looks at all letters so far with equal weights.

    Every token scores 0 and the start token log(context − p), so all weights are 1/context whatever the position; the
    value is multiplied by the context again. Where the sign is enough, the start token scores 0, too.
    """

    kind = "flat_sum"

    def share(self, patterns: Patterns, tokens: Tokens) -> Share:
        """How even the attention on letters is, where there are two or more."""
        return _evenness(patterns)

    def head(self, positions: Positions, source: Register, target: Register, counts_up_to: float | None = None) -> Head:
        """Sum the source, which must be 0 at the start token, into the target.

        Of a sum of 0s and 1s, `counts_up_to` is the number from which on it only matters that it is as large.
        """
        stream = positions.stream
        query, key = stream.form({positions.share: [[1.0]]}), stream.form({positions.first: [[1.0]]})
        head = self._head(positions, query, key, source, target, math.log(positions.context))
        return replace(head, largest_summand=counts_up_to / head.summands) if counts_up_to else head

    def sign_head(self, positions: Positions, source: Register, target: Register) -> Head:
        """Sum the source, which must be 0 at the start token, up to a factor that is 1 or more: context/(p + 1)."""
        zero = positions.stream.form({source: torch.zeros(source.size, 1)})
        return self._head(positions, zero, zero, source, target, 0.0)

    def _head(
        self, positions: Positions, query: Form, key: Form, source: Register, target: Register, largest_score: float
    ) -> Head:
        value, output = _moving(positions.stream, {target: source}, gain=float(positions.context))
        largest_summand, summands = max(abs(source.low), abs(source.high)), positions.context - 1
        return Head(self, query, key, value, output, math.inf, largest_score, 1, summands, largest_summand)


@dataclass(frozen=True)
class AnyMatch(Operation):
    """Every position looks at all letters so far that have a bit, with equal weights.

    If none has it, all positions share the weight, and all values are 0.
    """

    kind = "any_match"

    @property
    def pattern(self) -> Operation:
        """A flat sum, which it is where all have the bit."""
        return FlatSum()

    def share(self, patterns: Patterns, tokens: Tokens) -> Share:
        """As of a flat sum."""
        return _evenness(patterns)

    def head(self, positions: Positions, source: Register, target: Register) -> Head:
        """Is the bit `source` 1 anywhere so far? A share of the matches' weight, all or nothing, goes to the target."""
        stream = positions.stream
        always, key = stream.form({source: [[0.0]]}, 1.0), stream.form({source: [[RECENCY]]})
        value, output = _moving(stream, {target: source})
        context = positions.context
        return Head(self, always, key, value, output, RECENCY, RECENCY, 0, context, 1 / context)


@dataclass(frozen=True)
class LatestMatch(Operation):
    """Every position looks at one place that the letters decide: the latest one of some condition.

    The score is the position, and a bonus for a match: later beats earlier by 1, a match beats anything else by more.
    """

    condition: Message | None = None
    kind = "latest_match"

    @property
    def title(self) -> Message:
        """Its name, with the condition if that is known."""
        return super().title if self.condition else Message("operations.conditional_reset")

    @property
    def pattern(self) -> Operation:
        """Whatever the condition is, which attention does not show."""
        return LatestMatch()

    def share(self, patterns: Patterns, tokens: Tokens) -> Share:
        """Whatever the condition is, all attention is on one place each time."""
        return patterns.amax(-1)

    def head(self, positions: Positions, match: Form, moves: Mapping[Register, Register]) -> Head:
        """Fetch targets from sources where the form `match` was 1, not 0, last; it must be 1 at the start token."""
        always = positions.stream.form({positions.first: [[0.0]]}, 1.0)
        return self._head(positions, always, _recency(positions, match, positions.context), moves, 2.0)

    def head_where_equal(
        self,
        positions: Positions,
        query: Form,
        key: Form,
        start: float,
        most: float,
        moves: Mapping[Register, Register],
    ) -> Head:
        """Fetch targets from sources where key and query were equal last, or else from the start token.

        query·key must be a whole number: on equality by 2 above what it is otherwise, and at most `most` either way.
        `start` is the product half way between, at which the start token stands for "none"; its own key must be 0.
        """
        context, stream = float(positions.context), positions.stream
        always = stream.form({positions.first: [[0.0]]}, 1.0)
        place = stream.form({positions.place: [[1.0]], positions.first: [[start * context]]})
        return self._head(positions, query.beside(always), (key * context).beside(place), moves, most + 2.0)

    @staticmethod
    def heads_before(
        positions: Positions, match: Form, source: Register, elsewhere: Register, nearby: Register, none: Register
    ) -> tuple[Head, Head]:
        """Fetch `source` from the last match *before* this position, which no mask keeps a head from looking at.

        Positions are cut into blocks. One head looks at the last match in an earlier block, or at the start, which is
        in no block; the other at the last match at another spot of this block, or else at the start, and then
        sets `none`. Its answer, if there is one, is the later. With c the context, the scores are

            position + 2c·match − 4c·(same block)
            position + 2c·match + 4c·(same block) − 8c·(same spot) + 3.5c·(start)
        """
        stream, c, block, spot = positions.stream, float(positions.context), positions.block, positions.spot
        recency, always = _recency(positions, match, 2 * c), stream.form({positions.first: [[0.0]]}, 1.0)
        in_block = stream.form({block: torch.eye(block.size).double()})
        at_spot = stream.form({spot: torch.eye(spot.size).double()})
        bonus = stream.form({positions.first: [[3.5 * c]]})
        earlier = LatestMatch(Message("operations.last_match_of_an_earlier_block"))._head(
            positions, always.beside(in_block), recency.beside(in_block * (-4 * c)), {elsewhere: source}, 7.0
        )
        here = LatestMatch(Message("operations.last_match_of_this_block"))._head(
            positions,
            always.beside(in_block, at_spot),
            (recency + bonus).beside(in_block * (4 * c), at_spot * (-8 * c)),
            {nearby: source, none: positions.first},
            19.0,
        )
        return earlier, here

    def _head(
        self, positions: Positions, query: Form, key: Form, moves: Mapping[Register, Register], contexts: float
    ) -> Head:
        """A head whose right key leads by 1; no partial sum of its scores passes so many contexts."""
        value, output = _moving(positions.stream, moves)
        largest = RECENCY * contexts * positions.context
        return Head(self, query, key * RECENCY, value, output, RECENCY, largest, 0)


@dataclass(frozen=True)
class SameToken(Operation):
    """Every position looks at the last position before it that holds the same token, or at the start."""

    kind = "same_token"

    def share(self, patterns: Patterns, tokens: Tokens) -> Share:
        """The attention on the last such position."""
        same: Bool[Tensor, "word query key"] = tokens[:, :, None] == tokens[:, None, :]
        before = same & torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).tril(-1)
        return _on_one_key(patterns, (before * torch.arange(tokens.shape[1])).amax(-1))


@dataclass(frozen=True)
class Described(Operation):
    """An operation of which only a description is known, as in certificates of earlier versions."""

    words: str
    kind = "described"

    @property
    def title(self) -> Message:
        """The words."""
        return verbatim(self.words)

    def share(self, patterns: Patterns, tokens: Tokens) -> Share:
        """NaN: its pattern is not known."""
        return torch.full_like(patterns[..., 0], torch.nan)


KINDS: Final = {each.kind: each for each in (Itself, Start, LookBack, FlatSum, AnyMatch, LatestMatch, SameToken)}


def operation_from_json(value: Any) -> Operation:
    """What `to_json` wrote, or words alone; ValueError for anything else."""
    if isinstance(value, str):
        return Described(value)
    if not isinstance(value, dict) or value.get("kind") not in KINDS:
        raise ValueError(f"not an operation: {value!r}")
    kind, values = KINDS[value["kind"]], {name: part for name, part in value.items() if name != "kind"}
    if values.keys() != {field.name for field in fields(kind)}:
        raise ValueError(f"the values of {kind.kind!r} do not fit: {value!r}")
    if kind is LookBack and not isinstance(values["distance"], int):
        raise ValueError(f"not a distance: {values['distance']!r}")
    if kind is LatestMatch and values["condition"] is not None:
        values["condition"] = Message.from_json(values["condition"])
    return kind(**values)


def _on_one_key(patterns: Patterns, target: Int[Tensor, "*word query"]) -> Share:
    """The attention on one key for each query."""
    words, heads, length, _ = patterns.shape
    index = target.expand(words, length)[:, None, :, None].expand(words, heads, length, 1)
    return patterns.gather(-1, index)[..., 0]


def _evenness(patterns: Patterns) -> Share:
    """How even the attention on letters is, where there are two or more: 1 less its distance from equal weights.

    What goes to the start token does not count, unless nearly everything does: then nothing is summed.
    """
    letters = patterns[:, :, 2:, 1:]
    held = letters.sum(-1, keepdim=True)
    seen = torch.tril(torch.ones(letters.shape[-2:], dtype=letters.dtype), diagonal=1)
    even = seen / seen.sum(-1, keepdim=True)
    distance = (letters / held.clamp_min(1e-9) - even).abs().sum(-1) / 2
    is_summed = (held[..., 0] > 0.5 / patterns.shape[-1]).double()
    return torch.nn.functional.pad((1 - distance) * is_summed, (2, 0), value=torch.nan)


def _moving(
    stream: Stream, moves: Mapping[Register, Register], gain: float = 1.0
) -> tuple[Form, Float[Tensor, "value width"]]:
    """The value and output of a head that fetches each source into its target, times the gain."""
    eyes = {target: torch.eye(target.size, dtype=torch.float64) for target in moves}
    first, *others = [stream.form({source: gain * eyes[target]}) for target, source in moves.items()]
    return first.beside(*others), torch.cat([stream.into({target: eyes[target]}) for target in moves])


def _recency(positions: Positions, match: Form, bonus: float) -> Form:
    """The position, and a bonus for a match."""
    return positions.stream.form({positions.place: [[1.0]]}) + match * bonus


def _rotation(angle: float) -> Float[Tensor, "2 2"]:
    """(cos p, sin p) · rotation = (cos(p + angle), sin(p + angle))."""
    cos, sin = math.cos(angle), math.sin(angle)
    rotation = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
    return torch.where(rotation.abs() < 1e-15, 0.0, rotation)  # quarter turns are exact
