"""Functions of sequences: some with names, any that a user gives, how far two are apart, and whether order matters.

A function takes and gives arrays [batch, d, n]: in each a sequence of n columns of d rows, with entries in [0, 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Integer

from glassformer.errors import InputError, finite_number, whole_number
from glassformer.messages import Message, verbatim
from glassformer.nn import Transformer

Sequences: TypeAlias = Float[np.ndarray, "batch d n"]
Function: TypeAlias = Callable[[Sequences], Sequences]
AT_ONCE: Final = 1024
"""Sequences that a model computes together."""
LARGEST_P: Final = 16


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
"""The first three do not care for the order of columns; the others do, and need positions.

(But for sequences of two columns, which `shift` and `reverse` swap: that is the same in any order.)
"""


def function_of(f: str | Callable[[Any], Any], d: int, n: int) -> Function:
    """The function of this name, or the given one, with sequences of d rows and n columns."""
    d, n = whole_number(d, "d", least=1), whole_number(n, "n", least=1)
    if isinstance(f, str):
        if f not in FUNCTIONS:
            raise InputError("universal.no_function", function=f, functions=list(FUNCTIONS))
        return FUNCTIONS[f]
    return checked(f, d, n)


def name_of(f: str | Callable[[Any], Any]) -> str:
    """What to call a function."""
    return f if isinstance(f, str) else getattr(f, "__name__", type(f).__name__)


def checked(f: Callable[[Any], Any], d: int, n: int) -> Function:
    """A function that gives finite sequences for a batch, or is refused; one of single [d, n] is asked for each.

    It may be both, if both agree: with axes from the end, as in x[..., ::-1] and axis=-1, it always does.
    """
    some = np.random.default_rng(0).random((3, d, n))
    together, why = _attempted(f, some)
    singly = [_attempted(f, some[i : i + 1])[0] for i in range(len(some))]
    alone = [_attempted(f, each)[0] for each in some]
    is_of_batches = together is not None and all(
        one is not None and np.allclose(one[0], of_all) for one, of_all in zip(singly, together, strict=True)
    )
    is_of_one = all(value is not None for value in alone)
    if is_of_batches and is_of_one and not np.allclose(together, alone):
        raise InputError("universal.means_two_things", d=d, n=n)
    if is_of_batches:
        return partial(_value, f)
    if is_of_one:
        return lambda x: np.stack([_value(f, each) for each in x]) if len(x) else np.zeros_like(x)
    if together is not None:
        why = Message("universal.depends_on_the_batch")
    raise InputError("universal.no_function_of_sequences", d=d, n=n, why=why)


def _attempted(f: Callable[[Any], Any], x: Any) -> tuple[Any, Message]:
    """The value, if there is one; and if not, why. What is not finite is wrong in any case."""
    try:
        return _value(f, x), verbatim("")
    except NotFiniteError:
        raise
    except Exception as error:
        return None, error.message if isinstance(error, InputError) else verbatim(f"{type(error).__name__}: {error}")


def _value(f: Callable[[Any], Any], x: Any) -> Any:
    """The value, of the right shape and finite; the function may change its own copy of x."""
    value = np.asarray(f(x.copy()))
    shapes = {"given": str(list(value.shape)), "asked": str(list(x.shape))}
    if value.dtype.kind not in "fiub":
        raise InputError("universal.gives_dtype", dtype=str(value.dtype), **shapes)
    if value.shape != x.shape:
        raise InputError("universal.gives_shape", **shapes)
    if not np.isfinite(value).all():
        where = tuple(np.argwhere(~np.isfinite(value))[0].tolist())
        wrong = float(value[where])
        if x.size > 100:
            raise NotFiniteError("universal.not_finite", value=wrong)
        shown = str(x.round(4).tolist())
        raise NotFiniteError("universal.not_finite_at", value=wrong, where=str(where), x=shown)
    return value.astype(float)


class NotFiniteError(InputError):
    """A function that has no value somewhere."""


@dataclass(frozen=True)
class Distance:
    """d_p of two functions, estimated on random sequences: the value, and the half-width of its 95 % interval."""

    value: float
    error: float


def distance(
    f: str | Callable[[Any], Any],
    g: str | Callable[[Any], Any],
    d: int,
    n: int,
    p: float = 2.0,
    samples: int = 4000,
    seed: int = 0,
) -> Distance:
    """d_p(f, g) = (∫ ‖f(X) − g(X)‖_p^p dX)^{1/p} over [0, 1)^{d×n}."""
    return estimated_distance(function_of(f, d, n), function_of(g, d, n), d, n, p, samples, seed)


def estimated_distance(f: Function, g: Function, d: int, n: int, p: float, samples: int, seed: int) -> Distance:
    """The same for functions that are checked already."""
    check_measure(p, samples, seed)
    x = np.random.default_rng(seed).random((samples, d, n))
    errors = np.abs(f(x) - g(x))
    largest = float(errors.max())
    if largest == 0:
        return Distance(0.0, 0.0)
    powers = ((errors / largest) ** p).sum(axis=(1, 2))
    mean, deviation = float(powers.mean()), float(powers.std(ddof=1)) / samples**0.5
    return Distance(largest * mean ** (1 / p), largest * 1.96 * deviation * mean ** (1 / p - 1) / p)


def check_measure(p: float, samples: int, seed: int) -> None:
    """Refuse what no distance is measured with; for a large p a few sequences would decide, and no interval hold."""
    if not 1 <= finite_number(p, "p", least=1) <= LARGEST_P:
        raise InputError("universal.p", most=LARGEST_P, p=p)
    whole_number(samples, "universal.samples", least=2)
    whole_number(seed, "compiler.seed", least=0)


@dataclass(frozen=True)
class Counterexample:
    """A sequence and an order of its columns where f(XP) is not f(X)P."""

    x: Float[np.ndarray, "d n"]
    order: tuple[int, ...]


def order_matters(f: Function, d: int, n: int, tries: int = 200, seed: int = 0) -> Counterexample | None:
    """A counterexample to f(XP) = f(X)P, if random sequences show one."""
    rng = np.random.default_rng(seed)
    orders = rng.permuted(np.tile(np.arange(n), (tries, 1)), axis=1)
    return counterexample(f, rng.random((tries, d, n)), orders)


def counterexample(f: Function, x: Sequences, orders: Integer[np.ndarray, "batch n"]) -> Counterexample | None:
    """The first of some sequences for which f(XP) is not f(X)P, each with its own order P."""
    moved = np.take_along_axis(f(np.take_along_axis(x, orders[:, None], axis=2)), np.argsort(orders)[:, None], axis=2)
    value = f(x)
    rounding = 1e-9 * np.abs(value).max()  # sums in another order are rounded otherwise
    wrong = np.abs(moved - value).max(axis=(1, 2)) > rounding
    if not wrong.any():
        return None
    i = int(wrong.argmax())
    return Counterexample(x[i], tuple(orders[i].tolist()))


def is_equivariant(f: str | Callable[[Any], Any], d: int, n: int) -> tuple[bool, Counterexample | None]:
    """Whether the order of columns makes no difference, as far as random sequences show, and if it does, where."""
    found = order_matters(function_of(f, d, n), d, n)
    return found is None, found


def sequences_of(x: Any, d: int, n: int) -> Sequences:
    """Sequences as they should be, or what is wrong with them."""
    try:
        sequences: Sequences = np.asarray(x, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError("universal.sequences_not_numbers", d=d, n=n, why=str(error)) from None
    if not np.isfinite(sequences).all():
        raise InputError("universal.sequences_not_finite", d=d, n=n, shape=str(list(sequences.shape)))
    if sequences.ndim != 3 or sequences.shape[1:] != (d, n):
        raise InputError("universal.sequences_shape", d=d, n=n, shape=str(list(sequences.shape)))
    return sequences


def run(model: Transformer, x: Any) -> Sequences:
    """A model of vectors as a function of arrays [batch, d, n]."""
    given = sequences_of(x, model.config.width, model.config.context)
    columns = torch.from_numpy(np.ascontiguousarray(given.transpose(0, 2, 1))).to(model.dtype)
    with torch.no_grad():
        value: Sequences = torch.cat([model(part) for part in columns.split(AT_ONCE)]).numpy().transpose(0, 2, 1)
    return value
