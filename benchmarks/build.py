"""How long does it take to build each zoo machine at T = 1,024, and how large is it?

python benchmarks/build.py
"""

from __future__ import annotations

import argparse
import statistics
import time

from glassformer.automata import machine
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler.pipeline import compile


def main(quick: bool) -> None:
    compile("parity", 16)  # the first build loads what torch loads late
    print(f"{'machine':32}{'states':>8}{'layers':>8}{'width':>8}{'MLP':>8}{'parameters':>12}{'seconds':>9}")
    slowest = 0.0
    for spec in SPECIMENS[:: 10 if quick else 1]:
        made = machine(spec)
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            built = compile(made, 1024)
            times.append(time.perf_counter() - begin)
        c = built.certificate
        seconds = statistics.median(times)
        slowest = max(slowest, seconds)
        sizes = f"{len(made.states):>8}{c.layers:>8}{c.width:>8}{c.mlp:>8}{c.parameters:>12,}"
        print(f"{spec:32}{sizes}{seconds:>9.3f}")
    print(f"slowest: {slowest:.3f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smaller run that only shows that it works")
    main(parser.parse_args().quick)
