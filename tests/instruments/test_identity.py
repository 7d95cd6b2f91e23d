"""Equally many vectors of each token, and what they tell about it."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments.identity import ABSENT, frequent, gather, information_by_layer
from glassformer.instruments.layers import LayerVectors

TABLE = torch.randn(12, 8, generator=torch.Generator().manual_seed(0)) * 5


def known(tokens: Tensor) -> list[Tensor]:
    """A layer that tells the token, one that tells its parity, one that tells nothing."""
    noise = torch.randn(*tokens.shape, 8, generator=torch.Generator().manual_seed(int(tokens.sum())))
    return [TABLE[tokens] + 0.1 * noise, TABLE[tokens % 2] + 0.1 * noise, noise]


LAYERS = LayerVectors(("embedding", "1", "2"), known)


def batches(count: int) -> Iterator[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        tokens = torch.randint(0, 12, (10, 9), generator=generator)
        yield tokens, tokens


def test_so_many_vectors_of_each_token_are_gathered_and_no_more_is_read() -> None:
    read = 0

    def counted() -> Iterator[tuple[Tensor, Tensor]]:
        nonlocal read
        for batch in batches(1000):
            read += 1
            yield batch

    sample = gather(LAYERS, counted(), [3, 5, 7], each=40)
    assert np.bincount(sample.labels).tolist() == [40, 40, 40]
    assert 4 < read < 20
    assert all(vectors.shape == (120, 8) for vectors in sample.vectors.values())
    nearest = np.array([3, 5, 7])[sample.labels]
    assert np.abs(sample.vectors["embedding"] - TABLE.numpy()[nearest]).max() < 1  # five standard deviations, and more
    assert set(sample.places) <= set(range(9))


def test_what_layers_tell_is_found() -> None:
    sample = gather(LAYERS, batches(200), list(range(12)), each=100)
    found = information_by_layer(sample, clusters=40)
    assert found["embedding"].bits == pytest.approx(np.log2(12), abs=0.05)
    assert found["1"].bits == pytest.approx(1.0, abs=0.1)
    assert found["2"].bits == pytest.approx(0.0, abs=0.1)


def test_positions_without_a_label_are_left_out() -> None:
    def half() -> Iterator[tuple[Tensor, Tensor]]:
        for tokens, labels in batches(20):
            yield tokens, torch.where(torch.arange(9) % 2 == 0, labels, ABSENT)

    assert set(gather(LAYERS, half(), list(range(12)), each=10).places) == {0, 2, 4, 6, 8}
    with pytest.raises(InputError, match="none of these tokens"):
        gather(LAYERS, batches(2), [99], each=10)


def test_frequent_tokens_are_those_that_come_often_enough() -> None:
    counts = np.array([1000, 5, 50, 70, 60])
    assert frequent(counts, most=2, each=50) == [0, 3]
    assert frequent(counts, most=9, each=50) == [0, 3, 4, 2]
    with pytest.raises(InputError, match="fewer than two tokens come 900 times"):
        frequent(counts, most=2, each=900)
