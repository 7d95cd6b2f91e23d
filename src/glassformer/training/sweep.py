"""Many trainings: a file says which, workers on this machine or on a Ray cluster do them, one store keeps the results.

A sweep file is TOML with the parts [task], [model], [training] and [tests.NAME]; a list as a value means that all its
members are tried, in all combinations (`letters`, which is a list itself, then is a list of lists).
"""

from __future__ import annotations

import itertools
import math
import multiprocessing.connection
import os
import signal
import socket
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.progress import Progress, silent
from glassformer.training import cluster
from glassformer.training.ownership import OwnedError
from glassformer.training.store import Store, TrialRow
from glassformer.training.trainer import DivergedError
from glassformer.training.trial import PARTS, check, identity, run_trial

MOST_TRIALS: Final = 100_000
HEARTBEAT: Final = 2.0
ASK_AGAIN: Final = 1.0
"""Seconds until a trial is tried again in whose folder somebody still works."""
"""Seconds between the heartbeats of a worker."""
OnRows: TypeAlias = Callable[[list[TrialRow]], None]
"""Is given now and then how the trials stand."""
Key = TypeVar("Key")


@dataclass(frozen=True)
class Sweep:
    """The trials of a file, by their ids."""

    trials: dict[str, dict[str, Any]]

    @property
    def ids(self) -> list[str]:
        """All ids, in the order of the file."""
        return list(self.trials)


def read_sweep(path: Path) -> Sweep:
    """The trials that a TOML file asks for, each checked before any is run."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("folder.cannot_read", path=path, why=error.strerror) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError("sweep.not_toml", path=path, why=str(error)) from None
    return sweep_of(values, str(path))


def sweep_of(values: Mapping[str, Any], name: str) -> Sweep:
    """The trials that plain values ask for; each is checked before any is run."""
    for part in values:
        if part not in PARTS or not isinstance(values[part], dict):
            raise InputError("sweep.parts", file=name, parts=PARTS, part=part)
    varied = [
        [(part, key, value) for value in _choices(key, given)]
        for part in ("task", "model", "training")
        for key, given in values.get(part, {}).items()
    ]
    count = math.prod(map(len, varied))
    if not 0 < count <= MOST_TRIALS:
        raise InputError("sweep.count", file=name, count=count, limit=MOST_TRIALS)
    trials, made = {}, set[str]()
    for combination in itertools.product(*varied):
        trial: dict[str, Any] = {part: {} for part in ("task", "model", "training")}
        for part, key, value in combination:
            trial[part][key] = value
        if "tests" in values:
            trial["tests"] = values["tests"]
        try:
            task = check(trial, made)
        except InputError as error:
            raise InputError("sweep.trial", file=name, why=error.message) from None
        trials[identity(trial, task)] = trial
    return Sweep(trials)


def _choices(key: str, given: Any) -> list[Any]:
    if key == "letters":
        return given if isinstance(given, list) and given and isinstance(given[0], list) else [given]
    return given if isinstance(given, list) else [given]


# -- workers -----------------------------------------------------------------------------------------------


def work(path: Path, ids: Sequence[str], folder: Path | None) -> None:
    """Do one trial after the other; while others are working on the last ones, one of them may become free again."""
    worker, store = worker_name(), Store(path)
    try:
        while (claimed := store.claim(ids, worker)) is not None or store.running(ids):
            if claimed is not None:
                do_trial(store, worker, *claimed, folder)
            else:
                time.sleep(0.5)
                _stop_if_abandoned()
    except KeyboardInterrupt:
        pass
    finally:
        store.give_back(worker)
        store.close()


class _AbandonedError(Exception):
    """The trial is somebody else's now, or nobody waits for it any more."""


def do_trial(store: Store, worker: str, trial: str, settings: Mapping[str, Any], folder: Path | None) -> None:
    """One trial, with heartbeats."""
    with _Heartbeats(store.path, trial, worker) as beating:

        def note(step: int, of: int) -> None:
            beating.step = step
            _stop_if_abandoned()
            if beating.lost.is_set():
                raise _AbandonedError

        try:
            result, failed = outcome_of(settings, note, folder / trial if folder else None)
        except _AbandonedError:
            return
        except OwnedError:  # by a worker that was thought dead, and will soon see that the trial is not its own
            time.sleep(ASK_AGAIN)
            store.give_back(worker)
            return
    store.finish(trial, worker, result, failed)


def outcome_of(
    settings: Mapping[str, Any], progress: Progress = silent, folder: Path | None = None
) -> tuple[dict[str, Any], bool]:
    """The result of a trial, and whether it is a failure: one that breaks must not stop the others."""
    try:
        return run_trial(settings, progress, folder), False
    except (_AbandonedError, OwnedError):
        raise
    except (InputError, DivergedError) as error:
        return {"error": str(error)}, True
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}, True


def _stop_if_abandoned() -> None:
    if cluster.abandoned():
        raise KeyboardInterrupt


class _Heartbeats(threading.Thread):
    """Shows that a trial is being worked on, however long its steps take, until the trial ends or is lost."""

    def __init__(self, path: Path, trial: str, worker: str) -> None:
        super().__init__(daemon=True)
        self.path, self.trial, self.worker, self.step = path, trial, worker, 0
        self.lost, self.ended = threading.Event(), threading.Event()

    def run(self) -> None:
        store = Store(self.path)
        while not self.lost.is_set() and not self.ended.wait(HEARTBEAT):
            if not store.heartbeat(self.trial, self.worker, self.step):
                self.lost.set()
        store.close()

    def __enter__(self) -> _Heartbeats:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.ended.set()
        self.join()


def worker_name() -> str:
    """A name that no other worker has."""
    return f"{socket.gethostname()} {os.getpid()} {time.time_ns()}"


def run_here(
    sweep: Sweep, store: Store, processes: int, folder: Path | None = None, on_rows: OnRows | None = None
) -> None:
    """All trials that are left, in so many `processes` on this machine.

    Each run is kept in a folder of its own within `folder`, if there is one; `on_rows` is given how all trials stand,
    twice a second.
    """
    left = sum(row.status not in ("done", "failed") for row in store.rows(sweep.ids))
    process = cluster.processes().Process
    workers = [process(target=work, args=(store.path, sweep.ids, folder)) for _ in range(min(processes, left))]
    for worker in workers:
        worker.start()
    try:
        while any(worker.is_alive() for worker in workers):
            if on_rows:
                on_rows(store.rows(sweep.ids))
            _wait(workers, 0.5)
    except KeyboardInterrupt:
        for worker in workers:
            worker.join(timeout=3)  # Ctrl-C in a terminal goes to all of us
            if worker.pid and worker.is_alive():
                os.kill(worker.pid, signal.SIGINT)
        raise
    finally:
        for worker in workers:
            worker.join(timeout=20)
            worker.kill()
    if on_rows:
        on_rows(store.rows(sweep.ids))
    broken = [worker.exitcode for worker in workers if worker.exitcode]
    if broken and any(row.status != "done" for row in store.rows(sweep.ids)):
        raise InputError("sweep.worker", code=broken[0])


def results_of(
    sweeps: Mapping[Key, Sweep], store: Path, processes: int, on_rows: OnRows | None = None, folder: Path | None = None
) -> dict[Key, list[dict[str, Any]]]:
    """The results of several sweeps, after training here whatever of them is not in the store yet.

    Runs are kept, with their models, in the folder if there is one. Those that failed, or whose models are gone, are
    tried again.
    """
    everything = Sweep({trial: settings for sweep in sweeps.values() for trial, settings in sweep.trials.items()})
    kept = Store(store)
    try:
        kept.add(everything.trials.items())
        kept.retry_failed(everything.ids)
        if folder is not None:
            kept.forget([trial for trial in everything.ids if not (folder / trial / "model").exists()])
        run_here(everything, kept, processes, folder, on_rows)
        for row in kept.rows(everything.ids):
            if row.status != "done":
                why = (row.result or {}).get("error", Message("sweep.not_finished"))
                raise InputError("sweep.failed", store=store, trial=row.id, status=row.status, why=why)
        return {key: [row.result or {} for row in kept.rows(sweep.ids)] for key, sweep in sweeps.items()}
    finally:
        kept.close()


def _wait(workers: Sequence[Any], seconds: float) -> None:
    """Until one ends, or for so long."""
    multiprocessing.connection.wait([worker.sentinel for worker in workers if worker.is_alive()], timeout=seconds)


def run_on_ray(sweep: Sweep, store: Store, engine: str, on_rows: OnRows | None = None) -> None:
    """All trials that are left, as tasks of a Ray cluster; this process alone writes to the store.

    `engine` is "ray" for a cluster started here, or the "ray://address" of one; `on_rows` is given how all trials
    stand, once a second.
    """
    with cluster.connected(engine) as ray:
        remote = ray.remote(num_cpus=1, max_retries=10)(outcome_of)
        worker = worker_name()
        running: dict[Any, str] = {}
        try:
            while True:
                for trial, settings in _claims(sweep, store, worker, cluster.size(ray) - len(running)):
                    running[remote.remote(settings)] = trial
                if not running:
                    break
                done, _ = ray.wait(list(running), timeout=1.0)
                for reference in done:
                    result, failed = ray.get(reference)
                    store.finish(running.pop(reference), worker, result, failed)
                for trial in running.values():
                    store.heartbeat(trial, worker)
                if on_rows:
                    on_rows(store.rows(sweep.ids))
        finally:
            store.give_back(worker)


def _claims(sweep: Sweep, store: Store, worker: str, most: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for _ in range(most):
        claimed = store.claim(sweep.ids, worker)
        if claimed is None:
            return
        yield claimed
