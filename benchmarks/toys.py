"""How much faster are 1,000 toy models of superposition trained together than one after another?

    python benchmarks/toys.py

Toys of 5 to 200 features (evenly spaced logarithms), a tenth as many hidden numbers (at least 2), random sparsities, 64
samples a step. One after another means the plain way: a loop over toys with autograd and torch's Adam, of which every
fiftieth toy is timed. Both take the same steps, in turns, and the best time of each is taken.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

from glassformer.training.ensemble import Toy, train

SAMPLES = 64


def toys(count: int) -> list[Toy]:
    sizes = torch.logspace(0.69897, 2.30103, count).round().int().tolist()
    sparsities = (torch.rand(count, generator=torch.Generator().manual_seed(0)) * 0.95).tolist()
    return [Toy(n, max(2, n // 10), s) for n, s in zip(sizes, sparsities, strict=True)]


def alone(toy: Toy, steps: int) -> None:
    W = torch.nn.Parameter(torch.randn(toy.hidden, toy.features) / toy.features**0.5)
    b = torch.nn.Parameter(torch.zeros(toy.features))
    importance = toy.decay ** torch.arange(toy.features)
    optimiser = torch.optim.Adam([W, b], lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        x = torch.rand(SAMPLES, toy.features)
        x = x * (torch.rand(SAMPLES, toy.features) < 1 - toy.sparsity)
        loss = (importance * (torch.relu(x @ W.T @ W + b) - x) ** 2).sum(1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()


def all_alone(some: list[Toy], steps: int) -> None:
    for toy in some:
        alone(toy, steps)


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few toys and steps, to show that it works")
    quick = parser.parse_args().quick
    all_toys, steps = toys(100 if quick else 1000), 5 if quick else 100
    some = all_toys[::50]
    together, one_by_one = [], []
    for _ in range(1 if quick else 3):
        together.append(seconds(lambda: train(all_toys, steps, SAMPLES)) / len(all_toys) / steps)
        one_by_one.append(seconds(lambda: all_alone(some, steps)) / len(some) / steps)
    ours, plain = min(together), min(one_by_one)
    print(
        f"{len(all_toys):,} toys together: {ours * 1e6:.0f} µs for a toy and step; one after another "
        f"{plain * 1e6:.0f} µs: {plain / ours:.1f}× faster"
    )
