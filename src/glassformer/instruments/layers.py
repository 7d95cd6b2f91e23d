"""The vectors of every layer, batch by batch: what instruments for text look at, whatever model they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from glassformer.errors import InputError
from glassformer.nn import Transformer

Tokens: TypeAlias = Int[Tensor, "sentence pos"]
Vectors: TypeAlias = Float[np.ndarray, "_ _"]


@dataclass(frozen=True)
class LayerVectors:
    """The names of the layers, and what gives the vectors of each [sentence, pos, width] for tokens."""

    names: tuple[str, ...]
    run: Callable[[Tokens], list[Tensor]]


@dataclass(frozen=True)
class LayerBatch:
    """One batch, position after position: tokens, where they stand, and each layer's vectors of them."""

    tokens: Integer[np.ndarray, " sample"]
    places: Integer[np.ndarray, " sample"]
    vectors: list[Vectors]


def layers_of(model: Transformer) -> LayerVectors:
    """The residual stream: what enters the first block, and what leaves each."""
    last, known = range(len(model.config.blocks)), set(model.hook_names)
    leaving = [[f"blocks.{i}.{name}" for name in ("hook_normalized_resid_post", "hook_resid_post")] for i in last]
    hooks = ["blocks.0.hook_resid_pre", *(normed if normed in known else plain for normed, plain in leaving)]

    def run(tokens: Tokens) -> list[Tensor]:
        trace = model.trace(tokens, hooks)
        return [trace[name] for name in hooks]

    return LayerVectors(("embedding", *(str(i + 1) for i in last)), run)


def refuse_infinite(*vectors: Float[np.ndarray, "..."] | Float[Tensor, "..."]) -> None:
    """Raise if vectors are NaN or infinite."""
    for each in vectors:
        finite = each.isfinite() if isinstance(each, Tensor) else np.isfinite(each)
        if not finite.all():
            raise InputError("instruments.not_finite")


def seen(layers: LayerVectors, batches: Iterable[Tokens]) -> Iterator[LayerBatch]:
    """All batches, one after the other; nothing is kept."""
    for tokens in batches:
        with torch.no_grad():
            vectors = [value.flatten(0, 1).float().numpy() for value in layers.run(tokens)]
        refuse_infinite(*vectors)
        places = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
        yield LayerBatch(tokens.numpy().ravel(), places.ravel(), vectors)
