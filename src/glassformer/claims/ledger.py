"""The list of all claims, and how one is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from glassformer.claims import s0_learning, s0_shortcuts, s1_approximation, s2_lineage, s3_evolution, s4_inside
from glassformer.errors import InputError
from glassformer.studies.evolution import Told

Measured = tuple[str, bool]
"""What was seen, in words, and whether the claim holds."""


@dataclass(frozen=True)
class Claim:
    """A claim by its id, and the experiment that can refute it."""

    id: str
    claimed: str
    measure: Callable[[], Measured]
    prepare: Callable[[Told], object] | None = None
    """Trainings of many minutes, on a text from a registry, that are told step by step."""

    @property
    def slow(self) -> bool:
        """Whether it takes many minutes."""
        return self.prepare is not None


@dataclass(frozen=True)
class Outcome:
    """A claim beside what was measured."""

    id: str
    claimed: str
    measured: str
    holds: bool

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return dict(self.__dict__)


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
            raise InputError(f"there is no claim {identifier!r}; those that can be run are {', '.join(known)}")
    return [known[identifier] for identifier in wanted] or list(CLAIMS)


def run(claims: Iterable[Claim]) -> Iterator[Outcome]:
    """Measure one after the other."""
    for claim in claims:
        measured, holds = claim.measure()
        yield Outcome(claim.id, claim.claimed, measured, holds)
