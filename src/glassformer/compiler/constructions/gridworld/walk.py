"""Is a machine a walk on a row of cells between two walls, under whatever names?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Integer

from glassformer.automata import Machine


@dataclass(frozen=True)
class Walk:
    """The states as cells from left to right, the step of each letter (−1, 0 or 1), and the cell where it begins."""

    cells: list[int]
    steps: list[int]
    start: int

    @property
    def one_way(self) -> bool:
        """Whether the walker never turns: then the sum of the steps tells the cell."""
        return not {-1, 1} <= set(self.steps)

    def turned(self) -> Walk:
        """The same, seen from the other side."""
        return Walk(self.cells[::-1], [-step for step in self.steps], len(self.cells) - 1 - self.start)


def walk_of(machine: Machine) -> Walk | None:
    """The machine as a walk, if it is one; if it turns, with its first state on the left."""
    n = len(machine.states)
    for letter in machine.delta:
        cells = _cells_along(letter)
        if cells is None:
            continue
        place = np.argsort(cells)
        seen = place[machine.delta[:, cells]]  # [letter, cell]
        ways = {tuple(np.clip(np.arange(n) + step, 0, n - 1).tolist()): step for step in (-1, 0, 1)}
        steps = [ways.get(tuple(row)) for row in seen.tolist()]
        if all(step is not None for step in steps):
            walk = Walk(cells, [int(step or 0) for step in steps], cells.index(machine.start))
            return walk.turned() if cells[0] > cells[-1] and not walk.one_way else walk
    return None


def _cells_along(letter: Integer[np.ndarray, " state"]) -> list[int] | None:
    """The order in which a letter that only steps to the right goes through all states."""
    n = len(letter)
    first = set(range(n)) - set(letter.tolist())
    if n < 2 or len(first) != 1:
        return None
    cells = [first.pop()]
    for _ in range(n - 1):
        cells.append(int(letter[cells[-1]]))
    return cells if sorted(cells) == list(range(n)) and letter[cells[-1]] == cells[-1] else None
