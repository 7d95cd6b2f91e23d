"""One hidden layer, the baseline of universal approximation."""

import numpy as np
import pytest

from glassformer.compiler.constructions.universal import FUNCTIONS, distance, one_hidden_layer
from glassformer.errors import InputError


@pytest.mark.parametrize("name", FUNCTIONS)
def test_more_hidden_units_come_closer(name: str) -> None:
    few, many = one_hidden_layer(name, 1, 3, 4), one_hidden_layer(name, 1, 3, 200)
    assert many.distance + many.distance_error < few.distance / 3


def test_the_error_given_is_that_of_the_network() -> None:
    fitted = one_hidden_layer(lambda x: x**2, 2, 2, 30)
    again = distance(lambda x: x**2, fitted, 2, 2, 2.0, 2000, seed=7)
    assert abs(again.value - fitted.distance) < 2 * (again.error + fitted.distance_error)
    assert fitted.parameters == 4 * 30 + 30 + 31 * 4
    assert fitted(np.zeros((5, 2, 2))).shape == (5, 2, 2)


def test_no_units_are_refused() -> None:
    with pytest.raises(InputError, match="number of units"):
        one_hidden_layer("mix", 1, 2, 0)
