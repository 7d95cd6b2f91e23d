"""Where is a fact, and where can it be changed? Causal tracing and rank-one edits side by side, where one knows.

Tracing asks about another subject, whose answer is another, puts in what one place held when the right one was asked
about, and takes the part of the right answer's probability that returns. Editing writes another object into an MLP at
one place, and counts three things, never one alone: is the new object the answer (efficacy), are other subjects' facts
kept, and those of the same subject. Two *planted* models, which are built, hold the same facts at a known place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments.editing import edited, keys, mlp_of, values_for
from glassformer.instruments.lens import attribute
from glassformer.instruments.patching import Place, patch, probability, restored
from glassformer.instruments.sites import Site
from glassformer.messages import Message
from glassformer.nn import Transformer
from glassformer.progress import Progress, silent
from glassformer.training.facts import PROMPT, World, bits_known, learn

POSITIONS: Final = {
    "start": Message("inside.position_start"),
    "first_name": Message("inside.position_first_name"),
    "last_name": Message("inside.position_last_name"),
    "relation": Message("inside.position_relation"),
}
"""The titles of positions."""
FIRST_EDITED: Final = 2
"""Before the last name it is open who is meant."""


@dataclass(frozen=True)
class At:
    """One MLP at one position: what tracing sees there, and what an edit there does (None: it was not tried)."""

    layer: int
    position: str
    traced: float
    efficacy: float | None
    others_kept: float | None
    same_subject_kept: float | None


@dataclass(frozen=True)
class FactStudy:
    """All places; what the stream as a whole restores; who makes the answer's logit; and the MLP as a memory."""

    facts: int
    parameters: int
    places: list[At]
    stream: list[list[float]]
    attribution: dict[str, float]
    memory: float
    """The part of facts whose answer is what the ten units of the last MLP that add most promote most."""


def study(
    model: Transformer,
    world: World,
    edits: int = 40,
    traced: int = 100,
    seed: int = 0,
    progress: Progress = silent,
) -> FactStudy:
    """Trace some facts, and edit some, at every MLP and position."""
    wrong = int((model(world.prompts)[:, -1].argmax(-1) != world.answers).sum())
    if wrong:
        raise InputError("inside.unknown_facts", wrong=wrong, count=world.count)
    chosen = torch.randperm(world.count, generator=torch.Generator().manual_seed(seed))
    layers = [i for i, shape in enumerate(model.config.blocks) if shape.mlp]
    mlps = trace(model, world, chosen[:traced], [Site(f"blocks.{i}.hook_mlp_out") for i in layers], seed)
    stream = trace(model, world, chosen[:traced], [Site(f"blocks.{i}.hook_resid_post") for i in layers], seed)
    places = []
    for row, layer in enumerate(layers):
        for position, name in enumerate(POSITIONS):
            seen = float(mlps[row, position])
            done = (
                edit(model, world, chosen[:edits], layer, position, seed) if position >= FIRST_EDITED else (None,) * 3
            )
            places.append(At(layer, name, seen, *done))
            progress(len(places), len(layers) * PROMPT)
    shares, answered = attribution(model, world), memory(model, world, layers[-1])
    return FactStudy(world.count, model.parameter_count(), places, stream.tolist(), shares, answered)


@torch.no_grad()
def trace(
    model: Transformer, world: World, facts: Int[Tensor, " fact"], sites: Sequence[Site], seed: int = 0
) -> Float[Tensor, "site position"]:
    """The part of the answer's probability that returns with what each site holds at each position."""
    prompts, metric = world.prompts[facts], probability(world.answers[facts])
    others = world.prompts[others_of(world, facts, seed)]
    cells = [[Place(site, position)] for site in sites for position in range(PROMPT)]
    measured = patch(model, others, prompts, cells, metric)
    return restored(measured, metric(model(others)), metric(model(prompts))).view(len(sites), PROMPT)


def others_of(world: World, facts: Int[Tensor, " fact"], seed: int = 0) -> Int[Tensor, " fact"]:
    """For each fact one of another subject, with the same relation and another answer."""
    rng = np.random.default_rng(seed)
    chosen = []
    for fact in facts.tolist():
        differs = (world.relations == world.relations[fact]) & (world.answers != world.answers[fact])
        if not differs.any():
            raise InputError("inside.no_other_subject", fact=world.prompt(fact))
        chosen.append(int(rng.choice(differs.nonzero().flatten().numpy())))
    return torch.tensor(chosen)


def edit(
    model: Transformer, world: World, facts: Int[Tensor, " fact"], layer: int, position: int, seed: int = 0
) -> tuple[float, float, float]:
    """Change facts one at a time, each to another object: efficacy, other subjects' facts kept, the same subject's."""
    rng = np.random.default_rng(seed)
    wanted = torch.stack([world.others(int(fact))[rng.integers(len(world.others(int(fact))))] for fact in facts])
    key = keys(model, world.prompts, layer, position)
    every_key = torch.cat([keys(model, world.prompts, layer, place) for place in range(PROMPT)])
    values = values_for(model, world.prompts[facts], wanted, layer, position)
    changed, others, same = [], [], []
    for fact, answer, value in zip(facts.tolist(), wanted, values, strict=True):
        with edited(model, layer, key[fact], value, every_key), torch.no_grad():
            answers = model(world.prompts)[:, -1].argmax(-1)
        kept, of_subject = answers == world.answers, world.subjects == world.subjects[fact]
        of_subject[fact] = False
        changed.append(bool(answers[fact] == answer))
        same.append(float(kept[of_subject].double().mean()))
        others.append(float(kept[world.subjects != world.subjects[fact]].double().mean()))
    return float(np.mean(changed)), float(np.mean(others)), float(np.mean(same))


def attribution(model: Transformer, world: World) -> dict[str, float]:
    """The part of the answer's logit, above the mean of all logits, that each part of the model makes."""
    parts = attribute(model, world.prompts)
    shares = parts.logits()[:, :, -1]
    above = (
        (shares - shares.mean(-1, keepdim=True))
        .gather(-1, world.answers.expand(len(shares), -1)[..., None])[..., 0]
        .mean(1)
    )
    return dict(zip(parts.names, (above / above.sum()).tolist(), strict=True))


@torch.no_grad()
def memory(model: Transformer, world: World, layer: int, top: int = 10) -> float:
    """The MLP as keys and values: are answers among what is promoted most by the units that add most?

    The part of facts for which, of the objects, the answer is promoted most by the sum of the `top` units alone.
    """
    mlp, held = mlp_of(model, layer), keys(model, world.prompts, layer, PROMPT - 1)
    adds = held.abs() * mlp.W_out.norm(dim=1)
    largest = torch.zeros_like(held).scatter(1, adds.topk(min(top, held.shape[1]), dim=1).indices, 1.0)
    promoted = (held * largest) @ mlp.W_out @ model.unembed.W_U
    return float((promoted.argmax(-1) == world.answers).double().mean())


@dataclass(frozen=True)
class Stored:
    """How much of a world a model of one width holds, when it has learned what it can."""

    width: int
    parameters: int
    bits: float

    @property
    def bits_per_parameter(self) -> float:
        """What is stored, by the numbers that it is stored in (embeddings counted)."""
        return self.bits / self.parameters


def capacity(
    world: World, widths: Sequence[int] = (4, 8, 12, 16, 24), steps: int = 2000, seed: int = 0
) -> list[Stored]:
    """What models too small for the world hold of it: the most bits for each parameter is what one can count on."""
    stored = []
    for width in widths:
        model = learn(world, width, seed=seed, steps=steps, all_of_it=False)
        stored.append(Stored(width, model.parameter_count(), bits_known(model, world)))
    return stored
