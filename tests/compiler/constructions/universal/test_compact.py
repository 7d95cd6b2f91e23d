"""Few wide blocks compute the same values as many small ones, and keep sequences with a column twice."""

import numpy as np
import pytest

from glassformer.compiler.constructions.universal import FUNCTIONS, approximate, compact
from glassformer.errors import InputError


@pytest.mark.parametrize("units", [4, 16, 200])
@pytest.mark.parametrize(
    ("name", "d", "n", "cells"),
    [
        ("centre", 1, 2, 4),
        ("mix", 2, 2, 4),
        ("gate", 1, 3, 4),
        ("sort", 1, 2, 8),
        ("reverse", 1, 3, 4),
        ("prefix-sum", 2, 2, 4),
        ("centre", 1, 1, 8),
        ("shift", 3, 2, 2),
    ],
)
def test_every_sequence_gets_the_value_of_its_cell(name: str, d: int, n: int, cells: int, units: int) -> None:
    built = compact(name, d, n, 1 / cells, units, samples=300)
    assert built.grid_error < 1e-6  # steep pieces between near ids: rounding times their slope
    x = np.random.default_rng(5).random((300, d, n))
    if n > 1:
        x[:100, :, 1] = x[:100, :, 0]  # a column twice is no exception
    target = FUNCTIONS[name]((np.floor(x * cells) + 0.5) / cells)
    assert np.abs(built(x) - target).max() < 1e-6
    assert {(block.heads, block.head_width, block.mlp) for block in built.model.config.blocks} == {(1, 1, (units,))}


@pytest.mark.usefixtures("types_unchecked")
def test_wider_blocks_are_fewer_blocks() -> None:
    small = approximate("mix", 2, 2, 1 / 8, positions=False, samples=100).certificate
    wide = [compact("mix", 2, 2, 1 / 8, units, samples=1000) for units in (64, 1024, 5000)]
    assert [built.blocks for built in wide] == [67, 7, 4]
    assert all(built.distance < small.distance for built in wide)
    assert small.blocks >= 100 * wide[1].blocks


def test_what_has_too_many_ids_or_too_few_units_is_refused() -> None:
    with pytest.raises(InputError, match="ids are too many"):
        compact("sort", 2, 3, 1 / 8)
    with pytest.raises(InputError, match="number of units is a whole number from 4 on"):
        compact("sort", 1, 2, 1 / 4, units=3)
