"""How far is the estimate of mutual information from the truth, where the truth is known?

    python benchmarks/information.py

Labels go through a noisy channel, in which some of them may also become one, vectors stand for what comes out, and
k-means finds them again. Beside the estimate stand what a table of one half tells about the other, which is a lower
bound, and the usual correction of the bias, Miller and Madow's: off by so many bits, at the worst, over all numbers of
labels, how many become one, vectors of each, noise and clusters.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from glassformer.instruments.information import between, clustered


def channel(kinds: int, alike: int, each: int, flip: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Labels, vectors, and the bits that these tell about those."""
    rng = np.random.default_rng(0)
    labels, groups = np.repeat(np.arange(kinds), each), kinds // alike
    others = np.where(rng.random(len(labels)) < flip, rng.integers(0, groups, len(labels)), labels // alike)
    vectors = (rng.normal(size=(groups, 32)) * 3)[others] + rng.normal(size=(len(labels), 32))
    wrong = flip * (groups - 1) / groups
    lost = -sum(share * np.log2(share / ways) for share, ways in ((1 - wrong, 1), (wrong, groups - 1)) if share)
    return labels, vectors, float(np.log2(groups) - lost)


def miller_madow(labels: np.ndarray, clusters: np.ndarray, plug_in: float) -> float:
    cells = len(np.unique(labels * (clusters.max() + 1) + clusters))
    bias = cells - len(np.unique(labels)) - len(np.unique(clusters)) + 1
    return plug_in - float(bias / (2 * len(labels) * np.log(2)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few labels, to show that it works")
    sizes = (10,) if parser.parse_args().quick else (10, 50, 200)
    off: dict[str, list[float]] = {"estimate": [], "held out": [], "Miller and Madow": []}
    print(
        f"{'labels':>7}{'alike':>6}{'each':>6}{'noise':>7}{'clusters':>9}{'known':>8}"
        + "".join(f"{name:>18}" for name in off)
    )
    for kinds, alike, each, flip, times in itertools.product(sizes, (1, 5), (20, 100), (0.0, 0.2, 0.5, 1.0), (1, 3)):
        labels, vectors, known = channel(kinds, alike, each, flip)
        clusters = clustered(vectors, times * kinds)
        found = between(labels, clusters)
        told = (found.bits, found.held_out, miller_madow(labels, clusters, found.plug_in))
        for errors, value in zip(off.values(), told, strict=True):
            errors.append(value - known)
        print(
            f"{kinds:>7}{alike:>6}{each:>6}{flip:>7g}{times * kinds:>9}{known:>8.2f}"
            + "".join(f"{v:>18.2f}" for v in told)
        )
    for name, errors in off.items():
        print(f"{name}: from {min(errors):+.2f} to {max(errors):+.2f} bits off")
