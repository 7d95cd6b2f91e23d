"""Where in a model one looks, or changes something: a hook, one head's part of it, and how many words fit at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from torch import Tensor

from glassformer.errors import InputError
from glassformer.nn import Transformer
from glassformer.nn.trace import HookPoint, unknown_hook

BY_HEAD: Final = ("q", "k", "v", "rot_q", "rot_k", "z", "result", "q_input", "k_input", "v_input")
"""Hooks whose activations are [word, position, head, …]."""
NUMBERS_AT_ONCE: Final = 2**20
"""Of the largest activation: 4 MiB in float32, near what a cache holds; with 64 MiB, wires take 4 times as long."""
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
            raise InputError(f"{text!r} is no activation: write its name, and [0] for head 0 behind it")
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
        raise InputError(f"{site.hook} has two positions, query and key: take hook_q, hook_k or hook_z instead")
    by_head = any(site.hook.endswith(f".hook_{name}") for name in BY_HEAD)
    heads = model.config.blocks[HookPoint(site.hook).layer()].heads if by_head else 0
    if site.head is not None and not 0 <= site.head < heads:
        raise InputError(f"{site.hook} has no head {site.head}; it has {heads or 'none'}")
    return site


def rows_at_once(model: Transformer, length: int) -> int:
    """How many words of a length go through a model together; if not even one does, say so."""
    width = model.config.width
    sizes = [max(width * shape.heads, sum(shape.mlp), shape.heads * length) for shape in model.config.blocks]
    numbers = length * max(width, model.config.outputs, *sizes)
    if numbers > MOST_NUMBERS:
        raise InputError(
            f"one word of {length:,} tokens needs some {numbers * 4 / 2**30:.0f} GiB for a single activation of this "
            f"model; the limit is {MOST_NUMBERS * 4 // 2**30} GiB: take shorter words"
        )
    busy = min(TOKENS_AT_ONCE // length, 16 * NUMBERS_AT_ONCE // numbers)
    return max(1, busy, NUMBERS_AT_ONCE // numbers)
