"""Does training find the shortcut? Accuracy by depth and by MLP width, beside an LSTM and the published curve.

    python benchmarks/shortcuts.py [--out DIR]

Trains 150 small models, one process a core: hours on a laptop. It can be stopped and started again; what is done
is kept in DIR. benchmarks/shortcuts-full.toml holds the published settings for those with a cluster:
`glassformer sweep benchmarks/shortcuts-full.toml --engine ray://ADDRESS`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from glassformer.documents.shortcuts.depth_and_width import LAPTOP, PUBLISHED, QUICK, Curve, Shortcuts, shortcuts
from glassformer.training.store import TrialRow


def row(name: str, values: dict[int, float]) -> str:
    return f"  {name:22}" + "".join(f"{value:>8.3f}" for value in values.values())


def show(found: Shortcuts) -> None:
    for spec, curve in found.by_depth.items():
        print(f"\n{spec}, T = {found.scale.machines[spec].length}")
        print(f"  {'layers':22}" + "".join(f"{depth:>8}" for depth in curve.scores))
        for name, values in (("best seed", curve.best), ("median seed", curve.median)):
            print(row(name, values))
        if spec in PUBLISHED:
            print(row("published, T = 100", dict(enumerate(PUBLISHED[spec], start=1))))
        print(row("LSTM, best seed", {1: found.lstm[spec]}))
        show_mlp(found.by_mlp[spec], found.scale.mlp_depth)


def show_mlp(curve: Curve, layers: int) -> None:
    print(f"  {f'MLP units, {layers} layers':22}" + "".join(f"{units:>8}" for units in curve.scores))
    print(row("best seed", curve.best))


def print_rows(rows: list[TrialRow]) -> None:
    done = sum(row.status == "done" for row in rows)
    print(f"\r{done} of {len(rows)} trained", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("shortcuts"), help="where runs and figure are kept")
    parser.add_argument("--quick", action="store_true", help="tiny models only, nothing kept, to show that it works")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as nowhere:
        folder = Path(nowhere) if arguments.quick else arguments.out
        scale = QUICK if arguments.quick else LAPTOP
        found = shortcuts(scale, folder / "runs.sqlite", len(os.sched_getaffinity(0)), print_rows)
        print(file=sys.stderr)
        show(found)
        (folder / "shortcuts.svg").write_text(found.draw())
        (folder / "shortcuts-mlp.svg").write_text(found.draw_mlp())
