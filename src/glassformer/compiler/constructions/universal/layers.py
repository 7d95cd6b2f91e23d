"""Many blocks as a few stacked arrays, in the modified form (hardmax, piecewise-linear) and in the ordinary one.

A modified block attends with two heads of width 1 and then applies one piecewise-linear φ of three pieces:

    X ← X + e₁ · (g₁ ξ(b₁) + g₂ ξ(b₂)),   ξ(b)ₖ = uᵀX · hardmax[(uᵀX)ᵀ (uᵀXₖ − b)]
    X ← X + v φ(aᵀX) + k

Where the gains g are 0 the block does not attend, where v and k are 0 it does not apply φ. The ordinary block computes
the same with softmax and four ReLUs: queries λ(uᵀX − b) with so large a λ that softmax is hardmax to the last bit, and
a jump of φ becomes a ramp just before its knot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from glassformer.nn import BlockShape, Config, Transformer
from glassformer.nn.attention import Attention, affine
from glassformer.nn.trace import NO_HOOKS
from glassformer.nn.transformer import MLP, Block
from glassformer.progress import Progress

SHARPNESS: Final = 256.0
"""λδ²: scores differ by at least half of it, and e^−128 is nothing beside 1 in float64."""
HEADS, UNITS = 2, 4

Columns: TypeAlias = Float[Tensor, "batch n d"]
"""Sequences as the Transformer has them: a column is a vector of the residual stream."""


@dataclass(frozen=True)
class Layers:
    """Stacked modified blocks."""

    bias: Float[np.ndarray, "block 2"]
    gain: Float[np.ndarray, "block 2"]
    read: Float[np.ndarray, "block d"]
    knots: Float[np.ndarray, "block 2"]
    slopes: Float[np.ndarray, "block 3"]
    intercepts: Float[np.ndarray, "block 3"]
    write: Float[np.ndarray, "block d"]
    constant: Float[np.ndarray, "block d"]
    ramp: Float[np.ndarray, " block"]
    """How wide the ramp is that a jump becomes."""

    def __len__(self) -> int:
        return len(self.bias)

    @property
    def attends(self) -> Bool[np.ndarray, " block"]:
        """Which blocks have something to attend to."""
        return np.any(self.gain != 0, axis=1)  # type: ignore[no-any-return]

    @property
    def applies(self) -> Bool[np.ndarray, " block"]:
        """Which blocks have a φ."""
        return np.any((self.write != 0) | (self.constant != 0), axis=1)  # type: ignore[no-any-return]

    def run(self, x: Float[np.ndarray, "batch n d"], u: Float[np.ndarray, " d"]) -> Float[np.ndarray, "batch n d"]:
        """All blocks, one after the other."""
        x, attends, applies = x.copy(), self.attends, self.applies
        for i in range(len(self)):
            if attends[i]:
                ids = x @ u
                x[..., 0] += sum(g * attended(ids, b) for g, b in zip(self.gain[i], self.bias[i], strict=True))
            if applies[i]:
                t = x @ self.read[i]
                piece = np.searchsorted(self.knots[i], t, side="right")
                x += (self.slopes[i][piece] * t + self.intercepts[i][piece])[..., None] * self.write[i]
                x += self.constant[i]
        return x


def attended(ids: Float[np.ndarray, "batch n"], b: float) -> Float[np.ndarray, "batch n"]:
    """ξ(b): the largest id for columns above b, the smallest for those below, the mean for those at b."""
    ends = np.where(ids > b, ids.max(axis=1, keepdims=True), ids.min(axis=1, keepdims=True))
    return np.asarray(np.where(ids == b, ids.mean(axis=1, keepdims=True), ends))


def stacked(parts: Sequence[Layers]) -> Layers:
    """Parts one after the other."""
    return Layers(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Layers)})


def attention(d: int, bias: Float[np.ndarray, "block 2"], gain: tuple[float, float]) -> Layers:
    """Blocks that only attend."""
    blocks = len(bias)
    none = np.zeros((blocks, d))
    three = np.zeros((blocks, 3))
    knots = np.tile([0.0, 1.0], (blocks, 1))
    gains = np.tile(np.array(gain, dtype=float), (blocks, 1))
    return Layers(bias, gains, none, knots, three, three, none, none, np.ones(blocks))


def feed_forward(
    read: Float[np.ndarray, "block d"],
    knots: Float[np.ndarray, "block 2"],
    slopes: tuple[float, float, float],
    intercepts: Float[np.ndarray, "block 3"],
    write: Float[np.ndarray, "block d"],
    ramp: float,
) -> Layers:
    """Blocks that only apply a φ."""
    blocks, none = len(read), np.zeros((len(read), HEADS))
    slope = np.tile(np.asarray(slopes, dtype=float), (blocks, 1))
    still = np.zeros_like(write)
    return Layers(none, none, read, knots, slope, intercepts, write, still, np.full(blocks, ramp))


def together(attends: Layers, applies: Layers, constant: Float[np.ndarray, " d"]) -> Layers:
    """One block that attends and then applies a φ, and adds a constant."""
    parts = {field.name: getattr(applies, field.name) for field in fields(Layers)}
    return Layers(**parts | {"bias": attends.bias, "gain": attends.gain, "constant": constant[None]})


@dataclass(frozen=True)
class Ordinary:
    """Stacked ordinary blocks: softmax, two heads of width 1, four ReLUs. Weights as the Transformer names them."""

    u: Float[Tensor, " d"]
    sharpness: float
    bias: Float[Tensor, "block 2"]
    gain: Float[Tensor, "block 2"]
    w_in: Float[Tensor, "block d 4"]
    b_in: Float[Tensor, "block 4"]
    w_out: Float[Tensor, "block 4 d"]
    b_out: Float[Tensor, "block d"]

    def __len__(self) -> int:
        return len(self.bias)

    @torch.no_grad()
    def run(self, x: Columns, progress: Progress | None = None) -> Columns:
        """All blocks, one after the other, by the Transformer's own operations; halves that are 0 are passed over."""
        attn = Attention(self.config(1, x.shape[1]), BlockShape(HEADS, 1, ())).double()
        attends = self.gain.any(dim=1).tolist()
        applies = (self.w_out.flatten(1).any(dim=1) | self.b_out.any(dim=1)).tolist()
        weights = zip(self.w_in, self.b_in, self.w_out, self.b_out, strict=True)
        for i, (w_in, b_in, w_out, b_out) in enumerate(weights):
            if attends[i]:
                self.write_attention(attn, i)
                x = x + attn(x, NO_HOOKS)
            if applies[i]:
                x = x + affine(F.relu(affine(x, w_in, b_in)), w_out, b_out)
            if progress and i % 1024 == 0:
                progress(i, len(self))
        return x

    def write_attention(self, attn: Attention, i: int) -> None:
        """The weights of block i."""
        d = len(self.u)
        attn.W_Q.data = (self.sharpness * self.u).expand(HEADS, d)[..., None]
        attn.W_K.data = attn.W_V.data = self.u.expand(HEADS, d)[..., None]
        attn.b_Q.data = -self.sharpness * self.bias[i][:, None]
        attn.W_O.data = torch.nn.functional.pad(self.gain[i][:, None, None], (0, d - 1))
        for name in ("b_K", "b_V", "b_O"):
            getattr(attn, name).data.zero_()

    def config(self, blocks: int, n: int) -> Config:
        """The shape of the Transformer that these blocks are."""
        d = len(self.u)
        shape = BlockShape(HEADS, 1, (UNITS,))
        return Config(
            vocab=1,
            outputs=d,
            context=n,
            width=d,
            blocks=(shape,) * blocks,
            causal=False,
            scaled=False,
            positions="table",
        )

    def transformer(self, shift: Float[np.ndarray, " n"]) -> Transformer:
        """The same as the one Transformer, which reads vectors; E is its table of positions."""
        model = Transformer(self.config(len(self), len(shift))).double()
        d = len(self.u)
        with torch.no_grad():
            model.embed.W_E.zero_()
            assert model.pos_embed
            model.pos_embed.W_pos.copy_(torch.from_numpy(shift)[:, None].expand(-1, d))
            model.unembed.W_U.copy_(torch.eye(d))
            for i, block in enumerate(model.blocks):
                assert isinstance(block, Block)
                assert isinstance(block.attn, Attention)
                assert isinstance(block.mlp, MLP)
                self.write_attention(block.attn, i)
                block.mlp.W_in.copy_(self.w_in[i])
                block.mlp.b_in.copy_(self.b_in[i])
                block.mlp.W_out.copy_(self.w_out[i])
                block.mlp.b_out.copy_(self.b_out[i])
        return model.eval()


def soften(layers: Layers, u: Float[np.ndarray, " d"], delta: float) -> Ordinary:
    """The ordinary blocks that compute the same as these modified ones."""
    signs, knots, rises = relus(layers)
    to = torch.from_numpy
    return Ordinary(
        to(u),
        SHARPNESS / delta**2,
        to(layers.bias),
        to(layers.gain),
        to(layers.read[:, :, None] * signs[:, None, :]),
        to(-signs * knots),
        to(rises[:, :, None] * layers.write[:, None, :]),
        to(layers.constant),
    )


FourUnits: TypeAlias = Float[np.ndarray, "block 4"]


def relus(layers: Layers) -> tuple[FourUnits, FourUnits, FourUnits]:
    """Each φ as Σ rise · relu(sign · (t − knot)), with a ramp just before the knot where φ jumps: signs, knots, rises.

    One of the first two pieces is 0, and φ is exactly 0 there: no unit is active on it, so nothing has to cancel.
    """
    middle_is_zero = (layers.slopes[:, 1] == 0) & (layers.intercepts[:, 1] == 0)
    at_first = np.where(middle_is_zero, _down_from_first_knot(layers), _up_from_first_knot(layers))
    signs, knots, rises = (part.T for part in np.concatenate([at_first, _up_from_second_knot(layers)], axis=1))
    return signs, np.where(rises == 0, 0.0, knots), rises


TwoUnits: TypeAlias = Float[np.ndarray, "3 2 block"]
"""Sign, knot and rise of two units."""


def _down_from_first_knot(layers: Layers) -> TwoUnits:
    """The first piece, where the middle one is 0: both units are active below the first knot."""
    knot, slope, intercept, ramp = layers.knots[:, 0], layers.slopes[:, 0], layers.intercepts[:, 0], layers.ramp
    value = slope * (knot - ramp) + intercept
    steep = np.where(slope * knot + intercept == 0, -slope, value / ramp)
    down = -np.ones_like(ramp)
    return np.array([[down, down], [knot, knot - ramp], [steep, -slope - steep]])


def _up_from_first_knot(layers: Layers) -> TwoUnits:
    """The middle piece, where the first one is 0: both units are active above the first knot."""
    knot, slope, intercept, ramp = layers.knots[:, 0], layers.slopes[:, 1], layers.intercepts[:, 1], layers.ramp
    steep = (slope * knot + intercept) / ramp
    up = np.ones_like(ramp)
    return np.array([[up, up], [knot - ramp, knot], [steep, slope - steep]])


def _up_from_second_knot(layers: Layers) -> TwoUnits:
    """From the middle piece to the last one: both units are active above the second knot."""
    knot, ramp = layers.knots[:, 1], layers.ramp
    (_, s1, s2), (_, i1, i2) = layers.slopes.T, layers.intercepts.T
    before, after = s1 * knot + i1, s2 * knot + i2
    steep = np.where(after == before, s1, (after - s1 * (knot - ramp) - i1) / ramp)
    up = np.ones_like(ramp)
    return np.array([[up, up], [knot - ramp, knot], [steep - s1, s2 - steep]])
