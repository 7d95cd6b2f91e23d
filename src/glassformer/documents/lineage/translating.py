"""A short real translation, English to German, with attention and without: BLEU by the length of sentences (S2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from jaxtyping import Int
from torch import Tensor

from glassformer.documents.lineage.results import Translating
from glassformer.errors import InputError, optional
from glassformer.nn import files
from glassformer.nn.files import Model
from glassformer.training.objectives import END, START, TextTask
from glassformer.training.sweep import OnRows, Sweep, results_of, sweep_of
from glassformer.training.trial import task_of

AT_ONCE: Final = 256


@dataclass(frozen=True)
class TranslationScale:
    """What is trained, and on how many sentences that were held out it is tried."""

    corpus: str = "help-en-de"
    scores: Sequence[str] = ("none", "additive")
    vocab: int = 1000
    longest: int = 24
    width: int = 128
    steps: int = 1200
    sentences: int = 500
    """Of each group of lengths, at most."""
    groups: Sequence[tuple[int, int]] = ((3, 8), (9, 16), (17, 24))
    """From so many to so many tokens, their frame among them."""

    @property
    def task(self) -> dict[str, Any]:
        """The text to be translated, as plain values."""
        return {"text": self.corpus, "objective": "mt", "vocab": self.vocab, "longest": self.longest}

    def sweep(self, score: str) -> Sweep:
        """The training of one encoder–decoder."""
        values = {
            "task": self.task,
            "model": {"kind": "rnn", "score": score, "width": self.width},
            "training": {"steps": self.steps, "learning_rate": 3e-3, "warmup": 100, "evaluate_every": self.steps},
        }
        return sweep_of(values, f"translating, {score}")


def check(scale: TranslationScale) -> None:
    """Refuse a text that could not be translated, or scored, before anything is trained."""
    optional("sacrebleu", "lineage.no_sacrebleu")
    task = task_of(scale.task)
    assert isinstance(task, TextTask)
    for least, most in scale.groups:
        held_out(task, least, most, scale.sentences)


def translating(scale: TranslationScale, folder: Path, processes: int, on_rows: OnRows | None = None) -> Translating:
    """Train what is not there yet, translate, and compare; models are kept in the folder."""
    sweeps = {score: scale.sweep(score) for score in scale.scores}
    results_of(sweeps, folder / "translators.sqlite", processes, on_rows, folder / "translators")
    task = task_of(scale.task)
    assert isinstance(task, TextTask)
    models = {score: files.load(folder / "translators" / sweep.ids[0] / "model")[0] for score, sweep in sweeps.items()}
    bleu: dict[str, dict[int, float]] = {score: {} for score in scale.scores}
    examples: list[dict[str, str]] = []
    for least, most in scale.groups:
        sources, right = held_out(task, least, most, scale.sentences)
        answers = {score: translate(model, task, sources) for score, model in models.items()}
        for score, translations in answers.items():
            bleu[score][most] = corpus_bleu(translations, right)
        texts = [task.text.tokeniser.decode(source) for source in sources]
        columns = {"english": texts, "german": right, **answers}
        examples = [{name: column[i].strip() for name, column in columns.items()} for i in range(min(3, len(right)))]
    return Translating(bleu, examples)


def held_out(task: TextTask, least: int, most: int, count: int) -> tuple[list[list[int]], list[str]]:
    """Sentences of these lengths that were not learned from, and their translations."""
    text, tested = task.text, task.held_out()
    assert text.translations
    found = [
        (length, i) for length in sorted(tested.numbers) if least <= length <= most for i in tested.numbers[length]
    ]
    if not found:
        raise InputError("lineage.none_held_out", name=text.name, least=least, most=most)
    some = found[:: max(1, len(found) // count)][:count]
    sources = [text.sentences[length][i].tolist() for length, i in some]
    return sources, [text.tokeniser.decode(text.translations[length][i].tolist()).strip() for length, i in some]


@torch.no_grad()
def translate(model: Model, task: TextTask, sources: Sequence[Sequence[int]]) -> list[str]:
    """A model's translation of each source: always the likeliest token, until it ends."""
    answers: dict[int, list[int]] = {}
    by_length: dict[int, list[int]] = {}
    for i, source in enumerate(sources):
        by_length.setdefault(len(source), []).append(i)
    for which in by_length.values():
        for begin in range(0, len(which), AT_ONCE):
            some = which[begin : begin + AT_ONCE]
            rows = likeliest(model, torch.tensor([sources[i] for i in some]), task.text.longest[1])
            answers |= dict(zip(some, rows.tolist(), strict=True))
    ended = [answers[i][: (answers[i] + [END]).index(END)] for i in range(len(sources))]
    return [str(text).strip() for text in task.text.tokeniser.decode_batch(ended)]


def likeliest(model: Model, sources: Int[Tensor, "row place"], longest: int) -> Int[Tensor, "row token"]:
    """Token by token, up to the longest translation."""
    tokens = torch.cat([sources, torch.full((len(sources), 1), START)], dim=1)
    for _ in range(longest - 1):
        tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(-1)], dim=1)
        if bool((tokens[:, sources.shape[1] :] == END).any(dim=1).all()):
            break
    return tokens[:, sources.shape[1] + 1 :]


def corpus_bleu(translations: Sequence[str], right: Sequence[str]) -> float:
    """BLEU as sacrebleu defines it (Post 2018)."""
    sacrebleu = optional("sacrebleu", "lineage.no_sacrebleu")
    return float(sacrebleu.corpus_bleu(list(translations), [list(right)]).score)
