"""A sweep trains everything once, whoever is killed, on this machine or on a cluster."""

import multiprocessing
import os
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from glassformer.automata import formats, zoo
from glassformer.errors import InputError
from glassformer.training import store as store_module
from glassformer.training.store import Store
from glassformer.training.sweep import read_sweep, results_of, run_here, sweep_of, work
from glassformer.training.trial import parts_of, run_trial

FILE = """
[task]
machine = ["parity", "flipflop"]
length = 6
[model]
layers = 1
width = 8
heads = 2
[training]
steps = 20
batch = 4
evaluation_words = 8
seed = [0, 1, 2]
[tests.longer]
length = 10
"""


TIMES = ("tokens_per_second", "seconds")
"""What differs from run to run."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(FILE)
    return path


def test_a_file_asks_for_every_combination(file: Path) -> None:
    trials = read_sweep(file).trials.values()
    assert [(t["task"]["machine"], t["training"]["seed"]) for t in trials] == [
        (name, seed) for name in ("parity", "flipflop") for seed in (0, 1, 2)
    ]


# the test suite checks types at every call, and says "wrong kind" where a user reads more
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[task\n", "not TOML"),
        ("[tusk]\nlength = 3", "not 'tusk'"),
        ("[task]\nlength = 3", "needs a machine"),
        ("[task]\nmachine = 'party'\nlength = 3", "did you mean"),
        ("[task]\nmachine = 'parity'\nlength = 3\nlenght = 4", "knows no 'lenght'"),
        ("[task]\nmachine = 'parity'\nlength = 3\n[model]\nwidth = 10\nheads = 4", "does not divide"),
        ("[task]\nmachine = 'parity'\nlength = 3\n[training]\nsteps = 0", "steps"),
        ("[task]\nmachine = []\nlength = 3", "too many or none"),
        ("[task]\nmachine = 'parity'\nlength = 3\nscratchpad = 'no'", "true or false|wrong kind"),
        ("[task]\nmachine = 'parity'\nlength = 3\nletters = 5", "list of probabilities"),
        ("[task]\nmachine = 'parity'\nlength = 3\nletters = [['a', 0.5]]", "probability of a letter|wrong kind"),
        ("[task]\nmachine = 'parity'\nlength = 3\nreveal = 1979-05-27", "is a number|wrong kind"),
        ("[task]\nmachine = 'parity'\nlength = 3\npredict = 'boundary'", "nothing to learn"),
        ("[task]\nmachine = 'parity'\nlength = 3\n[model]\nlayers = 0", "from 1 on"),
        ("[task]\nmachine = 'parity'\nlength = 3\n[model]\nlayers = '1'", "whole number|wrong kind"),
        ("[task]\nmachine = 'parity'\nlength = 3\n[model]\nkind = 'lstm'\nwidth = 100000000000", "at most"),
        ("[task]\nmachine = 'parity'\nlength = 3\n[training]\nseed = 99999999999999999999", "at most"),
        ("[task]\nmachine = 'parity'\nlength = 3\n[training]\ncheckpoint_seconds = inf", "is a number"),
        ("[task]\nmachine = 'parity'\nlength = 3\n[tests]\nlonger = 3", "changes length, shortest, distance, letters"),
        ("[task]\nmachine = 'parity'\nlength = 3\n[tests.other]\nmachine = 'flipflop'", "and nothing else"),
    ],
)
def test_a_file_that_asks_for_nonsense_is_refused_before_anything_runs(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_sweep(tmp_path / "bad.toml")


def test_a_file_may_call_the_initialisation_as_before() -> None:
    task, model = {"machine": "parity", "length": 3}, {"start": "kept"}
    assert parts_of({"task": task, "model": model})[1].initialisation == "fan_in"


def test_all_trials_are_done_once_and_equal_a_run_alone(file: Path, tmp_path: Path) -> None:
    sweep, store = read_sweep(file), Store(tmp_path / "s.sqlite")
    store.add(sweep.trials.items())
    run_here(sweep, store, processes=2)
    rows = store.rows(sweep.ids)
    assert [row.status for row in rows] == ["done"] * 6
    alone = run_trial(rows[0].settings)
    assert rows[0].result is not None
    kept = {key: value for key, value in rows[0].result.items() if key not in TIMES}
    assert kept == {key: alone[key] for key in kept}
    assert "longer" in kept["tests"]


def test_what_is_done_is_not_done_again(file: Path, tmp_path: Path) -> None:
    sweep, store = read_sweep(file), Store(tmp_path / "s.sqlite")
    store.add(sweep.trials.items())
    identity, _ = store.claim(sweep.ids, "me") or ("", {})
    assert store.finish(identity, "me", {"accuracy": 0.5})
    store.add(sweep.trials.items())
    assert not store.finish(identity, "me", {"accuracy": 0.9})
    claimed = [store.claim(sweep.ids, "you") for _ in range(6)]
    assert identity not in [each[0] for each in claimed if each]
    assert claimed[-1] is None
    assert store.rows([identity])[0].result == {"accuracy": 0.5}


def test_a_trial_whose_worker_is_gone_is_free_again(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep, store = read_sweep(file), Store(tmp_path / "s.sqlite")
    store.add(sweep.trials.items())
    claimed = store.claim(sweep.ids[:1], "dead")
    assert claimed is not None
    assert store.claim(sweep.ids[:1], "me") is None
    monkeypatch.setattr(store_module, "FREE_AFTER", -1.0)
    assert store.claim(sweep.ids[:1], "me") == claimed
    assert not store.heartbeat(claimed[0], "dead")
    assert not store.finish(claimed[0], "dead", {})
    assert store.finish(claimed[0], "me", {})


def test_a_worker_that_is_interrupted_gives_its_trial_back(tmp_path: Path, heeding_interrupts: None) -> None:
    slow = sweep_of({"task": {"machine": "parity", "length": 8}, "training": {"steps": 100_000}}, "slow")
    store = Store(tmp_path / "s.sqlite")
    store.add(slow.trials.items())
    process = multiprocessing.get_context("spawn").Process(target=work, args=(store.path, slow.ids, None))
    process.start()
    deadline = time.monotonic() + 60
    while store.rows(slow.ids)[0].status != "running" and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid or 0, signal.SIGINT)
    process.join(30)
    assert store.rows(slow.ids)[0].status == "waiting"


def test_two_sweeps_on_one_store_share_the_work(file: Path, tmp_path: Path) -> None:
    sweep, path = read_sweep(file), tmp_path / "s.sqlite"

    def run_alone(_: int) -> None:
        store = Store(path)
        store.add(sweep.trials.items())
        run_here(sweep, store, processes=1)
        store.close()

    with ThreadPoolExecutor(2) as both:
        list(both.map(run_alone, range(2)))
    assert [row.status for row in Store(path).rows(sweep.ids)] == ["done"] * 6
    with sqlite3.connect(path) as opened:
        assert opened.execute("pragma integrity_check").fetchone() == ("ok",)


def test_a_machine_counts_by_what_is_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    values = {"task": {"machine": str(path), "length": 4}}
    ids = []
    for made in (zoo.parity(), zoo.flipflop(), zoo.parity()):
        path.write_text(formats.dumps(made, "json"))
        ids += sweep_of(values, "file").ids
    assert ids[0] == ids[2] != ids[1]


def test_a_trial_that_breaks_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(settings: dict[str, dict[str, int]], *rest: object) -> dict[str, float]:
        if settings["training"]["seed"] == 0:
            raise MemoryError("too much")
        return {"accuracy": 1.0}

    monkeypatch.setattr("glassformer.training.sweep.run_trial", breaks)
    sweep = sweep_of({"task": {"machine": "parity", "length": 4}, "training": {"seed": [0, 1]}}, "some")
    store = Store(tmp_path / "s.sqlite")
    store.add(sweep.trials.items())
    work(store.path, sweep.ids, None)
    assert [(row.status, row.result) for row in store.rows(sweep.ids)] == [
        ("failed", {"error": "MemoryError: too much"}),
        ("done", {"accuracy": 1.0}),
    ]


def test_a_worker_waits_for_trials_whose_worker_may_be_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "FREE_AFTER", 1.5)
    monkeypatch.setattr("glassformer.training.sweep.run_trial", lambda *asked: {"accuracy": 1.0})
    sweep = sweep_of({"task": {"machine": "parity", "length": 4}}, "one")
    store = Store(tmp_path / "s.sqlite")
    store.add(sweep.trials.items())
    assert store.claim(sweep.ids, "dead")
    work(store.path, sweep.ids, None)
    assert store.rows(sweep.ids)[0].status == "done"


def test_a_long_step_does_not_lose_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "FREE_AFTER", 0.6)
    monkeypatch.setattr("glassformer.training.sweep.HEARTBEAT", 0.1)
    store = Store(tmp_path / "s.sqlite")
    sweep = sweep_of({"task": {"machine": "parity", "length": 4}}, "one")
    store.add(sweep.trials.items())
    others: list[object] = []

    def slow(*asked: object) -> dict[str, float]:
        for _ in range(12):
            time.sleep(0.1)
            others.append(Store(store.path).claim(sweep.ids, "other"))
        return {"accuracy": 1.0}

    monkeypatch.setattr("glassformer.training.sweep.run_trial", slow)
    work(store.path, sweep.ids, None)
    assert others == [None] * 12
    assert store.rows(sweep.ids)[0].status == "done"


def test_results_are_complete_or_refused(tmp_path: Path) -> None:
    values = {"task": {"machine": "parity", "length": 4}, "training": {"steps": 9, "learning_rate": 1e20, "warmup": 0}}
    with pytest.raises(InputError, match="is failed: step"):
        results_of({"bad": sweep_of(values, "bad")}, tmp_path / "s.sqlite", processes=1)


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "s.sqlite") as other:
        other.execute("create table trials (name text)")
    with pytest.raises(InputError, match="cannot be used to keep trials in"):
        Store(tmp_path / "s.sqlite").add([("a", {})])


def test_a_trial_that_fails_says_why_and_can_be_tried_again(tmp_path: Path) -> None:
    values = {"task": {"machine": "parity", "length": 4}, "training": {"steps": 9, "learning_rate": 1e20, "warmup": 0}}
    sweep, store = sweep_of(values, "bad"), Store(tmp_path / "s.sqlite")
    store.add(sweep.trials.items())
    work(store.path, sweep.ids, None)
    (row,) = store.rows(sweep.ids)
    assert row.status == "failed"
    assert "the loss is nan" in (row.result or {})["error"]
    store.retry_failed(sweep.ids)
    assert store.rows(sweep.ids)[0].status == "waiting"
