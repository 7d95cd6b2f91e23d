"""By how much the arithmetic of a program is exact in a number format.

Whether a program is exact depends on three things, each compared with what the number format can do:
how far the right key's score leads (all other weights must underflow to zero), how large the whole numbers get
(they must be represented, and summed, exactly), and how far the right answer's logit leads when it is read out.
Sums are assumed to be accumulated in float32 or better, as matrix libraries do for the half formats unless
autocast, TF32 or reduced-precision reductions are switched on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from glassformer.compiler.program import Program
from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.operations.attention import SHARPNESS
from glassformer.operations.stream import Form, Head, Units


@dataclass(frozen=True)
class Precision:
    """A number format: its rounding, and that of the sums made in it."""

    name: str
    rounding: float
    sum_rounding: float
    largest: float
    exp_underflow: float
    """exp(−x) is exactly 0 for x beyond this (softmax of the half formats is computed in float32)."""

    @property
    def exact_integers(self) -> float:
        """Whole numbers up to this are represented exactly."""
        return 1 / self.rounding

    @property
    def exact_sums(self) -> float:
        """Whole numbers up to this are summed exactly."""
        return 1 / self.sum_rounding


PRECISIONS: Final = {
    precision.name: precision
    for precision in (
        Precision("bfloat16", 2.0**-8, 2.0**-24, 3.3e38, 104.0),
        Precision("float16", 2.0**-11, 2.0**-24, 65504.0, 104.0),
        Precision("float32", 2.0**-24, 2.0**-24, 3.4e38, 104.0),
        Precision("float64", 2.0**-53, 2.0**-53, 1.7e308, 746.0),
    )
}


SUM_ERROR_ALLOWED: Final = 0.25
"""What the circuits that read prefix sums forgive."""


def torch_dtype(name: str) -> torch.dtype:
    """The torch format of that name."""
    if name not in PRECISIONS:
        raise InputError("compiler.dtype", dtypes=tuple(PRECISIONS), dtype=name)
    dtype: torch.dtype = getattr(torch, name)
    return dtype


@dataclass(frozen=True)
class Margins:
    """How far the arithmetic is from going wrong, in the worst case over all words of the promised length."""

    logit_gap: float
    """Smallest lead of the right key's score, less the worst rounding; all others must underflow."""
    logit_gap_needed: float
    largest_integer: float
    """Largest number that enters or leaves a hidden unit."""
    integers_exact_to: float
    largest_sum: float
    """Largest partial sum of whole numbers inside a matrix product."""
    sums_exact_to: float
    largest_score: float
    scores_finite_to: float
    sum_error: float
    """How far rounding can move a sum over the prefix."""
    sum_error_allowed: float
    answer_lead: float
    """Smallest lead of the right answer's logit."""
    answer_rounding: float
    """Largest rounding of that lead."""
    rounded_weights: int
    """Weights outside the scores that the format cannot hold exactly: none may be."""

    def summary(self) -> dict[str, Message]:
        """Each margin beside what is needed."""
        absent = {"attention": self.logit_gap == torch.inf, "prefix_sums": not self.sum_error}
        values = {name: values for name, (_, values) in self._checks().items()}
        shown = ("attention", "prefix_sums", "integers", "sums", "answer")
        return {name: Message(f"margins.{name}", **values[name]) for name in shown if not absent.get(name)}

    def failures(self) -> list[Message]:
        """What does not hold."""
        checks = self._checks().items()
        return [Message(f"margins.{name}_failed", **values) for name, (holds, values) in checks if not holds]

    def _checks(self) -> dict[str, tuple[bool, dict[str, float]]]:
        """For each margin: whether it holds, and the values in its messages."""
        gap, needed, error, allowed = self.logit_gap, self.logit_gap_needed, self.sum_error, self.sum_error_allowed
        lead, rounding = self.answer_lead, self.answer_rounding
        largest = {
            "integers": (self.largest_integer, self.integers_exact_to),
            "sums": (self.largest_sum, self.sums_exact_to),
            "scores": (self.largest_score, self.scores_finite_to),
        }
        return {
            "attention": (gap >= needed, {"gap": gap, "needed": needed}),
            **{name: (size <= limit, {"largest": size, "limit": limit}) for name, (size, limit) in largest.items()},
            "prefix_sums": (error <= allowed, {"error": error, "allowed": allowed}),
            "weights": (self.rounded_weights == 0, {"weights": self.rounded_weights}),
            "answer": (lead > rounding, {"lead": lead, "rounding": rounding}),
        }


def margins(program: Program, precision: Precision) -> Margins:
    """The worst case of a program in a number format."""
    heads = [head for heads, _ in program.blocks for head in heads]
    mlps = list({id(mlp): mlp for _, mlp in program.blocks if mlp}.values())
    largest = [_largest_numbers(program, mlp) for mlp in mlps]
    lead, rounding = _answer(program, precision)
    return Margins(
        logit_gap=min((head.gap - 2 * _score_error(head, precision) for head in heads), default=torch.inf),
        logit_gap_needed=precision.exp_underflow,
        largest_integer=max((stored for stored, _ in largest), default=0.0),
        integers_exact_to=precision.exact_integers,
        largest_sum=max((summed for _, summed in largest), default=0.0),
        sums_exact_to=precision.exact_sums,
        largest_score=max((head.largest_score for head in heads), default=0.0),
        scores_finite_to=precision.largest,
        sum_error=max((_sum_error(head, precision) for head in heads), default=0.0),
        sum_error_allowed=SUM_ERROR_ALLOWED,
        answer_lead=lead,
        answer_rounding=rounding,
        rounded_weights=_rounded_weights(program, mlps, precision),
    )


def _score_error(head: Head, precision: Precision) -> float:
    """How far rounding can move a score.

    An inexact term is a product of a query and a key entry, each at most SHARPNESS and 1. The key carries one
    rounding (the table); the query three (table, weight, its own storage) and those of its short sum. Then the
    terms are summed, and the score is stored. If no term is of that kind, the entries are whole numbers, which may be
    too large for the format: then weight, query and key are rounded as well.
    """
    u, s = precision.rounding, precision.sum_rounding
    terms = head.inexact_terms * SHARPNESS * (4 * u + 2 * s)
    stored = u if head.inexact_terms else 4 * u
    return terms + head.largest_score * ((head.inexact_terms + 2) * s + stored)


def _sum_error(head: Head, precision: Precision) -> float:
    """How far a prefix sum can be off.

    Every weight is 1/Z times the same rounding, and Z is a sum of so many terms, each step of which may be rounded; so
    is each step of the sum of values; a few more roundings are those of score, exponential, weight and storage.
    """
    steps = 2 * head.summands * precision.sum_rounding + 16 * precision.rounding
    return head.summands * head.largest_summand * steps


def _largest_numbers(program: Program, mlp: Units) -> tuple[float, float]:
    """The largest number stored in a hidden unit, and the largest partial sum inside the matrix products after them."""
    stored = [*mlp.largest] or [program.stream.largest_each(mlp.read)]
    summed = [float(program.stream.largest_each(mlp.read).max())]
    for values, form in zip(stored, (*mlp.deeper, Form(mlp.write, mlp.constant)), strict=True):
        summed.append(float((values @ form.weight.abs() + form.constant.abs()).max()))
    return float(max(values.max() for values in stored)), max(summed)


def _rounded_weights(program: Program, mlps: list[Units], precision: Precision) -> int:
    """How many weights that carry whole numbers change when they are stored (scores may: the gap allows for it)."""
    exact = [program.tokens, program.read_out.weight, program.read_out.constant]
    exact += [part for m in mlps for form in (m.read, *m.deeper) for part in (form.weight, form.constant)]
    exact += [part for m in mlps for part in (m.write, m.constant)]
    exact += [
        part for heads, _ in program.blocks for h in heads for part in (h.value.weight, h.value.constant, h.output)
    ]
    dtype = torch_dtype(precision.name)
    return sum(int((part.to(dtype).double() != part).sum()) for part in exact)


def _answer(program: Program, precision: Precision) -> tuple[float, float]:
    """The smallest lead of the right logit over another, and the largest rounding of any such pair."""
    logits = program.answers.stream @ program.read_out.weight + program.read_out.constant
    right = logits.gather(1, program.answers.outputs[:, None])
    lead, rounding = right - logits, precision.rounding * (right.abs() + logits.abs())
    others = torch.ones_like(lead, dtype=torch.bool).scatter_(1, program.answers.outputs[:, None], False)
    if not others.any():
        return 1.0, 0.0
    worst = (lead - rounding).masked_fill(~others, torch.inf).argmin()
    return float(lead.flatten()[worst]), float(rounding.flatten()[worst])
