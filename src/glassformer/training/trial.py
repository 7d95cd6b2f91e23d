"""One trial of a sweep: plain settings in, plain results out, so that it can run in any process on any machine."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import torch

from glassformer.automata import any_machine
from glassformer.errors import InputError
from glassformer.progress import Progress, silent
from glassformer.training import corpora
from glassformer.training.architecture import Architecture, with_new_names
from glassformer.training.objectives import TextTask, text_of, tokeniser_of
from glassformer.training.tasks import FlipFlopLanguage, StateTracking, Task, task_to_json
from glassformer.training.trainer import Settings, train
from glassformer.training.transductions import TRANSDUCTIONS, Transduction

PARTS: Final = ("task", "model", "training", "tests")
FLIP_FLOP: Final = "flip-flop language"
CHANGED_BY_TESTS: Final = ("length", "shortest", "distance", "letters", "ignore")


def identity(settings: Mapping[str, Any], task: Task) -> str:
    """A name that two trials share only if they are the same: a machine counts by what it is, not by its file."""
    text = json.dumps([settings, task_to_json(task)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run_trial(settings: Mapping[str, Any], progress: Progress = silent, folder: Path | None = None) -> dict[str, Any]:
    """Train as the settings say; the result as plain values."""
    task, architecture, how, tests = parts_of(settings)

    def report(step: int, loss: float, accuracy: float | None) -> None:
        progress(step, how.steps)

    return train(task, architecture, how, folder, resume=True, tests=tests, progress=report).to_json()


def parts_of(settings: Mapping[str, Any]) -> tuple[Task, Architecture, Settings, dict[str, Task]]:
    """Task, model, training and tests; whatever can be wrong with plain values is an error here."""
    task = task_of(settings["task"])
    for name, changes in settings.get("tests", {}).items():
        if not isinstance(changes, Mapping) or not set(changes) <= set(CHANGED_BY_TESTS):
            raise InputError("trial.tests_change", name=name, changed=CHANGED_BY_TESTS)
    if settings.get("tests") and "text" in settings["task"]:
        raise InputError("trial.tests_of_text")
    tests = {name: task_of({**settings["task"], **changes}) for name, changes in settings.get("tests", {}).items()}
    architecture: Architecture = _made_of(Architecture, with_new_names(settings.get("model", {})), "model")
    return task, architecture, _made_of(Settings, settings.get("training", {}), "training"), tests


def check(settings: Mapping[str, Any], made: set[str]) -> Task:
    """The task of a trial that can be run: its model, too, can be made, if none like it was before.

    Blocks are uniform, so checking one is enough.
    """
    task, architecture, _, _ = parts_of(settings)
    model = json.dumps([settings["task"], {**settings.get("model", {}), "layers": 1}])
    if model not in made:
        with torch.device("meta"):  # where a model takes no room
            replace(architecture, layers=1).model(task, seed=0)
        made.add(model)
    return task


def task_of(values: Mapping[str, Any]) -> Task:
    """The task that plain values describe."""
    rest = dict(values)
    if len(kinds := [kind for kind in ("text", "sequence", "machine") if kind in rest]) > 1:
        raise InputError("trial.several_kinds", kinds=kinds)
    if "text" in rest:
        task: TextTask = _made_of(text_task_of, rest, "task")
        return task
    if "sequence" in rest:
        transduction: Transduction = _made_of(Transduction, rest, "task")
        return transduction
    if rest.get("letters") is not None:
        if not isinstance(rest["letters"], list | tuple):
            raise InputError("trial.letters", value=rest["letters"])
        rest["letters"] = tuple(rest["letters"])
    spec = rest.pop("machine", None)
    if not isinstance(spec, str):
        raise InputError("trial.no_kind", language=FLIP_FLOP, sequences=[*TRANSDUCTIONS])
    if spec == FLIP_FLOP:
        language: FlipFlopLanguage = _made_of(FlipFlopLanguage, rest, "task")
        return language
    tracking: StateTracking = _made_of(StateTracking, {"machine": any_machine(spec), **rest}, "task")
    return tracking


@lru_cache(maxsize=4)
def text_task_of(text: str, objective: str, vocab: int = 1000, longest: int = 24, parallel: bool = False) -> TextTask:
    """A text and its objective; the same object for the same values.

    `parallel` leaves out sentences that have no translation, as for translators, whatever the objective.
    """
    if not isinstance(text, str):
        raise InputError("trial.text", value=text)
    corpus = corpora.load(text, parallel=parallel or objective == "mt")
    return TextTask(text_of(corpus, tokeniser_of(corpus, vocab), longest), objective)


def _made_of(kind: Any, values: Mapping[str, Any], part: str) -> Any:
    """What a class, or a function, makes of plain values; an unknown name is an error."""
    known = [*inspect.signature(kind).parameters]
    for name in values:
        if name not in known:
            raise InputError("trial.unknown", part=part, name=name, known=known)
    try:
        return kind(**values)
    except TypeError as error:
        raise InputError("trial.wrong", part=part, why=str(error)) from None
