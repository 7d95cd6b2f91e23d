"""Claims S0.14 – S0.17: "Transformers learn shortcuts to automata", its experiments, small enough to run anywhere.

Each function's docstring is the claim; it returns what was measured, and whether that agrees. The larger experiments
with the published figures beside them are `glassformer study brittleness` and benchmarks/shortcuts.py.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from glassformer.automata import machine
from glassformer.documents.verdict import Measured, numbered
from glassformer.instruments.heads import FLAT, LATEST, HeadScore, score_heads
from glassformer.messages import Message
from glassformer.nn import Transformer
from glassformer.training import Architecture, Settings, StateTracking, Trained, train

LEARNED: Final = 0.95
"""The accuracy on fresh words from which a machine counts as learned in so few steps."""
SEEDS: Final = (0, 1, 2)


def learned(
    spec: str, length: int, steps: int, seed: int = 0, scratchpad: bool = False, tested: bool = False, **sizes: Any
) -> Trained:
    """A small model trained on a machine; it may be tested on longer words and on words of the last letter mostly."""
    task = StateTracking(machine(spec), length, scratchpad=scratchpad)
    others = len(task.machine.symbols) - 1
    tests = {"longer": task.but(length=2 * length), "uneven": task.but(letters=(0.05 / others,) * others + (0.95,))}
    settings = Settings(steps=steps, learning_rate=3e-3, seed=seed, evaluate_every=steps)
    return train(task, Architecture(**{"width": 32} | sizes), settings, tests=tests if tested else {})


def found_by_training() -> Measured:
    """Ordinary training finds such shortcuts: accuracy by automaton and depth."""
    asked = {"flipflop": (16, 200), "parity": (8, 500), "symmetric(3)": (8, 1000)}
    by_depth = {
        spec: [learned(spec, length, steps, layers=layers).score.accuracy for layers in (1, 2)]
        for spec, (length, steps) in asked.items()
    }
    machines = [Message("shortcuts.by_depth", machine=spec, one=one, two=two) for spec, (one, two) in by_depth.items()]
    one, two = by_depth["symmetric(3)"]
    holds = all(deeper >= LEARNED for _, deeper in by_depth.values()) and two > one
    return Message("shortcuts.found_by_training", machines=machines), holds


def two_modules() -> Measured:
    """Heads of trained models show the two modules: flat sums and conditional resets."""
    gridworld = [heads_of("gridworld(4)", 1000, seed, layers=2, heads=2) for seed in SEEDS]
    flipflop = heads_of("flipflop", 300, layers=1, heads=1)
    counts = Counter(head.title for heads in gridworld for head in heads).most_common()
    both = sum({FLAT, LATEST} <= {head.operation for head in heads} for heads in gridworld)
    operations = [Message("shortcuts.operation", heads=count, operation=title) for title, count in counts]
    alone = [head.title for head in flipflop]
    seen = Message("shortcuts.two_modules", seeds=len(SEEDS), operations=operations, both=both, flipflop=alone)
    return seen, both >= 2 and [head.operation for head in flipflop] == [LATEST]


def heads_of(spec: str, steps: int, seed: int = 0, **sizes: Any) -> list[HeadScore]:
    """Those heads of a trained model without which at least one answer in twenty changes."""
    model, task = learned(spec, 16, steps, seed, **sizes).model, StateTracking(machine(spec), 16)
    assert isinstance(model, Transformer)
    scores = score_heads(model, task.batch(np.random.default_rng([seed, 64, 2]), 64).tokens)
    return [score for score in scores if score.matters >= 0.05]


def brittle() -> Measured:
    """Learned shortcuts break on other mixes and on longer words; scratchpads and a recency bias repair much of it."""
    plain = [learned("parity", 10, 800, seed, tested=True, layers=2) for seed in SEEDS]
    mended = [learned("parity", 10, 500, scratchpad=True, tested=True, layers=2, positions="alibi")]
    names = (Message("shortcuts.plain", seeds=len(SEEDS)), Message("shortcuts.repaired"))
    rows = [medians(plain), medians(mended)]
    models = [
        Message("shortcuts.elsewhere", model=name, here=here, uneven=uneven, longer=longer)
        for name, (here, uneven, longer) in zip(names, rows, strict=True)
    ]
    (here, uneven, longer), repaired = rows
    breaks = here >= LEARNED > max(uneven, longer)
    return Message("shortcuts.brittle", models=models), breaks and min(repaired) >= LEARNED


def medians(models: Sequence[Trained]) -> tuple[float, float, float]:
    """Accuracy on words as in training, on uneven ones, and on longer ones."""
    scores = [(model.score, model.tests["uneven"], model.tests["longer"]) for model in models]
    here, uneven, longer = (statistics.median(score.accuracy for score in each) for each in zip(*scores, strict=True))
    return here, uneven, longer


def width_pays() -> Measured:
    """MLP width is what pays for shortcuts: accuracy against MLP width at fixed depth."""
    widths, seeds = (1, 4, 64), range(5)
    best = [
        max(learned("parity", 12, 1000, seed, layers=1, mlp=width).score.accuracy for seed in seeds) for width in widths
    ]
    holds = best == sorted(best) and best[-1] > best[0] + 0.05  # the best of other five seeds differ by as much
    right = [f"{value:.3f}" for value in best]
    return Message("shortcuts.width_pays", seeds=len(seeds), widths=list(widths), right=right), holds


CLAIMS: Final = numbered("S0", found_by_training, two_modules, brittle, width_pays, first=14)
