"""How much must be told? Accuracy when only something about the state is asked, and when most answers are withheld.

    python benchmarks/supervision.py [--out DIR]

Trains nine models of four layers on words of 16 letters, some minutes, beside the published figures (Liu et al., ICLR
2023: T = 100, width 512, the best of 20 seeds). It can be stopped and started again; what is done is kept in DIR.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from glassformer.training.sweep import results_of, sweep_of

PUBLISHED = {
    ("dyck(pairs=2, depth=3)", "top", 1.0): 1.0,
    ("gridworld(9)", "boundary", 1.0): 0.998,
    ("symmetric(5)", "first", 1.0): 0.998,
    ("cyclic(4)", "start", 1.0): 0.997,
    ("dihedral(4)", "first", 1.0): 0.998,
    ("symmetric(5)", "state", 1.0): 0.99,
    ("symmetric(5)", "state", 0.5): 0.985,
    ("symmetric(5)", "state", 0.25): 0.88,
    ("symmetric(5)", "state", 0.125): 0.12,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("supervision"), help="where runs are kept")
    parser.add_argument("--quick", action="store_true", help="a few steps only, nothing kept, to show that it works")
    arguments = parser.parse_args()
    steps, length, model = (2, 4, {"layers": 1, "width": 16}) if arguments.quick else (1500, 16, {"layers": 4})
    sweeps = {
        (spec, question, reveal): sweep_of(
            {
                "task": {"machine": spec, "length": length, "predict": question, "reveal": reveal},
                "model": model,
                "training": {"steps": steps, "evaluate_every": steps},
            },
            spec,
        )
        for spec, question, reveal in PUBLISHED
    }
    with tempfile.TemporaryDirectory() as nowhere:
        folder = Path(nowhere) if arguments.quick else arguments.out
        results = results_of(sweeps, folder / "runs.sqlite", len(os.sched_getaffinity(0)))
    print(f"{'machine':24}{'asked':10}{'revealed':>8}{f'T = {length}':>10}{'published':>11}")
    for (spec, question, reveal), found in results.items():
        accuracy = max(result["accuracy"] for result in found)
        print(f"{spec:24}{question:10}{reveal:>8g}{accuracy:>10.3f}{PUBLISHED[spec, question, reveal]:>11.3f}")
