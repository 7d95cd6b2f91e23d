"""A built model in TransformerLens 3, and a dictionary of ours in SAELens, the two together.

    make docs

SAELens wants TransformerLens 3 and the tests have 4, so the Makefile puts both beside the environment, not into it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from sae_lens import SAE

from glassformer import compile
from glassformer.automata.words import chosen_words
from glassformer.interop.exporting import export
from glassformer.interop.to_transformer_lens import load

HOOK = "blocks.0.hook_resid_post"

with tempfile.TemporaryDirectory() as place:
    built, folder = compile("flipflop", 16), Path(place)
    built.save(folder / "ours")
    export(folder / "ours", "transformer-lens", folder / "theirs")
    model = load(folder / "theirs")
    tokens = built.tokens(chosen_words(built.machine, 16, 32, seed=0))
    logits, cache = model.run_with_cache(tokens)
    assert torch.equal(logits, built.model(tokens)), "the same bits"

    train = ["measure", "dictionary", str(folder / "ours"), "--hook", HOOK, "--features", "48", "--k", "8"]
    subprocess.run([sys.executable, "-m", "glassformer", *train, "--out", str(folder / "sae")], check=True)
    sae = SAE.load_from_disk(folder / "sae")
    vectors = cache[HOOK][..., : sae.cfg.d_in]  # what export added behind them holds hidden units
    explained = 1 - (sae(vectors) - vectors).pow(2).sum() / (vectors - vectors.mean((0, 1))).pow(2).sum()
    print(f"{type(model).__name__}, {type(sae).__name__}: {explained:.3f} of {HOOK} explained")
    assert explained > 0.8
