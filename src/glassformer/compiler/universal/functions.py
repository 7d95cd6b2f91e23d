"""Functions of sequences: some with names, any that a user gives, how far two are apart, and whether order matters.

A function takes and gives arrays [batch, d, n]: in each a sequence of n columns of d rows, with entries in [0, 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from jaxtyping import Float

from glassformer.errors import InputError, whole_number
from glassformer.nn import Transformer

Sequences: TypeAlias = Float[np.ndarray, "batch d n"]
Function: TypeAlias = Callable[[Sequences], Sequences]


def mix(x: Sequences) -> Sequences:
    """X · softmax(XᵀX): every column becomes a mean of all, weighted by how alike they are."""
    scores = np.einsum("bdn,bdm->bnm", x, x)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    mixed: Sequences = np.einsum("bdn,bnm->bdm", x, weights / weights.sum(axis=1, keepdims=True))
    return mixed


def gate(x: Sequences) -> Sequences:
    """Every row times a sigmoid of its mean."""
    gated: Sequences = x / (1 + np.exp(-8 * (x.mean(axis=2, keepdims=True) - 0.5)))
    return gated


FUNCTIONS: Final[dict[str, Function]] = {
    "centre": lambda x: x - x.mean(axis=2, keepdims=True),
    "mix": mix,
    "gate": gate,
    "sort": lambda x: np.sort(x, axis=2),
    "shift": lambda x: np.roll(x, 1, axis=2),
    "prefix-sum": lambda x: np.cumsum(x, axis=2) / x.shape[2],
    "reverse": lambda x: x[:, :, ::-1],
}
"""The first three do not care for the order of columns; the others do, and need positions."""


def checked(f: Callable[[Any], Any], d: int, n: int) -> Function:
    """A function that is known to give sequences for a batch; one that takes one [d, n] at a time is asked for each."""
    some = np.random.default_rng(0).random((3, d, n))
    alone = [_one(f, each, d, n) for each in some]
    try:
        together = np.asarray(f(some.copy()), dtype=float)
        batched = together.shape == some.shape and np.allclose(together, np.stack(alone), rtol=1e-9, atol=1e-12)
    except Exception:  # whatever it says of a batch, it answers one by one
        batched = False
    if batched:
        return lambda x: np.asarray(f(x), dtype=float)
    return lambda x: np.stack([_one(f, each, d, n) for each in x]) if len(x) else np.zeros_like(x)


def _one(f: Callable[[Any], Any], x: Float[np.ndarray, "d n"], d: int, n: int) -> Float[np.ndarray, "d n"]:
    """The value of one sequence, given alone or, if that does not work, as a batch of one."""
    for given in (x, x[None]):
        try:
            value = np.asarray(f(given.copy()), dtype=float)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            continue
        if value.shape == given.shape:
            if not np.isfinite(value).all():
                raise InputError(f"the function gives {value.tolist()} for {x.tolist()}: it must be finite on [0, 1)")
            return value.reshape(d, n)
        said = f"it gives the shape {list(value.shape)} for {list(given.shape)}"
    raise InputError(f"the function must take and give arrays [batch, {d}, {n}], or [{d}, {n}]: {said}")


@dataclass(frozen=True)
class Distance:
    """d_p of two functions, estimated on random sequences: the value, and the half-width of its 95 % interval."""

    value: float
    error: float


def distance(f: Function, g: Function, d: int, n: int, p: float = 2.0, samples: int = 4000, seed: int = 0) -> Distance:
    """d_p(f, g) = (∫ ‖f(X) − g(X)‖_p^p dX)^{1/p} over [0, 1)^{d×n}."""
    if not 1 <= p < np.inf:
        raise InputError(f"p is a number from 1 on, and finite; not {p!r}")
    x = np.random.default_rng(seed).random((whole_number(samples, "the number of samples", least=2), d, n))
    powers = (np.abs(f(x) - g(x)) ** p).sum(axis=(1, 2))
    mean, deviation = float(powers.mean()), float(powers.std(ddof=1)) / samples**0.5
    if mean == 0:
        return Distance(0.0, 0.0)
    return Distance(mean ** (1 / p), 1.96 * deviation * mean ** (1 / p - 1) / p)


@dataclass(frozen=True)
class Counterexample:
    """A sequence and an order of its columns where f(XP) is not f(X)P."""

    x: Float[np.ndarray, "d n"]
    order: tuple[int, ...]


def order_matters(f: Function, d: int, n: int, tries: int = 200, seed: int = 0) -> Counterexample | None:
    """A counterexample to f(XP) = f(X)P, if random sequences show one."""
    rng = np.random.default_rng(seed)
    x = rng.random((tries, d, n))
    orders = rng.permuted(np.tile(np.arange(n), (tries, 1)), axis=1)
    moved = np.take_along_axis(f(np.take_along_axis(x, orders[:, None], axis=2)), np.argsort(orders)[:, None], axis=2)
    wrong = np.abs(moved - f(x)).max(axis=(1, 2)) > 1e-9  # sums in another order are rounded otherwise
    if not wrong.any():
        return None
    i = int(wrong.argmax())
    return Counterexample(x[i], tuple(orders[i].tolist()))


def is_equivariant(f: Callable[[Any], Any], d: int, n: int) -> tuple[bool, Counterexample | None]:
    """Whether the order of columns makes no difference, as far as random sequences show, and if it does, where."""
    found = order_matters(checked(f, d, n), d, n)
    return found is None, found


def run(model: Transformer, x: Sequences) -> Sequences:
    """A model of vectors as a function of arrays [batch, d, n]."""
    with torch.no_grad():
        columns = torch.from_numpy(np.ascontiguousarray(x.transpose(0, 2, 1)))
        value: Sequences = model(columns).numpy().transpose(0, 2, 1)
        return value
