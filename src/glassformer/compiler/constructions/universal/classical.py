"""The classical theorem as the baseline: one hidden layer that reads the whole sequence at once.

Σ cᵢ relu(wᵢ · x + bᵢ) + b comes as close as one likes to any continuous function on [0, 1)^{dn} (Cybenko, Hornik,
Leshno). Here the hidden units are drawn at random, and c and b are found by least squares. Nothing is shared
between columns: a sequence of another length needs another network, and order always counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from glassformer.compiler.constructions.universal.functions import (
    Sequences,
    check_measure,
    estimated_distance,
    function_of,
)
from glassformer.errors import whole_number


@dataclass(frozen=True)
class Classical:
    """One hidden layer, and what was measured."""

    d: int
    n: int
    directions: Float[np.ndarray, "entry unit"]
    offsets: Float[np.ndarray, " unit"]
    out: Float[np.ndarray, "feature entry"]
    distance: float = 0.0
    distance_error: float = 0.0

    @property
    def parameters(self) -> int:
        """All weights and biases."""
        return self.directions.size + self.offsets.size + self.out.size

    def __call__(self, x: Sequences) -> Sequences:
        """The value of the network, on arrays [batch, d, n]."""
        value: Sequences = (self.features(x) @ self.out).reshape(-1, self.d, self.n)
        return value

    def features(self, x: Sequences) -> Float[np.ndarray, "batch feature"]:
        """The hidden units, and 1."""
        hidden = np.maximum(x.reshape(len(x), -1) @ self.directions + self.offsets, 0)
        return np.hstack([hidden, np.ones((len(x), 1))])


def one_hidden_layer(
    f: str | Callable[[Any], Any], d: int, n: int, units: int, p: float = 2.0, samples: int = 2000, seed: int = 0
) -> Classical:
    """So many hidden units, fitted to f on four random sequences for each, or 4,000 if that is more."""
    asked = function_of(f, d, n)
    whole_number(units, "universal.units", least=1)
    check_measure(p, samples, seed)
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(d * n, units))
    offsets = -np.einsum("eu,ue->u", directions, rng.random((units, d * n)))  # each unit bends at a point of the cube
    x = rng.random((max(4000, 4 * units), d, n))
    hidden = Classical(d, n, directions, offsets, np.zeros((units + 1, d * n)))
    out, *_ = np.linalg.lstsq(hidden.features(x), asked(x).reshape(len(x), -1), rcond=None)
    fitted = Classical(d, n, directions, offsets, out)
    near = estimated_distance(asked, fitted, d, n, p, samples, seed + 1)
    return Classical(d, n, directions, offsets, out, near.value, near.error)
