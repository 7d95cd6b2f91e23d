"""How much of the circuit of built models does ablation find?

    python benchmarks/circuits.py

Every machine of the zoo that has a name of its own, built by doubling and by `auto` for 16 letters, and shown 64 words,
random and nasty ones. Every wire is cut alone, by zero, by its mean over words, and by what it says on another word;
found are those without which some answer changes. Then wires are cut for good, from the logits down, until no more can
be. Known are the wires that the weights make, which nobody asked a word; some of them may be idle, and then what was
found suffices: with all else cut together, no answer changes.
"""

from __future__ import annotations

import argparse

from glassformer.automata.words import chosen_words
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler import compile
from glassformer.measure.circuits import effects, prune, score, suffices, wires_in_weights
from glassformer.measure.patching import KINDS

LENGTH, WORDS = 16, 64

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two machines, to show that it works")
    specs = list(SPECIMENS)[:2] if parser.parse_args().quick else list(SPECIMENS)
    for method in ("log", "auto"):
        scores: dict[str, list[tuple[float, float, bool]]] = {kind: [] for kind in (*KINDS, "pruned")}
        for spec in specs:
            built = compile(spec, LENGTH, method)
            words = built.tokens(chosen_words(built.machine, LENGTH, WORDS, seed=0))
            known = wires_in_weights(built.model)
            found = {kind: [w for w, part in effects(built.model, words, kind).items() if part > 0] for kind in KINDS}
            for kind, wires in {**found, "pruned": prune(built.model, words)}.items():
                scored, suffice = score(wires, known), suffices(built.model, words, wires)
                scores[kind].append((scored.precision, scored.recall, suffice))
            idle = len(known) - len(found["zero"])
            print(f"{spec} by {built.certificate.method}: {len(known)} wires, {idle} of them not found", flush=True)
        for kind, of_models in scores.items():
            precisions, recalls, enough = zip(*of_models, strict=True)
            print(
                f"built by {method}, {kind}: precision at least {min(precisions):.3f}, recall {min(recalls):.3f} to "
                f"{max(recalls):.3f}; the known circuit of {of_models.count((1.0, 1.0, True))} of {len(recalls)} "
                f"models; what was found suffices in {sum(enough)}",
                flush=True,
            )
