"""How fast are machines taken apart? Against libsemigroups where it does the same, and by size where nobody does.

    python benchmarks/algebra.py

The peer and we take turns in one run; read the ratios. The other rows are seconds, with the sizes that they grow with.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from libsemigroups_pybind11 import FroidurePin, ReportGuard, Transf

from glassformer.algebra import decompose, monoid
from glassformer.algebra.complexity import complexity
from glassformer.algebra.images import images
from glassformer.automata import Machine, machine, zoo


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def compare_monoids(names: dict[str, Machine], rounds: int) -> None:
    print(f"{'all elements of':20}{'elements':>12}{'ours, s':>10}{'faster than libsemigroups (Froidure–Pin)':>44}")
    for name, made in names.items():
        letters = made.delta.tolist()  # the identity is among their products

        def ours(made: Machine = made) -> int:
            return len(monoid(made))

        def theirs(letters: list[list[int]] = letters) -> int:
            return int(FroidurePin([Transf(letter) for letter in letters]).size())

        assert ours() == theirs()
        times = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
        fastest = min(ours for ours, _ in times)
        ratio = min(theirs for _, theirs in times) / fastest
        print(f"{name:20}{ours():>12,}{fastest:>10.4f}{ratio:>43.1f}×")


def measure_cascades(specs: list[str]) -> None:
    print(f"\n{'cascade of':26}{'states':>8}{'letters':>9}{'images':>9}{'levels':>8}{'table rows':>12}{'seconds':>10}")
    for spec in specs:
        made = machine(spec)
        took = seconds(lambda made=made: decompose(made))  # type: ignore[misc]
        cascade = decompose(made)
        sizes = f"{len(made.states):>8}{len(made.symbols):>9}{len(cascade.decomposition.images.masks):>9,}"
        rows = sum(len(level.keys) for level in cascade.levels)
        print(f"{spec:26}{sizes}{len(cascade.levels):>8}{rows:>12,}{took:>10.3f}")


def measure_classes(specs: list[str]) -> None:
    print(f"\n{'class of':26}{'images':>9}{'seconds':>10}  class")
    for spec in specs:
        made = machine(spec)
        took = seconds(lambda made=made: complexity(made, images(made)))  # type: ignore[misc]
        decided = complexity(made, found := images(made)).of_circuits
        print(f"{spec:26}{len(found.masks):>9,}{took:>10.3f}  {decided.name if decided else 'not decided'}")


def measure_random(states: int, count: int) -> None:
    times = [seconds(lambda seed=seed: decompose(zoo.random(states, letters=2, seed=seed))) for seed in range(count)]  # type: ignore[misc]
    print(
        f"\n{count} random machines of {states} states and 2 letters: median {statistics.median(times):.3f} s, "
        f"slowest {max(times):.3f} s"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only, to show that it works")
    quick = parser.parse_args().quick
    silent = ReportGuard(False)
    decompose(zoo.symmetric(3))  # the imports
    nine = zoo.transformations(9)
    sized = {n: zoo.transformations(n) for n in (5, 6, 7)}
    full = {"T6": sized[6], "T7": sized[7], "S9": Machine(nine.states, nine.symbols[:2], nine.delta[:2])}
    compare_monoids({"T5": sized[5]} if quick else full, 2 if quick else 7)
    many = [f"transformations({n})" for n in ((4, 5) if quick else (6, 8, 10, 12))]
    measure_cascades([*many, *(f"gridworld({n})" for n in ((8,) if quick else (16, 32, 64)))])
    large = ["transformations(12)", "transformations(14)", "gridworld(64)"]
    measure_classes(["transformations(6)"] if quick else large)
    measure_random(8 if quick else 20, 3 if quick else 30)
