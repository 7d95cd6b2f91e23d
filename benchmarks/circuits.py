"""How much of the circuit of built models does ablation find?

    python benchmarks/circuits.py

Every machine of the zoo that has a name of its own, built by doubling and by `auto` for 16 letters or more and shown
256 words, random and adversarial ones. Known are the edges that the weights make, for which no word is run; over no
other can anything be said, so that no other can be found. Each is cut alone, by zero, by its mean over words, and by
what it says on another word; found are those without which some answer changes. Then edges are cut for good, from the
logits down, until no more can be. What was found is sufficient if, with all else cut together in the same way, no
answer changes. Models of more than 100 edges, whose heads each read a stream of their own, are asked by zero alone.

`--random N` asks the same of N random machines of 2 to 8 states and 1 to 3 letters, by zero; `--all N` of every machine
of 3 states and N letters, but for names. Machines that never leave their start have one answer and no edges: they are
left out.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from glassformer.automata import Machine, machine, zoo
from glassformer.automata.words import chosen_words
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler.pipeline import compile
from glassformer.instruments.circuits import edges_in_weights, effects, is_sufficient, prune, score
from glassformer.instruments.patching import KINDS

LENGTH, WORDS, MOST_WIRES = 16, 256, 100


def every_machine(letters: int) -> Iterator[Machine]:
    """Every machine of three states that starts in the first: one for all that differ in names or order alone."""
    maps = list(itertools.product(range(3), repeat=3))
    swap = [0, 2, 1]
    for chosen in itertools.combinations_with_replacement(maps, letters):
        renamed = sorted(tuple(swap[each[swap[state]]] for state in range(3)) for each in chosen)
        if list(chosen) <= renamed:
            yield Machine(("0", "1", "2"), tuple("abcdef"[:letters]), np.array(chosen))


def scored(machine: Machine, method: str, kinds: Sequence[str]) -> dict[str, tuple[float, bool]]:
    """For each way to look, the part of the known edges that is found, and whether what was found is sufficient."""
    built = compile(machine, LENGTH, method)
    words = built.tokens(chosen_words(built.machine, built.certificate.exact_length, WORDS, seed=0))
    known, results = edges_in_weights(built.model), {}
    asked = (torch.arange(words.shape[1]) > 0).expand_as(words)  # not at the start token
    for kind in kinds if len(known) <= MOST_WIRES else ["zero"]:
        instead = "zero" if kind == "pruned" else kind
        if kind == "pruned":
            found = prune(built.model, words, instead, among=known, asked=asked)
        else:
            changed = effects(built.model, words, instead, among=known, asked=asked)
            found = [edge for edge, part in changed.items() if part > 0]
        results[kind] = score(found, known).recall, is_sufficient(built.model, words, found, instead, asked=asked)
    recall, enough = results["zero"]
    print(f"{built.certificate.method}, {len(known)} edges: {recall:.3f} found, sufficient: {enough}", flush=True)
    return results


def summarised(title: str, scores: Sequence[dict[str, tuple[float, bool]]]) -> None:
    for kind in scores[0]:
        recalls, enough = zip(*(results[kind] for results in scores if kind in results), strict=True)
        print(
            f"{title}, {kind}: recall {min(recalls):.3f} to {max(recalls):.3f}; exactly the known circuit of "
            f"{recalls.count(1.0)} of {len(recalls)} models; what was found is sufficient in {sum(enough)}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one machine, to show that it works")
    parser.add_argument("--random", type=int, default=0, help="so many random machines instead")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first of them")
    parser.add_argument("--all", type=int, default=0, help="every machine of 3 states and so many letters instead")
    parser.add_argument("--method", choices=["log", "auto"], action="append", help="built by this alone")
    asked = parser.parse_args()
    specs = list(SPECIMENS)[:1] if asked.quick else list(SPECIMENS)
    for method in asked.method or ("log", "auto"):
        if asked.random or asked.all:
            seeds = range(asked.first, asked.first + asked.random)
            drawn = (zoo.random(2 + seed % 7, letters=1 + seed // 7 % 3, seed=seed) for seed in seeds)
            moving = [each for each in (every_machine(asked.all) if asked.all else drawn) if len(each.reachable()) > 1]
            what = f"machines of 3 states and {asked.all} letters" if asked.all else "random machines"
            summarised(f"{what} by {method}", [scored(each, method, ["zero"]) for each in moving])
            continue
        results = []
        for spec in specs:
            print(spec, end=" by ")
            results.append(scored(machine(spec), method, [*KINDS, "pruned"]))
        summarised(f"built by {method}", results)
