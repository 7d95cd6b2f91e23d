"""`classify`: the algebra of a machine, and how deep constructions for it are; what passes a limit is left out.

A language is judged by its minimal machine, because other machines for it may do more than the language asks. The
cascade and the depths are those of the machine as it is given, from its start: the one that `compile` follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from glassformer.algebra.analysis import Analysis
from glassformer.algebra.cascade import Cascade
from glassformer.algebra.complexity import Complexity, complexity
from glassformer.algebra.holonomy import Component
from glassformer.algebra.images import images
from glassformer.algebra.limits import Limits, TooLargeError, Watch
from glassformer.algebra.monoid import Monoid, monoid
from glassformer.automata import Machine, finite
from glassformer.automata import machine as machine_of
from glassformer.compiler.constructions import CONSTRUCTIONS
from glassformer.errors import InputError, whole_number
from glassformer.messages import Message

Found = TypeVar("Found")


@dataclass(frozen=True)
class Classification:
    """What a machine is made of, and how shallow a transformer can be for it."""

    machine: Machine
    judged: Machine
    """The machine that decides the class: the minimal one, if there are labels to go by."""
    length: int
    complexity: Complexity
    monoid: Monoid | None
    plain: Cascade | None
    """The cascade by holonomy alone."""
    cascade: Cascade | None
    """The cascade with levels merged where that makes it less deep."""
    depth: dict[str, int | None]
    """Layers of each construction that knows the machine: for words of this length by doubling, else of any length.

    None where a construction that promises a constant depth has none for this machine, or a limit was passed.
    """
    layers: dict[str, int]
    """Layers of each construction for words of this length."""
    notes: list[Message]
    """What is not known, and why."""

    def components(self) -> list[tuple[int, Component, int]]:
        """Level (from 1), component, and how many alike there are on the level, for the cascade by holonomy alone."""
        alike: dict[tuple[int, str, int], list[Component]] = {}
        for part in self.plain.decomposition.components if self.plain else []:
            alike.setdefault((part.level + 1, part.group.name, part.points), []).append(part)
        return [(kind[0], alike[kind][0], len(alike[kind])) for kind in sorted(alike)]

    def groups(self) -> dict[str, int]:
        """The simple groups in the cascade, and how often each occurs."""
        counted: Counter[str] = Counter()
        for _, component, number in self.components():
            for factor in component.group.simple_factors:
                counted[factor] += number
        return dict(sorted(counted.items()))

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        circuits = self.complexity.of_circuits
        return {
            "states": len(self.machine.states),
            "minimal_states": len(self.judged.states),
            "monoid_size": len(self.monoid) if self.monoid else None,
            "idempotents": int(self.monoid.idempotents.sum()) if self.monoid else None,
            "green": self.monoid.green.count() if self.monoid else None,
            "aperiodic": self.complexity.aperiodic,
            "quasi_aperiodic": self.complexity.quasi_aperiodic,
            "solvable": self.complexity.solvable,
            "complexity": circuits.name if circuits else None,
            "theorem": str(circuits.theorem) if circuits else None,
            "assumes": str(circuits.assumes) if circuits else None,
            "cascade": [
                {
                    "level": level,
                    "group": component.group.name,
                    "order": component.group.order,
                    "points": component.points,
                    "layers": list(component.group.layers),
                    "factors": list(component.group.simple_factors),
                    "count": number,
                }
                for level, component, number in self.components()
            ],
            "merged_levels": len(self.cascade.levels) if self.cascade else None,
            "length": self.length,
            "depth": self.depth,
            "notes": [str(note) for note in self.notes],
        }


def classify(
    machine: Machine | str,
    length: int = 128,
    merge: bool = True,
    limits: Limits | None = None,
    show: Callable[[Message, int, int], None] | None = None,
) -> Classification:
    """What a machine (or the one that a spec names) is made of, and how deep a transformer for it must be.

    `show` is called with what is being looked for, how many there are so far, and how many are allowed.
    """
    machine = machine_of(machine) if isinstance(machine, str) else finite(machine)
    if not isinstance(machine, Machine):
        raise InputError("algebra.no_labels")
    length = whole_number(length, "compiler.words_length", least=1)
    judged = machine if machine.outputs == machine.states else machine.minimal()
    watch = Watch(limits or Limits(), show)
    notes: list[Message] = []

    def within_limits(search: Callable[[Watch], Found], otherwise: Message) -> Found | None:
        try:
            return search(watch.again())
        except TooLargeError as error:
            notes.append(Message("algebra.note", why=error.message, otherwise=otherwise))
            return None

    sets = images(judged, watch.again())
    hardness = complexity(judged, sets, watch.again())
    if hardness.of_circuits is None:
        notes.append(Message("algebra.class_not_decided", images=len(sets.masks)))
    analysis = Analysis(machine, watch, merge)
    plain = within_limits(lambda _: analysis.plain_cascade, Message("algebra.no_cascade"))
    if plain and merge and analysis.merge_error:
        unmerged = Message("algebra.no_level_merged")
        notes.append(Message("algebra.note", why=analysis.merge_error.message, otherwise=unmerged))
    cascade = plain and analysis.cascade
    elements = within_limits(lambda watch: monoid(judged, watch), Message("algebra.number_unknown"))
    depth, layers = _layers(analysis, length)
    return Classification(machine, judged, length, hardness, elements, plain, cascade, depth, layers, notes)


def _layers(analysis: Analysis, length: int) -> tuple[dict[str, int | None], dict[str, int]]:
    """How many layers each construction takes: for words of the length that it promises, and for words of this one."""
    promised: dict[str, int | None] = {}
    layers: dict[str, int] = {}
    for construction in CONSTRUCTIONS:
        try:
            plan = construction.plan(analysis)
        except TooLargeError:
            promised[construction.name] = None
            continue
        if plan is not None:
            layers[construction.name] = construction.layers(plan, length)
            broken = construction.promises == "constant" and construction.grows(plan)
            promised[construction.name] = None if broken else layers[construction.name]
    return promised, layers
