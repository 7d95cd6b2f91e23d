"""How meaning moves through the layers (S3.1 – S3.5): one architecture, three objectives, two seeds, one text.

Trains a language model, a masked one and a translator on the same sentences, and measures, layer by layer, what vectors
tell about tokens, how far the tasks are apart beside two seeds of one, and how much each layer changes.
"""

from __future__ import annotations

import itertools
import math
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from queue import Queue
from statistics import fmean
from threading import Event
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Integer

from glassformer.documents.verdict import Verdict
from glassformer.errors import InputError
from glassformer.instruments.change import change
from glassformer.instruments.identity import ABSENT, frequent, gather, information_by_layer
from glassformer.instruments.layers import Layers, Tokens, layers_of, seen
from glassformer.instruments.similarity import ENOUGH, Moments, Similarity
from glassformer.nn import Transformer, files
from glassformer.nn.translator import reader_of
from glassformer.training import Architecture, Settings, cluster, corpora, train
from glassformer.training.objectives import (
    END,
    HELD_OUT,
    MASK,
    MASKED,
    OBJECTIVES,
    SPECIAL,
    Reading,
    Text,
    text_of,
    tokeniser_of,
)
from glassformer.ui.drawing.chart import Panel, draw_charts
from glassformer.wording import counted

Curve = dict[str, float]
"""A number for each layer."""
Told = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Scale:
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
    """With twice the learning rate after 50 steps, encoders of translators came to say the same of every sentence."""
    seeds: int = 2
    tokens: int = 250
    """Frequent tokens that information is measured on, and how many vectors of each."""
    each: int = 60
    clusters: int = 400
    sentences: int = 3000
    """Sentences that distances and change are measured on."""


QUICK: Final = Scale(layers=4, steps=700, warmup=100, tokens=150, each=40, clusters=240, sentences=1500)
MASKINGS: Final = 4
"""Times 15 % of the tokens that come three times as often as wanted are masked: almost twice as many as wanted."""
NOISE: Final = 0.1
"""Bits: other clusters, of another seed, move an estimate by about so much."""
OFTEN: Final = 3
"""Times as often as vectors are wanted of it, a token is to come: a model may not be asked for all of them."""
VECTORS_OF_A_CLUSTER: Final = 1.5
"""With fewer, clusters tell of chance alone."""
NAMES: Final = {"lm": "LM", "mlm": "MLM", "mt": "MT"}


@lru_cache(maxsize=1)
def text_for(scale: Scale) -> Text:
    """The text; the same for the same scale."""
    corpus = corpora.load(scale.corpus, parallel=True)
    return text_of(corpus, tokeniser_of(corpus, scale.vocab), scale.longest)


@dataclass(frozen=True)
class Learned:
    """How a training went."""

    accuracy: float
    """On sentences that were held out."""
    guess: float
    """Of saying the most frequent token always."""
    tokens_per_second: float


def train_one(
    scale: Scale,
    objective: str,
    seed: int,
    folder: Path,
    steps: Queue[int] | None = None,
    stop: Event | None = None,
) -> Learned:
    """One training, gone on with if it was begun; with a checkpoint when it is told to stop, or nobody waits for it."""
    settings = Settings(
        steps=scale.steps,
        batch=scale.batch,
        learning_rate=scale.learning_rate,
        warmup=min(scale.warmup, scale.steps // 4),
        seed=seed,
        evaluate_every=scale.steps,
        evaluation_words=1024,
    )
    reading, told = Reading(text_for(scale), objective), 0

    def tell(step: int, loss: float, accuracy: float | None) -> None:
        nonlocal told
        if steps is not None and stop is not None and (step >= told + 10 or step == scale.steps):
            if cluster.abandoned() or stop.is_set():
                signal.raise_signal(signal.SIGINT)  # which training heeds with a checkpoint, if it heeds it at all
                if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
                    raise KeyboardInterrupt
                return
            steps.put(step - told)
            told = step

    run = folder / f"{objective}-{seed}"
    trained = train(reading, architecture_of(scale), settings, run, resume=True, progress=tell)
    if steps is not None:
        steps.put(scale.steps - told)
    return Learned(trained.score.accuracy, guess(reading), trained.tokens_per_second)


def architecture_of(scale: Scale) -> Architecture:
    """That of all models."""
    return Architecture(layers=scale.layers, width=scale.width, heads=scale.heads, norm_place=scale.norm_place)


def check(scale: Scale, folder: Path) -> None:
    """Refuse what could not be trained, kept or measured, before anything is begun."""
    architecture_of(scale)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: choose a folder")
    for run in sorted(folder.glob("*/run.json")):
        if different := differences(scale, files.read_json(run)):
            raise InputError(
                f"{folder} holds runs with other settings ({', '.join(different)}): "
                "choose another folder (--out), or give the options that they were begun with"
            )
    refuse_short(text_for(scale), scale)


def differences(scale: Scale, begun: Any) -> list[str]:
    """In what a run differs, the steps first; what follows from the others is left out."""
    parts = {"settings": ("steps", "batch", "learning_rate"), "task": ("corpus",)}
    parts["architecture"] = ("layers", "width", "heads", "norm_place")
    found = []
    for part, keys in parts.items():
        told = begun.get(part) if isinstance(begun, dict) else None
        for key in keys:
            now = getattr(scale, key)
            was = told.get(key, now) if isinstance(told, dict) else now
            if was != now:
                found.append(f"{key.replace('_', ' ')} {was}, now {now}")
    return found


def refuse_short(text: Text, scale: Scale) -> None:
    """Refuse a text of which too little could be held out or measured, and say how much is about enough."""
    tokens = max(2, math.ceil(VECTORS_OF_A_CLUSTER * scale.clusters / scale.each))
    there_and_needed = [
        (max(len(group) for group in text.sentences.values()), HELD_OUT),
        (int(np.sort(counts_of(text))[-tokens]), OFTEN * scale.each),
        (sum(group.size for group in text.sentences.values()), ENOUGH * scale.width),
    ]
    short = max(needed / max(1, there) for there, needed in there_and_needed)
    if short > 1:
        raise InputError(
            f"{text.name} has {counted(text.count, 'sentence')} of at most {scale.longest} tokens, too few to train "
            f"and to measure on: about {math.ceil(text.count * short):,} are needed"
        )


def counts_of(text: Text) -> Integer[np.ndarray, " token"]:
    """How often each token comes in the sentences; special ones are not counted."""
    counts = np.zeros(text.vocab, dtype=int)
    for group in text.sentences.values():
        counts += np.bincount(group.ravel(), minlength=text.vocab)
    counts[: len(SPECIAL)] = 0
    return counts


def guess(reading: Reading) -> float:
    """The share of the most frequent token among those that may be asked for."""
    said = reading.text.translations if reading.objective == "mt" else reading.text.sentences
    assert said
    counts = sum(np.bincount(group.ravel(), minlength=reading.vocab) for group in said.values())
    asked = np.asarray(counts)[len(SPECIAL) if reading.objective == "mlm" else END :]
    return float(asked.max() / asked.sum())


def train_all(
    scale: Scale, folder: Path, workers: int, tell: Told = lambda what, count, of: None
) -> dict[str, Learned]:
    """All trainings by name, as many at once as there are workers; translators, which take longest, first."""
    check(scale, folder)
    wanted = [(objective, seed) for objective in reversed(OBJECTIVES) for seed in range(scale.seeds)]
    processes, done = cluster.processes(), 0
    learned: dict[str, Learned] = {}
    with processes.Manager() as manager, ProcessPoolExecutor(workers, processes) as pool:
        steps, stop = manager.Queue(), manager.Event()
        try:
            coming, running = iter(wanted), dict[Future[Learned], str]()
            while len(learned) < len(wanted):
                # a pool begins what it was given even when it is to end: so it is given no more than it runs
                for objective, seed in itertools.islice(coming, workers - len(running)):
                    run = pool.submit(train_one, scale, objective, seed, folder, steps, stop)
                    running[run] = f"{objective}-{seed}"
                for run in wait(running, timeout=1, return_when=FIRST_COMPLETED).done:
                    learned[running.pop(run)] = run.result()
                while not steps.empty():
                    done += steps.get()
                tell("training", done, scale.steps * len(wanted))
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    return {f"{objective}-{seed}": learned[f"{objective}-{seed}"] for objective, seed in wanted}


def encoder(folder: Path) -> Transformer:
    """The model of a run that reads the sentences."""
    model, _ = files.load(folder / "model")
    return reader_of(model, str(folder))


def sentences(text: Text, seed: int = 0, size: int = 64) -> Iterator[Tokens]:
    """All sentences in a random order of batches, each of one length."""
    batches = [group[i : i + size] for group in text.sentences.values() for i in range(0, len(group), size)]
    for i in np.random.default_rng(seed).permutation(len(batches)):
        yield torch.from_numpy(batches[i].astype(np.int64))


def first(batches: Iterator[Tokens], count: int) -> Iterator[Tokens]:
    """Batches until there are so many sentences."""
    for batch in batches:
        yield batch
        count -= len(batch)
        if count <= 0:
            return


def labelled(text: Text, what: str, seed: int = 0) -> Iterator[tuple[Tokens, Tokens]]:
    """Sentences and a label for each position: its token (`input`), the next one, or the one that was masked there.

    As few tokens are masked at a time, others are masked when all sentences have been seen.
    """
    generator = torch.Generator().manual_seed(seed)
    rounds = MASKINGS if what == "masked" else 1
    for tokens in itertools.chain.from_iterable(sentences(text, seed) for _ in range(rounds)):
        labels = tokens.clone()
        if what == "next":
            labels[:, :-1] = tokens[:, 1:]
            labels[:, -1] = ABSENT
            yield tokens, labels
        elif what == "masked":
            hidden = (torch.rand(tokens.shape, generator=generator) < MASKED) & (tokens >= len(SPECIAL))
            yield tokens.masked_fill(hidden, MASK), labels.masked_fill(~hidden, ABSENT)
        else:
            yield tokens, labels


QUESTIONS: Final = {
    "LM, its token": ("lm", "input"),
    "LM, the next token": ("lm", "next"),
    "MLM, its token": ("mlm", "input"),
    "MLM, the masked token": ("mlm", "masked"),
    "MT, its token": ("mt", "input"),
}


@dataclass(frozen=True)
class Evolution:
    """What was measured: for each line of each figure the numbers by layer, one curve for each seed or pair."""

    learned: dict[str, Learned]
    information: dict[str, list[Curve]]
    errors: dict[str, Curve]
    """The half-width of the interval of one measurement of information."""
    distances: dict[str, list[Curve]]
    changes: dict[str, list[Curve]]
    most: float
    """Bits that would tell everything."""

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)

    def draw(self) -> str:
        """The three figures."""
        panels = [
            panel("bits about a token, by layer", self.information, self.most),
            panel("PWCCA distance between models", self.distances),
            panel("PWCCA distance from the layer before", self.changes),
        ]
        return draw_charts(panels, "How meaning moves through the layers", "")


def verdicts(found: Evolution) -> list[Verdict]:
    """The claims S3.1 – S3.5 beside what was measured."""
    token = {name: means(found.information[f"{name}, its token"]) for name in NAMES.values()}
    spread = {name: max(NOISE, *found.errors[f"{name}, its token"].values()) for name in token}
    lm, mlm, lowest = token["LM"], token["MLM"], min(token["MLM"])
    apart = {name: fmean(means(curves)[1:]) for name, curves in found.distances.items()}
    floors = [value for name, value in apart.items() if name.startswith("two seeds")]
    pairs = list(itertools.combinations([(name, curve) for name, own in found.changes.items() for curve in own], 2))
    within = max(differ(one, other) for (a, one), (b, other) in pairs if a == b)
    between = min(differ(one, other) for (a, one), (b, other) in pairs if a != b)
    learned = {
        name: [each for run, each in found.learned.items() if NAMES[run.split("-")[0]] == name] for name in token
    }
    right = ", ".join(
        f"{name} {fmean(each.accuracy for each in runs):.3f} (a guess {runs[0].guess:.3f})"
        for name, runs in learned.items()
    )
    return [
        Verdict(
            "S3.1",
            f"one architecture, right on sentences that were held out: {right}",
            all(each.accuracy > 2 * each.guess for each in found.learned.values()),
        ),
        Verdict(
            "S3.2",
            f"bits of an LM about its token: {lm[0]:.2f} in the embedding, {lm[-1]:.2f} after the last layer",
            lm[-1] < lm[0] - spread["LM"],
        ),
        Verdict(
            "S3.3",
            f"bits of an MLM about its token: {mlm[0]:.2f} in the embedding, {lowest:.2f} after layer "
            f"{mlm.index(lowest)}, {mlm[-1]:.2f} after the last layer",
            lowest < mlm[0] - spread["MLM"] and lowest < mlm[-1] - spread["MLM"],
        ),
        Verdict(
            "S3.4",
            "PWCCA distance, mean of the layers: " + ", ".join(f"{name} {value:.3f}" for name, value in apart.items()),
            max(floors) < apart["MLM and MT"] < apart["LM and MT"],
        ),
        Verdict(
            "S3.5",
            "PWCCA distance from layer to layer, summed: "
            + ", ".join(f"{name} {sum(means(curves)):.3f}" for name, curves in found.changes.items())
            + f"; seeds of one objective differ by {within:.3f} a layer, objectives by {between:.3f} or more",
            within < between,
        ),
    ]


def means(curves: list[Curve]) -> list[float]:
    """The mean of some curves, by layer."""
    return [fmean(curve[layer] for curve in curves) for layer in curves[0]]


def differ(one: Curve, other: Curve) -> float:
    """How far two curves are apart, in the mean of the layers."""
    return fmean(abs(one[layer] - other[layer]) for layer in one)


def panel(title: str, lines: Mapping[str, list[Curve]], most: float | None = None) -> Panel:
    """The means of the curves by layer, with bars from the least to the largest."""
    points, bars = {}, {}
    for name, curves in lines.items():
        layers = list(curves[0])
        values = {layer: [curve[layer] for curve in curves] for layer in layers}
        at = {layer: 0.0 if layer == "embedding" else float(layer) for layer in layers}
        points[name] = [(at[layer], fmean(values[layer])) for layer in layers]
        bars[name] = [(at[layer], min(values[layer]), max(values[layer])) for layer in layers]
    tenths = math.ceil(10 * max(highest for own in bars.values() for _, _, highest in own))
    return Panel(title, "layer", points, bars=bars, between=(0.0, most or max(1, tenths) / 10))


def measure(
    scale: Scale, folder: Path, learned: dict[str, Learned], tell: Told = lambda what, count, of: None
) -> Evolution:
    """All measurements on the trained models in the folder."""
    text = text_for(scale)
    models = {
        (objective, seed): layers_of(encoder(folder / f"{objective}-{seed}"))
        for objective in OBJECTIVES
        for seed in range(scale.seeds)
    }
    chosen = frequent(counts_of(text), scale.tokens, OFTEN * scale.each)
    information: dict[str, list[Curve]] = {}
    errors: dict[str, Curve] = {}
    for count, (name, (objective, what)) in enumerate(QUESTIONS.items(), start=1):
        for seed in range(scale.seeds):
            sample = gather(models[objective, seed], labelled(text, what), chosen, scale.each)
            found = information_by_layer(sample, scale.clusters, seed)
            information.setdefault(name, []).append({layer: each.bits for layer, each in found.items()})
            errors[name] = {layer: each.error for layer, each in found.items()}
        tell("information", count, len(QUESTIONS))
    distances: dict[str, list[Curve]] = {}
    # models of the same seed begin with the same weights: only those of different seeds can be compared
    pairs = [(one, other) for one, other in itertools.combinations(models, 2) if one[1] != other[1]]
    for count, (one, other) in enumerate(pairs, start=1):
        name = f"{NAMES[one[0]]} and {NAMES[other[0]]}" if one[0] != other[0] else f"two seeds of {NAMES[one[0]]}"
        distances.setdefault(name, []).append(distance(models[one], models[other], text, scale.sentences))
        tell("distances", count, len(pairs))
    changes: dict[str, list[Curve]] = {}
    for (objective, _), layers in models.items():
        steps = change(layers, first(sentences(text), scale.sentences))
        if any(each.distance is None for each in steps):
            raise InputError(f"{steps[0].samples:,} vectors are too few to tell change by: measure more sentences")
        changes.setdefault(NAMES[objective], []).append({each.after: each.distance or 0.0 for each in steps})
    return Evolution(learned, information, errors, distances, changes, float(np.log2(len(chosen))))


def distance(one: Layers, other: Layers, text: Text, count: int) -> Curve:
    """1 − PWCCA (the mean of both ways) of the same layer of two models, on the same tokens."""
    moments: dict[str, Moments] = {}
    pairs = zip(seen(one, first(sentences(text), count)), seen(other, first(sentences(text), count)), strict=True)
    for a, b in pairs:
        for name, x, y in zip(one.names, a.vectors, b.vectors, strict=True):
            moments.setdefault(name, Moments(x.shape[1], y.shape[1])).add(x, y)
    return {name: 1 - Similarity(each).symmetric_pwcca for name, each in moments.items()}
