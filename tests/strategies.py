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


def words(machine: Machine, max_length: int = 40) -> st.SearchStrategy[np.ndarray]:
    """A word of a machine, as indices."""
    letters = st.lists(st.integers(0, len(machine.symbols) - 1), max_size=max_length)
    return letters.map(lambda word: np.array(word, dtype=np.intp))
