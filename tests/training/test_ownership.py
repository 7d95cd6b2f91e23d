"""A run folder has one owner; whoever is killed in it at whatever moment, another one goes on to the same weights."""

import itertools
import multiprocessing
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
import torch

from glassformer.automata import zoo
from glassformer.errors import InputError
from glassformer.training import Architecture, Settings, StateTracking, Trained, sweep, train
from glassformer.training.store import Store
from kills import killed_at_line

TASK = StateTracking(zoo.flipflop(), 6)
SMALL = Architecture(layers=1, width=8, heads=1)
SHORT = Settings(steps=3, batch=2, evaluate_every=1, evaluation_words=2, checkpoint_seconds=0.0)


def weights(trained: Trained) -> dict[str, torch.Tensor]:
    return trained.model.state_dict()


def run(folder: Path) -> Trained:
    return train(TASK, SMALL, SHORT, folder, resume=True)


def train_and_wait(folder: Path, begun: Event) -> None:
    def wait(*_: object) -> None:
        begun.set()
        signal.pause()

    train(TASK, SMALL, SHORT, folder, progress=wait)


@contextmanager
def another_at_work(folder: Path) -> Iterator[int]:
    """Another process that is in the midst of training there."""
    context = multiprocessing.get_context("fork")
    begun = context.Event()
    process = context.Process(target=train_and_wait, args=(folder, begun))
    process.start()
    assert begun.wait(60)
    try:
        assert process.pid
        yield process.pid
    finally:
        process.kill()
        process.join()


def test_the_second_to_come_is_refused_and_told_who_was_first(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with another_at_work(folder) as process, pytest.raises(InputError) as refused:
        run(folder)
    assert f"is being trained by process {process} on " in str(refused.value)
    assert weights(run(folder)).keys() == weights(train(TASK, SMALL, SHORT)).keys()  # free as soon as it was killed


def test_a_sweep_waits_for_whoever_works_in_the_folder_of_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"task": {"machine": "flipflop", "length": 6}, "training": {"steps": 3}}
    ((trial, settings),) = sweep.sweep_of(values, "some").trials.items()
    store = Store(tmp_path / "store.sqlite")
    store.add([(trial, settings)])
    monkeypatch.setattr(sweep, "ASK_AGAIN", 0.01)
    claimed = store.claim([trial], "me")
    assert claimed
    with another_at_work(tmp_path / trial):
        sweep.do_trial(store, "me", *claimed, tmp_path)
    (row,) = store.rows([trial])
    assert row.status == "waiting"
    store.close()


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.parametrize("every", [23, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_run_that_is_killed_at_any_line_of_a_write_goes_on_to_the_same_weights(tmp_path: Path, every: int) -> None:
    whole = weights(train(TASK, SMALL, SHORT))
    folder = tmp_path / "run"
    kills = 0
    for line in itertools.count(1, every):
        shutil.rmtree(folder, ignore_errors=True)
        killed = killed_at_line(line, lambda: run(folder))
        kills += killed
        again = weights(run(folder))
        assert all(torch.equal(again[name], value) for name, value in whole.items())
        assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
        if not killed:
            break
    assert kills * every > 200


def test_a_folder_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is not a run"):
        train(TASK, SMALL, SHORT, tmp_path)
    assert os.listdir(tmp_path) == ["notes.txt"]
