"""Training on continuous functions."""

from dataclasses import replace

import numpy as np
import pytest

from glassformer.nn import BlockShape
from glassformer.training.fitting import Recipe, fit_function

BLOCK = BlockShape(2, 4, (8,))
SMALL = Recipe(d=2, n=3, width=8, blocks=(BLOCK,) * 2, steps=60, batch=64)


def halved(x: np.ndarray) -> np.ndarray:
    return x / 2


def test_training_comes_closer_and_tells_the_error_on_the_way() -> None:
    steps: list[int] = []
    fitted = fit_function(halved, SMALL, look_at=(1, 30), progress=lambda step, of: steps.append(step))
    assert list(fitted.errors) == [1, 30, 60]
    assert fitted.error == fitted.errors[60] < fitted.errors[1] / 4
    assert steps == list(range(1, 61))
    x = np.random.default_rng(5).random((4000, 2, 3))
    again = np.sqrt(np.square(fitted(x) - halved(x)).sum(axis=(1, 2)).mean())
    assert again == pytest.approx(fitted.error, rel=0.2)  # other sequences


def test_the_same_seed_trains_the_same_model() -> None:
    assert fit_function(halved, SMALL).errors == fit_function(halved, SMALL).errors
    assert fit_function(halved, SMALL).errors != fit_function(halved, replace(SMALL, seed=1)).errors


def test_shared_blocks_have_the_parameters_of_one() -> None:
    one, shared = (replace(SMALL, steps=2, **changed) for changed in ({"blocks": (BLOCK,)}, {"shared": True}))
    assert (
        fit_function(halved, shared).parameters
        == fit_function(halved, one).parameters
        < fit_function(halved, SMALL).parameters
    )


def test_a_model_as_wide_as_the_columns_reads_them_as_they_are() -> None:
    fitted = fit_function(halved, replace(SMALL, width=2, steps=1))
    assert np.allclose(fitted.module.W_read.detach().numpy(), np.eye(2), atol=0.01)  # one small step
