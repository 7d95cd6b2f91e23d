"""How a transformer knows where it is: tables to add. (Rotary positions and ALiBi are scores: `nn.scores`.)

Everything is computed in float64 and rounded where it is kept.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor


def sinusoidal_table(context: int, width: int) -> Float[Tensor, "context width"]:
    """Vaswani et al. 2017: sin and cos of p / 10000^(2i/width), in turn."""
    frequencies = torch.exp(torch.arange(0, width, 2).double() * (-math.log(10000.0) / width))
    angles = torch.arange(context)[:, None] * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def dyadic_frequencies(context: int) -> int:
    """How many halvings of the full turn distinguish all positions of a context: ⌈log₂ context⌉, at least 1."""
    return max(1, (context - 1).bit_length())


def dyadic_table(context: int, width: int | None = None) -> Float[Tensor, "context width"]:
    """cos and sin of 2πp/2^k for k = 1 … ⌈log₂ context⌉, in turn; zero in the columns left over.

    A step of any size rotates every pair, and two different positions differ by at least 2 in the dot
    product, however long the context.
    """
    turns = dyadic_frequencies(context)
    # p mod 2^k keeps the angle small, so that the cosines of whole, half and quarter turns are exact integers
    steps = torch.arange(context)[:, None] % (2 ** torch.arange(1, turns + 1))
    angles = 2 * math.pi * steps.double() / 2 ** torch.arange(1, turns + 1)
    pairs = torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(1)
    pairs = torch.where(pairs.abs() < 1e-15, 0.0, pairs)  # cos(π/2) is 6e-17 in floating point
    return torch.nn.functional.pad(pairs, (0, (width or pairs.shape[1]) - pairs.shape[1]))
