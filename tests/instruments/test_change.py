"""Change from layer to layer, and the influence of a token, where the answer is known."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments.change import by_frequency, by_place, change, influence
from glassformer.instruments.layers import LayerBatch, LayerVectors, layers_of, seen
from glassformer.messages import verbatim
from glassformer.nn import Config, Transformer

VOCAB, WIDTH = 40, 6
TABLE = torch.randn(VOCAB, WIDTH, generator=torch.Generator().manual_seed(0))


def batches(count: int = 30) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(1)
    for i in range(count):
        yield torch.randint(0, VOCAB, (8, 5 + i % 3), generator=generator)


def known(tokens: Tensor) -> list[Tensor]:
    """An embedding; the same turned; the mean of the sentence added; noise that has nothing to do with it."""
    x = TABLE[tokens]
    turned = x.flip(-1) * 2 + 1
    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(int(tokens.sum())))
    return [x, turned, turned + turned.mean(dim=1, keepdim=True), noise]


LAYERS = LayerVectors(("embedding", "1", "2", "3"), known)


def test_a_turn_changes_nothing_a_little_mixing_little_and_noise_everything() -> None:
    found = change(LAYERS, batches())
    assert [(each.before, each.after) for each in found] == [("embedding", "1"), ("1", "2"), ("2", "3")]
    distances = [each.distance for each in found]
    assert distances[0] == pytest.approx(0, abs=1e-6)  # float32 vectors
    assert distances[1] is not None
    assert distances[2] is not None
    assert 0.01 < distances[1] < 0.3
    assert distances[2] > 0.9
    assert {each.samples for each in found} == {sum(batch.numel() for batch in batches())}


def test_groups_are_looked_at_apart_and_small_ones_not_at_all() -> None:
    names = verbatim("even"), verbatim("seven")

    def group(batch: LayerBatch) -> np.ndarray:
        return np.where(batch.tokens == 7, 1, np.where(batch.tokens % 2 == 0, 0, -1))

    found = change(LAYERS, batches(), names, group)
    assert {each.group for each in found} == set(names)
    assert all((each.distance is None) == (str(each.group) == "seven") for each in found)
    even = sum(int((batch % 2 == 0).sum()) for batch in batches())
    assert {each.samples for each in found if str(each.group) == "even"} == {even}


def test_frequency_parts_the_text_into_equal_shares() -> None:
    counts = np.array([10, 1, 1, 1, 1, 6, 0, 0])
    names, group = by_frequency(counts, parts=2)
    batch = LayerBatch(np.arange(8), np.zeros(8, dtype=int), [])
    assert group(batch).tolist() == [0, 1, 1, 1, 1, 1, -1, -1]
    assert (*map(str, names),) == ("10 times", "1 to 6 times")


def test_groups_by_frequency_do_not_overlap() -> None:
    counts = np.array([40, 20, 20, 20, 20, 20, 20, 5, 5, 5, 5, 1, 1, 0])
    names, group = by_frequency(counts, parts=4)
    found = group(LayerBatch(np.arange(len(counts)), np.zeros(len(counts), dtype=int), []))
    assert all(len(set(found[counts == each])) == 1 for each in set(counts.tolist()))
    assert (*map(str, names),) == ("40 times", "0 times", "20 times", "1 to 5 times")


def test_places_are_grouped_between_edges() -> None:
    names, group = by_place((1, 2, 4))
    assert (*map(str, names),) == ("1", "2 to 3", "4 to …")
    assert group(LayerBatch(np.zeros(6, dtype=int), np.arange(6), [])).tolist() == [-1, 0, 1, 1, 2, 2]
    _, but_special = by_place((0, 2), special=frozenset({7}))
    assert but_special(LayerBatch(np.array([7, 1, 1, 7]), np.arange(4), [])).tolist() == [-1, 0, 1, -1]


def test_influence_is_none_where_tokens_stand_alone_and_some_where_they_mix() -> None:
    found = influence(LAYERS, batches(), np.arange(VOCAB))
    assert [each.layer for each in found] == list(LAYERS.names)
    for alone in found[:2]:
        assert max(alone.replaced, alone.dropped, alone.near) < 1e-6  # rounding of a cosine in float32
    assert found[2].replaced > 0.001
    assert found[2].dropped > 0.001
    assert found[2].near == pytest.approx(found[2].replaced, rel=0.1)  # a mean knows no neighbours


def test_influence_is_never_below_nothing() -> None:
    def alike(tokens: Tensor) -> list[Tensor]:
        return [torch.full((*tokens.shape, 3), 0.3)]  # whose cosine is above 1 in float32

    (found,) = influence(LayerVectors(("1",), alike), batches(), np.arange(VOCAB))
    assert min(found.replaced, found.dropped, found.near) >= 0


def test_neighbours_are_told_from_the_others() -> None:
    def to_the_right(tokens: Tensor) -> list[Tensor]:
        x = TABLE[tokens]
        return [x + torch.nn.functional.pad(x, (0, 0, 1, 0))[:, :-1]]

    (found,) = influence(LayerVectors(("1",), to_the_right), batches(), np.arange(VOCAB))
    assert found.near > 2 * found.replaced > 0


def test_a_causal_model_is_moved_only_behind_the_token() -> None:
    model = Transformer(Config.uniform(vocab=VOCAB, outputs=3, context=8, width=8, layers=2, heads=2, norm="layer"))
    layers = layers_of(model)
    assert layers.names == ("embedding", "1", "2")
    tokens = next(batches())
    other = tokens.clone()
    other[:, 3] = (other[:, 3] + 1) % VOCAB
    for before, after in zip(layers.run(tokens), layers.run(other), strict=True):
        assert torch.equal(before[:, :3], after[:, :3])
        assert not torch.equal(before[:, 3], after[:, 3])


def test_vectors_are_those_of_the_trace() -> None:
    model = Transformer(Config.uniform(vocab=VOCAB, outputs=3, context=8, width=8, layers=2, heads=2))
    tokens = next(batches())
    (batch,) = seen(layers_of(model), [tokens])
    trace = model.trace(tokens, ["blocks.0.hook_resid_pre", "blocks.1.hook_resid_post"])
    assert np.array_equal(batch.vectors[0], trace["blocks.0.hook_resid_pre"].flatten(0, 1).numpy())
    assert np.array_equal(batch.vectors[2], trace["blocks.1.hook_resid_post"].flatten(0, 1).numpy())
    assert batch.tokens.tolist() == tokens.flatten().tolist()
    assert batch.places[:6].tolist() == [0, 1, 2, 3, 4, 0]


def test_vectors_that_are_not_finite_are_refused() -> None:
    broken = LayerVectors(("1", "2"), lambda tokens: [TABLE[tokens], TABLE[tokens] / (tokens != 3)[..., None]])
    with pytest.raises(InputError, match="some of the vectors are not finite"):
        influence(broken, batches(), np.arange(VOCAB))
    with pytest.raises(InputError, match="some of the vectors are not finite"):
        list(seen(broken, batches()))


def test_nothing_to_look_at_is_told() -> None:
    with pytest.raises(InputError, match="no text"):
        change(LAYERS, [])
    with pytest.raises(InputError, match="four tokens"):
        influence(LAYERS, [torch.zeros(2, 3, dtype=torch.long)], np.arange(VOCAB))
