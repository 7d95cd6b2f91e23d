"""Deep MLPs as blocks of one hidden layer: the same numbers, through columns that are used again."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from glassformer.compiler.pipeline import compile
from glassformer.interop.columns import Affine, unrolled
from glassformer.interop.uniform import uniform_blocks

SIZES = [(4, 5, 6, 3, 4), (4, 20, 3, 18, 18, 2, 4), (4, 3, 4)]


def whole_numbers(sizes: Sequence[int]) -> list[Affine]:
    """Layers of small whole numbers, in which every second unit hands on what the one below it says."""
    chance = torch.Generator().manual_seed(0)
    layers = []
    for k, (a, b) in enumerate(pairwise(sizes)):
        matrix = torch.randint(-2, 3, (a, b), generator=chance).double()
        bias = torch.randint(-3, 4, (b,), generator=chance).double()
        for unit in range(0, min(a, b), 2) if k else ():
            matrix[:, unit], bias[unit] = F.one_hot(torch.tensor(unit), a), 0
        layers.append((matrix, bias))
    return layers


def deep(layers: Sequence[Affine], x: torch.Tensor, act: Any) -> torch.Tensor:
    for matrix, bias in layers[:-1]:
        x = act(x @ matrix + bias)
    return x @ layers[-1][0] + layers[-1][1]


def one_by_one(blocks: Sequence[tuple[Affine, Affine]], x: torch.Tensor, act: Any) -> torch.Tensor:
    """The stream after all blocks, with the columns behind it."""
    stream = F.pad(x, (0, len(blocks[0][1][1]) - x.shape[1]))
    for (w_in, b_in), (w_out, b_out) in blocks:
        stream = stream + act(stream @ w_in + b_in) @ w_out + b_out
    return stream


@pytest.mark.parametrize("sizes", SIZES)
def test_blocks_say_what_the_deep_mlp_says_and_leave_no_trace(sizes: tuple[int, ...]) -> None:
    layers = whole_numbers(sizes)
    x = torch.randint(-3, 4, (50, sizes[0]), generator=torch.Generator().manual_seed(1)).double()
    stream = one_by_one(unrolled(layers, is_relu=True), x, F.relu)
    assert torch.equal(stream[:, : sizes[0]] - x, deep(layers, x, F.relu))
    assert not stream[:, sizes[0] :].any()


@pytest.mark.parametrize("act", [F.relu, F.gelu, F.silu])
def test_any_activation_and_any_numbers_will_do(act: Any) -> None:
    torch.manual_seed(0)
    layers = [(torch.randn(a, b).double(), torch.randn(b).double()) for a, b in pairwise(SIZES[0])]
    x = torch.randn(50, 4).double()
    stream = one_by_one(unrolled(layers, is_relu=act is F.relu), x, act)
    torch.testing.assert_close(stream, F.pad(x + deep(layers, x, act), (0, stream.shape[1] - 4)), rtol=0, atol=1e-12)


def test_columns_are_used_again_and_the_smaller_side_is_kept() -> None:
    wide = unrolled(whole_numbers((4, 20, 3, 18, 18, 2, 4)), is_relu=True)
    assert len(wide[0][1][1]) <= 4 + 18 + 3  # two neighbours at once, not all 61 units
    built = compile("dihedral(4)", 12, "cascade")
    hidden = [size for shape in built.model.config.blocks for size in shape.mlp]
    assert uniform_blocks(built.model).config.width - built.model.config.width <= 2 * max(hidden) < sum(hidden) / 4
