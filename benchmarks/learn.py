"""Training many small models: what the loader costs, and what a second core gains.

    python benchmarks/learn.py

The loader's share is the time to draw a batch (words, states by the machine, tensors) over the time of a whole step.
Then K seeds are trained one after another in this process, and as a sweep with one process a core; both times include
everything, the start of the processes too. Read the ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from glassformer.automata import machine
from glassformer.training import Architecture, FlipFlopLanguage, Settings, StateTracking, train
from glassformer.training.store import Store
from glassformer.training.sweep import run_here, sweep_of
from glassformer.training.tasks import Task
from glassformer.training.trial import run_trial

TASKS: dict[str, Task] = {
    "parity, T = 32": StateTracking(machine("parity"), 32),
    "symmetric(5), T = 32": StateTracking(machine("symmetric(5)"), 32),
    "gridworld(9), uneven letters": StateTracking(machine("gridworld(9)"), 32, letters=(0.7, 0.2, 0.1)),
    "scratchpad, T = 32": StateTracking(machine("parity"), 32, scratchpad=True),
    "flip-flop language, T = 128": FlipFlopLanguage(128),
}


def loader_share(task: Task, steps: int) -> float:
    settings = Settings(steps=steps, evaluate_every=steps, evaluation_words=1)
    begin = time.perf_counter()
    for step in range(steps):
        task.batch(np.random.default_rng([0, step]), settings.batch)
    drawing = time.perf_counter() - begin
    tokens = steps * settings.batch * task.context
    return drawing / (tokens / train(task, Architecture(), settings).tokens_per_second)


def many(seeds: int, steps: int) -> None:
    cores = len(os.sched_getaffinity(0))
    values = {
        "task": {"machine": "parity", "length": 32},
        "model": {"layers": 2, "width": 64},
        "training": {"steps": steps, "seed": list(range(seeds)), "evaluate_every": steps},
    }
    sweep = sweep_of(values, "benchmark")
    begin = time.perf_counter()
    alone = [run_trial(trial)["tokens_per_second"] for trial in sweep.trials.values()]
    one_by_one = time.perf_counter() - begin
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "s.sqlite")
        store.add(sweep.trials.items())
        begin = time.perf_counter()
        run_here(sweep, store, cores)
        together = time.perf_counter() - begin
        speeds = [row.result["tokens_per_second"] for row in store.rows(sweep.ids) if row.result]
        store.close()
    each = statistics.median(speeds) / statistics.median(alone)
    print(f"\n{seeds} seeds of {steps} steps, {cores} cores: {together / one_by_one:.2f} of the time one after another")
    print(f"tokens per second of each process: {each:.2f} of a run alone ({statistics.median(alone):,.0f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few steps only, to show that it works")
    quick = parser.parse_args().quick
    print(f"{'task':32}{'loader, of a step':>20}")
    for name, task in TASKS.items():
        print(f"{name:32}{loader_share(task, 5 if quick else 100):>20.1%}")
    many(2 if quick else 4, 5 if quick else 600)
