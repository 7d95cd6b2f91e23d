"""Random machines for property tests."""

import numpy as np
from hypothesis import strategies as st

from glassformer.automata import Label, Machine


@st.composite
def machines(
    draw: st.DrawFn, max_states: int = 8, max_letters: int = 4, min_states: int = 1, language: bool | None = None
) -> Machine:
    """A machine with random transitions, start and labels (True and False for a language)."""
    n = draw(st.integers(min_states, max_states))
    k = draw(st.integers(1, max_letters))
    delta = draw(st.lists(st.lists(st.integers(0, n - 1), min_size=n, max_size=n), min_size=k, max_size=k))
    labels: st.SearchStrategy[Label] = st.booleans() if language else st.sampled_from(["x", "y", "z"])
    if language is None:
        outputs: tuple[Label, ...] = ()
    else:
        outputs = tuple(draw(st.lists(labels, min_size=n, max_size=n)))
    states = tuple(f"q{i}" for i in range(n))
    return Machine(states, tuple("abcdefgh"[:k]), np.array(delta), draw(st.integers(0, n - 1)), outputs)


@st.composite
def machines_in_parts(draw: st.DrawFn, back: bool = False) -> Machine:
    """A machine of two or three parts: each letter turns a part, maps it into itself or leads to a later part, or back.

    Such machines have cascades with several components on a level, and with coordinates that are known for a time.
    """
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=3))
    ends = np.cumsum(sizes).tolist()
    parts = [range(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    def into(part: range, size: int) -> st.SearchStrategy[list[int]]:
        return st.lists(st.sampled_from(part), min_size=size, max_size=size)

    delta = []
    for _ in range(draw(st.integers(2, 3))):
        row = list[int]()
        for i, part in enumerate(parts):
            others = [into(each, len(part)) for each in (parts if back else parts[i + 1 :])]
            row += draw(st.one_of(st.permutations(part), into(part, len(part)), *others))
        delta.append(row)
    states = tuple(f"q{i}" for i in range(ends[-1]))
    return Machine(states, tuple("abc"[: len(delta)]), np.array(delta))


def words(machine: Machine, max_length: int = 40) -> st.SearchStrategy[np.ndarray]:
    """A word of a machine, as indices."""
    letters = st.lists(st.integers(0, len(machine.symbols) - 1), max_size=max_length)
    return letters.map(lambda word: np.array(word, dtype=np.intp))
