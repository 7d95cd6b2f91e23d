"""How fast, and in how much memory, is PWCCA from one pass beside the plain way, by SVDs of all vectors?

    python benchmarks/similarity.py

Both in one run, on the same vectors, each in a process of its own. First the vectors come in batches of 4,096, as from
a model, and the most memory that is held beyond that of a few batches is taken; the plain way has to keep them all.
Then all batches are there beforehand, and the best time of three is taken.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from glassformer.instruments.similarity import Moments, Similarity

BATCH = 4096
Batches = Iterable[tuple[np.ndarray, np.ndarray]]


def batches(samples: int, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Vectors with a common part, in float32."""
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(2, width // 2, width)).astype(np.float32)
    for begin in range(0, samples, BATCH):
        shape = min(BATCH, samples - begin), width
        shared = rng.standard_normal((shape[0], width // 2), dtype=np.float32)
        x, y = (shared @ each + rng.standard_normal(shape, dtype=np.float32) for each in maps)
        yield x, y


def by_moments(seen: Batches, width: int) -> float:
    return Similarity(accumulated(seen, width)).pwcca


def accumulated(seen: Batches, width: int) -> Moments:
    moments = Moments(width, width)
    for x, y in seen:
        moments.add(x, y)
    return moments


def by_svd(seen: Batches, width: int) -> float:
    x, y = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    a, b = (data.astype(np.float64) - data.mean(axis=0, dtype=np.float64) for data in (x, y))
    (left, _, _), (right, _, _) = (np.linalg.svd(data, full_matrices=False) for data in (a, b))
    turn, correlations, _ = np.linalg.svd(left.T @ right, full_matrices=False)
    weights = np.abs((left @ turn).T @ a).sum(axis=1)
    return float((weights * correlations).sum() / weights.sum())


def measured(way: Callable[[Batches, int], float], samples: int, width: int) -> tuple[float, float, float]:
    """The number, the seconds, and the megabytes beyond those of the process when it began."""
    for x, y in batches(min(samples, 3 * BATCH), width):
        x.T @ y  # libraries take their room, and the batches theirs
    del x, y
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    number = way(batches(samples, width), width)
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    there, seconds = list(batches(samples, width)), []
    for _ in range(3):
        begin = time.perf_counter()
        way(there, width)
        seconds.append(time.perf_counter() - begin)
    return number, min(seconds), megabytes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few vectors, to show that it works")
    sizes = [(500, 8)] if parser.parse_args().quick else [(100_000, 128), (20_000, 512)]
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for samples, width in sizes:
            results = [pool.apply(measured, (way, samples, width)) for way in (by_moments, by_svd)]
            (ours, our_seconds, our_megabytes), (plain, seconds, megabytes) = results
            print(
                f"{samples:,} × {width}: PWCCA {ours:.9f} and {plain:.9f} (apart {abs(ours - plain):.0e}); "
                f"{seconds / our_seconds:.1f}× faster ({our_seconds:.2f} s, {seconds:.2f} s); "
                f"{our_megabytes:.0f} MB, {megabytes:.0f} MB: 1/{megabytes / max(our_megabytes, 0.1):.0f} of the memory"
            )
