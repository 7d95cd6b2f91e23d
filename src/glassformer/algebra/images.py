"""The sets of states that words make of all states, and how letters move them.

Start with the set of all states; a letter makes an image of it, a next letter an image of that, and so on. Sets are bit
masks. Two images are *strongly connected* if words lead from either to the other; then they have the same size, and
going round permutes their points. These permutations are all that a machine has of groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Integer

from glassformer.algebra.graphs import strong_components
from glassformer.algebra.limits import Watch
from glassformer.algebra.permutations import Permutation
from glassformer.automata import Semiautomaton

Frame: TypeAlias = tuple[int, ...]
"""The parts of a set (its points, or its tiles) in an order; the frames of connected sets go over into each other."""
Moves: TypeAlias = Sequence[Sequence[int]]
"""For each letter: where it takes each state, or each set."""


@dataclass(frozen=True)
class Images:
    """All images as bit masks, the set of all states first, then the single states that are no image.

    `then[letter][i]` is the image of set i. If the search stopped at its limit, `complete` is False, and −1 stands for
    images that were not looked at.
    """

    masks: list[int]
    then: list[list[int]]
    complete: bool

    def connected(self) -> list[list[int]]:
        """The sets of more than one state, put together with those that they are strongly connected with."""
        together: dict[int, list[int]] = {}
        for i, component in enumerate(strong_components(np.array(self.then).T).tolist()):
            if self.masks[i].bit_count() > 1:
                together.setdefault(component, []).append(i)
        return list(together.values())


def images(machine: Semiautomaton, watch: Watch | None = None) -> Images:
    """All images of the state set under words, or those that the limits let it reach."""
    watch = watch or Watch()
    n = len(machine.states)
    by_byte = [_images_of_bytes(row) for row in machine.delta.tolist()]
    masks = [2**n - 1]
    number = {masks[0]: 0}
    then: list[list[int]] = [[] for _ in machine.symbols]
    for done, mask in enumerate(masks):  # it grows while we walk along it: breadth first
        most = watch.limits.images
        if len(masks) > most or (done % 256 == 0 and not watch.still("algebra.images", len(masks), most)):
            break
        octets = mask.to_bytes(len(by_byte[0]), "little")
        for tables, row in zip(by_byte, then, strict=True):
            image = 0
            for table, octet in zip(tables, octets, strict=True):
                image |= table[octet]
            if image not in number:
                number[image] = len(masks)
                masks.append(image)
            row.append(number[image])
    looked_at = len(then[0])
    complete = looked_at == len(masks)
    for row in then:
        row += [-1] * (len(masks) - looked_at)
    singles = [1 << q for q in range(n) if 1 << q not in number]
    number |= {mask: len(masks) + i for i, mask in enumerate(singles)}
    masks += singles
    for row, letter in zip(then, machine.delta.tolist(), strict=True):
        row += [number[1 << letter[mask.bit_length() - 1]] for mask in singles]
    return Images(masks, then, complete)


def _images_of_bytes(letter: list[int]) -> list[list[int]]:
    """For each 8 states, the image of every subset of them."""
    tables = []
    for first in range(0, len(letter), 8):
        table = [0]
        for target in letter[first : first + 8]:
            table += [image | 1 << target for image in table]
        tables.append(table)
    return tables


def points(mask: int) -> Frame:
    """The states in a set."""
    return tuple(q for q in range(mask.bit_length()) if mask >> q & 1)


class Carried(NamedTuple):
    """A frame for each of some connected sets, and how many letters lead to it from the first."""

    frames: dict[int, Frame]
    steps: dict[int, int]


def carry(members: Sequence[int], frame: Frame, then: Moves, move: Moves) -> Carried:
    """Give the first set this frame, and carry it to the others by letters that move the frame's parts."""
    inside, carried = set(members), Carried({members[0]: frame}, {members[0]: 0})
    waiting = [members[0]]
    for here in waiting:
        for row, moved in zip(then, move, strict=True):
            there = row[here]
            if there in inside and there not in carried.frames:
                carried.frames[there] = tuple(moved[part] for part in carried.frames[here])
                carried.steps[there] = carried.steps[here] + 1
                waiting.append(there)
    return carried


def turns(frames: Mapping[int, Frame], then: Moves, move: Moves) -> Iterator[tuple[int, int, Permutation]]:
    """For each set and each letter that leads to another set with a frame: how it permutes the frame's places."""
    place = {here: {part: i for i, part in enumerate(frame)} for here, frame in frames.items()}
    for here, frame in frames.items():
        for row, moved in zip(then, move, strict=True):
            if row[here] in frames:
                to = place[row[here]]
                yield here, row[here], tuple([to[moved[part]] for part in frame])


def maximal_subsets(masks: Sequence[int], states: int) -> Callable[[int], Frame]:
    """For a set, given by its number: the largest sets among all that are properly inside it."""
    width = -(-states // 64)
    octets = b"".join(mask.to_bytes(8 * width, "little") for mask in masks)
    words = np.frombuffer(octets, dtype="<u8").reshape(-1, width)
    by_size = np.argsort([-mask.bit_count() for mask in masks], kind="stable")
    place = np.empty(len(masks), dtype=np.intp)
    place[by_size] = np.arange(len(masks))

    def inside(candidates: Integer[np.ndarray, " some"], outer: int) -> np.ndarray:
        return np.asarray(((words[candidates] & ~words[outer]) == 0).all(axis=1))

    def of(outer: int) -> Frame:
        smaller = by_size[place[outer] + 1 :]
        below = smaller[inside(smaller, outer)]
        largest: list[int] = []
        while len(below):
            largest.append(int(below[0]))
            below = below[~inside(below, largest[-1])]
        return tuple(largest)

    return of
