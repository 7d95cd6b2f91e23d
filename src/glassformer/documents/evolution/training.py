"""How meaning moves through the layers (S3.1 – S3.5): one architecture, three objectives, two seeds, one text.

A language model, a masked one and a translator are trained on the same sentences, several at once; each goes on from
its checkpoint if it was stopped. `measuring` then looks inside, layer by layer.
"""

from __future__ import annotations

import itertools
import math
import signal
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from queue import Queue
from threading import Event
from typing import Any, Final

import numpy as np
from jaxtyping import Integer

from glassformer.documents.evolution.results import Training
from glassformer.errors import InputError
from glassformer.instruments.similarity import ENOUGH
from glassformer.nn import files
from glassformer.progress import NamedProgress
from glassformer.training import Architecture, Settings, cluster, corpora, train
from glassformer.training.objectives import END, HELD_OUT, OBJECTIVES, SPECIAL, Text, TextTask, text_of, tokeniser_of


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
STEPS_AT_ONCE: Final = 10
"""Steps after which a training shows how far it is, and looks whether it is to stop."""


@lru_cache(maxsize=1)
def text_for(scale: EvolutionScale) -> Text:
    """The text; the same for the same scale."""
    corpus = corpora.load(scale.corpus, parallel=True)
    return text_of(corpus, tokeniser_of(corpus, scale.vocab), scale.longest)


def train_all(
    scale: EvolutionScale, folder: Path, workers: int, progress: NamedProgress = lambda what, count, of: None
) -> dict[str, Training]:
    """All trainings by name, as many at once as there are workers; translators, which take longest, first."""
    check(scale, folder)
    wanted = [(objective, seed) for objective in reversed(OBJECTIVES) for seed in range(scale.seeds)]
    processes, done = cluster.processes(), 0
    learned: dict[str, Training] = {}
    with processes.Manager() as manager, ProcessPoolExecutor(workers, processes) as pool:
        steps, stop = manager.Queue(), manager.Event()
        try:
            coming, running = iter(wanted), dict[Future[Training], str]()
            while len(learned) < len(wanted):
                # a pool begins what it was given even when it is to end: so it is given no more than it runs
                for objective, seed in itertools.islice(coming, workers - len(running)):
                    run = pool.submit(train_one, scale, objective, seed, folder, steps, stop)
                    running[run] = f"{objective}-{seed}"
                for run in wait(running, timeout=1, return_when=FIRST_COMPLETED).done:
                    learned[running.pop(run)] = run.result()
                while not steps.empty():
                    done += steps.get()
                progress("training", done, scale.steps * len(wanted))
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    return {f"{objective}-{seed}": learned[f"{objective}-{seed}"] for objective, seed in wanted}


def train_one(
    scale: EvolutionScale,
    objective: str,
    seed: int,
    folder: Path,
    steps: Queue[int] | None = None,
    stop: Event | None = None,
) -> Training:
    """One training, resumed if it was begun; it stops with a checkpoint on `stop`, or if its parent process is gone."""
    settings = Settings(
        steps=scale.steps,
        batch=scale.batch,
        learning_rate=scale.learning_rate,
        warmup=min(scale.warmup, scale.steps // 4),
        seed=seed,
        evaluate_every=scale.steps,
        evaluation_words=1024,
    )
    task, shown = TextTask(text_for(scale), objective), 0

    def progress(step: int, loss: float, accuracy: float | None) -> None:
        nonlocal shown
        if steps is not None and stop is not None and (step >= shown + STEPS_AT_ONCE or step == scale.steps):
            if cluster.abandoned() or stop.is_set():
                signal.raise_signal(signal.SIGINT)  # which training heeds with a checkpoint, if it heeds it at all
                if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
                    raise KeyboardInterrupt
                return
            steps.put(step - shown)
            shown = step

    run = folder / f"{objective}-{seed}"
    trained = train(task, architecture_of(scale), settings, run, resume=True, progress=progress)
    if steps is not None:
        steps.put(scale.steps - shown)
    return Training(trained.score.accuracy, guess(task), trained.tokens_per_second)


def architecture_of(scale: EvolutionScale) -> Architecture:
    """That of all models."""
    return Architecture(layers=scale.layers, width=scale.width, heads=scale.heads, norm_place=scale.norm_place)


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
    architecture_of(scale)
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
