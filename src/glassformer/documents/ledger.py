"""The list of all claims, how one is run, and how outcomes are kept, so that a long run can go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from glassformer.atomic import write_atomically
from glassformer.documents import sources
from glassformer.documents.approximation import claims as s1_approximation
from glassformer.documents.evolution import claims as s3_evolution
from glassformer.documents.inside import claims as s4_inside
from glassformer.documents.lineage import claims as s2_lineage
from glassformer.documents.shortcuts import learned as s0_learning
from glassformer.documents.shortcuts import theorems as s0_shortcuts
from glassformer.documents.verdict import Measured
from glassformer.errors import InputError
from glassformer.training.fetching import place_of
from glassformer.training.sweep import OnRows

DOCUMENTS: Final = {
    "S0": "Transformers learn shortcuts to automata",
    "S1": "Are transformers universal approximators of sequence-to-sequence functions?",
    "S2": "Where the design choices of the Transformer come from",
    "S3": "The bottom-up evolution of representations in the transformer",
    "S4": "Transformer and MLP",
}
"""What the claims are taken from; S0.6 is the sixth of S0."""


@dataclass(frozen=True)
class Claim:
    """A claim by its id, and the experiment that can refute it."""

    id: str
    claimed: str
    """The docstring of what measures it: in English, for claims are not translated."""
    measure: Callable[[], Measured]
    prepare: Callable[[OnRows], object] | None = None
    """Trainings of many minutes, on a text from a registry, that show their progress."""

    @property
    def slow(self) -> bool:
        """Whether it takes many minutes."""
        return self.prepare is not None

    @property
    def quick(self) -> bool:
        """Whether it is one of those that take less than five minutes together."""
        return not self.slow and self.id not in LONG

    @property
    def experiment(self) -> str:
        """A digest of all that is run; another one means that another thing would be measured."""
        return sources.digest(self.measure.__module__)


@dataclass(frozen=True)
class Outcome:
    """A claim beside what was measured."""

    id: str
    claimed: str
    measured: str
    holds: bool


LONG: Final = frozenset({"S0.14", "S0.15", "S0.17"})
"""Trainings of more than half a minute each: 112 of the 243 seconds that all without text take of one core."""

CLAIMS: Final = tuple(
    Claim(identifier, (measure.__doc__ or "").strip(), measure, getattr(module, "prepare", None))
    for module in (s0_shortcuts, s0_learning, s1_approximation, s2_lineage, s3_evolution, s4_inside)
    for identifier, measure in module.CLAIMS.items()
)


def find(ids: Iterable[str]) -> list[Claim]:
    """The claims with these ids, or all."""
    wanted = list(dict.fromkeys(ids))
    known = {claim.id: claim for claim in CLAIMS}
    for identifier in wanted:
        if identifier not in known:
            raise InputError("documents.no_claim", claim=identifier, known=list(known))
    return [known[identifier] for identifier in wanted] or list(CLAIMS)


class Kept:
    """Outcomes in a file. One counts for the claim with the same id, the same words and the same experiment only."""

    def __init__(self, path: Path | None = None, again: bool = False) -> None:
        """By default the file is in the cache, where fetched texts are; `again` deletes it."""
        self.path = path or place_of("any").parents[1] / "claims.json"
        try:
            if again:
                self.path.unlink(missing_ok=True)
            rows = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            rows = {}
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError("documents.unreadable_outcomes", path=self.path, why=str(why)) from None
        if not isinstance(rows, dict):
            raise InputError("documents.no_outcomes", path=self.path)
        self.rows: dict[str, Any] = rows

    def of(self, claim: Claim) -> Outcome | None:
        """What was measured, if nothing has changed since."""
        match self.rows.get(claim.id):
            case {
                "claimed": claim.claimed,
                "experiment": claim.experiment,
                "measured": str(measured),
                "holds": bool(holds),
            }:
                return Outcome(claim.id, claim.claimed, measured, holds)
        return None

    def add(self, claim: Claim, outcome: Outcome) -> None:
        """Keep one more; it is on the disk when this returns."""
        self.rows[claim.id] = vars(outcome) | {"experiment": claim.experiment}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError("documents.no_folder", folder=self.path.parent, why=error.strerror) from None
        write_atomically(self.path, (json.dumps(self.rows, ensure_ascii=False, indent=1) + "\n").encode())


def run(claims: Iterable[Claim], kept: Kept | None = None) -> Iterator[Outcome]:
    """Measure one after the other, but for those that are kept; what is measured is kept at once."""
    for claim in claims:
        outcome = kept.of(claim) if kept else None
        if outcome is None:
            seen, holds = claim.measure()
            outcome = Outcome(claim.id, claim.claimed, str(seen), holds)
            if kept:
                kept.add(claim, outcome)
        yield outcome
