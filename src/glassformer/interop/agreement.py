"""Whether a GPT-2 has the logits of the model that it was made of: on all short words, and on many long ones.

Norms that should do nothing round, each processor's in its own way. So the comparison is made twice: as norms round
here, and with norms whose outputs are perturbed at random by as much.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from glassformer.automata.words import chosen_words
from glassformer.nn import Transformer
from glassformer.nn.transformer import Logits, Tokens
from glassformer.opening.opened import Opened
from glassformer.training.tasks import StateTracking

NEAR: Final = 1e-5
"""How far a GPT-2's logits may be from ours."""
NEAR_PERTURBED: Final = 1e-2
"""The same, when the output of every norm is perturbed: other processors add in another order."""
SHORT: Final = 256
"""At most so many short words, which are all that there are of their length."""
TRIED: Final = 16
WORK: Final = 2**34
"""Multiplications for random words; there are at most 8 times TRIED."""


@dataclass(frozen=True)
class Agreement:
    """The largest difference of logits, as norms round here and when they are perturbed, and on what words.

    Where the best answer leads by more than twice that, the answer is the same.
    """

    dtype: str
    words: list[dict[str, int]]
    """How many, and of how many tokens; the first are all that there are."""
    max_difference: float
    max_difference_perturbed: float

    @property
    def is_near(self) -> bool:
        """Whether that may be called the same."""
        return self.max_difference <= NEAR and self.max_difference_perturbed <= NEAR_PERTURBED

    def to_json(self) -> dict[str, Any]:
        """The same as plain values; `apart` and `stirred` are what earlier files call the differences."""
        return asdict(self) | {"apart": self.max_difference, "stirred": self.max_difference_perturbed}


@torch.no_grad()
def compared(opened: Opened, model: Transformer, made: Any) -> Agreement:
    """An opened model, in any number format, and a GPT-2 side by side; a difference that is too large ends it."""
    words = _tried(opened, made.num_parameters())
    largest, perturbed = 0.0, 0.0
    at_once = TRIED * model.config.context
    for tokens in (batch for group in words for batch in group.split(max(1, at_once // group.shape[1]))):
        ours = model(tokens)
        largest = max(largest, _difference(ours, made(tokens).logits))
        with _perturbed_norms(made):
            perturbed = max(perturbed, _difference(ours, made(tokens).logits))
        if largest > NEAR or perturbed > NEAR_PERTURBED:
            break
    sizes = [{"count": len(group), "tokens": group.shape[1]} for group in words]
    return Agreement(str(model.dtype).removeprefix("torch."), sizes, largest, perturbed)


def _tried(opened: Opened, parameters: int) -> list[Tokens]:
    """All short words; long ones, adversarial and random ones, and such as are nearly all one letter."""
    config, rng = opened.model.config, np.random.default_rng(0)
    many = int(np.clip(WORK // (parameters * config.context), TRIED, 8 * TRIED))
    task = opened.task
    if not isinstance(task, StateTracking) or task.scratchpad:
        short = _every(config.vocab, config.context)
        return [torch.from_numpy(short), torch.from_numpy(rng.integers(config.vocab, size=(many, config.context)))]
    length, letters = config.context - 1, len(task.machine.symbols)
    found = [chosen_words(task.machine, length, 2 * TRIED, seed=0), rng.integers(letters, size=(many, length))]
    for letter in range(min(letters, TRIED)):
        others, chances = rng.integers(letters, size=(TRIED // 2, length)), rng.random((TRIED // 2, length))
        rare = np.geomspace(1 / length, 0.5, TRIED // 2)[:, None]
        found.append(np.where(chances < rare, others, letter))
    return [task.answered(words).tokens for words in (_every(letters, length), np.concatenate(found))]


def _every(letters: int, longest: int) -> Integer[np.ndarray, "word length"]:
    """All words of as many letters as there are SHORT words of at most."""
    length = max(n for n in range(1, longest + 1) if n == 1 or letters**n <= SHORT)
    return np.array(list(itertools.product(range(letters), repeat=length)))


def _difference(ours: Logits, theirs: Float[Tensor, "batch pos token"]) -> float:
    """The largest of all positions; a token that is no answer is as far away as can be."""
    outputs = ours.shape[-1]
    answered = bool((theirs.argmax(-1) < outputs).all())
    return float((ours - theirs[..., :outputs]).abs().max()) if answered else math.inf


@contextmanager
def _perturbed_norms(made: nn.Module) -> Iterator[None]:
    """Norms whose outputs are perturbed at random, by up to a unit in the last place of every number."""
    chance = torch.Generator().manual_seed(0)

    def perturb(_norm: nn.Module, _input: Any, output: Tensor) -> Tensor:
        moved = 2 * torch.rand(output.shape, generator=chance, dtype=output.dtype) - 1
        return output * (1 + torch.finfo(output.dtype).eps * moved)

    norms = [part for part in made.modules() if isinstance(part, nn.LayerNorm)]
    hooks = [norm.register_forward_hook(perturb) for norm in norms]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
