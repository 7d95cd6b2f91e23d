"""What the served page asks for, done in a process of its own: it may be slow, or too large, and is then ended.

A request names a machine (by spec, or a file that was uploaded), a length and a word; limits on each are checked before
anything is built. Models are kept from request to request while they are asked for: built ones in the process, trained
ones in a folder, where they outlive it and all processes find them.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from glassformer.automata import Machine, formats
from glassformer.automata import machine as machine_of
from glassformer.automata.words import example_word
from glassformer.compiler.built import Built
from glassformer.compiler.constructions import BY_NAME
from glassformer.compiler.constructions.universal import approximate
from glassformer.compiler.pipeline import AUTO, compile, refuse_unknown_method
from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.opening.loading import load
from glassformer.opening.opened import Opened
from glassformer.training import Architecture, Settings, StateTracking, train
from glassformer.ui.looking import (
    Seen,
    approximation_seen,
    built_seen,
    class_seen,
    heads_seen,
    machine_seen,
    refuse_unknown_heads,
    word_seen,
)
from glassformer.ui.web import wire

LONGEST_SPEC: Final = 400
LONGEST_WORD: Final = 512
LONGEST_LENGTH: Final = 1024
LARGEST_FILE: Final = 1_000_000
MOST_STATES: Final = 256
MOST_ABLATED: Final = 64
MOST_STREAM: Final = 200_000
"""Numbers of the residual stream that are sent; beyond, registers are not shown."""
MOST_HEAD_WORK: Final = 4 * 10**10
"""Weights × tokens × heads that are gone through to score heads; some ten seconds."""
HEADS_WORDS: Final = 64
"""Words on which heads are scored; larger models get fewer, and at least so many:"""
FEWEST_WORDS: Final = 8
FEWEST_TOKENS: Final = 4
LONGEST_SCORED: Final = 64
MOST_BLOCKS: Final = 4_000
"""Of an approximation; so many take some ten seconds."""
APPROXIMATION_SAMPLES: Final = 500
MOST_SIZES: Final = {"d": 3, "n": 4, "cells": 64}
TRAINED: Final = Settings(steps=300, evaluate_every=300)
SHAPE: Final = Architecture(layers=2, width=32, heads=4)
TRAINED_ON: Final = 16
LETTERS_SHOWN: Final = 10
"""Of a word that the page chooses."""
ABOUT: Final = "about.json"
"""In the folder of a trained model: its accuracy, and what else is said of it."""
FIRST: Final = '{"spec": "regex:(ab)*", "method": "auto", "length": 32, "word": "abba"}'
"""What the page begins with."""


@dataclass(frozen=True)
class Request:
    """What is asked, checked."""

    spec: str
    method: str
    length: int
    word: str
    without: tuple[tuple[int, int], ...]
    file: tuple[str, str] | None = None
    fresh: bool = False
    """Whether the machine is another one than before, so that the word may be of the one before."""

    @classmethod
    def of(cls, values: Any) -> Request:
        """From what came over the wire."""
        if not isinstance(values, dict):
            raise InputError("page.request")
        file = values.get("file")
        if file is not None:
            if not isinstance(file, dict):
                raise InputError("page.file")
            file = (_text(file, "name", 200), _text(file, "text", LARGEST_FILE))
        length, without = values.get("length", 32), values.get("without", [])
        if type(length) is not int or not 1 <= length <= LONGEST_LENGTH:
            raise InputError("page.length", limit=LONGEST_LENGTH)
        pairs = isinstance(without, list) and len(without) <= MOST_ABLATED
        if not pairs or not all(
            isinstance(p, list) and len(p) == 2 and all(type(i) is int for i in p) for p in without
        ):
            raise InputError("page.heads", limit=MOST_ABLATED)
        method = _text(values, "method", 20, AUTO)
        refuse_unknown_method(method)
        spec, word = _text(values, "spec", LONGEST_SPEC), _text(values, "word", 4 * LONGEST_WORD, "")
        ablated = tuple((layer, head) for layer, head in without)
        return cls(spec, method, length, word, ablated, file, bool(values.get("fresh")))

    def machine(self) -> Machine:
        """The machine; files are those that were sent, never those of this computer."""
        if self.file is not None:
            made = formats.loads(self.file[1], Path(self.file[0]).suffix.lower().removeprefix("."), self.file[0])
        elif Path(self.spec.strip()).suffix.lower() in formats.SUFFIXES and not self.spec.lstrip().startswith("regex:"):
            raise InputError("page.upload_one")
        else:
            made = machine_of(self.spec)
        if len(made.states) > MOST_STATES:
            raise InputError("page.too_many_states", limit=MOST_STATES, states=len(made.states))
        return made


def _text(values: Mapping[str, Any], name: str, longest: int, otherwise: str | None = None) -> str:
    value = values.get(name, otherwise)
    if not isinstance(value, str):
        raise InputError("page.text", name=name)
    if len(value) > longest:
        raise InputError("page.text_too_long", name=name, characters=len(value), limit=longest)
    return value


def look(values: Any) -> Seen:
    """A machine, its class, the model that is built for it, and one word in it; beside it the trained one, if any."""
    asked = Request.of(values)
    machine = asked.machine()
    asked = replace(asked, word=_fitting(asked.word, machine)) if asked.fresh else asked
    built = _built(asked.spec, asked.file, asked.method, _built_for(asked))
    subject, about = _trained(asked) or (None, {})
    refuse_unknown_heads(asked.without, [built.model, *([subject.model] if subject else [])])
    found = {
        "word": asked.word,
        "methods": [AUTO, *BY_NAME],
        "machine": machine_seen(machine, asked.spec),
        "classified": _class(asked.spec, asked.file, asked.length),
        "built": {**built_seen(built), "run": _run(load(built), asked.word, asked.without)},
    }
    if subject:
        most = subject.model.config.context - 1
        fits = len(machine.one_word(asked.word)) <= most
        found["trained"] = about | ({"run": _run(subject, asked.word, asked.without)} if fits else {"most": most})
    return found


def _fitting(word: str, machine: Machine) -> str:
    """The word, if the machine reads it; else one that shows the machine well."""
    try:
        machine.one_word(word)
    except InputError:
        return machine.join(example_word(machine, LETTERS_SHOWN, np.random.default_rng(0)))
    return word


def _built_for(asked: Request) -> int:
    """The longest word that the built model must take."""
    letters = len(asked.machine().one_word(asked.word))
    if letters > LONGEST_WORD:
        raise InputError("page.word_too_long", letters=letters, limit=LONGEST_WORD)
    return max(asked.length, letters)


def learn(values: Any) -> Seen:
    """The same with a small model trained on it, which is kept."""
    asked = Request.of(values)
    machine = asked.machine()
    task = StateTracking(machine, TRAINED_ON)
    if not (place := _place(asked)).exists():
        if len(task.answers) < 2:
            raise InputError("page.nothing_to_learn")
        with tempfile.TemporaryDirectory(dir=place.parent) as unfinished:
            run, room = Path(unfinished) / "run", StateTracking(machine, min(LONGEST_WORD, 8 * TRAINED_ON))
            trained = train(task, SHAPE, TRAINED, run, tests={"room": room})
            about = {"accuracy": trained.score.accuracy, "steps": trained.steps, "length": TRAINED_ON}
            about |= {"layers": SHAPE.layers, "parameters": load(run).model.parameter_count()}
            (run / ABOUT).write_bytes(wire.written(about))
            run.rename(place)
        for old in sorted(place.parent.glob(f"*/{ABOUT}"), key=lambda path: path.stat().st_mtime)[:-MOST_KEPT]:
            shutil.rmtree(old.parent)
    return look(values)


def heads(values: Any) -> Seen:
    """What the heads of the built model do, and those of the trained one, if any: as `measure heads` has it."""
    asked = Request.of(values)
    found = {"built": _heads(asked.spec, asked.file, asked.method, _built_for(asked))}
    if trained := _trained(asked):
        found["trained"] = scored(trained[0], TRAINED_ON)
    return found


def scored(subject: Opened, length: int) -> Seen:
    """The scores of all heads, on as many words as there is time for; none if words are too short to tell heads apart,
    or the model is too large to be gone through once for every head.
    """
    tokens = min(length + 1, subject.model.config.context)
    count = sum(shape.heads for shape in subject.model.config.blocks)
    words = min(HEADS_WORDS, MOST_HEAD_WORK // (subject.model.parameter_count() * tokens * (count + 1)))
    if tokens < FEWEST_TOKENS:
        return {"refused": "short"}
    if words < FEWEST_WORDS:
        return {"refused": "large"}
    return heads_seen(subject, words, length)


def approximated(values: Any) -> Seen:
    """A small approximation of a function that has a name, built stage by stage."""
    if not isinstance(values, dict):
        raise InputError("page.request")
    d, n, cells = (_number(values, name, MOST_SIZES[name]) for name in MOST_SIZES)
    return _approximation(_text(values, "function", 20), d, n, cells)


def _number(values: Mapping[str, Any], name: str, most: int) -> int:
    value = values.get(name)
    if type(value) is not int or not 1 <= value <= most:
        raise InputError("page.size", name=name, limit=most)
    return value


MOST_KEPT: Final = 8
_kept: Path | None = None


def kept_in(folder: Path) -> None:
    """Keep trained models here."""
    global _kept
    _kept = folder


def _place(asked: Request) -> Path:
    """Where the model that was trained on this machine is, or will be."""
    if _kept is None:
        raise RuntimeError("kept_in has not said where")
    return _kept / hashlib.sha256(wire.written([asked.spec, asked.file])).hexdigest()


def _trained(asked: Request) -> tuple[Opened, Seen] | None:
    """The model that was trained on this machine, if there is one, and what is said of it."""
    if _kept is None or not (about := _place(asked) / ABOUT).exists():
        return None
    return _opened(about.parent, about.stat().st_mtime_ns), wire.read(about.read_bytes())


@lru_cache(maxsize=MOST_KEPT)
def _opened(place: Path, _: int) -> Opened:
    return load(place)


@lru_cache(maxsize=MOST_KEPT)
def _built(spec: str, file: tuple[str, str] | None, method: str, length: int) -> Built:
    return compile(Request(spec, method, length, "", (), file).machine(), length, method)


@lru_cache(maxsize=MOST_KEPT)
def _heads(spec: str, file: tuple[str, str] | None, method: str, length: int) -> Seen:
    return scored(load(_built(spec, file, method, length)), min(length, LONGEST_SCORED))


@lru_cache(maxsize=MOST_KEPT)
def _class(spec: str, file: tuple[str, str] | None, length: int) -> Seen:
    return class_seen(Request(spec, AUTO, length, "", (), file).machine(), spec, length)


@lru_cache(maxsize=MOST_KEPT)
def _approximation(function: str, d: int, n: int, cells: int) -> Seen:
    built = approximate(function, d, n, 1 / cells, samples=APPROXIMATION_SAMPLES, most_blocks=MOST_BLOCKS)
    return approximation_seen(built)


def _run(subject: Opened, word: str, without: Any) -> Seen:
    blocks, width = len(subject.model.blocks) + 1, subject.model.config.width
    letters = len(subject.encode(word))
    return word_seen(subject, word, without, stream=blocks * width * letters <= MOST_STREAM)


JOBS: Final = {"look": look, "train": learn, "heads": heads, "approximate": approximated}


def answer(job: str, body: bytes | str) -> tuple[int, bytes]:
    """Do a job: an HTTP status, and JSON."""
    try:
        values = wire.read(body)
    except ValueError:
        return 400, wire.refusal(Message("page.not_json"))
    try:
        return 200, wire.written(JOBS[job](values))
    except InputError as error:
        return 400, wire.refusal(error.message)
    except RecursionError:
        return 413, wire.refusal(Message("page.too_much"))
    except MemoryError:
        return 413, wire.refusal(Message("page.too_much_memory"))
