"""Dictionaries on features that are known, and their files."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from glassformer.documents.inside.superposition import known_features
from glassformer.errors import InputError
from glassformer.instruments import dictionary
from glassformer.instruments.dictionary import (
    Dictionary,
    DictionaryConfig,
    bits_in,
    feature_recovery,
    load_dictionary,
    quality,
    save_dictionary,
    train_dictionary,
)

KNOWN = known_features(20, 8)
SPARSE = DictionaryConfig(8, 20, "standard", l1=0.3)
Fitted = Callable[[DictionaryConfig], Dictionary]


@pytest.fixture(scope="module")
def vectors() -> torch.Tensor:
    chance = torch.Generator().manual_seed(1)
    amounts = torch.rand(5000, 20, generator=chance) * (torch.rand(5000, 20, generator=chance) < 0.05)
    return amounts @ KNOWN


@pytest.fixture(scope="module")
def fitted(vectors: torch.Tensor) -> Fitted:
    """The dictionary of a config, fitted once."""
    return cache(lambda config: train_dictionary(vectors, config, steps=1200))


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.parametrize("config", [DictionaryConfig(8, 20, "topk", k=1), SPARSE], ids=lambda s: s.kind)
def test_sparse_features_are_recovered(vectors: torch.Tensor, fitted: Fitted, config: DictionaryConfig) -> None:
    found = fitted(config)
    assert feature_recovery(found, KNOWN).recovered > 0.8
    assert feature_recovery(found, known_features(20, 8, seed=5)).recovered < 0.5  # others are not
    assert quality(found, vectors).explained > 0.6


@pytest.mark.usefixtures("types_unchecked")
def test_reconstruction_is_not_recovery(vectors: torch.Tensor, fitted: Fitted) -> None:
    sparse, dense = fitted(SPARSE), fitted(replace(SPARSE, l1=0.0))
    assert quality(dense, vectors).explained > quality(sparse, vectors).explained
    assert feature_recovery(dense, KNOWN).mean_max_cosine < feature_recovery(sparse, KNOWN).mean_max_cosine


def test_only_the_largest_features_are_active(vectors: torch.Tensor) -> None:
    active = Dictionary(DictionaryConfig(8, 20, "topk", k=3)).encode(vectors)
    assert int((active > 0).sum(1).max()) <= 3


def test_bits_are_columns_that_are_sometimes_0_and_sometimes_1() -> None:
    vectors = torch.tensor([[0, 1, 0.5, 1, 0], [1, 1, 0.5, 0, 0], [0, 1, 1.0, 1, 0]])
    assert bits_in(vectors).tolist() == [[1, 0, 0, 0, 0], [0, 0, 0, 1, 0]]


@pytest.mark.parametrize("kind", ["topk", "standard"])
def test_a_saved_dictionary_is_read_again(vectors: torch.Tensor, tmp_path: Path, kind: str) -> None:
    made = Dictionary(DictionaryConfig(8, 20, kind, k=2), seed=3)
    save_dictionary(made, tmp_path / "sae", {"hook_name": "blocks.0.hook_resid_post"})
    again = load_dictionary(tmp_path / "sae")
    assert torch.equal(again(vectors)[0], made(vectors)[0])
    config = json.loads((tmp_path / "sae" / "cfg.json").read_text())
    assert (config["architecture"], config["d_in"], config["d_sae"]) == (kind, 8, 20)
    assert config["metadata"]["hook_name"] == "blocks.0.hook_resid_post"


def test_vectors_of_all_heads_are_told_to_be_reshaped(tmp_path: Path) -> None:
    for hook, reshaped in {"blocks.0.attn.hook_z": "hook_z", "blocks.0.hook_resid_post": "none"}.items():
        save_dictionary(Dictionary(DictionaryConfig(8, 20)), tmp_path / hook, {"hook_name": hook})
        assert json.loads((tmp_path / hook / "cfg.json").read_text())["reshape_activations"] == reshaped


def test_what_cannot_be_read_is_named(tmp_path: Path, vectors: torch.Tensor) -> None:
    with pytest.raises(InputError, match="is no folder of a dictionary"):
        load_dictionary(tmp_path / "nothing")
    save_dictionary(Dictionary(DictionaryConfig(8, 20)), tmp_path)
    config = json.loads((tmp_path / "cfg.json").read_text())
    for change, words in {
        "d_sae": (21, r"asks for weights .*21.*, and the file holds"),
        "architecture": ("gated", "standard .* or topk, not 'gated'"),
        "normalize_activations": ("layer_norm", "scale activations"),
        "rescale_acts_by_decoder_norm": (True, "lengths of directions"),
    }.items():
        (tmp_path / "cfg.json").write_text(json.dumps({**config, change: words[0]}))
        with pytest.raises(InputError, match=str(words[1])):
            load_dictionary(tmp_path)
    with pytest.raises(InputError, match=r"vectors \[sample, 9\]; these are \[5000, 8\]"):
        train_dictionary(vectors, DictionaryConfig(9, 20))
    with pytest.raises(InputError, match=r"\[feature, 8\]; these are \[2, 3\]"):
        feature_recovery(Dictionary(DictionaryConfig(8, 20)), torch.zeros(2, 3))


def test_a_dictionary_that_does_not_fit_in_memory_is_refused_with_an_estimate(vectors: torch.Tensor) -> None:
    with pytest.raises(InputError, match=r"100,000,000 features of vectors of 8 numbers.* GiB; the limit is 2 GiB"):
        DictionaryConfig(8, 100_000_000)
    with pytest.raises(InputError, match=r"10,000,000 at once, take some .* GiB"):
        train_dictionary(vectors, SPARSE, samples=10_000_000)
    with pytest.raises(InputError, match="number of steps"):
        train_dictionary(vectors, SPARSE, steps=0)
    with pytest.raises(InputError, match="number of samples"):
        train_dictionary(vectors, SPARSE, samples=0)


def test_the_quality_is_the_same_in_small_batches(
    vectors: torch.Tensor, fitted: Fitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = quality(fitted(SPARSE), vectors)
    monkeypatch.setattr(dictionary, "NUMBERS_AT_ONCE", 700)
    parts = quality(fitted(SPARSE), vectors)
    assert (parts.active, parts.dead) == (whole.active, whole.dead)
    assert parts.explained == pytest.approx(whole.explained, abs=1e-6)  # sums of float32 in another order
