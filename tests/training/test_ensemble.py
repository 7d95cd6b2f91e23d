"""Toys of superposition: trained together as they would be alone, in the shapes that are known."""

import pytest
import torch

from glassformer.errors import InputError
from glassformer.training import ensemble
from glassformer.training.ensemble import Toy, TrainedToy, train


def test_gradients_are_those_of_autograd() -> None:
    toys = [Toy(6, 3, 0.5), Toy(4, 2, 0.8, decay=0.5)]
    batch = ensemble._Batch(toys, [0, 1])
    draw = torch.rand(6, 32)
    (of_weights, of_biases), _ = batch.gradients(draw)
    W, b = batch.W.clone().requires_grad_(), batch.b.clone().requires_grad_()
    x = torch.where(draw * batch.inverse_density < 1, draw * batch.inverse_density, 0.0)
    loss = (batch.importance * (torch.relu(W.mT @ (W @ x) + b) - x) ** 2).sum(1).mean(1).sum()
    loss.backward()
    torch.testing.assert_close((of_weights, of_biases), (W.grad, b.grad))


def test_a_toy_comes_out_as_it_would_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    toys = [Toy(8, 3, 0.7), Toy(5, 2, 0.9), Toy(20, 4, 0.5)]
    together = train(toys, steps=50, samples=32)
    monkeypatch.setattr(ensemble, "NUMBERS_AT_ONCE", 1)
    for one, other in zip(train(toys, steps=50, samples=32), together, strict=True):
        assert one.toy == other.toy
        torch.testing.assert_close(one.W, other.W, atol=1e-4, rtol=1e-3)  # float32 sums in another order, 50 times


def test_five_sparse_features_in_two_dimensions_make_a_pentagon() -> None:
    for toy in train([Toy(5, 2, 0.9)] * 4, steps=2500, samples=64):
        torch.testing.assert_close(toy.dimensionality, torch.full((5,), 0.4), atol=0.01, rtol=0)


def test_the_mean_dimensionality_is_hidden_by_features_whatever_the_shape() -> None:
    (toy,) = train([Toy(30, 4, 0.8)], steps=1500, samples=64)
    assert float(toy.dimensionality.sum()) == pytest.approx(4, abs=0.1)


def test_dimensionality_of_known_shapes() -> None:
    angles = torch.arange(5) * 2 * torch.pi / 5
    pentagon = torch.stack([angles.cos(), angles.sin()])
    opposite = torch.tensor([[1.0, -1.0, 0.0], [0.0, 0.0, 0.001]])
    toy = Toy(5, 2, 0.9)
    assert TrainedToy(toy, pentagon, torch.zeros(5), 0.0).dimensionality.tolist() == pytest.approx([0.4] * 5)
    assert TrainedToy(toy, opposite, torch.zeros(3), 0.0).dimensionality.tolist() == pytest.approx([0.5, 0.5, 0.0])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"features": 0}, "number of features"),
        ({"hidden": 0}, "hidden numbers"),
        ({"sparsity": 1.0}, "below 1"),
        ({"decay": 0.0}, "above 0"),
    ],
)
def test_toys_that_cannot_be_are_named(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Toy(**{"features": 5, "hidden": 2, "sparsity": 0.5, **wrong})  # type: ignore[arg-type]


def test_training_that_cannot_be_is_refused_with_an_estimate() -> None:
    with pytest.raises(InputError, match=r"1,000,000 features and 100,000 hidden .* GiB; the limit is 2 GiB"):
        train([Toy(10**6, 10**5, 0.5)], steps=1)
    with pytest.raises(InputError, match="number of steps"):
        train([Toy(5, 2, 0.5)], steps=0)
    with pytest.raises(InputError, match="number of samples"):
        train([Toy(5, 2, 0.5)], samples=0)


def test_progress_is_reported_within_a_batch_and_at_the_end() -> None:
    reported: list[tuple[int, int]] = []
    train([Toy(5, 2, 0.5)] * 4, steps=8, samples=4, progress=lambda done, of: reported.append((done, of)))
    assert reported == [(done, 4) for done in (0, 1, 1, 2, 2, 3, 3, 4)]
