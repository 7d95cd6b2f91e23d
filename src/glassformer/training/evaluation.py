"""How often is a model right, on words drawn anew? (There are not many short words: some were seen in training.)"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from glassformer.nn.files import Model
from glassformer.training.batch import IGNORE_INDEX, Batch
from glassformer.training.objectives import TextTask
from glassformer.training.tasks import FlipFlopLanguage, StateTracking, Task, Words
from glassformer.training.transductions import Transduction

AT_ONCE: Final = {StateTracking: 128, FlipFlopLanguage: 128, Transduction: 32, TextTask: 16}
"""Sentences, and sequences, of a batch have one length: few of each, so that there are many lengths."""


@dataclass(frozen=True)
class Evaluation:
    """The part of the answers, and of whole words, that is right."""

    accuracy: float
    whole_words: float


def evaluate(model: Model, task: Task, words: int = 256, seed: int = 0) -> Evaluation:
    """The score on so many `words` drawn with a seed of their own, or sentences that were held out.

    A model with a scratchpad writes it itself.
    """
    if isinstance(task, TextTask):
        task = task.held_out()
    at_once = AT_ONCE[type(task)]
    rng = np.random.default_rng([seed, words, 1])
    return _scored(model, task, (task.batch(rng, min(at_once, words - begin)) for begin in range(0, words, at_once)))


def evaluate_on(model: Model, task: StateTracking, words: Words) -> Evaluation:
    """The score on these words."""
    at_once = AT_ONCE[StateTracking]
    return _scored(
        model, task, (task.answered(words[begin : begin + at_once]) for begin in range(0, len(words), at_once))
    )


def _scored(model: Model, task: Task, batches: Iterable[Batch]) -> Evaluation:
    wrong, asked, whole, words = 0, 0, 0, 0
    was_training = model.training
    model.eval()
    for batch in batches:
        missed = mistakes(model, task, batch)
        wrong, asked = wrong + int(missed.sum()), asked + int((batch.answers != IGNORE_INDEX).sum())
        whole, words = whole + int((~missed.any(dim=1)).sum()), words + len(missed)
    model.train(was_training)
    return Evaluation(1 - wrong / max(asked, 1), whole / words)


def accuracy_by_place(model: Model, task: Task, batch: Batch) -> list[float]:
    """The part that is right at each place where something is asked of every word."""
    missed = mistakes(model, task, batch)
    asked = (batch.answers != IGNORE_INDEX).all(dim=0)
    return (1 - missed[:, asked].double().mean(dim=0)).tolist()


def mistakes(model: Model, task: Task, batch: Batch) -> Bool[Tensor, "word pos"]:
    """Where something is asked, and the model answers something else."""
    with torch.no_grad():
        if isinstance(task, StateTracking) and task.scratchpad:
            logits = writing(model, task, batch.tokens)
        else:
            logits = model(batch.tokens)
    return (batch.answers != IGNORE_INDEX) & (logits.argmax(-1) != batch.answers)


def writing(model: Model, task: StateTracking, tokens: Int[Tensor, "word pos"]) -> Float[Tensor, "word pos output"]:
    """The logits of a model that reads the letters and its own states: letter by letter, no state is given."""
    first_state = len(task.machine.symbols) + 1
    written = tokens.clone()
    written[:, 2::2] = first_state  # nothing of the right states is left
    for letter in range(1, tokens.shape[1], 2):
        logits = model(written[:, : letter + 1])
        written[:, letter + 1] = first_state + logits[:, -1].argmax(-1)
    everything: Tensor = model(written)
    return everything
