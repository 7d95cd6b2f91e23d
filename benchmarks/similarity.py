"""How fast, and in how much memory, is PWCCA from one pass beside the plain way, by SVDs of all vectors?

    python benchmarks/similarity.py

Both in one run, on the same vectors, each in a process of its own that tells its seconds and the most memory that it
held beyond the vectors. The vectors come in batches of 4,096, as from a model; the plain way has to keep them all.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator

import numpy as np

from glassformer.measure.similarity import Moments, Similarity

BATCH = 4096


def batches(samples: int, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Vectors with a common part, in float32."""
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(2, width // 2, width)).astype(np.float32)
    for begin in range(0, samples, BATCH):
        shape = min(BATCH, samples - begin), width
        shared = rng.standard_normal((shape[0], width // 2), dtype=np.float32)
        x, y = (shared @ each + rng.standard_normal(shape, dtype=np.float32) for each in maps)
        yield x, y


def by_moments(samples: int, width: int) -> Callable[[], float]:
    moments = Moments(width, width)
    seconds = 0.0
    for x, y in batches(samples, width):
        begin = time.perf_counter()
        moments.add(x, y)
        seconds += time.perf_counter() - begin
    found.append(seconds)
    return lambda: Similarity(moments).pwcca


def by_svd(samples: int, width: int) -> Callable[[], float]:
    x, y = (np.concatenate(parts) for parts in zip(*batches(samples, width), strict=True))
    found.append(0.0)

    def pwcca() -> float:
        a, b = (data.astype(np.float64) - data.mean(axis=0, dtype=np.float64) for data in (x, y))
        (left, _, _), (right, _, _) = (np.linalg.svd(data, full_matrices=False) for data in (a, b))
        turn, correlations, _ = np.linalg.svd(left.T @ right, full_matrices=False)
        weights = np.abs((left @ turn).T @ a).sum(axis=1)
        return float((weights * correlations).sum() / weights.sum())

    return pwcca


found: list[float] = []


def measured(way: Callable[[int, int], Callable[[], float]], samples: int, width: int) -> tuple[float, float, float]:
    """The number, the seconds, and the megabytes beyond those of the process when it began."""
    for x, y in batches(min(samples, 3 * BATCH), width):
        x.T @ y  # libraries take their room, and the batches theirs
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    finish = way(samples, width)
    begin = time.perf_counter()
    number = finish()
    seconds = found.pop() + time.perf_counter() - begin
    return number, seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few vectors, to show that it works")
    sizes = [(500, 8)] if parser.parse_args().quick else [(100_000, 128), (20_000, 512)]
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for samples, width in sizes:
            results = {way: pool.apply(measured, (way, samples, width)) for way in (by_moments, by_svd)}
            (ours, our_seconds, our_megabytes), (plain, seconds, megabytes) = results.values()
            print(
                f"{samples:,} × {width}: PWCCA {ours:.9f} and {plain:.9f} (apart {abs(ours - plain):.0e}); "
                f"{seconds / our_seconds:.1f}× faster ({our_seconds:.2f} s, {seconds:.2f} s); "
                f"{our_megabytes:.0f} MB, {megabytes:.0f} MB: 1/{megabytes / max(our_megabytes, 0.1):.0f} of the memory"
            )
