"""What the study of evolution finds: numbers by layer, for every model and pair of models."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final, TypeAlias

from glassformer.documents.verdict import Written
from glassformer.messages import Message, verbatim

ByLayer: TypeAlias = dict[str, float]
"""A number for each layer."""

NAMES: Final = {"lm": "LM", "mlm": "MLM", "mt": "MT"}
QUESTIONS: Final = {
    "input:lm": ("lm", "input"),
    "next:lm": ("lm", "next"),
    "input:mlm": ("mlm", "input"),
    "masked:mlm": ("mlm", "masked"),
    "input:mt": ("mt", "input"),
}
"""What information is measured about: the objective of the model, and the label of each position."""


FIGURES: Final = {
    "information": Message("evolution.information"),
    "distances": Message("evolution.distances"),
    "changes": Message("evolution.changes"),
}
FORMER: Final = {
    "LM, its token": "input:lm",
    "LM, the next token": "next:lm",
    "MLM, its token": "input:mlm",
    "MLM, the masked token": "masked:mlm",
    "MT, its token": "input:mt",
    "two seeds of LM": "seeds:lm",
    "two seeds of MLM": "seeds:mlm",
    "two seeds of MT": "seeds:mt",
    "LM and MLM": "pair:lm-mlm",
    "LM and MT": "pair:lm-mt",
    "MLM and MT": "pair:mlm-mt",
    "LM": "lm",
    "MLM": "mlm",
    "MT": "mt",
}
"""What files of earlier versions call the lines."""


def titles() -> dict[str, Message]:
    """The titles of the three figures and of all their lines, by id."""
    found = {name: Message(f"evolution.about_{what}", model=NAMES[of]) for name, (of, what) in QUESTIONS.items()}
    found |= {f"seeds:{each}": Message("evolution.two_seeds", model=name) for each, name in NAMES.items()}
    for one, other in itertools.combinations(NAMES, 2):
        found[f"pair:{one}-{other}"] = Message("evolution.pair", one=NAMES[one], other=NAMES[other])
    found |= {each: verbatim(name) for each, name in NAMES.items()}
    return found | FIGURES


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
    """For each line of each figure, by its id, the numbers by layer: one curve for each seed or pair."""

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
    names: dict[str, Any] = field(
        init=False, default_factory=lambda: {name: title.to_json() for name, title in titles().items()}
    )
    """The titles of figures and lines, by id."""


def means(curves: list[ByLayer]) -> list[float]:
    """The mean of some curves, by layer."""
    return [fmean(curve[layer] for curve in curves) for layer in curves[0]]
