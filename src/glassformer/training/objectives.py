"""One text, three objectives (S3.1): the next token (lm), masked tokens (mlm), the translation (mt).

All read sentences as <s> … </s>, in the same tokens. A batch holds sentences of one length, so that nothing is padded
and no model needs a padding mask (but for translations, behind whose end nothing is asked).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import torch
from jaxtyping import Integer

from glassformer.errors import InputError, optional, whole_number
from glassformer.training.batch import IGNORE_INDEX, Batch
from glassformer.training.corpora import Corpus

if TYPE_CHECKING:
    from tokenizers import Tokenizer

OBJECTIVES: Final = ("lm", "mlm", "mt")
SPECIAL: Final = ("<pad>", "<s>", "</s>", "<mask>")
PAD, START, END, MASK = range(len(SPECIAL))
MASKED, KEPT, RANDOM = 0.15, 0.1, 0.1
"""The part of tokens that an MLM is asked for, and what part of these stands there as it is, or as another one."""
HELD_OUT: Final = 20
"""Every 20th sentence is only tested on."""

Sentences: TypeAlias = Integer[np.ndarray, "_ _"]


def tokeniser_of(corpus: Corpus, vocab: int = 4000) -> Tokenizer:
    """Byte-level BPE, learned from the corpus; both languages together."""
    whole_number(vocab, "objectives.vocabulary", least=len(SPECIAL) + 256)
    tokenizers = optional("tokenizers", "objectives.needs_tokenizers")
    made: Tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=list(SPECIAL),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([*corpus.sentences, *(corpus.translations or ())], trainer)
    return made


def tokeniser_from(text: str, source: str) -> Tokenizer:
    """The tokeniser that a model was saved with."""
    tokenizers = optional("tokenizers", "objectives.needs_tokenizers")
    try:
        tokeniser: Tokenizer = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # whatever the library says of text that it cannot read
        raise InputError("objectives.no_tokeniser", source=source, why=str(error)) from None
    return tokeniser


@dataclass(frozen=True, eq=False)
class Text:
    """A corpus in tokens: of each length all sentences, framed by <s> and </s>, and their translations."""

    name: str
    tokeniser: Tokenizer
    sentences: dict[int, Sentences]
    translations: dict[int, Sentences] | None
    """Framed, too, and filled up with <pad> behind </s>."""

    @property
    def vocab(self) -> int:
        """How many tokens there are."""
        return int(self.tokeniser.get_vocab_size())

    @property
    def count(self) -> int:
        """How many sentences."""
        return sum(len(group) for group in self.sentences.values())

    @property
    def longest(self) -> tuple[int, int]:
        """The most tokens of a sentence, and of a translation."""
        translation = next(iter(self.translations.values())).shape[1] if self.translations else 0
        return max(self.sentences), translation

    @cached_property
    def checksum(self) -> str:
        """Of the tokeniser, and of all sentences and translations."""
        found = hashlib.sha256(self.tokeniser.to_str().encode())
        for groups in (self.sentences, self.translations or {}):
            for length in sorted(groups):
                found.update(groups[length].tobytes())
        return found.hexdigest()


def text_of(corpus: Corpus, tokeniser: Tokenizer, longest: int = 40) -> Text:
    """The sentences of a corpus (with their translations) that have at most so many tokens, <s> and </s> among them."""
    whole_number(longest, "objectives.longest", least=3)
    sentences = encoded(tokeniser, corpus.sentences)
    others = encoded(tokeniser, corpus.translations) if corpus.translations else None
    kept = [i for i, ids in enumerate(sentences) if len(ids) <= longest and (not others or len(others[i]) <= longest)]
    if not kept:
        raise InputError("objectives.none_so_short", corpus=corpus.name, longest=longest)
    by_length: dict[int, list[int]] = {}
    for i in kept:
        by_length.setdefault(len(sentences[i]), []).append(i)
    groups = {length: np.array([sentences[i] for i in which], dtype=np.int32) for length, which in by_length.items()}
    if not others:
        return Text(corpus.name, tokeniser, groups, None)
    widest = max(len(others[i]) for i in kept)
    filled = {
        length: np.array([others[i] + [PAD] * (widest - len(others[i])) for i in which], dtype=np.int32)
        for length, which in by_length.items()
    }
    return Text(corpus.name, tokeniser, groups, filled)


def encoded(tokeniser: Tokenizer, sentences: Iterable[str], longest: int | None = None) -> list[list[int]]:
    """The tokens of sentences between <s> and </s>, cut if there are more than the most that may be."""
    most = None if longest is None else longest - 2
    return [
        [START, *each.ids[:most], END] for each in tokeniser.encode_batch(list(sentences), add_special_tokens=False)
    ]


@dataclass(frozen=True, eq=False)
class TextTask:
    """A text, to be learned by one of the OBJECTIVES."""

    text: Text
    objective: str
    tested: bool = False
    """Whether batches are of the sentences that are held out."""

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError("objectives.objective", objectives=OBJECTIVES, objective=self.objective)
        if self.objective == "mt" and not self.text.translations:
            raise InputError("objectives.no_translations", corpus=self.text.name)
        if not self.numbers:
            raise InputError("objectives.too_few", corpus=self.text.name)

    @property
    def vocab(self) -> int:
        """How many tokens there are."""
        return self.text.vocab

    outputs = vocab

    @property
    def causal(self) -> bool:
        """Whether the model that reads the sentences may not look ahead."""
        return self.objective == "lm"

    @property
    def context(self) -> int:
        """The longest sequence."""
        sentence, translation = self.text.longest
        return sentence + (translation - 1 if self.objective == "mt" else 0)

    def held_out(self) -> TextTask:
        """The same on sentences that are not learned from."""
        return replace(self, tested=True)

    @cached_property
    def numbers(self) -> dict[int, Integer[np.ndarray, " sentence"]]:
        """For each length, which sentences are read: those that are held out, or the others."""
        found = {}
        for length, group in self.text.sentences.items():
            which = np.arange(len(group))
            which = which[(which % HELD_OUT == HELD_OUT - 1) == self.tested]
            if len(which):
                found[length] = which
        return found

    def batch(self, rng: np.random.Generator, words: int) -> Batch:
        """Random sentences of one length, which is as frequent as its sentences are."""
        lengths = list(self.numbers)
        shares = np.array([len(self.numbers[length]) for length in lengths], dtype=float)
        length = lengths[rng.choice(len(lengths), p=shares / shares.sum())]
        which = rng.choice(self.numbers[length], words)
        tokens = self.text.sentences[length][which].astype(np.int64)
        if self.objective == "lm":
            return _asked(tokens, np.concatenate([tokens[:, 1:], np.full((words, 1), IGNORE_INDEX)], axis=1))
        if self.objective == "mlm":
            return _asked(*masked(tokens, self.vocab, rng))
        assert self.text.translations
        target = self.text.translations[length][which].astype(np.int64)
        target = target[:, : int((target != PAD).sum(axis=1).max())]
        follows = np.where(target[:, 1:] == PAD, IGNORE_INDEX, target[:, 1:])
        return _asked(
            np.concatenate([tokens, target[:, :-1]], axis=1),
            np.concatenate([np.full(tokens.shape, IGNORE_INDEX), follows], axis=1),
        )

    def to_json(self) -> dict[str, Any]:
        """What is read and how, as plain values."""
        return {"objective": self.objective, "corpus": self.text.name, "sha256": self.text.checksum}


def masked(tokens: Sentences, vocab: int, rng: np.random.Generator) -> tuple[Sentences, Sentences]:
    """Tokens of which some are asked for: most of these are hidden, some replaced, some left; and what is asked."""
    asked = (rng.random(tokens.shape) < MASKED) & (tokens >= len(SPECIAL))
    how = rng.random(tokens.shape)
    other = rng.integers(len(SPECIAL), vocab, tokens.shape)
    shown = np.where(how < KEPT, tokens, np.where(how < KEPT + RANDOM, other, MASK))
    return np.where(asked, shown, tokens), np.where(asked, tokens, IGNORE_INDEX)


def _asked(tokens: Sentences, targets: Sentences) -> Batch:
    given, asked = torch.from_numpy(tokens), torch.from_numpy(targets)
    return Batch(given, asked, asked)
