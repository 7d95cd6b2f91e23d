import math

import pytest
import torch

from glassformer.nn import positions
from glassformer.nn.scores import alibi_slopes, turned


def test_sinusoidal_positions_are_the_published_formula() -> None:
    table = positions.sinusoidal_table(50, 8)
    for p in range(50):
        for i in range(4):
            angle = p / 10000 ** (2 * i / 8)
            assert table[p, 2 * i] == pytest.approx(math.sin(angle))
            assert table[p, 2 * i + 1] == pytest.approx(math.cos(angle))


@pytest.mark.parametrize("context", [1, 2, 3, 100, 1025])
def test_dyadic_positions_differ_by_at_least_two_in_the_dot_product(context: int) -> None:
    table = positions.dyadic_table(context)
    products = table @ table.T
    assert torch.allclose(products.diagonal(), torch.full((context,), float(table.shape[1] // 2)).double())
    others = products - 1e9 * torch.eye(context)
    assert context == 1 or others.max() <= table.shape[1] // 2 - 2 + 1e-9  # 1e-9: a few hundred roundings of 1e-16


def test_dyadic_quarter_turns_are_exact() -> None:
    assert positions.dyadic_table(8)[:, :4].tolist() == [
        [1, 0, 1, 0], [-1, 0, 0, 1], [1, 0, -1, 0], [-1, 0, 0, -1],
        [1, 0, 1, 0], [-1, 0, 0, 1], [1, 0, -1, 0], [-1, 0, 0, -1],
    ]  # fmt: skip


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 6).double().expand(2, 12, 6)
    places = torch.arange(12.0)[:, None]
    scores = turned(q, places) @ turned(k, places).T
    for distance in range(5):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal))


def test_alibi_slopes_halve_from_head_to_head() -> None:
    assert alibi_slopes(8).tolist() == [2.0**-i for i in range(1, 9)]
