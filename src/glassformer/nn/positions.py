"""How a transformer knows where it is: tables to add, a rotation of queries and keys, or a bias on scores.

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
    """How many halvings of the full turn tell all positions of a context apart: ⌈log₂ context⌉, at least 1."""
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


def rotary_angles(length: int, head_width: int) -> Float[Tensor, "pos half"]:
    """Su et al. 2021: the angle by which each pair of numbers turns at each position."""
    frequencies = torch.exp(torch.arange(0, head_width, 2).double() * (-math.log(10000.0) / head_width))
    return torch.arange(length)[:, None] * frequencies


def rotate(
    x: Float[Tensor, "batch pos head head_width"], angles: Float[Tensor, "pos half"]
) -> Float[Tensor, "batch pos head head_width"]:
    """Turn the pair (x_i, x_{i + half}) of every head by its angle."""
    cos, sin = angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype)
    left, right = x.chunk(2, dim=-1)
    return torch.cat([left * cos - right * sin, left * sin + right * cos], dim=-1)


def alibi_bias(heads: int, length: int) -> Float[Tensor, "head query key"]:
    """Press et al. 2022: minus the distance, times a slope that falls geometrically from head to head."""
    slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1).double() / heads)
    distance = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    return -slopes[:, None, None] * distance
