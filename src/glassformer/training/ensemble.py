"""Toy models of superposition, many of them trained together.

A toy has n features and m < n hidden numbers: x' = relu(Wᵀ W x + b). A feature is 0 with probability S (the sparsity),
else uniform between 0 and 1; features count by their importance in the loss Σ importance·(x − x')². All toys of a
batch see one draw u: where u < 1 − S, u / (1 − S) is uniform again, so that one draw serves every sparsity. Gradients
are written out; toys with fewer features or hidden numbers are filled up with zeros, which stay zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.errors import InputError, finite_number, whole_number
from glassformer.progress import Progress, silent

NUMBERS_AT_ONCE: Final = 2**18
"""Of the data of toys that are trained in one batch: what fits in a processor's cache."""
MOST_NUMBERS: Final = 2**29
"""Of one toy in training: 2 GiB in float32."""
NEVER: Final = 1e12
"""Instead of 1 / (1 − S) for features that are not there."""

ToyWeights: TypeAlias = Float[Tensor, "toy hidden feature"]


@dataclass(frozen=True)
class Toy:
    """What a toy is asked to hold; the importance of feature i is decay**i."""

    features: int
    hidden: int
    sparsity: float
    decay: float = 1.0

    def __post_init__(self) -> None:
        whole_number(self.features, "ensemble.features", least=1)
        whole_number(self.hidden, "ensemble.hidden", least=1)
        if not 0 <= finite_number(self.sparsity, "ensemble.sparsity", least=0) < 1:
            raise InputError("ensemble.sparsity_range", value=self.sparsity)
        if not finite_number(self.decay, "ensemble.decay", least=0) > 0:
            raise InputError("ensemble.decay_range")


@dataclass(frozen=True)
class TrainedToy:
    """A trained toy: what it was asked, its weights, and its mean loss over the last tenth of training."""

    toy: Toy
    W: Float[Tensor, "hidden feature"]
    b: Float[Tensor, " feature"]
    loss: float

    @property
    def dimensionality(self) -> Float[Tensor, " feature"]:
        """Of each feature: ‖Wᵢ‖² / Σⱼ (Ŵᵢ·Wⱼ)², the part of a dimension that it has for itself; 0 if it is not kept."""
        squared = self.W.pow(2).sum(0)
        shared = (self.W.T @ self.W).pow(2).sum(1)
        return torch.where(squared > NOT_KEPT, squared.pow(2) / shared.clamp_min(1e-30), 0.0)


NOT_KEPT: Final = 0.01
"""A feature whose vector is shorter than a tenth of 1 is not kept."""


def train(
    toys: Sequence[Toy],
    steps: int = 4000,
    samples: int = 128,
    rate: float = 0.01,
    seed: int = 0,
    progress: Progress = silent,
) -> list[TrainedToy]:
    """Train all of them by Adam with a rate that falls to 0 as a cosine; each as it would come out alone."""
    whole_number(steps, "ensemble.steps", least=1)
    _refuse_too_large(toys, whole_number(samples, "ensemble.samples", least=1))
    learned: dict[int, TrainedToy] = {}
    for numbers in _batches(toys, samples):
        batch = _Batch([toys[i] for i in numbers], [seed + i for i in numbers])

        def partly(step: int, steps: int, done: int = len(learned), more: int = len(numbers)) -> None:
            progress(done + more * step // steps, len(toys))

        losses = batch.train(steps, samples, rate, seed, partly)
        for k, i in enumerate(numbers):
            n, m = toys[i].features, toys[i].hidden
            learned[i] = TrainedToy(toys[i], batch.W[k, :m, :n].clone(), batch.b[k, :n, 0].clone(), float(losses[k]))
    return [learned[i] for i in range(len(toys))]


def _refuse_too_large(toys: Sequence[Toy], samples: int) -> None:
    """Estimate what the largest takes: weights, their gradient and both of Adam's averages; samples, four times."""
    for toy in toys:
        numbers = toy.features * (6 * toy.hidden + 4 * samples)
        if numbers > MOST_NUMBERS:
            sizes = {"size": numbers * 4 / 2**30, "limit": MOST_NUMBERS * 4 // 2**30}
            raise InputError("ensemble.too_large", features=toy.features, hidden=toy.hidden, samples=samples, **sizes)


def _batches(toys: Sequence[Toy], samples: int) -> Iterator[list[int]]:
    """Toys of about one size, as many as are trained in one batch."""
    order = sorted(range(len(toys)), key=lambda i: (toys[i].features, toys[i].hidden))
    group: list[int] = []
    for i in order:
        if group and (len(group) + 1) * toys[i].features * samples > NUMBERS_AT_ONCE:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


class _Batch:
    """Toys side by side; features and hidden numbers that a toy does not have stay 0."""

    def __init__(self, toys: Sequence[Toy], seeds: Sequence[int]) -> None:
        features, hidden = max(toy.features for toy in toys), max(toy.hidden for toy in toys)
        self.W: ToyWeights = torch.zeros(len(toys), hidden, features)
        self.b = torch.zeros(len(toys), features, 1)
        self.importance = torch.zeros(len(toys), features, 1)
        self.inverse_density = torch.full((len(toys), features, 1), NEVER)
        for k, (toy, seed) in enumerate(zip(toys, seeds, strict=True)):
            start = torch.randn(toy.hidden, toy.features, generator=torch.Generator().manual_seed(seed))
            self.W[k, : toy.hidden, : toy.features] = start / toy.features**0.5
            self.importance[k, : toy.features, 0] = toy.decay ** torch.arange(toy.features)
            self.inverse_density[k, : toy.features] = 1 / (1 - toy.sparsity)

    def train(self, steps: int, samples: int, rate: float, seed: int, progress: Progress) -> Float[Tensor, " toy"]:
        """All steps; the mean loss of the last tenth."""
        adams, losses = [_Adam(self.W), _Adam(self.b)], torch.zeros(len(self.W))
        chance, last = torch.Generator(), max(1, steps // 10)
        for step in range(steps):
            draw = torch.rand(self.W.shape[2], samples, generator=chance.manual_seed(seed * 1_000_003 + step))
            gradients, error = self.gradients(draw)
            now = rate * (1 + torch.cos(torch.tensor(torch.pi * step / steps)).item()) / 2
            for adam, gradient in zip(adams, gradients, strict=True):
                adam.step(gradient, now, step + 1)
            progress(step + 1, steps)
            if step >= steps - last:
                losses += (error.pow(2).mean(2) * self.importance[..., 0]).sum(1) / last
        return losses

    def gradients(self, draw: Float[Tensor, "feature sample"]) -> tuple[list[Tensor], Float[Tensor, "toy _ _"]]:
        """Of W and b, for the mean over samples of Σ importance·(x' − x)²; and x' − x."""
        x = draw * self.inverse_density
        x *= x < 1
        h = self.W @ x
        output = torch.baddbmm(self.b, self.W.mT, h).relu_()
        error = output - x
        pull = torch.where(output > 0, error * (self.importance * 2 / draw.shape[1]), 0.0)
        return [torch.baddbmm(h @ pull.mT, self.W @ pull, x.mT), pull.sum(2, keepdim=True)], error


class _Adam:
    """Adam's step, in place, for a tensor of many toys."""

    def __init__(self, weights: Tensor) -> None:
        self.weights, self.mean, self.square = weights, torch.zeros_like(weights), torch.zeros_like(weights)

    def step(self, gradient: Tensor, rate: float, number: int, beta1: float = 0.9, beta2: float = 0.999) -> None:
        """One step; the number of the step, from 1, corrects the means that begin at 0."""
        self.mean.lerp_(gradient, 1 - beta1)
        self.square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = (self.square / (1 - beta2**number)).sqrt_().add_(1e-8)
        self.weights.addcdiv_(self.mean, root, value=-rate / (1 - beta1**number))
