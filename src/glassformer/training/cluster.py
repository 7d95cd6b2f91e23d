"""Where work is done: here, on a Ray cluster that is started on this machine, or on one at an address."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext, SpawnContext
from typing import Any, Final

from glassformer.errors import InputError, optional

LOADED_ONCE: Final = ("glassformer.training.trial", "torch._dynamo")
"""What every training takes seconds to load; the first optimiser of a process loads the second."""


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes() -> SpawnContext | ForkServerContext:
    """How processes are started here: on Linux as copies of one that has loaded everything, elsewhere from nothing."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*LOADED_ONCE])
    return context


def abandoned() -> bool:
    """Whether the parent process has ended."""
    parent = multiprocessing.parent_process()
    return parent is not None and not parent.is_alive()


def asked_for(engine: str) -> bool:
    """Whether an engine is a cluster: it is `here`, `ray`, or `ray://address`."""
    if engine != "here" and engine != "ray" and not engine.startswith("ray://"):
        raise InputError("sweep.engine", engine=engine)
    return engine != "here"


@contextmanager
def connected(engine: str) -> Iterator[Any]:
    """Ray, connected to the cluster; one that was not there before is gone afterwards."""
    ray = optional("ray", "sweep.needs_ray")
    address = None if engine == "ray" else engine.removeprefix("ray://")
    started = not ray.is_initialized()
    if started:
        ray.init(address=address, log_to_driver=False, include_dashboard=False if address is None else None)
    try:
        yield ray
    finally:
        if started:
            ray.shutdown()


def size(ray: Any) -> int:
    """How many processes have room on the cluster."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))
