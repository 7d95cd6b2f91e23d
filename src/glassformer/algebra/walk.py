"""Is a machine a walk on a row of cells between two walls, under whatever names? (Theorem 3 needs but two layers.)"""

from __future__ import annotations

import numpy as np
from jaxtyping import Integer

from glassformer.automata import Semiautomaton


def walk_of(machine: Semiautomaton) -> tuple[list[int], list[int]] | None:
    """The states as cells from left to right, and the step of each letter, −1, 0 or 1; None if it is no such walk."""
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
            return cells, [int(step or 0) for step in steps]
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
