"""Sentences in batches, whatever the model: each once, of one length, and counted without what is not text."""

import numpy as np
import torch

from glassformer.instruments.layers import LayerVectors
from glassformer.instruments.text_model import TextModel


def cut(sentences: list[str], longest: int) -> list[list[int]]:
    return [[ord(letter) for letter in sentence[:longest]] for sentence in sentences]


MODEL = TextModel(
    "letters", LayerVectors(("1",), lambda tokens: [tokens[..., None].float()]), cut, 9, 128, frozenset({42}), ""
)
SENTENCES = ["one", "two", "three", "*", "", "a sentence that is too long", "four", "five", "six"] * 30


def test_sentences_come_in_batches_of_one_length_each_once() -> None:
    batches = list(MODEL.batches(iter(SENTENCES), size=8))
    assert max(len(batch) for batch in batches) == 8
    seen = ["".join(map(chr, row)) for batch in batches for row in batch.tolist()]
    assert sorted(seen) == sorted(sentence[:9] for sentence in SENTENCES if sentence)


def test_a_smaller_bound_cuts_earlier() -> None:
    assert max(batch.shape[1] for batch in MODEL.batches(SENTENCES, longest=4)) == 4


def test_special_tokens_are_not_counted_and_not_ordinary() -> None:
    counts = MODEL.counts([torch.tensor([[42, 65], [65, 66]])])
    assert (counts[42], counts[65], counts[66], counts.sum()) == (0, 2, 1, 3)
    assert MODEL.ordinary.tolist() == [token for token in range(128) if token != 42]
    assert np.issubdtype(MODEL.ordinary.dtype, np.integer)
