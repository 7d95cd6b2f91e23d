"""Claims S3.1 – S3.5: "The bottom-up evolution of representations in the transformer", on a made language.

Each function's docstring is the claim; it returns what was measured, and whether that agrees. All five look at the same
six small models, which are trained once. On real text the same is `glassformer evolve`.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from glassformer.studies.evolution import Scale, Verdict, measure, train_one, verdicts

SENTENCES: Final = 3000
STEPS: Final = {"lm": 300, "mlm": 600, "mt": 300}
"""A masked model is asked for one token in seven, and learns as much later."""


class World(NamedTuple):
    """What goes together: who does what, to what, and how."""

    who: str
    kinds: str
    does: str
    what: str
    such: str
    how: str


WORLDS: Final = (
    World("cat dog bird cow", "wild tame", "eat chase smell", "fish grass corn mouse", "fresh dry", "outside quickly"),
    World("girl boy poet king", "young clever", "read write like", "book letter story poem", "long sad", "alone aloud"),
    World(
        "cook baker guest host", "hungry busy", "taste serve order", "soup bread cake tea", "hot sweet", "here twice"
    ),
    World(
        "farmer smith monk nun", "strong tired", "build paint sell", "house gate wall boat", "old wooden", "well again"
    ),
)


def sentence(rng: random.Random) -> tuple[str, str]:
    """Two clauses about one world, and their translation."""
    world = rng.choice(WORLDS)
    clauses = [clause(world, rng) for _ in range(2)]
    return " and ".join(here for here, _ in clauses), " geand ".join(there for _, there in clauses)


def clause(world: World, rng: random.Random) -> tuple[str, str]:
    """The verb agrees with its subject; translated, it comes last."""

    def some(words: str, chance: float = 1.0) -> list[str]:
        return [rng.choice(words.split())] if rng.random() < chance else []

    many = rng.random() < 0.5
    (who,), (does,) = some(world.who), some(world.does)
    subject = [*some("all" if many else "the a one"), *some(world.kinds, 0.5), who + "s" * many]
    thing = [*some("the some no"), *some(world.such, 0.5), *some(world.what)]
    verb, how = [does + "s" * (not many)], some(world.how, 0.6)
    return " ".join(subject + verb + thing + how), " ".join(f"ge{word}" for word in subject + how + thing + verb)


@cache
def found() -> dict[str, Verdict]:
    """What is measured on the models, by claim."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "made.tsv").write_text("\n".join("\t".join(sentence(rng)) for _ in range(SENTENCES)))
        scale = Scale(
            corpus=str(folder / "made.tsv"), vocab=420, layers=6, width=24, heads=2, batch=64, learning_rate=4e-3,
            tokens=60, each=40, clusters=60, sentences=600,
        )  # fmt: skip
        learned = {
            f"{objective}-{seed}": train_one(replace(scale, steps=steps), objective, seed, folder)
            for objective, steps in STEPS.items()
            for seed in range(scale.seeds)
        }
        return {verdict.claim: verdict for verdict in verdicts(measure(scale, folder, learned))}


def told(claim: str) -> tuple[str, bool]:
    """The verdict on a claim."""
    verdict = found()[claim]
    return verdict.said, verdict.holds


def three_objectives() -> tuple[str, bool]:
    """One architecture, three objectives: translation (MT), language model (LM), masked language model (MLM)."""
    return told("S3.1")


def forgets() -> tuple[str, bool]:
    """Mutual information between input tokens and each layer's vectors falls with depth in an LM."""
    return told("S3.2")


def forgets_and_remembers() -> tuple[str, bool]:
    """In an MLM it falls (context encoding) and then rises (token reconstruction)."""
    return told("S3.3")


def near_and_far() -> tuple[str, bool]:
    """PWCCA distance between tasks, above that of two seeds of one task: MT is near MLM, LM is far from MT."""
    return told("S3.4")


def changes() -> tuple[str, bool]:
    """The amount of change from layer to layer is the objective's."""
    return told("S3.5")


CLAIMS: Final[dict[str, Callable[[], tuple[str, bool]]]] = {
    "S3.1": three_objectives,
    "S3.2": forgets,
    "S3.3": forgets_and_remembers,
    "S3.4": near_and_far,
    "S3.5": changes,
}
