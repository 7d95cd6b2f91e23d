"""The study of depth: every trial once, best and median of the seeds, and a figure."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from glassformer.documents.shortcuts.depth_and_width import LAPTOP, PUBLISHED, QUICK, Curve, shortcuts
from glassformer.training.sweep import read_sweep
from places import ROOT


def test_accuracy_is_gathered_by_depth_and_by_mlp(tmp_path: Path) -> None:
    found = shortcuts(QUICK, tmp_path / "runs.sqlite", processes=1)
    assert {spec: list(curve.scores) for spec, curve in found.by_depth.items()} == {"flipflop": [1, 2]}
    assert {spec: list(curve.scores) for spec, curve in found.by_mlp.items()} == {"flipflop": [8, 64]}
    assert [len(scores) for scores in found.by_depth["flipflop"].scores.values()] == [2, 2]
    assert 0 < found.lstm["flipflop"] <= 1
    assert found.by_mlp["flipflop"].scores[64] == found.by_depth["flipflop"].scores[1]  # the same trials, not others
    for drawing in (found.draw(), found.draw_mlp()):
        assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert shortcuts(QUICK, tmp_path / "runs.sqlite", processes=1) == found


def test_best_and_median_are_those_of_the_seeds() -> None:
    curve = Curve({1: [0.2, 0.9, 0.4], 2: [1.0]})
    assert (curve.best, curve.median) == ({1: 0.9, 2: 1.0}, {1: 0.4, 2: 1.0})


@pytest.mark.usefixtures("types_unchecked")  # of 6,080 trials
def test_the_full_sweep_asks_for_the_published_settings() -> None:
    sweep = read_sweep(ROOT / "benchmarks" / "shortcuts-full.toml")
    assert len(sweep.trials) == 19 * 16 * 20
    trial = next(iter(sweep.trials.values()))
    assert (trial["task"]["length"], trial["model"]["width"], trial["model"]["heads"]) == (100, 512, 8)
    assert set(PUBLISHED) & set(LAPTOP.machines)
