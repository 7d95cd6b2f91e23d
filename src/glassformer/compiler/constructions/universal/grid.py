"""The δ-grid on [0, 1)^{d×n}: its columns, its sequences, and how a function looks on it (the first stage).

A column of the grid is a cell of [0, 1)^d and has a number 0 … D − 1, D = K^d, K = 1/δ, whose digits to the base K
are the cells of its rows. With positions the column at j is moved by j in every row, so that no two columns of a
sequence are alike; without, a sequence is known by which columns it has, and those that have one twice are left out.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Integer

from glassformer.compiler.constructions.universal.functions import Function, Sequences


@dataclass(frozen=True)
class Grid:
    """Sequences of n columns of d rows, with K cells in a row."""

    d: int
    n: int
    cells: int
    positions: bool

    @property
    def delta(self) -> float:
        """The side of a cell."""
        return 1 / self.cells

    @property
    def columns(self) -> int:
        """D, how many different columns there are at one position."""
        return int(self.cells**self.d)

    @property
    def sequence_count(self) -> int:
        """How many sequences get a value of their own."""
        return int(self.columns**self.n) if self.positions else math.comb(self.columns, self.n)

    @property
    def stride(self) -> int:
        """s, the power of two above all ids: a column that was shifted is above those that are still to come."""
        last = self.columns - 1 + (self.n - 1) * self.positions * self.cells * (self.columns - 1) // (self.cells - 1)
        return 1 << int(last).bit_length()

    @property
    def reach(self) -> int:
        """Rows lie in [0, reach)."""
        return self.n if self.positions else 1

    @cached_property
    def weights(self) -> Float[np.ndarray, " d"]:
        """u = (1, K, …, K^{d−1}): uᵀx tells the columns of the grid apart."""
        return float(self.cells) ** np.arange(self.d)

    @cached_property
    def sequences(self) -> Integer[np.ndarray, "sequence n"]:
        """The number of every column of every sequence; without positions in ascending order."""
        if self.positions:
            return np.indices((self.columns,) * self.n).reshape(self.n, -1).T
        chosen = itertools.chain.from_iterable(itertools.combinations(range(self.columns), self.n))
        return np.fromiter(chosen, dtype=np.int64, count=self.n * self.sequence_count).reshape(-1, self.n)

    def digits(self, numbers: Integer[np.ndarray, "sequence n"]) -> Integer[np.ndarray, "sequence d n"]:
        """The cell of each row."""
        return numbers[:, None, :] // self.cells ** np.arange(self.d)[:, None] % self.cells

    @cached_property
    def corners(self) -> Sequences:
        """The lower corner of every sequence, where the quantiser sends its cell; moved if there are positions."""
        corners: Sequences = self.digits(self.sequences) * self.delta + self.shift
        return corners

    @cached_property
    def middles(self) -> Sequences:
        """The middle of every sequence's cell, not moved: where f is asked."""
        return self.middles_of(self.sequences)

    def middles_of(self, numbers: Integer[np.ndarray, "sequence n"]) -> Sequences:
        """The middle of the cell of each sequence, which has columns of these numbers."""
        middles: Sequences = (self.digits(numbers) + 0.5) * self.delta
        return middles

    def in_any_order(self, most: int) -> Integer[np.ndarray, "sequence n"]:
        """The columns of all sequences in every order, repeated ones too; of more than `most` a random choice."""
        if self.columns**self.n <= most:
            return np.indices((self.columns,) * self.n).reshape(self.n, -1).T
        return np.random.default_rng(0).integers(self.columns, size=(most, self.n))

    @property
    def shift(self) -> Float[np.ndarray, " n"]:
        """E, the same in every row: 0, 1, …, n − 1, or nothing."""
        return np.arange(self.n, dtype=float) * self.positions

    def ids(self, corners: Sequences) -> Integer[np.ndarray, "batch n"]:
        """uᵀX in units of δ."""
        ids = np.rint(np.einsum("d,bdn->bn", self.weights, corners) * self.cells)
        return np.asarray(ids, dtype=np.int64)

    def constant(self, f: Function) -> Function:
        """f̄, which is constant on every cell: what f is in the middle; 0 where columns are repeated and may not be."""

        def on_the_grid(x: Sequences) -> Sequences:
            cell = np.floor(x * self.cells)
            value = f((cell + 0.5) * self.delta)
            counts = ((cell >= 0) & (cell < self.cells)).all(axis=(1, 2))
            if not self.positions:
                counts &= ~self.repeats(cell)
            return np.where(counts[:, None, None], value, 0.0)

        return on_the_grid

    def repeats(self, cells: Float[np.ndarray, "batch d n"]) -> Bool[np.ndarray, " batch"]:
        """Whether two columns lie in the same cell."""
        number = np.sort(np.einsum("d,bdn->bn", self.weights, cells), axis=1)
        repeated: Bool[np.ndarray, " batch"] = (number[:, 1:] == number[:, :-1]).any(axis=1)
        return repeated
