"""The claims S3.1 – S3.5 beside what the study of evolution finds."""

from __future__ import annotations

import itertools
from statistics import fmean
from typing import Final

from glassformer.documents.evolution.results import NAMES, ByLayer, Evolution, means, titles
from glassformer.documents.verdict import Verdict
from glassformer.messages import Message

CLAIMED: Final = {f"S3.{i}": Message(f"evolution.claim_{i}") for i in range(1, 6)}
NOISE: Final = 0.1
"""Bits: other clusters, of another seed, move an estimate by about as much."""


def verdicts(found: Evolution) -> list[Verdict]:
    """One for each claim, in their order."""
    lm, mlm = (means(found.information[line]) for line in ("input:lm", "input:mlm"))
    lm_error, mlm_error = (max(NOISE, *found.errors[line].values()) for line in ("input:lm", "input:mlm"))
    lowest = min(mlm)
    seen = [
        (_right(found), all(each.accuracy > 2 * each.guess for each in found.learned.values())),
        (Message("evolution.seen_2", first=lm[0], last=lm[-1]), lm[-1] < lm[0] - lm_error),
        (
            Message("evolution.seen_3", first=mlm[0], lowest=lowest, layer=mlm.index(lowest), last=mlm[-1]),
            lowest < mlm[0] - mlm_error and lowest < mlm[-1] - mlm_error,
        ),
        _distances(found),
        _changes(found),
    ]
    return [
        Verdict(Message("evolution.claim", id=id, claimed=claimed), words, holds)
        for (id, claimed), (words, holds) in zip(CLAIMED.items(), seen, strict=True)
    ]


def _right(found: Evolution) -> Message:
    models = []
    for objective, name in NAMES.items():
        runs = [each for run, each in found.learned.items() if run.split("-")[0] == objective]
        right = fmean(each.accuracy for each in runs)
        models.append(Message("evolution.right", model=name, right=right, guess=runs[0].guess))
    return Message("evolution.seen_1", models=models)


def _distances(found: Evolution) -> tuple[Message, bool]:
    """Means over the layers, without the embedding."""
    apart = {name: fmean(means(curves)[1:]) for name, curves in found.distances.items()}
    pairs = [Message("evolution.distance", pair=titles()[name], distance=value) for name, value in apart.items()]
    floor = max(apart[f"seeds:{objective}"] for objective in NAMES if f"seeds:{objective}" in apart)
    return Message("evolution.seen_4", pairs=pairs), floor < apart["pair:mlm-mt"] < apart["pair:lm-mt"]


def _changes(found: Evolution) -> tuple[Message, bool]:
    sums = [f"{NAMES[each]} {sum(means(curves)):.3f}" for each, curves in found.changes.items()]
    pairs = list(itertools.combinations([(name, curve) for name, own in found.changes.items() for curve in own], 2))
    within = max(_apart(one, other) for (a, one), (b, other) in pairs if a == b)
    between = min(_apart(one, other) for (a, one), (b, other) in pairs if a != b)
    return Message("evolution.seen_5", sums=sums, within=within, between=between), within < between


def _apart(one: ByLayer, other: ByLayer) -> float:
    """How far two curves are apart, in the mean of the layers."""
    return fmean(abs(one[layer] - other[layer]) for layer in one)
