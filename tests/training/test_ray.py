"""A sweep on a real Ray cluster of two nodes, one of which dies in mid-sweep."""

import threading
import time
import warnings
from pathlib import Path

import pytest

from glassformer.training.store import Store, TrialRow
from glassformer.training.sweep import run_on_ray, sweep_of

SWEEP = {
    "task": {"machine": "parity", "length": 8},
    "model": {"layers": 1, "width": 8, "heads": 2},
    "training": {"steps": 150, "batch": 16, "evaluation_words": 8, "seed": list(range(6))},
}


@pytest.mark.filterwarnings("ignore")  # of Ray's own doing
def test_every_trial_is_there_once_although_a_node_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # a cluster on this machine alone
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray = pytest.importorskip("ray")
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        doomed = cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        sweep, store = sweep_of(SWEEP, "test"), Store(tmp_path / "s.sqlite")
        store.add(sweep.trials.items())
        killed = threading.Event()

        def kill_after_the_first(rows: list[TrialRow]) -> None:
            if not killed.is_set() and any(row.status == "done" for row in rows):
                killed.set()
                cluster.remove_node(doomed, allow_graceful=False)

        try:
            begin = time.monotonic()
            run_on_ray(sweep, store, "ray", kill_after_the_first)
            assert killed.is_set()
            rows = store.rows(sweep.ids)
            assert [row.status for row in rows] == ["done"] * 6
            assert len({row.id for row in rows}) == 6
            assert time.monotonic() - begin < 300
        finally:
            ray.shutdown()
            cluster.shutdown()
