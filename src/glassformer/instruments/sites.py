"""Where in a model one looks, or changes something: a hook, one head's part of it, and how many words fit at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from torch import Tensor

from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.nn import Transformer
from glassformer.nn.trace import HookPoint, unknown_hook

BY_HEAD: Final = ("q", "k", "v", "rot_q", "rot_k", "z", "result", "q_input", "k_input", "v_input")
"""Hooks whose activations are [word, position, head, …]."""
NUMBERS_AT_ONCE: Final = 2**20
"""Of the largest activation: 4 MiB in float32, near what a cache holds; with 64 MiB, edges take 4 times as long."""
TOKENS_AT_ONCE: Final = 2**10
"""Fewer do not keep a processor busy where weights are many: then activations may take 16 times as much."""
MOST_NUMBERS: Final = 2**29
"""Of the largest activation of one word: 2 GiB in float32."""


@dataclass(frozen=True)
class Site:
    """A hook, or what is one head's of it; written `blocks.0.attn.hook_result[1]`."""

    hook: str
    head: int | None = None

    def __str__(self) -> str:
        return self.hook if self.head is None else f"{self.hook}[{self.head}]"

    @classmethod
    def parse(cls, text: str) -> Site:
        """The site that is written so."""
        parts = re.fullmatch(r"([\w.]+)(?:\[(\d+)\])?", text)
        if not parts:
            raise InputError("instruments.not_a_site", text=text)
        return cls(parts[1], None if parts[2] is None else int(parts[2]))

    def of(self, activation: Tensor) -> Tensor:
        """What is this head's of an activation [word, position, head, …], or all of it."""
        return activation if self.head is None else activation[:, :, self.head]


def check(model: Transformer, site: Site) -> Site:
    """A site that exists, and has one vector for each position."""
    names = [*model.hook_names, *model.hooks_on_request]
    if site.hook not in names:
        raise InputError(unknown_hook(site.hook, names))
    if site.hook.endswith(("hook_attn_scores", "hook_pattern")):
        raise InputError("instruments.two_positions", hook=site.hook)
    by_head = any(site.hook.endswith(f".hook_{name}") for name in BY_HEAD)
    heads = model.config.blocks[HookPoint(site.hook).layer()].heads if by_head else 0
    if site.head is not None and not 0 <= site.head < heads:
        if not heads:
            raise InputError("instruments.has_no_heads", hook=site.hook, head=site.head)
        raise InputError("instruments.no_head", hook=site.hook, head=site.head, heads=heads)
    return site


def at_layers(model: Transformer, hook: str) -> list[tuple[int | None, Site]]:
    """A hook of one layer, of every layer that has it, or of none (hook_embed), as sites with their layers."""
    there = {*model.hook_names, *model.hooks_on_request}
    if in_layer := re.match(r"blocks\.(\d+)\.", hook):
        return [(int(in_layer[1]), check(model, Site.parse(hook)))]
    if Site.parse(hook).hook in there:
        return [(None, Site.parse(hook))]
    every = [(i, Site.parse(f"blocks.{i}.{hook}")) for i in range(len(model.blocks))]
    if not any(site.hook in there for _, site in every):
        raise InputError(unknown_hook(hook, {re.sub(r"blocks\.\d+\.", "", name) for name in there}))
    return [(i, site) for i, site in every if site.hook in there]


def within(number: int, count: int, what: str) -> int:
    """A number from 0, or from the end if it is negative; what it numbers is the id of a message."""
    if not -count <= number < count:
        raise InputError("instruments.not_one_of", what=Message(what), number=number, last=count - 1, count=count)
    return number % count


def rows_at_once(model: Transformer, length: int) -> int:
    """How many words of a length go through a model together; a length of which not even one fits is refused."""
    width = model.config.width
    sizes = [max(width * shape.heads, sum(shape.mlp), shape.heads * length) for shape in model.config.blocks]
    numbers = length * max(width, model.config.outputs, *sizes)
    if numbers > MOST_NUMBERS:
        needed, limit = numbers * 4 / 2**30, MOST_NUMBERS * 4 // 2**30
        raise InputError("instruments.word_too_large", length=length, needed=needed, limit=limit)
    busy = min(TOKENS_AT_ONCE // length, 16 * NUMBERS_AT_ONCE // numbers)
    return max(1, busy, NUMBERS_AT_ONCE // numbers)
