"""How long does it take to build and to run the construction of universal approximation, and are larger blocks fewer?

    python benchmarks/approximate.py

Builds 12,363 blocks (d = 2, n = 3, δ = 1/4, with positions), runs 1,000 sequences through them with hardmax and with
softmax, and builds 125,079 blocks (δ = 1/8, without). Seconds of CPU time; those of other machines differ. Then the
same function by one hidden layer, by small blocks and by wider and wider ones: parameters and the distance d₂(f, g).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from glassformer.compiler.constructions.universal import approximate, compact, one_hidden_layer
from glassformer.compiler.constructions.universal.approximation import stages_of
from glassformer.compiler.constructions.universal.functions import FUNCTIONS, Function
from glassformer.compiler.constructions.universal.grid import Grid
from glassformer.compiler.constructions.universal.layers import soften
from glassformer.compiler.constructions.universal.proof import contexts, prove


def seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def row(name: str, f: Function, grid: Grid, sequences: int) -> str:
    begin = time.process_time()
    layers = prove(contexts(grid), f(grid.middles)).layers
    blocks = soften(layers, grid.weights, grid.delta)
    built = time.process_time() - begin
    stages = stages_of(f, grid, layers, blocks)
    x = np.random.default_rng(0).random((sequences, grid.d, grid.n))
    hard, soft = seconds(lambda: stages.modified(x)), seconds(lambda: stages.ordinary(x))
    shape = f"d = {grid.d}, n = {grid.n}, δ = 1/{grid.cells}"
    return f"{name:10}{shape:24}{len(layers):>9,}{built:>10.2f}{hard:>12.2f}{soft:>12.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small grids only, to show that it works")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    sequences = 20 if quick else 1000
    print(f"{'function':10}{'':24}{'blocks':>9}{'build, s':>10}{'hardmax, s':>12}{'softmax, s':>12}")
    print(row("reverse", FUNCTIONS["reverse"], Grid(2, 2 if quick else 3, 4, positions=True), sequences))
    print(row("mix", FUNCTIONS["mix"], Grid(2, 2 if quick else 3, 4 if quick else 8, positions=False), sequences))
    cells = 4 if quick else 8
    print(f"\nmix, d = 2, n = 2, δ = 1/{cells}")
    small = approximate("mix", 2, 2, 1 / cells, positions=False).certificate
    rows = [(2, 4, small.blocks, small.parameters, small.distance, small.distance_error)]
    for units in (4, 64, 1024, 5000):
        wide = compact("mix", 2, 2, 1 / cells, units)
        rows.append((1, units, wide.blocks, wide.parameters, wide.distance, wide.distance_error))
    print(f"{'one hidden layer, units':>24}{'parameters':>12}{'d₂(f, g)':>18}")
    for units in (4, 64) if quick else (4, 64, 1024, 4096):
        flat = one_hidden_layer("mix", 2, 2, units)
        print(f"{units:>24,}{flat.parameters:>12,}{flat.distance:>10.4f} ± {flat.distance_error:.4f}")
    print(f"{'h':>3}{'m':>3}{'r':>6}{'blocks':>8}{'parameters':>12}{'d₂(f, g)':>18}")
    for heads, units, blocks, parameters, apart, error in rows:
        print(f"{heads:>3}{1:>3}{units:>6}{blocks:>8,}{parameters:>12,}{apart:>10.4f} ± {error:.4f}")
