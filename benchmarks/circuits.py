"""How much of the circuit of built models does ablation find?

    python benchmarks/circuits.py

Every machine of the zoo that has a name of its own, built by `auto` for 12 letters and by doubling for 8; 64 words of
each. Every wire is cut alone, by zero, by its mean over words, and by what it says on another word; found are those
without which some answer changes. Known are those that the weights make.
"""

from __future__ import annotations

import argparse

from glassformer.automata.words import chosen_words
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler import compile
from glassformer.measure.circuits import effects, score, wires_in_weights
from glassformer.measure.patching import KINDS

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two machines, to show that it works")
    machines = list(SPECIMENS)[:2] if parser.parse_args().quick else list(SPECIMENS)
    scores: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for spec in machines:
        for method, length in (("auto", 12), ("log", 8)):
            built = compile(spec, length, method)
            words, known = built.tokens(chosen_words(built.machine, length, 64, seed=0)), wires_in_weights(built.model)
            for kind in KINDS:
                found = [wire for wire, changed in effects(built.model, words, kind).items() if changed > 0]
                scored = score(found, known)
                scores[kind].append((scored.precision, scored.recall))
                if kind == "zero" and scored.recall < 1:
                    missed = scored.known - scored.both
                    print(f"{spec} by {method}: {missed} of {scored.known} wires not found", flush=True)
    for kind, of_models in scores.items():
        precisions, recalls = zip(*of_models, strict=True)
        print(
            f"{kind}: precision at least {min(precisions):.3f}, recall {min(recalls):.3f} to {max(recalls):.3f}; "
            f"the whole circuit of {sum(recall == 1 for recall in recalls)} of {len(recalls)} models"
        )
