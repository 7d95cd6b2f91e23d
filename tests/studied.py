"""What studies write, small: made by their own classes, so that what the page reads is what they write."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from glassformer.documents.evolution.results import NAMES, QUESTIONS, Evolution, Training
from glassformer.documents.evolution.verdicts import verdicts
from glassformer.documents.inside.results import Dictionaries, Dots, Superposition, plateaus
from glassformer.documents.lineage.family import IN_THE_BLOCK
from glassformer.documents.lineage.results import BLOCK, RNN, Family, Lineage, MemberResult, Skips, Translating
from glassformer.documents.lineage.skips import KINDS
from glassformer.documents.lineage.verdicts import of_family


def evolution() -> dict[str, Any]:
    layers = ("embedding", "1", "2")
    seeds = [{layer: 3.0 - i - seed / 5 for i, layer in enumerate(layers)} for seed in range(2)]
    apart = {name: [dict.fromkeys(layers, 0.2)] for name in ("pair:mlm-mt", "pair:lm-mt", "seeds:lm")}
    found = Evolution(
        learned={f"{name}-{seed}": Training(0.5, 0.1, 1000.0) for name in NAMES for seed in range(2)},
        information=dict.fromkeys(QUESTIONS, seeds),
        errors={name: dict.fromkeys(layers, 0.1) for name in QUESTIONS},
        distances=apart,
        changes={name: [{"1": 0.3, "2": 0.2}] * 2 for name in NAMES},
        most=4.0,
    )
    return asdict(replace(found, claims=[verdict.written() for verdict in verdicts(found)]))


def superposition() -> dict[str, Any]:
    dots = [Dots(1.0, [0.1, 0.2]), Dots(10.0, [0.5] * 8), Dots(100.0, [])]
    phases = [["alone", "shared"], ["left_out", "shared"]]
    dictionaries = [Dictionaries("top 2", 0.9, 1.8, 0.99, 1.0)]
    return asdict(Superposition(0.9, dots, plateaus(dots), [10.0, 0.1], [1.0, 100.0], phases, dictionaries))


def lineage() -> dict[str, Any]:
    def row(right: float, host: str, task: str, name: str) -> MemberResult:
        reached = 300 if right > 0.9 else None
        return MemberResult(host, task, name, 32, [right, right], right, right, {"longer": right / 2}, reached, 2.5)

    members = {"none": 0.4, "additive": 0.95, "<i>dot</i>": 0.99}
    rows = [row(right, RNN, task, name) for task in ("reverse", "copy") for name, right in members.items()]
    rows.append(row(0.8, BLOCK, IN_THE_BLOCK, "dot"))
    family = Family(rows, {name: [right, right / 2] for name, right in members.items()})
    skips = Skips({kind: {2: 0.9, 16: 0.5} for kind in KINDS}, {kind: [1e-3, 0.1] for kind in KINDS})
    translating = Translating({"additive": {8: 20.0, 16: 15.0}}, [])
    return asdict(Lineage.of(family, skips, translating, of_family(family), quick=True))


STUDIED = {"evolution": evolution, "superposition": superposition, "lineage": lineage}


def write(folder: Path, *names: str) -> None:
    """The numbers of studies, where their commands leave them."""
    for name in names:
        (folder / name).mkdir(exist_ok=True)
        (folder / name / f"{name}.json").write_text(json.dumps(STUDIED[name]()))
