from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.algebra import decompose
from glassformer.automata import Machine, zoo
from glassformer.compiler.built import Built
from glassformer.compiler.certificate import Certificate
from glassformer.compiler.constructions.universal import (
    Approximation,
    Classical,
    Distance,
    approximate,
    one_hidden_layer,
)
from glassformer.compiler.description import Description, describe
from glassformer.compiler.elsewhere.recurrent import recurrent_network
from glassformer.compiler.pipeline import compile
from glassformer.documents.evolution import claims as s3_evolution
from glassformer.documents.evolution.training import EvolutionScale
from glassformer.documents.ledger import CLAIMS, Claim, find, run
from glassformer.documents.shortcuts.learned import learned
from glassformer.errors import InputError
from glassformer.instruments import HeadScore
from glassformer.nn import Config, Transformer
from glassformer.nn.identities import gathered, remade
from glassformer.training import Architecture, Evaluation, Settings, Trained, train
from glassformer.training.ensemble import train as train_toys
from glassformer.training.fitting import Fit, Recipe, fit_function
from glassformer.training.tasks import Task
from places import DATA

SMALL = Config.uniform(vocab=2, outputs=2, context=2, width=2, layers=1, heads=1)


TRAINED_FOR_LONG = {"S0.14", "S0.15", "S0.16", "S0.17"}
MEASURED = [
    pytest.param(claim, marks=[pytest.mark.nightly] * (claim.id in TRAINED_FOR_LONG), id=claim.id)
    for claim in CLAIMS
    if not claim.slow
]


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.parametrize("claim", MEASURED)
def test_the_claim_holds(claim: Claim) -> None:
    (outcome,) = run([claim])
    assert outcome.holds, outcome.measured
    assert outcome.claimed
    assert outcome.measured


def test_slow_claims_train_once_and_keep_their_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sample = DATA / "sentences.tsv"
    sizes: dict[str, Any] = {"vocab": 330, "layers": 2, "width": 8, "heads": 2, "steps": 3, "batch": 8}
    tiny = EvolutionScale(corpus=str(sample), **sizes, tokens=5, each=4, clusters=6, sentences=200)
    monkeypatch.setattr(s3_evolution, "SCALE", tiny)
    monkeypatch.setattr(s3_evolution, "models", lambda: tmp_path)
    s3_evolution.found.cache_clear()
    outcomes = list(run(claim for claim in CLAIMS if claim.slow))
    s3_evolution.found.cache_clear()
    assert [outcome.id for outcome in outcomes] == [f"S3.{i}" for i in range(1, 6)]
    assert all(outcome.claimed and outcome.measured for outcome in outcomes)
    assert not all(outcome.holds for outcome in outcomes)  # three steps teach nothing
    assert len(list(tmp_path.glob("*/model"))) == 6


ALL = [f"S{s}.{i}" for s, count in ((0, 17), (1, 12), (2, 6), (3, 5), (4, 6)) for i in range(1, count + 1)]


def test_claims_are_found_by_id() -> None:
    assert [claim.id for claim in find(["S0.6", "S0.1"])] == ["S0.6", "S0.1"]
    assert [claim.id for claim in find([])] == ALL
    with pytest.raises(InputError, match=r"no claim 'S9.9'.*S0.1"):
        find(["S9.9"])


def swapped(machine: Machine) -> Machine:
    """Its letters in reverse order."""
    return replace(machine, delta=machine.delta[::-1])


def by_doubling(machine: Machine, length: int, method: str = "auto", dtype: str = "float32") -> Built:
    return compile(machine, length, "log", dtype)


def upside_down(model: Transformer, certificate: Certificate) -> Description:
    described = describe(model, certificate)
    return replace(described, layers=described.layers[::-1])


def stuck_at_the_start(table: object, words: np.ndarray, start: int) -> np.ndarray:
    return np.full(words.shape, start)


def never_wrong(*asked: object, **sizes: object) -> Trained:
    right = Evaluation(1.0, 1.0)
    return Trained(Transformer(SMALL), right, {"longer": right, "uneven": right}, 0.0, 1, 1.0)


def hardly_learned(spec: str, length: int, steps: int, seed: int = 0, **how: Any) -> Trained:
    return learned(spec, length, 2, seed, **how)


def learned_nothing(task: Task, architecture: Architecture, settings: Settings) -> Trained:
    return train(task, architecture, replace(settings, steps=2))


def all_alike(task: Task, architecture: Architecture, settings: Settings) -> Trained:
    """Whatever the part, nothing is learned."""
    return Trained(architecture.model(task, 0), Evaluation(0.5, 0.0), {}, 1.0, 1, 1.0)


def unused_heads(model: Transformer) -> list[HeadScore]:
    heads = [(layer, head) for layer, shape in enumerate(model.config.blocks) for head in range(shape.heads)]
    return [HeadScore(layer, head, None, None, 1.0, 0.0, {}, {}) for layer, head in heads]


def always_the_coarsest(name: str, d: int, n: int, delta: float, positions: bool, samples: int) -> Approximation:
    return approximate(name, d, n, 1 / 4, positions, samples=samples)


def always_four_units(name: str, d: int, n: int, units: int) -> Classical:
    return one_hidden_layer(name, d, n, 4)


def without_its_last_block(model: Transformer) -> Transformer:
    kept = model.config.blocks[:-1]
    return remade(model, kept, gathered(model, [[(i, ("attn", "mlp"))] for i in range(len(kept))]))


def untrained(f: Callable[[Any], Any], recipe: Recipe) -> Fit:
    return fit_function(f, replace(recipe, steps=2))


@pytest.mark.parametrize(
    ("claim", "target", "wrong"),
    [
        ("S0.1", "glassformer.automata.simulate.scan", stuck_at_the_start),
        ("S0.2", "glassformer.automata.zoo.flipflop", zoo.parity),
        (
            "S0.3",
            "glassformer.documents.shortcuts.theorems.recurrent_network",
            lambda machine: recurrent_network(swapped(machine)),
        ),
        ("S0.4", "glassformer.documents.shortcuts.theorems.cut", lambda built, depth: built),
        ("S0.5", "glassformer.documents.shortcuts.theorems.doublings", lambda length: 3),
        ("S0.6", "glassformer.documents.shortcuts.theorems.cut", lambda built, depth: built),
        ("S0.7", "glassformer.documents.shortcuts.theorems.is_refused", lambda machine: False),
        ("S0.8", "glassformer.documents.shortcuts.theorems.decompose", lambda machine: decompose(swapped(machine))),
        ("S0.9", "glassformer.documents.shortcuts.theorems.compile", by_doubling),
        ("S0.10", "glassformer.documents.shortcuts.theorems.compile", by_doubling),
        ("S0.11", "glassformer.documents.shortcuts.theorems.describe", upside_down),
        ("S0.12", "glassformer.documents.shortcuts.theorems.compile", by_doubling),
        ("S0.13", "glassformer.documents.shortcuts.theorems.compile", by_doubling),
        ("S0.14", "glassformer.documents.shortcuts.learned.learned", hardly_learned),
        ("S0.15", "glassformer.documents.shortcuts.learned.learned", hardly_learned),
        ("S0.16", "glassformer.documents.shortcuts.learned.learned", never_wrong),
        ("S0.17", "glassformer.documents.shortcuts.learned.learned", hardly_learned),
        ("S1.1", "glassformer.documents.approximation.claims.distance", lambda *asked: Distance(1.0, 0.01)),
        ("S1.2", "glassformer.documents.approximation.claims.is_equivariant", lambda *asked: (True, None)),
        ("S1.3", "glassformer.documents.approximation.claims.one_hidden_layer", always_four_units),
        ("S1.4", "glassformer.documents.approximation.claims.is_contextual", lambda ids: (True, None)),
        ("S1.5", "glassformer.documents.approximation.claims.ROUNDING", 0.0),
        ("S1.6", "glassformer.compiler.constructions.universal.grid.Grid.shift", np.zeros(1)),
        ("S1.7", "glassformer.documents.approximation.claims.approximate", always_the_coarsest),
        ("S1.8", "glassformer.documents.approximation.claims.approximate", always_the_coarsest),
        ("S1.9", "glassformer.compiler.constructions.universal.layers.SHARPNESS", 1.0),
        ("S1.10", "glassformer.documents.approximation.claims.split_blocks", without_its_last_block),
        ("S1.11", "glassformer.documents.approximation.claims.approximate_blocks", lambda grid: 12),
        ("S1.12", "glassformer.documents.approximation.claims.fit_function", untrained),
        *((f"S2.{i}", "glassformer.documents.lineage.claims.train", all_alike) for i in range(1, 7)),
        ("S4.1", "glassformer.documents.inside.claims.train", learned_nothing),
        ("S4.2", "glassformer.documents.inside.claims.at_temperature", lambda logits, heat: logits.softmax(-1)),
        ("S4.3", "glassformer.nn.transformer.Attention.normalise", lambda self, scores: scores.sigmoid()),
        ("S4.4", "glassformer.documents.inside.claims.score_heads", lambda model, words: unused_heads(model)),
        ("S4.5", "glassformer.documents.inside.claims.edit", lambda *asked, **where: (1.0, 1.0, 0.3)),
        ("S4.6", "glassformer.documents.inside.claims.train_toys", lambda toys, **how: train_toys(toys, steps=2)),
    ],
)
@pytest.mark.usefixtures("types_unchecked")
def test_a_claim_can_fail(monkeypatch: pytest.MonkeyPatch, claim: str, target: str, wrong: object) -> None:
    monkeypatch.setattr(target, wrong)
    (outcome,) = run(find([claim]))
    assert not outcome.holds
