"""A model that reads text, whoever made it: its layers, and how it cuts sentences into tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import numpy as np
import torch
from jaxtyping import Integer

from glassformer.instruments.layers import LayerVectors, Tokens

CUT_AT_ONCE: Final = 1000
"""Sentences that are cut into tokens together."""

Encode: TypeAlias = Callable[[list[str], int], list[list[int]]]
"""Sentences to tokens, at most so many of each."""


@dataclass(frozen=True)
class TextModel:
    """The layers of a model, and its tokeniser."""

    name: str
    layers: LayerVectors
    encode: Encode
    longest: int
    """The most tokens that the model takes."""
    vocab: int
    special: frozenset[int]
    """Tokens that do not stand for text."""
    tokeniser: str
    """Equal for equal tokenisers."""

    def batches(self, sentences: Iterable[str], longest: int | None = None, size: int = 64) -> Iterator[Tokens]:
        """Sentences in tokens, in batches of one length each, in about the order in which they come."""
        waiting: dict[int, list[list[int]]] = {}
        coming = iter(sentences)
        while part := list(islice(coming, CUT_AT_ONCE)):
            for ids in filter(None, self.encode(part, longest or self.longest)):
                group = waiting.setdefault(len(ids), [])
                group.append(ids)
                if len(group) == size:
                    yield torch.tensor(waiting.pop(len(ids)))
        yield from map(torch.tensor, waiting.values())

    def counts(self, batches: Iterable[Tokens]) -> Integer[np.ndarray, " token"]:
        """How often each token comes; tokens that do not stand for text are not counted."""
        found = np.zeros(self.vocab, dtype=int)
        for batch in batches:
            found += np.bincount(batch.numpy().ravel(), minlength=self.vocab)
        found[list(self.special)] = 0
        return found

    @property
    def ordinary(self) -> Integer[np.ndarray, " token"]:
        """The tokens that stand for text."""
        return np.array([token for token in range(self.vocab) if token not in self.special])
