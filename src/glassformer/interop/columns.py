"""An MLP of several hidden layers as blocks of one hidden layer each, which speak to each other through the stream.

Between two of these blocks stands, in columns that nobody else reads, what the lower units say or what the upper ones
hear, whichever are fewer numbers. A ReLU that only hands on what one below it says gets no column of its own. Who reads
a column last takes away what is in it, c + (−c) = 0, so that whoever uses it again finds it empty.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

Affine: TypeAlias = tuple[Tensor, Tensor]
"""A matrix [in, out], and a bias."""


class Held(NamedTuple):
    """What a column holds: what a unit of a hidden layer says, or what it hears before it is activated."""

    layer: int
    unit: int
    is_heard: bool = False


class Between(NamedTuple):
    """What each unit of the upper of two hidden layers hears, or each of the lower one says."""

    held: list[Held]
    is_heard: bool


def unrolled(layers: Sequence[Affine], is_relu: bool) -> list[tuple[Affine, Affine]]:
    """What each block reads, and what it writes; the columns behind the stream's are empty at first and at last."""
    if len(layers) == 2:
        return [(layers[0], layers[1])]
    between = _between(layers, is_relu)
    width = len(layers[0][0])
    columns = _columns(between, width)
    size = max(columns.values()) + 1
    steps = zip(itertools.pairwise(layers), itertools.pairwise([None, *between, None]), strict=True)
    return [_block(read, write, before, after, columns, size) for (read, write), (before, after) in steps]


def _between(layers: Sequence[Affine], is_relu: bool) -> list[Between]:
    """The fewer of both; but what is said can be taken away only if it is never negative."""
    found = []
    said = [Held(0, unit) for unit in range(len(layers[0][1]))]
    for k, (matrix, bias) in enumerate(layers[1:-1], start=1):
        hands_on = ((matrix != 0).sum(0) == 1) & (matrix.sum(0) == 1) & (bias == 0) & is_relu
        below = matrix.argmax(0).tolist()
        heard = [said[below[unit]] if same else Held(k, unit, True) for unit, same in enumerate(hands_on.tolist())]
        is_heard = not is_relu or len({*heard}) <= len({*said})
        found.append(Between(heard if is_heard else said, is_heard))
        said = [held._replace(is_heard=False) for held in heard]
    return found


def _columns(between: Sequence[Between], first: int) -> dict[Held, int]:
    """A column for all that is held, from the first on: one that was empty before it is written."""
    columns: dict[Held, int] = {}
    before: set[Held] = set()
    for now, _ in between:
        taken = {columns[held] for held in before}
        free = (column for column in itertools.count(first) if column not in taken)
        columns |= {held: next(free) for held in dict.fromkeys(now) if held not in before}
        before = {*now}
    return columns


def _block(
    read: Affine, write: Affine, before: Between | None, after: Between | None, columns: dict[Held, int], size: int
) -> tuple[Affine, Affine]:
    """The units between two affine maps, and such as only take away what nobody reads any more."""
    old, new = (dict.fromkeys(each.held if each else ()) for each in (before, after))
    gone = [held for held in old if held not in new]
    units = len(read[1])
    w_in, b_in = read[0].new_zeros(size, units + len(gone)), read[0].new_zeros(units + len(gone))
    w_out, b_out = torch.zeros_like(w_in).T, b_in.new_zeros(size)

    places = [columns[held] for held in before.held] if before else [*range(len(read[0]))]
    if before and before.is_heard:
        w_in[places, range(units)] = 1
    else:
        w_in[:, :units].index_add_(0, torch.tensor(places), read[0])
        b_in[:units] = read[1]

    if after is None:
        w_out[:units, : len(write[1])], b_out[: len(write[1])] = write
    for held in (held for held in new if held not in old):
        if held.is_heard:
            w_out[:units, columns[held]], b_out[columns[held]] = write[0][:, held.unit], write[1][held.unit]
        else:
            w_out[held.unit, columns[held]] = 1

    for unit, held in enumerate(gone, start=units):  # relu(c) is c of what is said; act(c) − act(−c) is c of all
        sign = -1 if held.is_heard else 1
        w_in[columns[held], unit], w_out[unit, columns[held]] = sign, -sign
        if held.is_heard:
            w_out[held.unit, columns[held]] = -1
    used = w_out.any(1)
    used[0] = True  # at least one
    return (w_in[:, used], b_in[used]), (w_out[used], b_out)
