"""Claims S4.1 – S4.6: "Transformer and MLP".

Each function's docstring is the claim; it returns what was measured, and whether that agrees.
"""

from __future__ import annotations

import itertools
import math
from typing import Final

import numpy as np
import torch

from glassformer.automata import Machine
from glassformer.automata.words import chosen_words
from glassformer.compiler.constructions.planted import SITES, planted
from glassformer.compiler.pipeline import compile
from glassformer.documents.inside.facts import edit, trace
from glassformer.documents.verdict import Measured, numbered
from glassformer.instruments.heads import score_heads
from glassformer.instruments.sites import Site
from glassformer.instruments.steps import at_temperature
from glassformer.messages import Message
from glassformer.nn import Config, Transformer
from glassformer.nn.trace import NO_HOOKS
from glassformer.training import Architecture, Settings, StateTracking, train
from glassformer.training.ensemble import Toy
from glassformer.training.ensemble import train as train_toys
from glassformer.training.facts import learn, make_world


def letters_of_a_counter() -> Measured:
    """Tokens become vectors whose dot product says similar (+), unrelated (0), opposite (−)."""
    up, down, stay = (np.roll(np.arange(5), -1), np.roll(np.arange(5), 1), np.arange(5))
    names = ("stay", "up", "rise", "down")
    machine = Machine(tuple("01234"), names, np.stack([stay, up, up, down]), start=0)
    found = []
    for seed in range(2):
        trained = train(
            StateTracking(machine, 12), Architecture(layers=2, width=32, heads=2), Settings(steps=400, seed=seed)
        )
        assert isinstance(trained.model, Transformer)
        vectors = torch.nn.functional.normalize(trained.model.embed.W_E.detach()[:4])
        found.append([float(vectors[1] @ vectors[i]) for i in (2, 0, 3)])
    same, other, opposite = np.array(found).T
    holds = bool(same.min() > 0.3 and np.abs(other).max() < 0.3 and opposite.max() < -0.3)
    letters = {"rise": same, "stay": other, "down": opposite}
    cosines = {name: [f"{value:+.2f}" for value in values] for name, values in letters.items()}
    return Message("inside.cosines", **cosines), holds


def temperature() -> Measured:
    """The last column times the unembedding gives logits; temperature sharpens (→0) or spreads them."""
    model, tokens = _random()
    stream = model.trace(tokens, "ln_final.hook_normalized")["ln_final.hook_normalized"]
    logits = model(tokens).detach()[:, -1]
    apart = float((model.unembed(stream[:, -1:])[:, 0] - logits).detach().abs().max())
    heats = (1e-3, 0.1, 0.5, 1.0, 2.0, 10.0, 1e3)
    spread = [float(torch.special.entr(at_temperature(logits, heat)).sum(-1).mean() / math.log(2)) for heat in heats]
    rises = all(a < b for a, b in itertools.pairwise(spread))
    holds = apart < 1e-9 and rises and spread[0] < 0.01 and spread[-1] > math.log2(logits.shape[1]) - 0.01
    entropy = [f"{bits:.2f} (T = {heat:g})" for heat, bits in zip(heats, spread, strict=True)]
    return Message("inside.temperature", apart=apart, entropy=entropy), holds


def attention() -> Measured:
    """Query, key, value; the pattern; the causal mask (−∞ before the softmax); the value-weighted update."""
    model, tokens = _random()
    seen = model.trace(tokens)
    inside, weights = "blocks.0.attn.hook_", model.state_dict()
    read = seen["blocks.0.ln1.hook_normalized"]
    q, k, v = (
        torch.einsum("bpw,hwk->bphk", read, weights[f"blocks.0.attn.W_{n}"]) + weights[f"blocks.0.attn.b_{n}"]
        for n in "QKV"
    )
    scores = torch.einsum("bqhk,bphk->bhqp", q, k) / q.shape[-1] ** 0.5
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    pattern = scores.masked_fill(future, -torch.inf).softmax(-1)
    update = torch.einsum("bhqp,bphk,hkw->bqw", pattern, v, weights["blocks.0.attn.W_O"])
    update = update + weights["blocks.0.attn.b_O"]
    apart = max(
        float((pattern - seen[f"{inside}pattern"]).abs().max()),
        float((update - seen["blocks.0.hook_attn_out"]).abs().max()),
    )
    leaked = float(seen[f"{inside}pattern"].masked_select(future).abs().max())
    return Message("inside.attention", apart=apart, leaked=leaked), apart < 1e-9 and leaked == 0.0


def points_of_view() -> Measured:
    """One head is one point of view; many heads are many."""
    built = compile("gridworld(5)", 24)
    words = built.tokens(chosen_words(built.machine, 24, 64, seed=0))
    layer = max(range(built.certificate.layers), key=lambda i: built.model.config.blocks[i].heads)
    heads = built.model.config.blocks[layer].heads
    looks = built.model.trace(words, f"blocks.{layer}.attn.hook_pattern")[f"blocks.{layer}.attn.hook_pattern"].argmax(
        -1
    )
    pairs = [(a, b) for a in range(heads) for b in range(a)]
    differ = [float((looks[:, a] != looks[:, b]).double().mean()) for a, b in pairs]
    matter = [score.matters for score in score_heads(built.model, words) if score.layer == layer]
    parts = {"least": min(differ), "most": max(differ), "least_change": min(matter), "most_change": max(matter)}
    return Message("inside.points_of_view", heads=heads, **parts), min(differ) > 0 and min(matter) > 0


def facts_in_mlps() -> Measured:
    """The MLP strengthens what attention gathered: "Michael Jordan" → basketball. Facts can be located and edited."""
    world = make_world(100)
    model = learn(world)
    fact = world.fact("Michael Jordan plays")
    prompt, answer = world.prompts[fact : fact + 1], world.answers[fact]
    seen = model.trace(prompt, ["blocks.1.hook_resid_mid", "blocks.1.hook_resid_post"])
    before, after = (_probability(model, seen[f"blocks.1.hook_resid_{name}"], int(answer)) for name in ("mid", "post"))
    some = torch.randperm(world.count, generator=torch.Generator().manual_seed(0))[:20]
    worked, others, same = edit(model, world, some, layer=1, position=3)
    located = {}
    for where, (layer, position) in SITES.items():
        mlps = [Site(f"blocks.{i}.hook_mlp_out") for i in range(2) if planted(world, where).config.blocks[i].mlp]
        traced = trace(planted(world, where), world, some, mlps)
        located[where] = float(traced[[site.hook for site in mlps].index(f"blocks.{layer}.hook_mlp_out"), position])
    holds = after > 0.9 > before and worked > 0.9 and min(others, same) > 0.9 and min(located.values()) > 0.9
    edits = {"worked": worked, "others": others, "same": same}
    return Message("inside.facts", before=before, after=after, **located, **edits), holds


def _probability(model: Transformer, stream: torch.Tensor, answer: int) -> float:
    assert model.ln_final
    with torch.no_grad():
        return float(model.unembed(model.ln_final(stream, NO_HOOKS))[0, -1].softmax(-1)[answer])


def superposition() -> Measured:
    """Superposition: more features than dimensions, stored sparsely and overlapping."""
    toys = train_toys([Toy(5, 2, 0.9)] * 8 + [Toy(5, 2, 0.0, decay=0.7)] * 8, steps=3000, samples=64)
    sparse, dense = ([int((toy.dimensionality > 0.05).sum()) for toy in part] for part in (toys[:8], toys[8:]))
    pentagons = sum(bool((toy.dimensionality - 0.4).abs().max() < 0.01) for toy in toys[:8])
    seen = Message(
        "inside.superposition",
        sparse_least=min(sparse),
        sparse_most=max(sparse),
        pentagons=pentagons,
        dense_least=min(dense),
        dense_most=max(dense),
    )
    return seen, min(sparse) > 2 >= max(dense)


def _random() -> tuple[Transformer, torch.Tensor]:
    torch.manual_seed(0)
    sizes = {"vocab": 9, "outputs": 9, "context": 12, "width": 24, "layers": 2, "heads": 3}
    model = Transformer(Config.uniform(**sizes, norm="layer")).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model, torch.randint(0, 9, (16, 12))


CLAIMS: Final = numbered(
    "S4",
    letters_of_a_counter, temperature, attention, points_of_view, facts_in_mlps, superposition
)  # fmt: skip
