"""What the study of evolution finds: numbers by layer, for every model and pair of models."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any, Final, TypeAlias

from glassformer.documents.verdict import Written
from glassformer.messages import Message

ByLayer: TypeAlias = dict[str, float]
"""A number for each layer."""

NAMES: Final = {"lm": "LM", "mlm": "MLM", "mt": "MT"}
QUESTIONS: Final = {
    "LM, its token": ("lm", "input"),
    "LM, the next token": ("lm", "next"),
    "MLM, its token": ("mlm", "input"),
    "MLM, the masked token": ("mlm", "masked"),
    "MT, its token": ("mt", "input"),
}
"""What information is measured about: the objective of the model, and the label of each position."""


def line_names() -> dict[str, Message]:
    """The names of all lines of the three figures."""
    found = {name: Message(f"evolution.about_{what}", model=NAMES[of]) for name, (of, what) in QUESTIONS.items()}
    found |= {f"two seeds of {name}": Message("evolution.two_seeds", model=name) for name in NAMES.values()}
    pairs = [("LM", "MLM"), ("LM", "MT"), ("MLM", "MT")]
    return found | {f"{one} and {other}": Message("evolution.pair", one=one, other=other) for one, other in pairs}


@dataclass(frozen=True)
class Training:
    """How a training went."""

    accuracy: float
    """On sentences that were held out."""
    guess: float
    """The accuracy of the most frequent token as every answer."""
    tokens_per_second: float


@dataclass(frozen=True)
class Evolution:
    """For each line of each figure the numbers by layer, one curve for each seed or pair."""

    learned: dict[str, Training]
    information: dict[str, list[ByLayer]]
    errors: dict[str, ByLayer]
    """The half-width of the interval of one measurement of information."""
    distances: dict[str, list[ByLayer]]
    changes: dict[str, list[ByLayer]]
    most: float
    """The bits of all that there is to know."""
    quick: bool = False
    claims: list[Written] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=lambda: {name: m.to_json() for name, m in line_names().items()})
    """What the lines are called, by id."""

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


def means(curves: list[ByLayer]) -> list[float]:
    """The mean of some curves, by layer."""
    return [fmean(curve[layer] for curve in curves) for layer in curves[0]]
