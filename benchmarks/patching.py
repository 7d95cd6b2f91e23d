"""How much faster is a whole grid of patches, layers × positions, than one run after another?

    python benchmarks/patching.py

The same grid (what every layer's stream holds at every position, for one pair of words) by `measure.patching.patch`,
and by a plain loop of runs with one hook each. Both give the same numbers. In turns; the best time of each.
"""

from __future__ import annotations

import argparse
import time

import torch

from glassformer.instruments.patching import grid, patch, probability
from glassformer.instruments.sites import Site
from glassformer.nn import Config, Transformer


def by_loop(model: Transformer, corrupted: torch.Tensor, clean: torch.Tensor, sites: list[Site]) -> torch.Tensor:
    held = model.trace(clean, [site.hook for site in sites])
    found = torch.empty(len(sites), clean.shape[1])
    for i, site in enumerate(sites):
        for position in range(clean.shape[1]):

            def put(value: torch.Tensor, hook: object, name: str = site.hook, position: int = position) -> None:
                value[:, position] = held[name][:, position]

            with torch.no_grad():
                logits = model.run_with_hooks(corrupted, [(site.hook, put)])
            found[i, position] = logits[0, -1].softmax(-1)[0]
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small grid, to show that it works")
    quick = parser.parse_args().quick
    torch.manual_seed(0)
    for width, layers, length in [(16, 2, 8)] if quick else [(32, 4, 16), (64, 4, 32), (128, 6, 32)]:
        config = Config.uniform(vocab=50, outputs=50, context=length, width=width, layers=layers, heads=4, norm="layer")
        model = Transformer(config).eval()
        clean, corrupted = torch.randint(0, 50, (2, 1, length))
        sites = [Site(f"blocks.{i}.hook_resid_pre") for i in range(layers)]
        metric = probability(torch.tensor([0]))
        times: dict[str, list[float]] = {"grid": [], "loop": []}
        for _ in range(1 if quick else 5):
            begin = time.perf_counter()
            together = patch(model, corrupted, clean, grid(sites, length), metric).view(layers, length)
            times["grid"].append(time.perf_counter() - begin)
            begin = time.perf_counter()
            one_by_one = by_loop(model, corrupted, clean, sites)
            times["loop"].append(time.perf_counter() - begin)
        apart = float((together - one_by_one).abs().max())
        ratio = min(times["loop"]) / min(times["grid"])
        print(
            f"{layers} layers × {length} positions, width {width}: {ratio:.1f}× faster "
            f"({min(times['grid']) * 1e3:.0f} ms, {min(times['loop']) * 1e3:.0f} ms; apart {apart:.0e})"
        )
