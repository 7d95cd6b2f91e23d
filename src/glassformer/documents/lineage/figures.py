"""The figures of the study of the family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from glassformer.documents.lineage.family import CORE
from glassformer.documents.lineage.results import RNN, Family, MemberResult, Skips, Translating, titles
from glassformer.messages import Message
from glassformer.ui.drawing.chart import Panel, draw_charts
from glassformer.ui.drawing.heatmap import draw_heatmap

DRAWN: Final[tuple[str, ...]] = ("none", "location", "linear", "additive", "scaled_dot_before", "dot")
"""Those of which it is drawn how far back they remember."""
LEAST: Final = 1e-9
"""Gradients below this share of the largest are drawn at it."""


def draw_family(found: Family) -> dict[str, str]:
    """By the names of their files."""
    return {
        "family": _by_task(found, lambda row: row.accuracy, "lineage.right_by_task"),
        "steps": _by_task(found, lambda row: row.reached, "lineage.steps_by_task"),
        "seconds": _by_task(found, lambda row: row.seconds, "lineage.seconds_by_task"),
        "members": _members(found),
        "distance": _distance(found),
    }


def _by_task(found: Family, measured: Callable[[MemberResult], float | None], title: str) -> str:
    """Readers that learned every task."""
    tasks = {task: found.of(RNN, task) for task in found.tasks}
    members = [name for name in CORE if all(name in rows for rows in tasks.values())]
    values = [[measured(rows[name]) for rows in tasks.values()] for name in members]
    return draw_heatmap(values, _titles("members", members), _titles("tasks", tasks), str(Message(title)))


def _members(found: Family) -> str:
    """What encoder–decoders that reverse have right: letters, whole answers, and letters of longer ones."""
    rows = found.of(RNN, "reverse")
    values = [[row.accuracy, row.whole, row.tests["longer"]] for row in rows.values()]
    columns = [str(Message(f"lineage.column_{name}")) for name in ("letters", "answers", "longer")]
    return draw_heatmap(values, _titles("members", rows), columns, str(Message("lineage.members")))


def _distance(found: Family) -> str:
    """What is right of letters that were read last, and of those that were read first."""
    lines = {name: list(enumerate(found.by_distance[name], start=1)) for name in DRAWN if name in found.by_distance}
    panel = _panel("lineage.one_of_twelve", "lineage.from_the_end", lines, "members")
    return draw_charts([panel], Message("lineage.distance"), Message("lineage.accuracy"))


def draw_skips(found: Skips) -> str:
    """Accuracy and gradients, side by side."""
    most = max(max(norms) for norms in found.gradients.values())
    least = max(min(min(norms) for norms in found.gradients.values()), most * LEAST)
    arriving = {kind: [(i, max(g, least)) for i, g in enumerate(by)] for kind, by in found.gradients.items()}
    depth = len(next(iter(found.gradients.values())))
    right = {kind: list(by.items()) for kind, by in found.accuracies.items()}
    gradients = Panel(
        Message("lineage.gradients", depth=depth),
        Message("lineage.layer"),
        arriving,
        between=(least, most),
        logarithmic=True,
        names=titles()["skips"],
    )
    panels = [_panel("lineage.right_by_depth", "lineage.layers", right, "skips", evenly=True), gradients]
    return draw_charts(panels, Message("lineage.stacks"), "")


def draw_translating(found: Translating) -> str:
    """BLEU by length."""
    high = 10 * (1 + max(value for by in found.bleu.values() for value in by.values()) // 10)
    lines = {score: list(by.items()) for score, by in found.bleu.items()}
    panel = _panel("lineage.held_out", "lineage.tokens_at_most", lines, "members", evenly=True)
    return draw_charts([panel], Message("lineage.translations"), "BLEU", high=high)


def _panel(
    title: str, across: str, lines: Mapping[str, list[tuple[int, float]]], kind: str, evenly: bool = False
) -> Panel:
    return Panel(Message(title), Message(across), lines, evenly=evenly, names=titles()[kind])


def _titles(kind: str, names: Iterable[str]) -> list[str]:
    return [str(titles()[kind].get(name, name)) for name in names]
