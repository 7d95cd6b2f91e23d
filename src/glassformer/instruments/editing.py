"""Write one fact anew: change an MLP by a matrix of rank one, so that for one key it gives another value.

An MLP is a memory: its hidden units k are the key, k·W_out + b_out the value that is read. To change what key k* gives
into v*, and all else as little as possible, add C⁻¹k* ⊗ (v* − b_out − k*·W_out) / (k*ᵀC⁻¹k*) to W_out, with C the mean
of k·kᵀ over all keys: of all changes that give v*, the one that moves the other values least (Meng et al. 2022). Which
v* makes the model answer otherwise is found by gradient descent, with the weights as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments.sites import within
from glassformer.nn import Transformer
from glassformer.nn.trace import HookPoint
from glassformer.nn.transformer import MLP, Block, Tokens

STEPS: Final = 200
RATE: Final = 0.1
NOISE: Final = 0.03
"""Standard deviation of the noise added to values at first, beside their size: inactive ReLUs get a gradient, too."""
RIDGE: Final = 1e-3
"""Added to C as a part of its mean variance: unused keys cost something, too."""


def mlp_of(model: Transformer, layer: int) -> MLP:
    """The MLP of a layer, which must have one hidden layer."""
    block = model.blocks[layer] if 0 <= layer < len(model.blocks) else None
    if not isinstance(block, Block) or block.mlp is None or len(block.mlp.W_mid):
        raise InputError("instruments.no_mlp_to_edit", layer=layer)
    return block.mlp


@torch.no_grad()
def keys(model: Transformer, tokens: Tokens, layer: int, position: int) -> Float[Tensor, "word unit"]:
    """What the hidden units hold at a position."""
    mlp_of(model, layer)
    position = within(position, tokens.shape[1], "instruments.position")
    name = f"blocks.{layer}.mlp.hook_post"
    return model.trace(tokens, name)[name][:, position]


def values_for(
    model: Transformer, tokens: Tokens, answers: Int[Tensor, " word"], layer: int, position: int
) -> Float[Tensor, "word width"]:
    """The output that the MLP would need at a position for each word to get this answer at its end."""
    mlp_of(model, layer)
    position = within(position, tokens.shape[1], "instruments.position")
    if len(answers) != len(tokens):
        raise InputError("instruments.one_answer_each", words=len(tokens), answers=len(answers))
    name = f"blocks.{layer}.hook_mlp_out"
    before = model.trace(tokens, name)[name][:, position]
    moved = torch.zeros_like(before, requires_grad=True)
    size = float(before.norm(dim=1).mean()) / before.shape[1] ** 0.5
    optimiser = torch.optim.Adam([moved], lr=RATE * size)
    chance = torch.Generator().manual_seed(0)

    def move(value: Tensor, hook: HookPoint) -> Tensor:
        noisy = moved + noise * torch.randn(moved.shape, generator=chance)
        return torch.cat([value[:, :position], (value[:, position] + noisy)[:, None], value[:, position + 1 :]], dim=1)

    with torch.enable_grad():
        for step in range(STEPS):
            noise = NOISE * size * (1 - step / STEPS)
            logits = model.run_with_hooks(tokens, [(name, move)])[:, -1]
            loss = torch.nn.functional.cross_entropy(logits, answers, reduction="sum")
            (moved.grad,) = torch.autograd.grad(loss, [moved])
            optimiser.step()
    return before + moved.detach()


@contextmanager
def edited(
    model: Transformer,
    layer: int,
    key: Float[Tensor, " unit"],
    value: Float[Tensor, " width"],
    all_keys: Float[Tensor, "word unit"],
) -> Iterator[Transformer]:
    """The model whose MLP of a layer gives another value for one key, for as long as the context lasts.

    `key` is what its hidden units hold (`keys`), `value` the output that it shall give (`values_for`), and `all_keys`
    are those of many words, whose values move as little as possible.
    """
    mlp = mlp_of(model, layer)
    _refuse_unlike(mlp.W_out, key, value, all_keys)
    before = mlp.W_out.detach().clone()
    with torch.no_grad():
        mlp.W_out.add_(rank_one(before, key, value - mlp.b_out, all_keys))
    try:
        yield model
    finally:
        with torch.no_grad():
            mlp.W_out.copy_(before)


def rank_one(
    weights: Float[Tensor, "unit width"],
    key: Float[Tensor, " unit"],
    value: Float[Tensor, " width"],
    all_keys: Float[Tensor, "word unit"],
) -> Float[Tensor, "unit width"]:
    """The change of W with (W + change)ᵀ·key = value that moves what all keys give least; none for a key of zeros."""
    _refuse_unlike(weights, key, value, all_keys)
    if not key.any():
        return torch.zeros_like(weights)
    covariance = all_keys.T @ all_keys / len(all_keys)
    covariance += RIDGE * covariance.diagonal().mean() * torch.eye(len(key))
    direction = torch.linalg.solve(covariance, key)
    return torch.outer(direction / (key @ direction), value - key @ weights)


def _refuse_unlike(weights: Tensor, key: Tensor, value: Tensor, all_keys: Tensor) -> None:
    units, width = weights.shape
    given = [list(each.shape) for each in (key, value, all_keys)]
    if given != [[units], [width], [len(all_keys), units]]:
        shapes = {name: str(shape) for name, shape in zip(("key", "value", "keys"), given, strict=True)}
        raise InputError("instruments.edit_shapes", units=units, width=width, **shapes)
