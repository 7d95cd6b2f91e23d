"""Gradient descent on a continuous function of sequences: what training makes of what a theorem builds.

The model is the one Transformer, which reads columns through a matrix of its own if it is wider than they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from glassformer.nn import BlockShape, Config, Transformer
from glassformer.nn.config import NormKind, NormPlace
from glassformer.progress import Progress, silent

Sequences: TypeAlias = Float[np.ndarray, "batch d n"]


@dataclass(frozen=True)
class Recipe:
    """What is trained, and for how long."""

    d: int
    """Numbers in a column."""
    n: int
    """Columns in a sequence."""
    width: int
    """Of the residual stream."""
    blocks: tuple[BlockShape, ...]
    norm: NormKind = "none"
    norm_place: NormPlace = "pre"
    shared: bool = False
    """Whether all blocks have the weights of the first."""
    steps: int = 1000
    batch: int = 256
    rate: float = 3e-3
    seed: int = 0


class Regression(nn.Module):
    """columns [batch, n, d] → columns [batch, n, d]."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        self.model = Transformer(
            Config(
                vocab=1,
                outputs=recipe.d,
                context=recipe.n,
                width=recipe.width,
                blocks=recipe.blocks,
                causal=False,
                norm=recipe.norm,
                norm_place=recipe.norm_place,
                positions="learned",
            )
        )
        self.model.embed.requires_grad_(False)  # vectors take the place of tokens
        read = torch.eye(recipe.d) if recipe.width == recipe.d else torch.randn(recipe.d, recipe.width)
        self.W_read = nn.Parameter(read)
        self.initialise()
        if recipe.shared:
            self.model.blocks = nn.ModuleList([self.model.blocks[0]] * len(recipe.blocks))

    def initialise(self) -> None:
        """Weights with standard deviation 1/√fan-in; those that add to the stream are smaller the more there are."""
        sublayers = sum(bool(shape.heads) + bool(shape.mlp) for shape in self.model.config.blocks)
        added = 1 / math.sqrt(max(1, sublayers))
        with torch.no_grad():
            for name, weights in self.model.named_parameters():
                kind = next(part for part in name.split(".") if part[:2] in ("W_", "b_") or part in ("w", "b"))
                if name.startswith(("blocks", "unembed")) and kind.startswith("W"):
                    inputs = math.prod(weights.shape[:-1]) if kind == "W_O" else weights.shape[-2]
                    weights.normal_(std=inputs**-0.5 * (added if kind in ("W_O", "W_out") else 1))

    def forward(self, x: Float[Tensor, "batch n d"]) -> Float[Tensor, "batch n d"]:
        """Read, and run the Transformer."""
        value: Tensor = self.model(x @ self.W_read)
        return value


@dataclass(frozen=True)
class Fit:
    """A trained model, called like the function, and d₂ to it on new sequences, by the steps trained so far."""

    module: Regression
    errors: dict[int, float] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """After the last step."""
        return self.errors[max(self.errors)]

    @property
    def parameters(self) -> int:
        """How many numbers were trained; shared ones count once."""
        return sum(weights.numel() for weights in self.module.parameters() if weights.requires_grad)

    def __call__(self, x: Sequences) -> Sequences:
        """The value of the trained model, on arrays [batch, d, n]."""
        with torch.no_grad():
            value: Sequences = self.module(columns(x)).numpy().transpose(0, 2, 1)
        return value


def fit_function(
    f: Callable[[Sequences], Sequences],
    recipe: Recipe,
    look_at: Sequence[int] = (),
    progress: Progress = silent,
) -> Fit:
    """Train a model to give f, a function of arrays [batch, d, n], on fresh random sequences from [0, 1]ᵈˣⁿ.

    The error is measured after the steps `look_at`, and after the last.
    """
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    fitted = Fit(Regression(recipe))
    weights = [each for each in fitted.module.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=recipe.rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, recipe.rate, total_steps=recipe.steps)
    test = np.random.default_rng([recipe.seed, 1]).random((4000, recipe.d, recipe.n))
    for step in range(1, recipe.steps + 1):
        x = rng.random((recipe.batch, recipe.d, recipe.n))
        loss = (fitted.module(columns(x)) - columns(f(x))).square().sum(dim=(1, 2)).mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        schedule.step()
        if step in look_at or step == recipe.steps:
            fitted.errors[step] = float(np.sqrt(np.square(fitted(test) - f(test)).sum(axis=(1, 2)).mean()))
        progress(step, recipe.steps)
    return fitted


def columns(x: Sequences) -> Float[Tensor, "batch n d"]:
    """Sequences as the model reads them."""
    return torch.from_numpy(np.ascontiguousarray(x.transpose(0, 2, 1))).float()
