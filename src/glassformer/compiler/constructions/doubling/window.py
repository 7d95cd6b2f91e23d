"""How many of the last letters tell the state, and how often a window must double to hold them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from glassformer.automata import Machine


def doublings(letters: int) -> int:
    """⌈log₂ letters⌉: how often a window of one letter doubles until it holds them."""
    return (letters - 1).bit_length() if letters else 0


def window(machine: Machine, length: int) -> int:
    """How many of the last letters tell the state of a word: all of them, or fewer if the machine forgets the others.

    It forgets them if, of any two states that can be reached, words of some length make one (a definite machine). Two
    states are still apart after k + 1 letters if some letter leads them to two that are so after k. Where all letters
    do the same, none is needed: the length of the word tells the state.
    """
    delta = machine.trim().delta
    if (delta == delta[0]).all():
        return 0
    if not all(_ends_in_one(letter) for letter in delta):
        return length  # most machines, at once
    apart: Bool[np.ndarray, "state state"] = ~np.eye(delta.shape[1], dtype=bool)
    for letters in range(length):
        if not apart.any():
            return max(1, letters)
        still = np.any([apart[np.ix_(letter, letter)] for letter in delta], axis=0)
        if (still == apart).all():
            return length
        apart = still
    return length


def _ends_in_one(letter: np.ndarray) -> bool:
    """Whether a letter, often enough, leads all states to one."""
    for _ in range(len(letter).bit_length()):
        letter = letter[letter]
    return bool((letter == letter[0]).all())
