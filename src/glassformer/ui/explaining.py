"""A machine explained: what it is, a model built for it, one trained on it, both side by side, and where one breaks.

Every stage is kept as it is done: whoever interrupts has a report of the stages before, and the same command goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from glassformer.algebra import Limits
from glassformer.automata import Machine
from glassformer.automata.words import example_word, exploring_words, lasting
from glassformer.compiler.built import Built
from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify
from glassformer.opening.loading import load
from glassformer.opening.opened import Opened
from glassformer.training import Architecture, Settings, StateTracking, evaluate, train
from glassformer.training.evaluation import evaluate_on
from glassformer.training.trainer import Trained
from glassformer.ui.looking import Seen, built_seen, class_seen, heads_seen, machine_seen, word_seen

Told = Callable[[str, int, int], None]
HEADS_WORDS: Final = 64
"""Words on which heads are scored."""
STAGES: Final = ("class", "built", "verified", "trained", "compared")


@dataclass(frozen=True)
class Scale:
    """How long things may take."""

    length: int = 24
    shown: int = 20
    """Letters of the word that is looked at."""
    words: int = 200
    steps: int = 1500
    layers: int = 2
    width: int = 64
    tested: int = 512
    seconds: float = 10.0
    """For each search of the algebra."""


QUICK: Final = Scale(length=12, shown=10, words=50, steps=200, width=32, tested=128, seconds=2.0)


def explain(machine: Machine, spec: str, folder: Path, scale: Scale, tell: Told) -> Iterator[Seen]:
    """All that is known after each stage; models are kept in the folder, and training goes on from what is there."""
    found: Seen = {"machine": machine_seen(machine, spec), "live": False}
    tell("class", 0, 1)
    found["classified"] = class_seen(machine, spec, scale.length, Limits(seconds=scale.seconds))
    yield found
    tell("built", 0, 1)
    built = compile(machine, 2 * scale.length)
    built.save(folder / "built")
    word = _word(machine, scale)
    found["word"] = word
    found["built"] = {**built_seen(built), "run": word_seen(load(built), word)}
    yield found
    tell("verified", 0, 1)
    report = verify(built, words=scale.words)
    found["verified"] = {"words": report.words, "positions": report.positions, "wrong": report.wrong}
    yield found
    task, tests = StateTracking(machine, scale.length), _tests(machine, scale.length)
    if len(task.answers) > 1:
        trained = _trained(task, tests, folder / "trained", scale, tell)
        subject = load(folder / "trained")
        found["trained"] = {"run": word_seen(subject, word), "accuracy": trained.score.accuracy, "steps": trained.steps}
        found["trained"] |= {"layers": scale.layers, "length": scale.length, "parameters": _parameters(subject)}
        yield found
        tell("compared", 0, 1)
        both = {"built": load(built), "trained": subject}
        found["heads"] = {who: heads_seen(each, HEADS_WORDS, scale.length) for who, each in both.items()}
        found["breaks"] = _breaks(built, trained, subject, tests, scale)
        yield found


def _word(machine: Machine, scale: Scale) -> str:
    """The word that is looked at: one that takes as many different steps as it can."""
    letters = example_word(machine, scale.shown, np.random.default_rng(0))
    return machine.join(letters)


def _tests(machine: Machine, length: int) -> dict[str, StateTracking]:
    """Longer words, and words in which the last letter comes rarely or nearly always."""
    found = {f"{n} letters": StateTracking(machine, n) for n in _lengths(length)}
    others = len(machine.symbols) - 1
    for part in (0.05, 0.95) if others else ():
        letters = (*[(1 - part) / others] * others, part)
        found[f"{part:.0%} {machine.symbols[-1]}"] = StateTracking(machine, length, letters=letters)
    return found


def _lengths(length: int) -> tuple[int, int, int]:
    """That of the words of training, and longer ones."""
    return length, length + length // 2, 2 * length


def _trained(task: StateTracking, tests: dict[str, StateTracking], folder: Path, scale: Scale, tell: Told) -> Trained:
    architecture = Architecture(layers=scale.layers, width=scale.width, heads=4)
    settings = Settings(steps=scale.steps, evaluate_every=max(1, scale.steps // 10))

    def progress(step: int, *_: Any) -> None:
        tell("trained", step, scale.steps)

    return train(task, architecture, settings, folder, resume=folder.exists(), tests=tests, progress=progress)


def _parameters(subject: Opened) -> int:
    return subject.model.parameter_count()


def _breaks(built: Built, trained: Trained, subject: Opened, tests: dict[str, StateTracking], scale: Scale) -> Seen:
    """The accuracy of both on every test; and on words that keep out of dead ends, if there are any.

    Random words soon end there, and then a model that says nothing else is right.
    """
    told: dict[str, dict[str, float]] = {"trained": {}, "built": {}}
    for name, task in tests.items():
        told["trained"][name] = trained.tests[name].accuracy
        told["built"][name] = evaluate(built.model, task, scale.tested).accuracy
    machine, models = built.machine, {"trained": subject.model, "built": built.model}
    home = lasting(machine)
    if home[machine.start] and not home[machine.reachable()].all():
        for task in (StateTracking(machine, length) for length in _lengths(scale.length)):
            words = exploring_words(machine, task.length, scale.tested, np.random.default_rng(0), home)
            for who, model in models.items():
                told[who][f"{task.length} letters, no dead end"] = evaluate_on(model, task, words).accuracy
    return {"accuracy": told}
