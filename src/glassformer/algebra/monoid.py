"""The transition monoid of a machine: every map of states that some word makes, the empty word included.

Two words that make the same map are the same to the machine; the monoid is what is left of all words. Green's relations
say which elements lead to each other: by letters after them (R), before them (L), both apart (H), or on either side (J,
which is D, because the monoid is finite). An element e with ee = e is idempotent, and the H-class around it is a group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from jaxtyping import Bool, Integer

from glassformer.algebra.graphs import strong_components
from glassformer.algebra.limits import Watch
from glassformer.algebra.maps import Products, products
from glassformer.automata import Semiautomaton
from glassformer.errors import InputError

MOST_NUMBERS: Final = 2**28
"""Of all elements together, each with a number for each state."""


@dataclass(frozen=True)
class Green:
    """The number of each element's class under R, L, H and J."""

    r: Integer[np.ndarray, " element"]
    l: Integer[np.ndarray, " element"]  # noqa: E741  (Green's own letter)
    h: Integer[np.ndarray, " element"]
    j: Integer[np.ndarray, " element"]

    def count(self) -> dict[str, int]:
        """How many classes there are of each kind."""
        return {kind.upper(): int(classes.max()) + 1 for kind, classes in self.__dict__.items()}


@dataclass(frozen=True)
class Monoid:
    """All elements, the shortest words first; element 0 is the identity."""

    machine: Semiautomaton
    products: Products

    def __len__(self) -> int:
        return len(self.products)

    @cached_property
    def elements(self) -> Integer[np.ndarray, "element state"]:
        """Where each element leads from each state."""
        return self.products.rows()

    @cached_property
    def idempotents(self) -> Bool[np.ndarray, " element"]:
        """Which elements are their own squares."""
        squares = np.take_along_axis(self.elements, self.elements, axis=1)
        return np.asarray((squares == self.elements).all(axis=1))

    def word(self, element: int) -> str:
        """A shortest word that makes this element (the first of them in the order of the letters)."""
        if not 0 <= element < len(self):
            raise InputError("algebra.element_number", element=element, count=len(self))
        letters = []
        while element:
            element, letter = (int(numbers[element]) for numbers in self._shortest)
            letters.append(letter)
        return self.machine.join(np.array(letters[::-1], dtype=np.intp))

    @cached_property
    def _shortest(self) -> tuple[np.ndarray, np.ndarray]:
        """The element before the last letter, and that letter, on a shortest way to each element."""
        place = np.full(len(self), -1)
        flat = self.products.then.ravel()
        place[flat[::-1]] = np.arange(len(flat))[::-1]  # the last to be written is the first place
        return place // len(self.machine.symbols), place % len(self.machine.symbols)

    @cached_property
    def green(self) -> Green:
        """Green's relations: strongly connected components of what letters do on the right, the left, and either."""
        right = self.products.then
        left = np.stack([self.products.number(self.elements[:, letter]) for letter in self.machine.delta], axis=1)
        by_right, by_left = strong_components(right), strong_components(left)
        by_both = np.unique(by_right.astype(np.int64) * len(self) + by_left, return_inverse=True)[1]
        return Green(by_right, by_left, by_both, strong_components(np.hstack([right, left])))


def monoid(machine: Semiautomaton, watch: Watch | None = None) -> Monoid:
    """The transition monoid, if it is within the limits."""
    watch = watch or Watch()
    most = min(watch.limits.elements, MOST_NUMBERS // len(machine.states))
    return Monoid(machine, products(machine.delta, most, lambda count: watch("algebra.elements", count, most)))
