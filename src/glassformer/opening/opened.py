"""A model that was opened, whoever made it: built, trained on words or text, of a world of facts, or brought in."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from glassformer.automata.words import chosen_words, every_word
from glassformer.errors import InputError
from glassformer.instruments.circuits import edges_in_weights
from glassformer.instruments.edges import Edge
from glassformer.instruments.patching import Metric, logit_difference
from glassformer.instruments.sites import Site, check, within
from glassformer.instruments.text_model import TextModel
from glassformer.messages import Message
from glassformer.nn import Transformer
from glassformer.nn.trace import nearest
from glassformer.nn.transformer import Logits, Tokens
from glassformer.nn.translator import encoder_of
from glassformer.progress import Progress, silent
from glassformer.training import corpora
from glassformer.training.batch import IGNORE_INDEX, Batch
from glassformer.training.tasks import StateTracking, WordTask
from glassformer.training.transductions import Transduction
from glassformer.wording import visible

USUAL_LENGTH: Final = 64
"""Tokens of a stretch of text, and at most so many letters of a built model's words, unless a length is given."""
SHOWN_NAMES: Final = 12


@dataclass(frozen=True)
class Vocabulary:
    """The names of tokens and of answers, and how a word, or a text, becomes tokens."""

    names: tuple[str, ...]
    outputs: tuple[str, ...]
    encode: Callable[[str], list[int]]

    @classmethod
    def of_names(cls, names: Iterable[str], split: Callable[[str], Iterable[str]] = str.split) -> Vocabulary:
        """Tokens that are answers, too; a word is written as their names."""
        names = tuple(names)
        return cls(names, names, lambda word: [position(name, names, "opening.no_token") for name in split(word)])


class Questions(NamedTuple):
    """Words, and the positions at which an answer counts: not at a start token, or within a fact."""

    tokens: Tokens
    asked: Bool[Tensor, "batch pos"]

    @classmethod
    def everywhere(cls, tokens: Tokens) -> Questions:
        """An answer counts at every position."""
        return cls(tokens, torch.ones_like(tokens, dtype=torch.bool))


class Contrast(NamedTuple):
    """Two words of one length, and by how much one of two answers leads at a position, in any run and in theirs."""

    clean: Tokens
    corrupted: Tokens
    metric: Metric
    corrupted_lead: Float[Tensor, " word"]
    clean_lead: Float[Tensor, " word"]


@dataclass(frozen=True)
class Opened:
    """A model, the names of its tokens and answers, and how a word becomes tokens.

    Weights and tokenisers of another library's folder are read when they are first asked for.
    """

    place: str
    """The folder, or the kind of object, that it was opened from."""
    open_model: Callable[[], nn.Module] = field(repr=False)
    open_vocabulary: Callable[[], Vocabulary] | None = field(default=None, repr=False)
    open_text_model: Callable[[], TextModel] | None = field(default=None, repr=False)
    task: WordTask | Transduction | None = None
    """What it was made for, if it reads words of a machine, or changes sequences."""
    is_built: bool = False
    sentences: Tokens | None = None
    """What it knows, if that is all that it was made for."""
    documents: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The texts of the files that were saved beside it, by their names."""

    @cached_property
    def whole(self) -> nn.Module:
        """The model as it was saved: of a translator both parts."""
        return self.open_model()

    @cached_property
    def model(self) -> Transformer:
        """The Transformer that reads: of a translator the encoder."""
        return encoder_of(self.whole, self.place)

    @cached_property
    def text_model(self) -> TextModel:
        """The vectors of its layers, for sentences of a text, which it must have learned to read."""
        if self.open_text_model is None:
            raise InputError("opening.reads_no_text", place=self.place)
        return self.open_text_model()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Its tokens and its answers."""
        if self.open_vocabulary is None:
            raise InputError("opening.no_names", place=self.place)
        return self.open_vocabulary()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its tokens."""
        return self.vocabulary.names

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of its answers."""
        return self.vocabulary.outputs

    def encode(self, word: str) -> list[int]:
        """The tokens of a word, or of a text."""
        return self.vocabulary.encode(word)

    def tokens(self, word: str) -> Tokens:
        """A word, as a batch of one."""
        ids = self.encode(word)
        if not ids:
            raise InputError("opening.empty_word")
        return torch.tensor([ids])

    def output(self, name: str) -> int:
        """The number of an answer."""
        return position(name, self.outputs, "opening.no_answer")

    def answers(self, numbers: Iterable[int]) -> list[str]:
        """The names of answers."""
        return [self.outputs[number] for number in numbers]

    # -- what it is shown ------------------------------------------------------------------------------

    @property
    def words_task(self) -> WordTask | Transduction:
        """What it was made for, which must be words of a machine."""
        if self.task is None:
            raise InputError("opening.no_machine")
        return self.task

    def words(self, count: int, length: int | None = None, seed: int = 0) -> Batch:
        """Words like those of its training for a trained model; for a built one up to 64 letters, adversarial ones too.

        They are neither those of training nor of its tests. A built model gets every word where there are no more.
        """
        task = self.words_task
        usual = min(task.length, USUAL_LENGTH) if self.is_built else task.length
        task = replace(task, length=length or usual)
        if task.context > self.model.config.context:
            raise InputError("opening.words_too_long", most=self.model.config.context, length=task.context)
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
            raise InputError("opening.sentences_have_a_length", length=self.sentences.shape[1])
        chosen = np.random.default_rng(seed).permutation(len(self.sentences))[:count]
        known = self.sentences[torch.from_numpy(np.sort(chosen))]
        return Questions(known, (torch.arange(known.shape[1]) == known.shape[1] - 1).expand_as(known))

    def batches(self, count: int, length: int | None = None, seed: int = 0, text: str | None = None) -> list[Questions]:
        """Words, or sentences of a text, in batches of one length each, without overlong or singleton ones."""
        if text is None:
            return [self.own(count, length, seed)]
        self._refuse_text()
        if length is not None:
            raise InputError("opening.text_has_lengths")
        by_length: dict[int, list[list[int]]] = {}
        for ids in map(self.encode, sentences_of(text, count)):
            if len(ids) <= self.model.config.context:
                by_length.setdefault(len(ids), []).append(ids)
        groups = [torch.tensor(group) for length, group in by_length.items() if length and len(group) > 1]
        if not groups:
            raise InputError("opening.no_two_of_one_length", text=text)
        return [Questions.everywhere(tokens) for tokens in groups]

    def rows(self, count: int, length: int | None = None, seed: int = 0, text: str | None = None) -> Questions:
        """Words, or stretches of a text, in one batch of one length."""
        if text is None:
            return self.own(count, length, seed)
        self._refuse_text()
        length = length or min(USUAL_LENGTH, self.model.config.context)
        if length > self.model.config.context:
            raise InputError("opening.stretches_too_long", most=self.model.config.context, length=length)
        read = (token for sentence in sentences_of(text) for token in self.encode(sentence))
        tokens = torch.tensor([*itertools.islice(read, count * length)])
        if len(tokens) < 2 * length:
            least = max(1, len(tokens) // 2)
            raise InputError("opening.text_too_short", text=text, count=len(tokens), length=length, instead=least)
        return Questions.everywhere(tokens[: len(tokens) // length * length].view(-1, length))

    def _refuse_text(self) -> None:
        if self.task is not None:
            raise InputError("opening.reads_words")

    # -- what instruments take -------------------------------------------------------------------------

    @property
    def known_edges(self) -> list[Edge] | None:
        """The edges in the weights of a built model, unless norms mix them: there the circuit is known."""
        return edges_in_weights(self.model) if self.is_built and self.model.config.norm == "none" else None

    @torch.no_grad()
    def vectors(self, site: Site, batches: Iterable[Tokens]) -> Float[Tensor, "sample width"]:
        """What a site holds at all positions of words, one below the other."""
        check(self.model, site)
        held = (site.of(self.model.trace(tokens, site.hook)[site.hook]) for tokens in batches)
        return torch.cat([each.flatten(0, 1).flatten(1) for each in held]).float()

    @torch.no_grad()
    def contrast(
        self, clean: str, corrupted: str, place: int = -1, answer: str | None = None, other: str | None = None
    ) -> Contrast:
        """Two words with their answers at a position (those that the model gives, or two by name), side by side."""
        one, two = self.tokens(clean), self.tokens(corrupted)
        if one.shape != two.shape:
            raise InputError("opening.words_of_two_lengths", clean=one.shape[1], corrupted=two.shape[1])
        within(place, one.shape[1], "instruments.position")
        clean_logits, corrupted_logits = self.model(one), self.model(two)

        def chosen(logits: Logits, name: str | None) -> Tensor:
            return logits[:, place].argmax(-1) if name is None else torch.tensor([self.output(name)])

        right, wrong = chosen(clean_logits, answer), chosen(corrupted_logits, other)
        if torch.equal(right, wrong):
            raise InputError("opening.same_answers", answer=visible(self.outputs[int(right)]), position=place)
        metric = logit_difference(right, wrong, place)
        return Contrast(one, two, metric, metric(corrupted_logits), metric(clean_logits))


def position(name: str, names: tuple[str, ...], unknown: str) -> int:
    """Where a name stands among others; if it does not, the error shows those that are like it, or some of all."""
    if name in names:
        return names.index(name)
    near = nearest(name, names, 0.5)
    some = [*names[:SHOWN_NAMES], *["…"] * (len(names) > SHOWN_NAMES)]
    raise InputError(
        unknown, name=name, there=Message("opening.near", names=near) if near else Message("opening.some", names=some)
    )


def sentences_of(text: str, count: int | None = None, progress: Progress = silent) -> Iterator[str]:
    """The first sentences of a text, each once: repeated ones hold nothing new, but would count as more."""
    seen = set[int]()
    for number, (sentence, _) in enumerate(itertools.islice(corpora.read(text), count), start=1):
        if (known := hash(sentence)) in seen:
            continue
        seen.add(known)
        yield sentence
        if count and number % 64 == 0:
            progress(number, count)
