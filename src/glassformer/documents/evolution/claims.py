"""Claims S3.1 – S3.5: "The bottom-up evolution of representations in the transformer", by `glassformer evolve`.

All five look at the same six models, which are trained on real text, some 25 minutes on two cores, kept in the cache,
and never trained twice by the same code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from glassformer.documents import sources
from glassformer.documents.evolution import training
from glassformer.documents.evolution.measuring import measure
from glassformer.documents.evolution.results import Training
from glassformer.documents.evolution.training import EvolutionScale, train_all
from glassformer.documents.evolution.verdicts import CLAIMED, verdicts
from glassformer.documents.verdict import Measured, Verdict
from glassformer.training.cluster import cores
from glassformer.training.fetching import place_of
from glassformer.training.sweep import OnRows

SCALE: Final = EvolutionScale()


def prepare(on_rows: OnRows | None = None) -> dict[str, Training]:
    """Train what is not trained yet."""
    return train_all(SCALE, models(), cores(), on_rows)


@cache
def found() -> dict[str, Verdict]:
    """The verdict on each claim."""
    return dict(zip(CLAIMED, verdicts(measure(SCALE, models(), prepare())), strict=True))


def models() -> Path:
    """Where the models of this scale and of this code are kept: in the cache, as the text that they are trained on."""
    kind = hashlib.sha256(f"{SCALE} {sources.digest(training.__name__)}".encode()).hexdigest()[:8]
    return place_of(SCALE.corpus).parents[1] / f"evolution-{kind}"


def measure_of(claim: str) -> Callable[[], Measured]:
    """What measures one claim; its docstring is the claim."""

    def measured() -> Measured:
        return found()[claim].seen_text, found()[claim].holds

    measured.__doc__ = str(CLAIMED[claim])
    return measured


CLAIMS: Final = {claim: measure_of(claim) for claim in CLAIMED}
