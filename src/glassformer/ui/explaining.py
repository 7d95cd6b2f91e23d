"""A machine explained: what it is, a model built for it, one trained on it, both side by side, and where one breaks.

Every stage is kept as it is done: whoever interrupts has a report of the stages before, and the same command goes on.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from glassformer.algebra import Limits
from glassformer.automata import Machine, finite
from glassformer.automata.words import example_word, exploring_words, lasting
from glassformer.compiler.built import Built
from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify
from glassformer.messages import Message
from glassformer.nn import files
from glassformer.opening.loading import load
from glassformer.opening.opened import Opened
from glassformer.progress import NamedProgress
from glassformer.training import Architecture, Settings, StateTracking, evaluate, train
from glassformer.training.evaluation import evaluate_on
from glassformer.training.trainer import Trained
from glassformer.ui.looking import Seen, built_seen, class_seen, heads_seen, machine_seen, word_seen

HEADS_WORDS: Final = 64
"""Words on which heads are scored."""
STAGES: Final = ("class", "built", "verified", "trained", "compared")


@dataclass(frozen=True)
class ExplainScale:
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


QUICK: Final = ExplainScale(length=12, shown=10, words=50, steps=200, width=32, tested=128, seconds=2.0)


def explain(machine: Machine, spec: str, folder: Path, scale: ExplainScale, progress: NamedProgress) -> Iterator[Seen]:
    """All that is known after each stage; models are kept in the folder, and training goes on from what is there."""
    found: Seen = {"machine": machine_seen(machine, spec), "live": False}
    progress("class", 0, 1)
    found["classified"] = class_seen(machine, spec, scale.length, Limits(seconds=scale.seconds))
    yield found
    progress("built", 0, 1)
    built = compile(machine, 2 * scale.length)
    built.save(folder / "built")
    word = _word(machine, scale)
    found["word"] = word
    found["built"] = {**built_seen(built), "run": word_seen(load(built), word)}
    yield found
    progress("verified", 0, 1)
    report = verify(built, words=scale.words)
    found["verified"] = {"words": report.words, "positions": report.positions, "wrong": report.wrong}
    yield found
    task, tests = StateTracking(machine, scale.length), _tests(machine, scale.length)
    if len(task.answers) > 1:
        trained = _trained(task, tests, folder / "trained", scale, progress)
        subject = load(folder / "trained")
        found["trained"] = {"run": word_seen(subject, word), "accuracy": trained.score.accuracy, "steps": trained.steps}
        found["trained"] |= {
            "layers": scale.layers,
            "length": scale.length,
            "parameters": subject.model.parameter_count(),
        }
        yield found
        progress("compared", 0, 1)
        both = {"built": load(built), "trained": subject}
        found["heads"] = {who: heads_seen(each, HEADS_WORDS, scale.length) for who, each in both.items()}
        found["breaks"] = _breaks(built, trained, subject, tests, scale)
        yield found


def _word(machine: Machine, scale: ExplainScale) -> str:
    """The word that is looked at: one that takes as many different steps as it can."""
    letters = example_word(machine, scale.shown, np.random.default_rng(0))
    return machine.join(letters)


@dataclass(frozen=True)
class Test:
    """Words on which both models are compared."""

    id: str
    name: Message
    task: StateTracking
    alive: bool = False
    """Whether they keep out of dead ends."""


def _tests(machine: Machine, length: int) -> list[Test]:
    """Longer words, and words in which the last letter comes rarely or nearly always."""
    longer = [
        Test(f"length_{n}", Message("page.letters", letters=n), StateTracking(machine, n)) for n in _lengths(length)
    ]
    others = len(machine.symbols) - 1
    mixed = [
        Test(
            f"share_{share:g}",
            Message("page.share_of_letter", share=share, letter=machine.symbols[-1]),
            StateTracking(machine, length, letters=(*[(1 - share) / others] * others, share)),
        )
        for share in ((0.05, 0.95) if others else ())
    ]
    return longer + mixed


def _lengths(length: int) -> tuple[int, int, int]:
    """Test lengths: the training length, 1.5 and 2 times it."""
    return length, length + length // 2, 2 * length


def _trained(
    task: StateTracking, tests: list[Test], folder: Path, scale: ExplainScale, progress: NamedProgress
) -> Trained:
    architecture = Architecture(layers=scale.layers, width=scale.width, heads=4)
    settings = Settings(steps=scale.steps, evaluate_every=max(1, scale.steps // 10))
    begun = _tests_of_run(folder)
    named = {str(test.name) if str(test.name) in begun else test.id: test.task for test in tests}

    def show(step: int, *_: Any) -> None:
        progress("trained", step, scale.steps)

    return train(task, architecture, settings, folder, resume=folder.exists(), tests=named, progress=show)


def _tests_of_run(folder: Path) -> Container[str]:
    """The tests of a run that is there; earlier versions kept them by their English names."""
    run = files.read_json(folder / "run.json") if (folder / "run.json").exists() else {}
    tests = run.get("tests") if isinstance(run, dict) else None
    return tests if isinstance(tests, dict) else {}


def _breaks(built: Built, trained: Trained, subject: Opened, tests: list[Test], scale: ExplainScale) -> Seen:
    """The accuracy of both on every test; and on words that keep out of dead ends, if there are any.

    Random words soon end there, and then a model that always gives the same answer is right.
    """
    found: dict[str, dict[str, float]] = {"trained": {}, "built": {}}
    for test in tests:
        kept = trained.tests.get(test.id) or trained.tests[str(test.name)]
        found["trained"][test.id] = kept.accuracy
        found["built"][test.id] = evaluate(built.model, test.task, scale.tested).accuracy
    machine, models = finite(built.machine), {"trained": subject.model, "built": built.model}
    home, alive = lasting(machine), list[Test]()
    if home[machine.start] and not home[machine.reachable()].all():
        for n in _lengths(scale.length):
            name = Message("page.letters_alive", letters=n)
            test = Test(f"alive_{n}", name, StateTracking(machine, n), alive=True)
            words = exploring_words(machine, n, scale.tested, np.random.default_rng(0), home)
            for who, model in models.items():
                found[who][test.id] = evaluate_on(model, test.task, words).accuracy
            alive.append(test)
    return {"accuracy": found, "tests": {test.id: _test_seen(test) for test in [*tests, *alive]}}


def _test_seen(test: Test) -> Seen:
    """The name of a test; and the length of its words, if it differs from training in nothing else."""
    letters = test.task.length if test.task.letters is None else None
    return {"name": test.name.in_all_languages(), "letters": letters, "alive": test.alive}
