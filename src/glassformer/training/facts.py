"""A small world of facts, "start Michael Jordan plays" → basketball, and a transformer that learns them by heart.

A subject is a first and a last name, both shared with others, so that neither alone determines it. Every subject has
one object for each relation, drawn at random; only that Michael Jordan plays basketball is not.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from glassformer.errors import InputError, whole_number
from glassformer.nn import Config, Transformer
from glassformer.progress import Progress, silent

FIRST: Final = (
    *("Michael", "Serena", "Ada", "Alan", "Grace", "Mina", "Yuna", "Jin", "Emmy", "Paul"),
    *("Sofia", "Omar", "Rosa", "Ivan", "Lena", "Hugo", "Nora", "Kenji", "Aisha", "Leo"),
)
LAST: Final = (
    *("Jordan", "Williams", "Lovelace", "Turing", "Hopper", "Kim", "Park", "Lee", "Noether", "Erdos"),
    *("Moreau", "Haddad", "Silva", "Petrov", "Berg", "Weber", "Costa", "Tanaka", "Okafor", "Rossi"),
)
RELATIONS: Final = {
    "plays": ["basketball", "tennis", "football", "chess", "golf", "rugby", "hockey", "cricket", "judo", "piano"],
    "lives_in": ["Chicago", "Seoul", "Paris", "Cairo", "Lima", "Oslo", "Delhi", "Rome", "Lagos", "Quito"],
    "studies": ["physics", "law", "history", "biology", "music", "logic", "medicine", "art", "poetry", "geology"],
    "drives": ["tram", "bicycle", "truck", "taxi", "scooter", "bus", "van", "sledge", "tractor", "boat"],
}
OBJECTS: Final = tuple(name for names in RELATIONS.values() for name in names)
PROMPT: Final = 4
"""Tokens of a prompt: start, first name, last name, relation."""


@dataclass(frozen=True)
class World:
    """Facts as prompts [fact, 4] and answers, and the names of all tokens; facts of one subject stand together."""

    names: tuple[str, ...]
    prompts: Int[Tensor, "fact 4"]
    answers: Int[Tensor, " fact"]

    @property
    def count(self) -> int:
        """How many facts there are."""
        return len(self.answers)

    @cached_property
    def subjects(self) -> Int[Tensor, " fact"]:
        """The number of each fact's subject."""
        return torch.arange(self.count) // len(RELATIONS)

    @cached_property
    def relations(self) -> Int[Tensor, " fact"]:
        """The number of each fact's relation."""
        return torch.arange(self.count) % len(RELATIONS)

    @property
    def bits(self) -> float:
        """The information of all facts, given the relations and their objects."""
        return sum(math.log2(len(objects)) for objects in RELATIONS.values()) * self.count / len(RELATIONS)

    @property
    def numbers(self) -> list[tuple[int, int, int, int]]:
        """Each fact as the numbers of its first name, last name, relation and object, among their kind."""
        first, last, relation = len(OBJECTS), len(OBJECTS) + len(FIRST), len(OBJECTS) + len(FIRST) + len(LAST)
        rows = zip(self.prompts.tolist(), self.answers.tolist(), strict=True)
        return [(f - first, n - last, r - relation, answer) for (_, f, n, r), answer in rows]

    def token(self, name: str) -> int:
        """The number of a token."""
        if name not in self.names:
            raise InputError("world.token", name=name)
        return self.names.index(name)

    def fact(self, sentence: str) -> int:
        """The number of the fact that a sentence begins, such as "Michael Jordan plays"."""
        asked = torch.tensor([self.token(name) for name in ("start", *sentence.split())])
        matches = (self.prompts == asked).all(1).nonzero() if len(asked) == PROMPT else asked.new_zeros(0)
        if not len(matches):
            raise InputError("world.fact", sentence=sentence, known=self.prompt(0))
        return int(matches[0])

    def prompt(self, fact: int) -> str:
        """A fact's prompt in words."""
        return " ".join(self.names[token] for token in self.prompts[fact, 1:].tolist())

    def others(self, fact: int) -> Int[Tensor, " object"]:
        """The objects that the fact's relation could have but has not."""
        objects = list(RELATIONS.values())[int(self.relations[fact])]
        tokens = torch.tensor([self.token(name) for name in objects])
        return tokens[tokens != self.answers[fact]]


def make_world(subjects: int = 250, seed: int = 0) -> World:
    """A world of so many subjects, each with a fact for every relation."""
    everybody = list(itertools.product(range(len(FIRST)), range(len(LAST))))
    if whole_number(subjects, "world.subjects", least=2) > len(everybody):
        raise InputError("world.names", most=len(everybody), subjects=subjects)
    rng = np.random.default_rng(seed)
    others = rng.permutation(np.arange(1, len(everybody)))[: subjects - 1]
    names = (*OBJECTS, *FIRST, *LAST, *RELATIONS, "start")
    number = {name: i for i, name in enumerate(names)}
    prompts, answers = [], []
    for who in (0, *others):
        first, last = everybody[who]
        for relation, possible in RELATIONS.items():
            answer = "basketball" if who == 0 and relation == "plays" else possible[rng.integers(len(possible))]
            prompts.append([number[name] for name in ("start", FIRST[first], LAST[last], relation)])
            answers.append(number[answer])
    return World(names, torch.tensor(prompts), torch.tensor(answers))


def learn(
    world: World,
    width: int = 64,
    layers: int = 2,
    seed: int = 0,
    steps: int = 3000,
    all_of_it: bool = True,
    progress: Progress = silent,
) -> Transformer:
    """A transformer that knows all the facts: every step sees all of them, until none is wrong, nor uncertain.

    A model that may be too small to know all of it takes all the steps, and comes out as it is.
    """
    torch.manual_seed(seed)
    sizes = {"vocab": len(world.names), "outputs": len(world.names), "context": PROMPT, "width": width}
    model = Transformer(Config.uniform(**sizes, layers=layers, heads=4, norm="layer", activation="gelu"))
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        logits = model(world.prompts)[:, -1]
        loss = torch.nn.functional.cross_entropy(logits, world.answers)
        known = int((logits.argmax(-1) == world.answers).sum())
        progress(known, world.count)
        if known == world.count and float(loss.detach()) < SURE:
            return model.eval()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    if all_of_it:
        raise InputError("world.not_learned", steps=steps, wrong=world.count - known, count=world.count)
    return model.eval()


@torch.no_grad()
def bits_known(model: Transformer, world: World) -> float:
    """How many bits of the facts a model knows: the world's, less the cross-entropy of its answers."""
    loss = torch.nn.functional.cross_entropy(model(world.prompts)[:, -1], world.answers, reduction="sum")
    return max(0.0, world.bits - float(loss) / math.log(2))


SURE: Final = 0.02
"""Mean loss at which training ends: every fact is right, and with some certainty."""
