"""More features than dimensions: in which shapes are they stored, when at all, and can a dictionary find them again?

Three looks at toy models (`training.ensemble`), all trained together: the part of a dimension that *each* feature has,
by sparsity (its mean says nothing: as long as all dimensions are used it is m/n, whatever the shape); the phase diagram
of two features in one dimension; and dictionaries on features that are known.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.documents.inside.results import Dictionaries, Dots, Superposition, plateaus
from glassformer.instruments.dictionary import DictionaryConfig, feature_recovery, quality, train_dictionary
from glassformer.progress import Progress, silent
from glassformer.training.ensemble import Toy, TrainedToy, train

STORED: Final = 0.5
"""A feature of the phase diagram is stored if its vector is longer."""
MANY: Final = 100
FEW: Final = 10


@dataclass(frozen=True)
class SuperpositionScale:
    """How much is trained."""

    inverse_densities: int = 40
    seeds: int = 3
    grid: int = 21
    steps: int = 6000
    dictionary_steps: int = 3000


QUICK: Final = SuperpositionScale(inverse_densities=10, seeds=1, grid=9, steps=2000, dictionary_steps=1000)


def study(scale: SuperpositionScale, seed: int = 0, progress: Progress = silent) -> Superposition:
    """All three looks; toys of two features get more samples, for they seldom have one."""
    inverse_densities = np.geomspace(1, 100, scale.inverse_densities).tolist()
    pentagons = [Toy(5, 2, 0.9)] * 16
    curve = [Toy(MANY, FEW, 1 - 1 / each) for each in inverse_densities for _ in range(scale.seeds)]
    importances, sparse = np.geomspace(10, 0.1, scale.grid).tolist(), np.geomspace(1, 100, scale.grid).tolist()
    cells = itertools.product(importances, sparse, range(scale.seeds))
    plane = [Toy(2, 1, 1 - 1 / each, decay=importance) for importance, each, _ in cells]
    toys = len(pentagons) + len(curve) + len(plane)
    learned = train(
        [*pentagons, *curve], scale.steps, samples=64, seed=seed, progress=lambda done, _: progress(done, toys)
    )
    flat = train(
        plane, scale.steps, samples=512, seed=seed, progress=lambda done, _: progress(len(learned) + done, toys)
    )
    five, rest = learned[: len(pentagons)], learned[len(pentagons) :]
    groups = _in_groups(rest, scale.seeds)
    dots = [Dots(each, kept(own)) for each, own in zip(inverse_densities, groups, strict=True)]
    best = [min(group, key=lambda toy: toy.loss) for group in _in_groups(flat, scale.seeds)]
    phases = [phase(toy) for toy in best]
    return Superposition(
        pentagons=float(np.mean([bool((toy.dimensionality - 0.4).abs().max() < 0.01) for toy in five])),
        dots=dots,
        plateaus=plateaus(dots),
        importances=importances,
        rarities=sparse,
        phases=[phases[i : i + scale.grid] for i in range(0, len(phases), scale.grid)],
        dictionaries=dictionaries(scale.dictionary_steps, seed),
    )


def _in_groups(toys: Sequence[TrainedToy], size: int) -> list[Sequence[TrainedToy]]:
    return [toys[i : i + size] for i in range(0, len(toys), size)]


def kept(toys: Sequence[TrainedToy]) -> list[float]:
    """The part of a dimension of every feature that is kept."""
    every = torch.cat([toy.dimensionality for toy in toys])
    return sorted(every[every > 0].tolist())


def phase(toy: TrainedToy) -> str:
    """What became of the second of two features in one dimension."""
    first, second = (float(toy.W[0, i].abs()) > STORED for i in (0, 1))
    return "left_out" if not second else "shared" if first else "alone"


def known_features(features: int = 60, width: int = 20, seed: int = 0) -> Float[Tensor, "feature width"]:
    """Random directions, more than there are dimensions."""
    chance = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(features, width, generator=chance))


def dictionaries(steps: int = 3000, seed: int = 0) -> list[Dictionaries]:
    """Dictionaries of several kinds on sparse sums of known directions: the best at reconstruction recovers fewest."""
    known = known_features(seed=seed)
    chance = torch.Generator().manual_seed(seed + 1)
    shape = (50_000, len(known))
    amounts = torch.rand(shape, generator=chance) * (torch.rand(shape, generator=chance) < 0.03)
    vectors, whole = amounts @ known, DictionaryConfig(known.shape[1], len(known))
    kinds = {f"L1 {price:g}": replace(whole, kind="standard", l1=price) for price in (0.003, 0.03, 0.3)}
    kinds |= {f"top {k}": replace(whole, k=k) for k in (1, 2, 4)}
    found = []
    for name, kind in kinds.items():
        dictionary = train_dictionary(vectors, kind, steps, seed=seed)
        well, again = quality(dictionary, vectors), feature_recovery(dictionary, known)
        found.append(Dictionaries(name, well.explained, well.active, again.mean_max_cosine, again.recovered))
    return found
