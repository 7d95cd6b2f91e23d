"""What the study of the family finds: members by task, memory by distance, stacks by depth, BLEU by length."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from glassformer.documents.verdict import Verdict, Written
from glassformer.messages import Message

RNN, BLOCK = "rnn", "block"
PAIRS: Final = (2, 4, 6, 8)
"""How many pairs are recalled from, in the tests of that task."""
FORMER: Final = {
    "additive, before the step": "additive_before",
    "dot, before the step": "dot_before",
    "dot, fed to the next step": "dot_input_feeding",
    "local-m": "local_m",
    "local-p": "local_p",
    "LSTMN, no other": "lstmn",
    "structured, 4 hops": "structured",
    "intra-temporal": "intra_temporal",
    "intra-temporal and -decoder": "intra_temporal_decoder",
    "scaled dot": "scaled_dot",
    "scaled dot, before the step": "scaled_dot_before",
    "multi-head": "multi_head",
    "multi-query": "multi_query",
    "grouped-query": "grouped_query",
    "reverse, up to 8": "reverse_8",
    "residual, norm behind": "residual_norm_behind",
    "residual, norm before": "residual_norm_before",
}
"""What files of earlier versions call members, tasks and kinds of skip connections."""


def titles() -> dict[str, dict[str, Message]]:
    """The titles of members, tasks, kinds of skip connections and tests, by id."""
    members = (
        "none", "hard", "additive", "additive_before", "dot", "dot_before", "dot_input_feeding", "general", "concat",
        "location", "local_m", "local_p", "lstmn", "decomposable", "structured", "intra_temporal",
        "intra_temporal_decoder", "scaled_dot", "scaled_dot_before", "multi_head", "multi_query", "grouped_query",
        "linear", "rotary", "alibi",
    )  # fmt: skip
    tasks = ("copy", "reverse", "sort", "recall", "reverse_8", "fetch", "dates")
    skips = ("none", "highway", "residual", "residual_norm_behind", "residual_norm_before")
    recalled = {str(pairs): Message("lineage.test_pairs", pairs=pairs) for pairs in PAIRS}
    return {
        "members": {member: Message(f"lineage.member_{member}") for member in members},
        "tasks": {task: Message(f"lineage.task_{task}") for task in tasks},
        "skips": {kind: Message(f"lineage.skip_{kind}") for kind in skips},
        "tests": {"longer": Message("lineage.test_longer"), **recalled},
    }


@dataclass(frozen=True)
class MemberResult:
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
    def of(cls, case: tuple[str, str, str], width: int, results: Sequence[Mapping[str, Any]]) -> MemberResult:
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

    rows: list[MemberResult]
    by_distance: dict[str, list[float]]
    """Of those that reverse: the part that is right of the last letter of the longest sources, the one before, …"""

    def of(self, host: str, task: str) -> dict[str, MemberResult]:
        """The rows of one task."""
        return {row.member: row for row in self.rows if (row.host, row.task) == (host, task)}

    @property
    def tasks(self) -> list[str]:
        """Those that recurrent encoder–decoders learned."""
        return list(dict.fromkeys(row.task for row in self.rows if row.host == RNN))


@dataclass(frozen=True)
class Lineage:
    """All of the study, as it is written."""

    family: list[MemberResult]
    skips: Skips
    translating: Translating | None
    verdicts: list[Written]
    by_distance: dict[str, list[float]] = field(default_factory=dict)
    quick: bool = False
    names: dict[str, Any] = field(init=False, default_factory=lambda: _written(titles()))
    """The titles of members, tasks, kinds of skip connections and tests, by id."""

    @classmethod
    def of(
        cls, family: Family, skips: Skips, translating: Translating | None, verdicts: list[Verdict], quick: bool
    ) -> Lineage:
        """Its parts together."""
        written = [verdict.written() for verdict in verdicts]
        return cls(family.rows, skips, translating, written, family.by_distance, quick)


def _written(titles: Mapping[str, Mapping[str, Message]]) -> dict[str, dict[str, Any]]:
    return {kind: {name: title.to_json() for name, title in some.items()} for kind, some in titles.items()}
