"""Claims S3.1 – S3.5: "The bottom-up evolution of representations in the transformer", by `glassformer evolve`.

Each function's docstring is the claim; it returns what was measured, and whether that agrees. All five look at the same
six models, which are trained on real text, some 25 minutes on two cores, kept in the cache, and never trained twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from glassformer.documents.evolution.study import Learned, Scale, Told, measure, train_all, verdicts
from glassformer.documents.verdict import Verdict
from glassformer.training.cluster import cores
from glassformer.training.fetching import place_of

SCALE: Final = Scale()


def prepare(tell: Told) -> dict[str, Learned]:
    """Train what is not trained yet."""
    return train_all(SCALE, models(), cores(), tell)


@cache
def found() -> dict[str, Verdict]:
    """What is measured on the models, by claim."""
    learned = prepare(lambda what, count, of: None)
    return {verdict.claim: verdict for verdict in verdicts(measure(SCALE, models(), learned))}


def models() -> Path:
    """Where the models of this scale and version are kept: in the cache, as the text that they were trained on."""
    kind = hashlib.sha256(f"{SCALE} {version('glassformer')}".encode()).hexdigest()[:8]
    return place_of(SCALE.corpus).parents[1] / f"evolution-{kind}"


def three_objectives() -> tuple[str, bool]:
    """One architecture, three objectives: translation (MT), language model (LM), masked language model (MLM)."""
    return told("S3.1")


def forgets() -> tuple[str, bool]:
    """Mutual information between input tokens and each layer's vectors falls with depth in an LM."""
    return told("S3.2")


def forgets_and_remembers() -> tuple[str, bool]:
    """In an MLM it falls (context encoding) and then rises (token reconstruction)."""
    return told("S3.3")


def near_and_far() -> tuple[str, bool]:
    """PWCCA distance between tasks, above that of two seeds of one task: MT is near MLM, LM is far from MT."""
    return told("S3.4")


def changes() -> tuple[str, bool]:
    """The amount of change from layer to layer is the objective's."""
    return told("S3.5")


def told(claim: str) -> tuple[str, bool]:
    """The verdict on a claim."""
    verdict = found()[claim]
    return verdict.said, verdict.holds


CLAIMS: Final[dict[str, Callable[[], tuple[str, bool]]]] = {
    "S3.1": three_objectives,
    "S3.2": forgets,
    "S3.3": forgets_and_remembers,
    "S3.4": near_and_far,
    "S3.5": changes,
}
