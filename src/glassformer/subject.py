"""A model to look into, whoever made it: built, trained on words or text, of a world of facts, or brought in."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from glassformer import interop
from glassformer.automata import formats
from glassformer.automata.words import chosen_words, every_word
from glassformer.compiler.built import Built
from glassformer.errors import InputError
from glassformer.instruments.sites import Site, check
from glassformer.interop import huggingface
from glassformer.nn import Transformer, files
from glassformer.nn.trace import nearest
from glassformer.nn.transformer import Tokens
from glassformer.nn.translator import reader_of
from glassformer.reading import sentences
from glassformer.training.batch import IGNORE_INDEX, Batch
from glassformer.training.objectives import encoded, tokeniser_from
from glassformer.training.tasks import FlipFlopLanguage, StateTracking, WordTask, reads_text, task_from_json
from glassformer.training.trainer import model_of
from glassformer.training.transductions import Transduction

NAMES, SENTENCES = "names.json", "sentences.json"
"""Beside a model: the names of its tokens, which are also its answers; sentences that it knows, all of one length."""
TRAINING, MACHINE = "training.json", "machine.json"
"""Beside a model: how it was trained; what it was built for."""


@dataclass(frozen=True)
class Questions:
    """What a model is shown, and at which positions its answer counts: not at a start token, or within a fact."""

    tokens: Tokens
    asked: Bool[Tensor, "batch pos"]

    @classmethod
    def everywhere(cls, tokens: Tokens) -> Questions:
        """An answer counts at every position."""
        return cls(tokens, torch.ones_like(tokens, dtype=torch.bool))


@dataclass(frozen=True)
class Subject:
    """A model, the names of its tokens and answers, and how a word becomes tokens."""

    model: Transformer
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    encode: Callable[[str], list[int]]
    task: WordTask | Transduction | None = None
    """What it was made for, if it reads words of a machine, or changes sequences."""
    is_built: bool = False
    sentences: Tokens | None = None
    """What it knows, if that is all that it was made for."""

    @property
    def words_task(self) -> WordTask | Transduction:
        """What it was made for, which must be words of a machine."""
        if self.task is None:
            raise InputError(
                "this instrument shows a model words of its machine, and this model has no machine; those that take "
                "--text look at models of text"
            )
        return self.task

    def words(self, count: int, length: int | None = None, seed: int = 0) -> Batch:
        """Words like those of its training for a trained model; for a built one, of up to 64 letters, nasty ones too.

        They are neither those of training nor of its tests. A built model gets every word where there are no more.
        """
        task = self.words_task
        task = replace(task, length=length or (min(task.length, 64) if self.is_built else task.length))
        if task.context > self.model.config.context:
            raise InputError(f"the model takes {self.model.config.context} tokens; these words have {task.context}")
        if self.is_built and isinstance(task, StateTracking):
            if len(task.machine.symbols) ** task.length <= count:
                return task.answered(every_word(task.machine, task.length))
            return task.answered(chosen_words(task.machine, task.length, count, seed))
        return task.batch(np.random.default_rng([seed, count, 2]), count)

    def own(self, count: int, length: int | None = None, seed: int = 0) -> Questions:
        """Words of its task, or some of the sentences that it knows, whose end is asked for."""
        if self.sentences is None:
            batch = self.words(count, length, seed)
            return Questions(batch.tokens, batch.answers != IGNORE_INDEX)
        if length not in (None, self.sentences.shape[1]):
            raise InputError(f"the sentences of this model have {self.sentences.shape[1]} tokens: leave --length away")
        chosen = np.random.default_rng(seed).permutation(len(self.sentences))[:count]
        known = self.sentences[torch.from_numpy(np.sort(chosen))]
        return Questions(known, (torch.arange(known.shape[1]) == known.shape[1] - 1).expand_as(known))

    @torch.no_grad()
    def vectors(self, site: Site, batches: Iterable[Tokens]) -> Float[Tensor, "sample width"]:
        """What a site holds at all positions of words, one below the other."""
        check(self.model, site)
        held = (site.of(self.model.trace(tokens, site.hook)[site.hook]) for tokens in batches)
        return torch.cat([each.flatten(0, 1).flatten(1) for each in held]).float()

    def batches(self, count: int, length: int | None = None, seed: int = 0, text: str | None = None) -> list[Questions]:
        """Words, or sentences of a text, in batches of one length each; the too long and the lonely are left out."""
        if text is None:
            return [self.own(count, length, seed)]
        self._refuse_text()
        if length is not None:
            raise InputError("sentences of a text have the length that they have: leave --length away")
        groups: dict[int, list[list[int]]] = {}
        for ids in map(self.encode, sentences(text, count)):
            if len(ids) <= self.model.config.context:
                groups.setdefault(len(ids), []).append(ids)
        alike = (torch.tensor(group) for length, group in groups.items() if length and len(group) > 1)
        found = [Questions.everywhere(tokens) for tokens in alike]
        if not found:
            raise InputError(f"{text} has no two sentences of one length, in tokens: there is nothing to compare")
        return found

    def rows(self, count: int, length: int | None = None, seed: int = 0, text: str | None = None) -> Questions:
        """Words, or stretches of a text (of 64 tokens if nothing is said), in one batch of one length."""
        if text is None:
            return self.own(count, length, seed)
        self._refuse_text()
        length = length or min(64, self.model.config.context)
        if length > self.model.config.context:
            raise InputError(f"the model takes {self.model.config.context} tokens; stretches of {length} do not fit")
        read = (token for sentence in sentences(text) for token in self.encode(sentence))
        tokens = torch.tensor([*itertools.islice(read, count * length)])
        if len(tokens) < 2 * length:
            raise InputError(
                f"{text} has {len(tokens)} tokens, each sentence counted once: too few for two stretches of {length}; "
                f"try --length {max(1, len(tokens) // 2)}"
            )
        return Questions.everywhere(tokens[: len(tokens) // length * length].view(-1, length))

    def _refuse_text(self) -> None:
        if self.task is not None:
            raise InputError("this model reads words of its task, not a text: leave --text away")

    def tokens(self, word: str) -> Tokens:
        """A word, as a batch of one."""
        ids = self.encode(word)
        if not ids:
            raise InputError("the word is empty: there is nothing to follow")
        return torch.tensor([ids])

    def output(self, name: str) -> int:
        """The number of an answer."""
        if name not in self.outputs:
            raise InputError(f"there is no answer {name!r}; {_near(name, self.outputs)}")
        return self.outputs.index(name)


def open_subject(folder: Path) -> Subject:
    """The model in a folder, ours or Hugging Face's, or of a run."""
    if huggingface.is_model(folder):
        model = interop.load(folder)
        beside = {name: folder / name for name in (NAMES, SENTENCES, TRAINING, MACHINE) if (folder / name).is_file()}
        documents = {name: file.read_text() for name, file in beside.items()}
        found = _of_documents(model, documents, folder)
        return _filled_up(found) if found else _of_huggingface(model, folder)
    place = model_of(folder)
    loaded, documents = files.load(place)
    model = reader_of(loaded, str(place)).eval()
    if "tokenizer.json" in documents:
        return _of_text(model, documents, place)
    if found := _of_documents(model, documents, place):
        return found
    raise InputError(f"{place} does not tell what its tokens are: there is no machine, tokeniser or {NAMES} beside it")


def _of_documents(model: Transformer, documents: Mapping[str, str], place: Path) -> Subject | None:
    """What our documents beside a model tell of it, unless it reads text."""
    if NAMES in documents:
        names = tuple(files.parse_json(documents[NAMES], f"{place}/{NAMES}"))
        told = files.parse_json(documents.get(SENTENCES, "[]"), f"{place}/{SENTENCES}")
        known = torch.tensor([_by_name(sentence.split(), names) for sentence in told]) if told else None
        return Subject(model, names, names, lambda word: _by_name(word.split(), names), sentences=known)
    if TRAINING in documents:
        run = files.parse_json(documents[TRAINING], f"{place}/{TRAINING}")
        task = None if reads_text(run) else task_from_json(run, f"{place}/{TRAINING}")
        return _of_words(model, task, is_built=False) if task else None
    if MACHINE in documents:
        machine = formats.loads(documents[MACHINE], "json", f"{place}/{MACHINE}")
        return _of_words(model, StateTracking(machine, model.config.context - 1), is_built=True)
    return None


def _filled_up(subject: Subject) -> Subject:
    """With names for tokens that are no answers, and answers that are no tokens: a GPT-2 has as many of both."""

    def filled(names: tuple[str, ...], count: int) -> tuple[str, ...]:
        return (*names, *(f"<unused {i}>" for i in range(len(names), count)))

    config = subject.model.config
    return replace(subject, names=filled(subject.names, config.vocab), outputs=filled(subject.outputs, config.outputs))


def subject_of(built: Built) -> Subject:
    """A model that was just built."""
    return _of_words(built.model, StateTracking(built.machine, built.model.config.context - 1), is_built=True)


def _of_text(model: Transformer, documents: Mapping[str, str], place: Path) -> Subject:
    tokeniser = tokeniser_from(documents["tokenizer.json"], f"{place}/tokenizer.json")
    names = tuple(_shown(tokeniser, i) for i in range(tokeniser.get_vocab_size()))
    ending = -1 if model.config.causal else None  # whoever says what comes next is asked before the end
    outputs = names[: model.config.outputs]
    return Subject(model, names, outputs, lambda text: encoded(tokeniser, [text])[0][:ending])


def _of_huggingface(model: Transformer, folder: Path) -> Subject:
    tokeniser = huggingface.tokeniser(folder)
    names = tuple(tokeniser.decode([i]) if i < len(tokeniser) else f"<unused {i}>" for i in range(model.config.vocab))

    def encode(text: str) -> list[int]:
        try:
            ids: list[int] = tokeniser(text)["input_ids"]
        except Exception as error:  # whatever a tokeniser says of signs that it does not know
            said = f"the tokeniser in {folder} cannot read {text[:60]!r}: {huggingface.first_line(error)}"
            raise InputError(said) from None
        return ids

    told = files.read_json(folder / "config.json").get("id2label") or {}
    told = {number: name for number, name in told.items() if not name.startswith("LABEL_")}  # which say nothing
    return Subject(model, names, tuple(told.get(str(i), name) for i, name in enumerate(names)), encode)


def _shown(tokeniser: Any, token: int) -> str:
    """A token as text; parts of letters, which are none alone, as the tokeniser writes them."""
    text: str = tokeniser.decode([token])
    return text if text and "\ufffd" not in text else str(tokeniser.id_to_token(token))


def _of_words(model: Transformer, task: WordTask | Transduction, is_built: bool) -> Subject:
    if isinstance(task, Transduction):
        return Subject(model, task.names, task.names, lambda word: _by_name(word.split(), task.names), task)
    if isinstance(task, FlipFlopLanguage):
        return Subject(model, task.names, task.names, lambda word: _by_name([*word], task.names), task)
    outputs = task.machine.states if is_built else tuple(task.answers)

    def encode(word: str) -> list[int]:
        letters = task.machine.one_word(word)
        tokens: np.ndarray = task.answered(letters[None]).tokens[0].numpy()
        return [int(token) for token in tokens]

    return Subject(model, task.names, outputs, encode, task, is_built)


def _by_name(word: list[str], names: tuple[str, ...]) -> list[int]:
    for token in word:
        if token not in names:
            raise InputError(f"there is no token {token!r} here; {_near(token, names)}")
    return [names.index(token) for token in word]


def _near(name: str, names: tuple[str, ...]) -> str:
    """Names that are like one; where none is, some of all."""
    if near := nearest(name, names, similarity=0.5):
        return f"near it are {', '.join(near)}"
    return f"there are {', '.join(names[:12])}{' …' * (len(names) > 12)}"
