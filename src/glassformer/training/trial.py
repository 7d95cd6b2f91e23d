"""One trial of a sweep: plain settings in, plain results out, so that it can run in any process on any machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import torch

from glassformer.automata import machine
from glassformer.errors import InputError
from glassformer.training import corpora
from glassformer.training.architecture import Architecture
from glassformer.training.objectives import Reading, text_of, tokeniser_of
from glassformer.training.tasks import FlipFlopLanguage, Following, Task, task_to_json
from glassformer.training.trainer import Settings, train
from glassformer.training.transductions import WAYS, Transduction

PARTS: Final = ("task", "model", "training", "tests")
FLIP_FLOP: Final = "flip-flop language"
CHANGED_BY_TESTS: Final = ("length", "shortest", "distance", "letters", "ignore")


def identity(settings: Mapping[str, Any], task: Task) -> str:
    """A name that two trials share only if they are the same: a machine counts by what it is, not by its file."""
    told = json.dumps([settings, task_to_json(task)], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def run_trial(
    settings: Mapping[str, Any], progress: Callable[[int], None] | None = None, folder: Path | None = None
) -> dict[str, Any]:
    """Train as the settings say, and tell how it went."""
    task, architecture, how, tests = parts_of(settings)
    report = None if progress is None else lambda step, loss, accuracy: progress(step)
    return train(task, architecture, how, folder, resume=True, tests=tests, progress=report).to_json()


def parts_of(settings: Mapping[str, Any]) -> tuple[Task, Architecture, Settings, dict[str, Task]]:
    """Task, model, training and tests; whatever can be wrong with plain values is said here."""
    task = task_of(settings["task"])
    for name, changes in settings.get("tests", {}).items():
        if not isinstance(changes, Mapping) or not set(changes) <= set(CHANGED_BY_TESTS):
            raise InputError(f"[tests.{name}] changes {', '.join(CHANGED_BY_TESTS)} of the task, and nothing else")
    if settings.get("tests") and "text" in settings["task"]:
        raise InputError("a text is tested on the sentences that are held out of it, and has no other tests")
    tests = {name: task_of({**settings["task"], **changes}) for name, changes in settings.get("tests", {}).items()}
    architecture: Architecture = _made_of(Architecture, settings.get("model", {}), "model")
    return task, architecture, _made_of(Settings, settings.get("training", {}), "training"), tests


def check(settings: Mapping[str, Any], made: set[str]) -> Task:
    """The task of a trial that can be run: its model, too, can be made, if none like it was before.

    Layers are alike, so that one of them tells.
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
        raise InputError(f"a task is one of {' and '.join(kinds)}, not both")
    if "text" in rest:
        text: ToRead = _made_of(ToRead, rest, "task")
        return reading_of(text)
    if "sequence" in rest:
        transduction: Transduction = _made_of(Transduction, rest, "task")
        return transduction
    if rest.get("letters") is not None:
        if not isinstance(rest["letters"], list | tuple):
            raise InputError(f"letters is a list of probabilities, not {rest['letters']!r}")
        rest["letters"] = tuple(rest["letters"])
    spec = rest.pop("machine", None)
    if not isinstance(spec, str):
        raise InputError(
            f"a task needs a machine (a spec, or {FLIP_FLOP!r}), a sequence (one of {', '.join(WAYS)}) or a text"
        )
    if spec == FLIP_FLOP:
        language: FlipFlopLanguage = _made_of(FlipFlopLanguage, rest, "task")
        return language
    following: Following = _made_of(Following, {"machine": machine(spec), **rest}, "task")
    return following


@dataclass(frozen=True)
class ToRead:
    """A text, and what it is read for, as plain values."""

    text: str
    objective: str
    vocab: int = 1000
    longest: int = 24

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InputError(f"a text is a file or the name of a corpus, not {self.text!r}")


@lru_cache(maxsize=4)
def reading_of(asked: ToRead) -> Reading:
    """A text to be read; the same for the same values."""
    loaded = corpora.load(asked.text, parallel=asked.objective == "mt")
    return Reading(text_of(loaded, tokeniser_of(loaded, asked.vocab), asked.longest), asked.objective)


def _made_of(kind: Any, values: Mapping[str, Any], part: str) -> Any:
    """A dataclass from plain values; a name that does not belong is told, with those that do."""
    known = [field.name for field in fields(kind) if field.init]
    for name in values:
        if name not in known:
            raise InputError(f"[{part}] knows no {name!r}; it knows {', '.join(known)}")
    try:
        return kind(**values)
    except TypeError as error:
        raise InputError(f"[{part}] lacks something, or a value has the wrong kind: {error}") from None
