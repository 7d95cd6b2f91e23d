"""What the story of attention says, and what was seen; only of what was trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from glassformer.documents.lineage.family import IN_THE_BLOCK
from glassformer.documents.lineage.results import BLOCK, RNN, Family, MemberResult, Skips, Translating, titles
from glassformer.documents.verdict import Verdict
from glassformer.messages import Message

LOST: Final = 0.1
"""The part of the answers that a deeper stack may lose and still count as one that trains, if half are left."""


def of_family(found: Family) -> list[Verdict]:
    """Without attention distance kills, attention repairs it, many heads beat one; and what depends on the host."""
    verdicts = [_distance(found.by_distance), _repaired(found), _heads(found), _host(found)]
    return [verdict for verdict in verdicts if verdict is not None]


def _distance(right: Mapping[str, Sequence[float]]) -> Verdict | None:
    """Of as many letters, those read last and those read first; attention must lose less than half as much."""
    if not {"none", "additive"} <= right.keys():
        return None
    (near, *_, far), (near_with, *_, far_with) = right["none"], right["additive"]
    values = {"near": near, "far": far, "near_with": near_with, "far_with": far_with}
    seen = Message("lineage.distance_seen", letters=len(right["none"]), **values)
    kills = near - far > 0.3 and near_with - far_with < (near - far) / 2
    return Verdict(Message("lineage.distance_kills"), seen, kills)


def _repaired(found: Family) -> Verdict | None:
    both = {task: found.of(RNN, task) for task in found.tasks}
    gains = {
        t: (r["additive"].accuracy, r["none"].accuracy) for t, r in both.items() if {"none", "additive"} <= r.keys()
    }
    if not gains:
        return None
    tasks = [
        Message("lineage.gain", task=titles()["tasks"].get(task, task), additive=a, none=n)
        for task, (a, n) in gains.items()
    ]
    holds = all(additive > none + 0.05 for additive, none in gains.values())
    return Verdict(Message("lineage.repaired"), Message("lineage.repaired_seen", tasks=tasks), holds)


def _heads(found: Family) -> Verdict | None:
    fetch = found.of(RNN, "fetch")
    if not {"scaled_dot", "multi_head"} <= fetch.keys():
        return None
    one, many = fetch["scaled_dot"], fetch["multi_head"]
    values = {"one": one.accuracy, "one_when": _when(one), "four": many.accuracy, "four_when": _when(many)}
    sooner = (many.reached or 10**9) < (one.reached or 10**9)
    return Verdict(Message("lineage.heads"), Message("lineage.heads_seen", **values), sooner)


def _host(found: Family) -> Verdict | None:
    """In the recurrent encoder–decoder both look before the step, where additive attention was made for."""
    rnn, block = found.of(RNN, "reverse"), found.of(BLOCK, IN_THE_BLOCK)
    rows = [rnn.get(name) for name in ("additive_before", "scaled_dot_before")]
    rows += [block.get(name) for name in ("additive", "scaled_dot")]
    add_rnn, dot_rnn, add_block, dot_block = rows
    if not (add_rnn and dot_rnn and add_block and dot_block):
        return None
    seen = Message(
        "lineage.host_seen",
        add_rnn=add_rnn.accuracy,
        dot_rnn=dot_rnn.accuracy,
        add_block=add_block.accuracy,
        dot_block=dot_block.accuracy,
    )
    by_seed = zip(add_rnn.seeds, dot_rnn.seeds, add_block.seeds, dot_block.seeds, strict=True)
    return Verdict(Message("lineage.host"), seen, all(a > b and c < d for a, b, c, d in by_seed))


def _when(row: MemberResult) -> Message:
    return Message("lineage.never") if row.reached is None else Message("lineage.after", steps=row.reached)


def of_skips(found: Skips) -> list[Verdict]:
    """Who trains at the smallest depth, and who still does at the largest."""
    shallow, *_, deep = next(iter(found.accuracies.values()))
    names = titles()["skips"]
    kinds = [
        Message("lineage.by_depth", kind=names[kind], shallow=by[shallow], deep=by[deep])
        for kind, by in found.accuracies.items()
    ]
    seen = Message("lineage.skips_seen", shallow=shallow, deep=deep, kinds=kinds)
    none = found.accuracies["none"]
    others = [by for kind, by in found.accuracies.items() if kind != "none"]
    holds = none[deep] < min(none[shallow] - LOST, 0.5) and all(
        by[deep] > max(by[shallow] - LOST, 0.5) for by in others
    )
    return [Verdict(Message("lineage.skips"), seen, holds)]


def of_translating(found: Translating) -> list[Verdict]:
    """By how much attention is better, for short sentences and for long ones."""
    with_it, without = (list(found.bleu[score].values()) for score in ("additive", "none"))
    groups = [
        Message("lineage.bleu", tokens=n, additive=a, none=b)
        for n, a, b in zip(found.lengths, with_it, without, strict=True)
    ]
    lost_with, lost_without = (1 - scores[-1] / max(scores[0], 1e-9) for scores in (with_it, without))
    seen = Message("lineage.translating_seen", groups=groups, lost_with=lost_with, lost_without=lost_without)
    better = all(a > b for a, b in zip(with_it, without, strict=True))
    return [Verdict(Message("lineage.translating"), seen, better and lost_without > lost_with)]
