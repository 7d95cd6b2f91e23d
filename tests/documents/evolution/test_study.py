"""The whole study of the evolution of representations, at the smallest scale."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from glassformer.documents.evolution.figure import draw
from glassformer.documents.evolution.measuring import measure
from glassformer.documents.evolution.results import FIGURES, NAMES, QUESTIONS, Evolution, Training, titles
from glassformer.documents.evolution.training import EvolutionScale, train_all, trainings
from glassformer.documents.evolution.verdicts import verdicts
from glassformer.errors import InputError
from glassformer.training.trial import text_task_of
from places import DATA

SAMPLE = DATA / "sentences.tsv"
TINY = EvolutionScale(
    corpus=str(SAMPLE), vocab=330, longest=24, layers=2, width=8, heads=2, steps=3, batch=8, tokens=5, each=4,
    clusters=6, sentences=200,
)  # fmt: skip


def test_models_are_trained_measured_and_drawn_and_a_second_run_trains_nothing(tmp_path: Path) -> None:
    learned = train_all(TINY, tmp_path, processes=2)
    assert all(each.tokens_per_second > 0 and 0 < each.guess < 0.5 for each in learned.values())
    assert set(learned) == {f"{objective}-{seed}" for objective in NAMES for seed in range(2)}
    begun = [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("*/model/model.safetensors"))]
    assert train_all(TINY, tmp_path, processes=2) == learned
    assert [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("*/model/model.safetensors"))] == begun
    found = measure(TINY, tmp_path, learned)
    assert set(found.information) == set(QUESTIONS)
    assert all(len(curves) == 2 for curves in found.information.values())
    assert set(found.distances) == {
        "pair:lm-mlm", "pair:lm-mt", "pair:mlm-mt", "seeds:lm", "seeds:mlm", "seeds:mt",
    }  # fmt: skip
    assert all(list(curve) == ["embedding", "1", "2"] for curves in found.distances.values() for curve in curves)
    assert all(0 <= value <= 1 for curves in found.distances.values() for curve in curves for value in curve.values())
    assert set(found.changes) == set(NAMES)
    ET.fromstring(draw(found))
    assert {*found.information, *found.distances, *found.changes, *FIGURES} == set(titles())
    assert [str(verdict.claim)[:5] for verdict in verdicts(found)] == [f"S3.{i}:" for i in range(1, 6)]


def test_all_objectives_read_the_sentences_that_have_a_translation(tmp_path: Path) -> None:
    (tmp_path / "text.tsv").write_text(SAMPLE.read_text(encoding="utf-8") + "A sentence alone.\n", encoding="utf-8")
    trials = trainings(replace(TINY, corpus=str(tmp_path / "text.tsv"))).trials.values()
    checksums = {text_task_of(**trial["task"]).text.checksum for trial in trials}
    assert checksums == {text_task_of(str(SAMPLE), "mt", TINY.vocab, TINY.longest).text.checksum}


def test_what_cannot_be_trained_or_kept_is_refused_before_the_text_is_read(tmp_path: Path) -> None:
    unread = replace(TINY, corpus="nowhere.tsv")
    with pytest.raises(InputError, match="norms are placed pre or post; not 'middle'"):
        train_all(replace(unread, norm_place="middle"), tmp_path / "out", processes=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file: choose a folder"):
        train_all(unread, tmp_path / "file", processes=1)
    (tmp_path / "old" / "lm-0").mkdir(parents=True)
    begun = {"settings": {"steps": 20, "evaluate_every": 20}, "architecture": {"layers": 4}, "task": {}}
    (tmp_path / "old" / "lm-0" / "run.json").write_text(json.dumps(begun))
    message = (
        r"old holds runs with other settings \(steps 20, now 3, layers 4, now 2\): choose another folder \(--out\)"
    )
    with pytest.raises(InputError, match=message):
        train_all(unread, tmp_path / "old", processes=1)


def test_a_text_that_is_too_short_says_how_much_is_needed_before_a_folder_is_made(tmp_path: Path) -> None:
    lines = SAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "small.tsv").write_text("".join(lines[:30]), encoding="utf-8")
    message = r"small\.tsv has \d+ sentences of at most 24 tokens, too few .*: about [\d,]+ are needed"
    with pytest.raises(InputError, match=message):
        train_all(replace(TINY, corpus=str(tmp_path / "small.tsv")), tmp_path / "out", processes=1)
    assert not (tmp_path / "out").exists()


def holds_of(
    lm: list[float], mlm: list[float], near: float, far: float, right: float = 0.3, differ: float = 0.01
) -> list[bool]:
    layers = ["embedding", "1", "2", "3"]

    def curve(values: list[float]) -> list[dict[str, float]]:
        return [dict(zip(layers, values, strict=True))]

    information = {"input:lm": curve(lm), "input:mlm": curve(mlm), "input:mt": curve([5, 4, 4, 4])}
    distances = {"pair:mlm-mt": curve([near] * 4), "pair:lm-mt": curve([far] * 4), "seeds:lm": curve([0.1] * 4)}
    changes = {
        name: [{"1": x, "2": 0.1}, {"1": x + differ, "2": 0.1}] for name, x in zip(NAMES, (0.1, 0.2, 0.3), strict=True)
    }
    errors = {name: dict.fromkeys(layers, 0.1) for name in information}
    learned = {f"{name}-0": Training(accuracy=right, guess=0.1, tokens_per_second=1.0) for name in NAMES}
    found = Evolution(learned, information, errors, distances, changes, 6.0)
    return [verdict.holds for verdict in verdicts(found)]


def test_a_verdict_follows_from_the_numbers() -> None:
    assert holds_of([5, 4.8, 4, 3], [5, 4.8, 4, 4.5], 0.3, 0.5) == [True] * 5
    assert holds_of([5, 4.8, 4, 4.95], [5, 4.8, 4, 3.9], 0.5, 0.4) == [True, False, False, False, True]
    assert holds_of([5, 4.8, 4, 3], [4, 4.3, 4.4, 4.5], 0.3, 0.5, 0.15, 0.2) == [False, True, False, True, False]
