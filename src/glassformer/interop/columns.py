"""An MLP of several hidden layers as blocks of one hidden layer each, which are joined by the stream.

Between two of these blocks stand, in columns that nothing else reads, the activations of the lower layer or the
pre-activations of the upper one, whichever are fewer numbers. A ReLU that only hands on an activation gets no column of
its own. A value has a column for as long as it is live. The last block that reads it writes its negative, c + (−c) = 0,
so that the column is empty when it is given to another value.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

Affine: TypeAlias = tuple[Tensor, Tensor]
"""A matrix [in, out], and a bias."""


class Value(NamedTuple):
    """What a column holds: the activation of a unit of a hidden layer, or its pre-activation."""

    layer: int
    unit: int
    is_pre: bool = False


class Gap(NamedTuple):
    """What stands between two hidden layers: for each upper unit its pre-activation, or for each lower its activation.

    A pre-activation that is handed on is the activation that it is equal to.
    """

    values: list[Value]
    is_pre: bool


def unrolled(layers: Sequence[Affine], is_relu: bool) -> list[tuple[Affine, Affine]]:
    """What each block reads, and what it writes; the columns behind the stream's are empty at first and at last."""
    if len(layers) == 2:
        return [(layers[0], layers[1])]
    gaps = _gaps(layers, is_relu)
    columns = _columns(gaps, len(layers[0][0]))
    size = max(columns.values()) + 1
    steps = zip(itertools.pairwise(layers), itertools.pairwise([None, *gaps, None]), strict=True)
    return [_block(read, write, before, after, columns, size) for (read, write), (before, after) in steps]


def _gaps(layers: Sequence[Affine], is_relu: bool) -> list[Gap]:
    """The fewer of both; but activations can be taken away by a unit only if they are never negative."""
    gaps = []
    activations = [Value(0, unit) for unit in range(len(layers[0][1]))]
    for k, (matrix, bias) in enumerate(layers[1:-1], start=1):
        hands_on = ((matrix != 0).sum(0) == 1) & (matrix.sum(0) == 1) & (bias == 0) & is_relu
        below = matrix.argmax(0).tolist()
        pre = [
            activations[below[unit]] if same else Value(k, unit, True) for unit, same in enumerate(hands_on.tolist())
        ]
        is_pre = not is_relu or len({*pre}) <= len({*activations})
        gaps.append(Gap(pre if is_pre else activations, is_pre))
        activations = [value._replace(is_pre=False) for value in pre]
    return gaps


def _columns(gaps: Sequence[Gap], first: int) -> dict[Value, int]:
    """A column for each value, from the first on, by a linear scan over the gaps in which values are live.

    A value that is live up to one gap is erased in the next, so that its column is free again in the one after that.
    """
    last_gap = {value: number for number, gap in enumerate(gaps) for value in gap.values}
    columns: dict[Value, int] = {}
    freed_at: defaultdict[int, list[int]] = defaultdict(list)
    free, fresh = list[int](), itertools.count(first)
    for number, gap in enumerate(gaps):
        for column in freed_at[number]:
            heapq.heappush(free, column)
        for value in (value for value in dict.fromkeys(gap.values) if value not in columns):
            columns[value] = heapq.heappop(free) if free else next(fresh)
            freed_at[last_gap[value] + 2].append(columns[value])
    return columns


def _block(
    read: Affine, write: Affine, before: Gap | None, after: Gap | None, columns: dict[Value, int], size: int
) -> tuple[Affine, Affine]:
    """The units between two affine maps, and such as only take away what is not read any more."""
    old, new = (dict.fromkeys(gap.values if gap else ()) for gap in (before, after))
    gone = [value for value in old if value not in new]
    units = len(read[1])
    w_in, b_in = read[0].new_zeros(size, units + len(gone)), read[0].new_zeros(units + len(gone))
    w_out, b_out = torch.zeros_like(w_in).T, b_in.new_zeros(size)

    places = [columns[value] for value in before.values] if before else [*range(len(read[0]))]
    if before and before.is_pre:
        w_in[places, range(units)] = 1
    else:
        w_in[:, :units].index_add_(0, torch.tensor(places), read[0])
        b_in[:units] = read[1]

    if after is None:
        w_out[:units, : len(write[1])], b_out[: len(write[1])] = write
    for value in (value for value in new if value not in old):
        if value.is_pre:
            w_out[:units, columns[value]], b_out[columns[value]] = write[0][:, value.unit], write[1][value.unit]
        else:
            w_out[value.unit, columns[value]] = 1

    for unit, value in enumerate(gone, start=units):  # relu(c) is c for activations; act(c) − act(−c) is c for all
        factor = -1 if value.is_pre else 1
        w_in[columns[value], unit], w_out[unit, columns[value]] = factor, -factor
        if value.is_pre:
            w_out[value.unit, columns[value]] = -1
    used = w_out.any(1)
    used[0] = True  # at least one
    return (w_in[:, used], b_in[used]), (w_out[used], b_out)
