"""How deep must a transformer be? Built by theorem, beside the depth at which trained ones reach 99 %.

    python benchmarks/depth.py

The published figures are for trained models with T = 100 (Liu et al., ICLR 2023: width 512, 8 heads, the best of 20
seeds); the built ones are exact at every position, and are verified here. A second table shows how the sizes grow.
"""

from __future__ import annotations

import argparse

from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify

PUBLISHED = {
    "cyclic(2)": ("C2", 2),
    "cyclic(3)": ("C3", 4),
    "cyclic(4)": ("C4", 4),
    "cyclic(5)": ("C5", 2),
    "cyclic(6)": ("C6", 4),
    "cyclic(7)": ("C7", 3),
    "cyclic(8)": ("C8", 3),
    "C2^2": ("C2²", 3),
    "C2^3": ("C2³", 3),
    "dihedral(3)": ("D6", 5),
    "dihedral(4)": ("D8", 3),
    "quaternion": ("Q8", 6),
    "alternating(4)": ("A4", 10),
    "symmetric(4)": ("S4", 13),
    "alternating(5)": ("A5", 7),
    "symmetric(5)": ("S5", 13),
    "dyck(pairs=2, depth=3)": ("Dyck", 1),
    "gridworld(4)": ("Grid4", 1),
    "gridworld(9)": ("Grid9", 2),
}
"""The name in the paper, and the smallest depth with an accuracy of 99 %."""


GROWING = ("parity", "resettable(3)", "permutation_reset(4)", "gridworld(9)", "dyck(pairs=2, depth=3)", "symmetric(5)")


def sizes(lengths: list[int]) -> None:
    """How layers, width, MLP units and parameters grow with the length."""
    print(f"\n{'machine':24}{'length':>8}{'method':>11}{'layers':>8}{'width':>7}{'MLP':>6}{'parameters':>12}")
    for spec in GROWING:
        for length in lengths:
            made = compile(spec, length, dtype="float64").certificate
            told = f"{made.layers:>8}{made.width:>7}{made.mlp:>6}{made.parameters:>12,}"
            print(f"{spec:24}{length:>8}{made.method:>11}{told}")


def main(length: int, words: int) -> None:
    print(f"{'machine':24}{'in the paper':>13}{'trained, 99 %':>15}{'built, exact':>14}{'wrong':>7}  method")
    for spec, (name, trained) in PUBLISHED.items():
        built = compile(spec, length)
        report = verify(built, words=words)
        told = f"{built.certificate.layers:>14}{report.wrong:>7}  {built.certificate.method}"
        print(f"{spec:24}{name:>13}{trained:>15}{told}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short words only, to show that it works")
    quick = parser.parse_args().quick
    main(20 if quick else 100, 4 if quick else 200)
    sizes([16, 32] if quick else [64, 256, 1024])
