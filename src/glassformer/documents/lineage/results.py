"""What the study of the family finds: members by task, memory by distance, stacks by depth, BLEU by length."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from glassformer.documents.verdict import Verdict, Written

RNN, BLOCK = "rnn", "block"


@dataclass(frozen=True)
class Row:
    """One member on one task in one host: the accuracy of every seed, and medians."""

    host: str
    task: str
    member: str
    width: int
    seeds: list[float]
    accuracy: float
    whole: float
    tests: dict[str, float]
    reached: int | None
    """The median step at which 99 % were right; none if most seeds did not get there."""
    seconds: float

    @classmethod
    def of(cls, case: tuple[str, str, str], width: int, results: Sequence[Mapping[str, Any]]) -> Row:
        """From the results of all seeds."""

        def median(key: str) -> float:
            return statistics.median(float(result[key]) for result in results)

        tests = {test: statistics.median(float(r["tests"][test]) for r in results) for test in results[0]["tests"]}
        steps = (float("inf") if r["reached"] is None else float(r["reached"]) for r in results)
        middle = statistics.median_low(steps)
        reached = None if middle == float("inf") else int(middle)
        seeds = [float(result["accuracy"]) for result in results]
        return cls(*case, width, seeds, median("accuracy"), median("whole_words"), tests, reached, median("seconds"))

    @property
    def spread(self) -> float:
        """How far the seeds are apart."""
        return max(self.seeds) - min(self.seeds)


@dataclass(frozen=True)
class Skips:
    """Accuracy by kind and depth, and for the deepest the gradient that reaches each layer before the first step."""

    accuracies: dict[str, dict[int, float]]
    gradients: dict[str, list[float]]


@dataclass(frozen=True)
class Translating:
    """BLEU of each score by the most tokens of a group, and the first sentences of the longest group."""

    bleu: dict[str, dict[int, float]]
    examples: list[dict[str, str]]

    @property
    def lengths(self) -> list[int]:
        """The most tokens of each group."""
        return list(next(iter(self.bleu.values())))


@dataclass(frozen=True)
class Family:
    """Every attention in its hosts."""

    rows: list[Row]
    by_distance: dict[str, list[float]]
    """Of those that reverse: the part that is right of the last letter of the longest sources, the one before, …"""

    def of(self, host: str, task: str) -> dict[str, Row]:
        """The rows of one task."""
        return {row.member: row for row in self.rows if (row.host, row.task) == (host, task)}

    @property
    def tasks(self) -> list[str]:
        """Those that recurrent encoder–decoders learned."""
        return list(dict.fromkeys(row.task for row in self.rows if row.host == RNN))


@dataclass(frozen=True)
class Lineage:
    """All of the study, as it is written."""

    family: list[Row]
    skips: Skips
    translating: Translating | None
    verdicts: list[Written]
    by_distance: dict[str, list[float]] = field(default_factory=dict)
    quick: bool = False

    @classmethod
    def of(
        cls, family: Family, skips: Skips, translating: Translating | None, verdicts: list[Verdict], quick: bool
    ) -> Lineage:
        """Its parts together."""
        written = [verdict.written() for verdict in verdicts]
        return cls(family.rows, skips, translating, written, family.by_distance, quick)

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)
