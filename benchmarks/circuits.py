"""How much of the circuit of built models does ablation find?

    python benchmarks/circuits.py

Every machine of the zoo that has a name of its own, built by `auto` and by doubling for the longest words of which
there are at most 256, and shown all of them. Every wire is cut alone, by zero, by its mean over words, and by what it
says on another word; found are those without which some answer changes. Known are those that the weights make, less the
idle ones, which can be cut, alone and all together, without one answer changing. Then wires are cut for good, from the
logits down, until no more can be: a circuit that suffices, which may be smaller than the one that was built.
"""

from __future__ import annotations

import argparse
from math import log

from glassformer.automata import machine
from glassformer.automata.words import every_word
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler import compile
from glassformer.measure.circuits import effects, known_circuit, prune, score, wires_in_weights
from glassformer.measure.patching import KINDS

WORDS = 256

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two machines, to show that it works")
    specs = list(SPECIMENS)[:2] if parser.parse_args().quick else list(SPECIMENS)
    scores: dict[str, list[tuple[float, float]]] = {kind: [] for kind in (*KINDS, "pruned")}
    for spec in specs:
        for method in ("auto", "log"):
            length = int(log(WORDS) / log(len(machine(spec).symbols)) + 1e-9)
            built = compile(spec, length, method)
            words = built.tokens(every_word(built.machine, length))
            known = known_circuit(built.model, words)
            idle = len(wires_in_weights(built.model)) - len(known)
            print(f"{spec} by {method}, {length} letters: {len(known)} wires, and {idle} idle", flush=True)
            found = {kind: [w for w, part in effects(built.model, words, kind).items() if part > 0] for kind in KINDS}
            for kind, wires in {**found, "pruned": prune(built.model, words)}.items():
                scored = score(wires, known)
                scores[kind].append((scored.precision, scored.recall))
                if kind == "pruned" and len(wires) < len(known):
                    print(f"    {len(wires)} of them suffice: {', '.join(map(str, wires))}")
    for kind, of_models in scores.items():
        precisions, recalls = zip(*of_models, strict=True)
        print(
            f"{kind}: precision at least {min(precisions):.3f}, recall {min(recalls):.3f} to {max(recalls):.3f}; "
            f"exactly the known circuit of {of_models.count((1.0, 1.0))} of {len(recalls)} models"
        )
