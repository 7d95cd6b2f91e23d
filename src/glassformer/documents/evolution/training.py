"""How meaning moves through the layers (S3.1 – S3.5): one architecture, three objectives, two seeds, one text.

A language model, a masked one and a translator are trained on the same sentences, as the trials of a sweep; each goes
on from its checkpoint if it was stopped. `measuring` then looks inside, layer by layer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Integer

from glassformer.documents.evolution.results import Training
from glassformer.errors import InputError
from glassformer.instruments.similarity import ENOUGH
from glassformer.nn import files
from glassformer.training import Architecture
from glassformer.training.objectives import END, HELD_OUT, OBJECTIVES, SPECIAL, Text, TextTask
from glassformer.training.sweep import OnRows, Sweep, results_of
from glassformer.training.trial import text_task_of


@dataclass(frozen=True)
class EvolutionScale:
    """How much is trained and measured."""

    corpus: str = "help-en-de"
    vocab: int = 1000
    longest: int = 24
    layers: int = 6
    width: int = 64
    heads: int = 4
    norm_place: str = "post"
    """Norms behind the sublayers, as in the first Transformer, or before them."""
    steps: int = 4000
    batch: int = 64
    learning_rate: float = 1e-3
    warmup: int = 300
    """With twice the learning rate after 50 steps, encoders of translators came to give the same for every sentence."""
    seeds: int = 2
    tokens: int = 250
    """Frequent tokens that information is measured on, and how many vectors of each."""
    each: int = 60
    clusters: int = 400
    sentences: int = 3000
    """Sentences that distances and change are measured on."""


QUICK: Final = EvolutionScale(layers=4, steps=700, warmup=100, tokens=150, each=40, clusters=240, sentences=1500)
OFTEN: Final = 3
"""Times as often as vectors are wanted of it, a token is to come: a model may not be asked for all of them."""
VECTORS_OF_A_CLUSTER: Final = 1.5
"""With fewer, clusters show chance alone."""


def text_for(scale: EvolutionScale) -> Text:
    """The text: the sentences that have a translation, for all objectives."""
    return text_task_of(scale.corpus, "mt", scale.vocab, scale.longest).text


def trainings(scale: EvolutionScale) -> Sweep:
    """The training of each objective and seed, by the name of its folder; translators, which take longest, first."""
    task = {"text": scale.corpus, "parallel": True, "vocab": scale.vocab, "longest": scale.longest}
    training = {key: getattr(scale, key) for key in ("steps", "batch", "learning_rate")}
    training |= {"warmup": min(scale.warmup, scale.steps // 4), "evaluate_every": scale.steps, "evaluation_words": 1024}
    return Sweep(
        {
            f"{objective}-{seed}": {
                "task": task | {"objective": objective},
                "model": architecture_of(scale),
                "training": training | {"seed": seed},
            }
            for objective in reversed(OBJECTIVES)
            for seed in range(scale.seeds)
        }
    )


def architecture_of(scale: EvolutionScale) -> dict[str, Any]:
    """The architecture of all models."""
    return {key: getattr(scale, key) for key in ("layers", "width", "heads", "norm_place")}


def train_all(
    scale: EvolutionScale, folder: Path, processes: int, on_rows: OnRows | None = None
) -> dict[str, Training]:
    """All trainings by name; what is kept in the folder is not trained again."""
    check(scale, folder)
    sweep = trainings(scale)
    # another text under the same name has another store, so that its runs are begun, and refuse those that are there
    store = folder / f"runs-{text_for(scale).checksum[:8]}.sqlite"
    results = results_of({"all": sweep}, store, processes, on_rows, folder)["all"]
    return {
        name: Training(result["accuracy"], guess(text_task_of(**trial["task"])), result["tokens_per_second"])
        for (name, trial), result in zip(sweep.trials.items(), results, strict=True)
    }


def guess(task: TextTask) -> float:
    """The share of the most frequent token among those that may be asked for."""
    answers = task.text.translations if task.objective == "mt" else task.text.sentences
    assert answers
    counts = sum(np.bincount(group.ravel(), minlength=task.vocab) for group in answers.values())
    asked = np.asarray(counts)[len(SPECIAL) if task.objective == "mlm" else END :]
    return float(asked.max() / asked.sum())


# -- what is refused before anything is begun --------------------------------------------------------------


def check(scale: EvolutionScale, folder: Path) -> None:
    """Refuse what could not be trained, kept or measured."""
    Architecture(**architecture_of(scale))
    if folder.exists() and not folder.is_dir():
        raise InputError("documents.folder_is_a_file", folder=folder)
    for run in sorted(folder.glob("*/run.json")):
        if different := differences(scale, files.read_json(run)):
            raise InputError("evolution.other_settings", folder=folder, different=different)
    refuse_short(text_for(scale), scale)


def differences(scale: EvolutionScale, begun: Any) -> list[str]:
    """In what a run differs, the steps first; what follows from the others is left out."""
    parts = {"settings": ("steps", "batch", "learning_rate"), "task": ("corpus",)}
    parts["architecture"] = ("layers", "width", "heads", "norm_place")
    found = []
    for part, keys in parts.items():
        values = begun.get(part) if isinstance(begun, dict) else None
        for key in keys:
            now = getattr(scale, key)
            was = values.get(key, now) if isinstance(values, dict) else now
            if was != now:
                found.append(f"{key.replace('_', ' ')} {was}, now {now}")
    return found


def refuse_short(text: Text, scale: EvolutionScale) -> None:
    """Refuse a text of which too little could be held out or measured, and say how much is about enough."""
    tokens = max(2, math.ceil(VECTORS_OF_A_CLUSTER * scale.clusters / scale.each))
    there_and_needed = [
        (max(len(group) for group in text.sentences.values()), HELD_OUT),
        (int(np.sort(counts_of(text))[-tokens]), OFTEN * scale.each),
        (sum(group.size for group in text.sentences.values()), ENOUGH * scale.width),
    ]
    short = max(needed / max(1, there) for there, needed in there_and_needed)
    if short > 1:
        needed = math.ceil(text.count * short)
        raise InputError(
            "evolution.text_too_short", name=text.name, count=text.count, longest=scale.longest, needed=needed
        )


def counts_of(text: Text) -> Integer[np.ndarray, " token"]:
    """How often each token comes in the sentences; special ones are not counted."""
    counts = np.zeros(text.vocab, dtype=int)
    for group in text.sentences.values():
        counts += np.bincount(group.ravel(), minlength=text.vocab)
    counts[: len(SPECIAL)] = 0
    return counts
