"""The page's views in a notebook, as an anywidget: the same modules, asked in this process instead of over a wire."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from glassformer.automata import AnyMachine, Machine, finite
from glassformer.automata import machine as machine_of
from glassformer.compiler.built import Built
from glassformer.compiler.pipeline import compile
from glassformer.errors import InputError
from glassformer.messages import LANGUAGES
from glassformer.nn import files
from glassformer.opening.loading import TRAINING, load
from glassformer.opening.opened import Opened
from glassformer.training import StateTracking
from glassformer.ui.looking import Seen, built_seen, class_seen, machine_seen, refuse_unknown_heads, word_seen
from glassformer.ui.web.bundle import module, style
from glassformer.ui.web.jobs import LONGEST_SCORED, scored

try:
    import anywidget
    import traitlets
except ImportError:
    raise InputError("page.needs_anywidget") from None

THEMES: Final = ("", "light", "dark")


class Explorer(anywidget.AnyWidget):
    """A machine, the model that was built for it, a trained one beside it, and one word in both.

    `word`, `without` (pairs of a layer and a head that are ablated), `position`, `layer`, `head`, `temperature`,
    `language` and `theme` can be set and read; what is clicked sets them, too.
    """

    _esm = module("widget")
    _css = style()
    word = traitlets.Unicode().tag(sync=True)
    without: traitlets.List[Any] = traitlets.List().tag(sync=True)
    language = traitlets.Enum(LANGUAGES, "en").tag(sync=True)
    theme = traitlets.Enum(THEMES, "").tag(sync=True)
    position = traitlets.Int(1, min=0).tag(sync=True)
    layer = traitlets.Int(0, min=0).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    temperature = traitlets.Float(1.0, min=0.0).tag(sync=True)
    live = traitlets.Bool(True).tag(sync=True)
    message = traitlets.Any(None).tag(sync=True)
    machine = traitlets.Dict().tag(sync=True)
    classified = traitlets.Dict().tag(sync=True)
    built = traitlets.Dict().tag(sync=True)
    trained = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    verified = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    heads = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    breaks = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)

    def __init__(self, model: Built, spec: str, word: str, trained: tuple[Opened, Seen] | None, **given: Any) -> None:
        self._models = {"built": (load(model), built_seen(model))} | ({"trained": trained} if trained else {})
        length = model.certificate.exact_length
        followed = finite(model.machine)
        given |= {"machine": machine_seen(followed, spec), "classified": class_seen(followed, spec, length)}
        given["heads"] = {who: scored(subject, LONGEST_SCORED) for who, (subject, _) in self._models.items()}
        super().__init__(word=word, **self._looked(word, []), **given)
        self.observe(self._look, ["word", "without"])

    def _looked(self, word: str, without: list[Any]) -> Seen:
        """The word in each model."""
        refuse_unknown_heads(without, [subject.model for subject, _ in self._models.values()])
        return {
            who: {**about, "run": word_seen(subject, word, without)} for who, (subject, about) in self._models.items()
        }

    def _look(self, _: Any) -> None:
        try:
            found = self._looked(self.word, self.without)
        except InputError as error:
            self.message = error.message.in_all_languages()
            return
        tokens = len(found["built"]["run"]["tokens"])
        with self.hold_sync():
            self.message, self.position = None, min(self.position, tokens - 1)
            for name, value in found.items():
                setattr(self, name, value)


def explore(
    machine: Machine | Built | str,
    word: str = "",
    length: int = 32,
    method: str = "auto",
    trained: str | os.PathLike[str] | None = None,
    language: str = "en",
    theme: str = "",
) -> Explorer:
    """A widget that shows a machine and the model built for it; beside it the one in a folder, if one is named.

    The model is built for `length` letters, or the word's; one that is built already is taken as it is.
    """
    if language not in LANGUAGES:
        raise InputError("page.language", language=language)
    if theme not in THEMES:
        raise InputError("page.theme", theme=theme)
    spec = machine if isinstance(machine, str) else "machine"
    if not isinstance(machine, Built):
        made = machine_of(machine) if isinstance(machine, str) else machine
        machine = compile(made, max(length, len(made.one_word(word)), 1), method)
    beside = None if trained is None else _trained_on(finite(machine.machine), Path(trained))
    return Explorer(machine, spec, word, beside, language=language, theme=theme)


def _trained_on(machine: Machine, folder: Path) -> tuple[Opened, Seen]:
    """The model of a run, which must have learned this machine, and how that went."""
    subject = load(folder)
    if TRAINING not in subject.documents:
        raise InputError("page.not_a_run", folder=str(folder))
    task = subject.task
    if not isinstance(task, StateTracking) or not _same(task.machine, machine):
        raise InputError("page.another_machine", folder=str(folder))
    result = files.parse_json(subject.documents[TRAINING], f"{folder}/{TRAINING}")["result"]
    about = {"layers": len(subject.model.blocks), "parameters": subject.model.parameter_count(), "length": task.length}
    return subject, about | {key: result[key] for key in ("accuracy", "steps")}


def _same(one: AnyMachine, other: Machine) -> bool:
    if not isinstance(one, Machine):
        return False
    return one.symbols == other.symbols and one.start == other.start and np.array_equal(one.delta, other.delta)
