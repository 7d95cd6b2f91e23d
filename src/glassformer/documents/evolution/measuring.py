"""What the layers of the trained models hold: information about tokens, distances between models, and change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import torch

from glassformer.documents.evolution.results import QUESTIONS, ByLayer, Evolution, Training
from glassformer.documents.evolution.training import OFTEN, EvolutionScale, counts_of, text_for
from glassformer.errors import InputError
from glassformer.instruments.change import change
from glassformer.instruments.identity import ABSENT, frequent, gather, information_by_layer
from glassformer.instruments.layers import LayerVectors, Tokens, layers_of, seen
from glassformer.instruments.similarity import Moments, Similarity
from glassformer.nn import Transformer, files
from glassformer.nn.translator import encoder_of
from glassformer.progress import NamedProgress
from glassformer.training.objectives import MASK, MASKED, OBJECTIVES, SPECIAL, Text

MASKINGS: Final = 4
"""Times 15 % of the tokens that come three times as often as wanted are masked: almost twice as many as wanted."""


def measure(
    scale: EvolutionScale,
    folder: Path,
    learned: dict[str, Training],
    progress: NamedProgress = lambda what, count, of: None,
) -> Evolution:
    """All measurements on the trained models in the folder."""
    text = text_for(scale)
    models = {
        (objective, seed): layers_of(encoder(folder / f"{objective}-{seed}"))
        for objective in OBJECTIVES
        for seed in range(scale.seeds)
    }
    chosen = frequent(counts_of(text), scale.tokens, OFTEN * scale.each)
    information: dict[str, list[ByLayer]] = {}
    errors: dict[str, ByLayer] = {}
    for count, (name, (objective, what)) in enumerate(QUESTIONS.items(), start=1):
        for seed in range(scale.seeds):
            sample = gather(models[objective, seed], labelled(text, what), chosen, scale.each)
            found = information_by_layer(sample, scale.clusters, seed)
            information.setdefault(name, []).append({layer: each.bits for layer, each in found.items()})
            errors[name] = {layer: each.error for layer, each in found.items()}
        progress("information", count, len(QUESTIONS))
    distances: dict[str, list[ByLayer]] = {}
    # models of the same seed begin with the same weights: only those of different seeds can be compared
    pairs = [(one, other) for one, other in itertools.combinations(models, 2) if one[1] != other[1]]
    for count, (one, other) in enumerate(pairs, start=1):
        name = f"pair:{one[0]}-{other[0]}" if one[0] != other[0] else f"seeds:{one[0]}"
        distances.setdefault(name, []).append(distance(models[one], models[other], text, scale.sentences))
        progress("distances", count, len(pairs))
    changes: dict[str, list[ByLayer]] = {}
    for (objective, _), layers in models.items():
        steps = change(layers, first(sentences(text), scale.sentences))
        if any(each.distance is None for each in steps):
            raise InputError("evolution.too_few_vectors", vectors=steps[0].samples)
        changes.setdefault(objective, []).append({each.after: each.distance or 0.0 for each in steps})
    return Evolution(learned, information, errors, distances, changes, float(np.log2(len(chosen))))


def distance(one: LayerVectors, other: LayerVectors, text: Text, count: int) -> ByLayer:
    """1 − PWCCA (the mean of both ways) of the same layer of two models, on the same tokens."""
    moments: dict[str, Moments] = {}
    pairs = zip(seen(one, first(sentences(text), count)), seen(other, first(sentences(text), count)), strict=True)
    for a, b in pairs:
        for name, x, y in zip(one.names, a.vectors, b.vectors, strict=True):
            moments.setdefault(name, Moments(x.shape[1], y.shape[1])).add(x, y)
    return {name: 1 - Similarity(each).symmetric_pwcca for name, each in moments.items()}


def encoder(folder: Path) -> Transformer:
    """The model of a run that reads the sentences."""
    model, _ = files.load(folder / "model")
    return encoder_of(model, str(folder))


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
