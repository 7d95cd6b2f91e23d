"""All products of some maps from points to points: found, numbered, and found again.

A map of n points is n digits, packed into one or a few 64-bit words. To follow a map by a letter, some bits at a time
are looked up in a table that has the letter applied already. A hash table, probed for all new products at once, tells
which of them are known. So a breadth-first search needs no loop over elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Integer, UInt64

Rows: TypeAlias = Integer[np.ndarray, "map point"]
Packed: TypeAlias = UInt64[np.ndarray, "map word"]
Numbers: TypeAlias = Integer[np.ndarray, " map"]

CHUNK = 12  # bits that are looked up at once
AT_ONCE = 2**18  # products that are made at once


class Packing:
    """Rows of n digits below n as 64-bit words, and what letters do to such words."""

    def __init__(self, letters: Rows) -> None:
        self.points = letters.shape[1]
        self.bits = max(1, (self.points - 1).bit_length())
        self.digits_in_chunk = max(1, CHUNK // self.bits)
        chunks = range(0, self.points, self.digits_in_chunk)
        in_word = 64 // (self.digits_in_chunk * self.bits)
        self.places = [(i // in_word, i % in_word * self.digits_in_chunk * self.bits) for i in range(len(chunks))]
        self.words = self.places[-1][0] + 1
        self.used = self.pack(np.full((1, self.points), 2**self.bits - 1))
        self.table = np.stack([self._table(letter) for letter in letters.tolist()], axis=1)

    def pack(self, rows: Rows) -> Packed:
        """Rows as words."""
        packed = np.zeros((len(rows), self.words), dtype=np.uint64)
        for point in range(self.points):
            chunk, digit = divmod(point, self.digits_in_chunk)
            word, shift = self.places[chunk]
            packed[:, word] |= rows[:, point].astype(np.uint64) << np.uint64(shift + digit * self.bits)
        return packed

    def unpack(self, packed: Packed) -> Rows:
        """Words as rows."""
        rows = np.empty((len(packed), self.points), dtype=np.min_scalar_type(self.points - 1))
        for point in range(self.points):
            chunk, digit = divmod(point, self.digits_in_chunk)
            word, shift = self.places[chunk]
            rows[:, point] = packed[:, word] >> np.uint64(shift + digit * self.bits) & np.uint64(2**self.bits - 1)
        return rows

    def then(self, packed: Packed) -> UInt64[np.ndarray, "map letter word"]:
        """Each map, followed by each letter."""
        product = np.zeros((len(packed), self.table.shape[1], self.words), dtype=np.uint64)
        mask = np.uint64(len(self.table) - 1)
        for word, shift in self.places:
            chunk = packed[:, word] >> np.uint64(shift) & mask
            product[:, :, word] |= self.table.take(chunk.astype(np.intp), axis=0) << np.uint64(shift)
        return np.asarray(product & self.used)

    def _table(self, letter: list[int]) -> UInt64[np.ndarray, " chunk"]:
        """A letter applied to every digit of a chunk; digits that no point has go to 0."""
        images = np.array(letter + [0] * (2**self.bits - self.points), dtype=np.uint64)
        chunks, table = np.arange(2 ** (self.digits_in_chunk * self.bits)), np.uint64(0)
        for digit in range(self.digits_in_chunk):
            places = digit * self.bits
            table = table | images[chunks >> places & 2**self.bits - 1] << np.uint64(places)
        return np.asarray(table)


class Numbering:
    """A hash table from packed maps to their numbers; numbers are given in the order in which maps come.

    Where there is room for all maps there could be, a map is its own place in the table.
    """

    def __init__(self, bits: int, words: int, expected: int) -> None:
        self.direct = 2 ** min(bits, 62) <= min(8 * expected, 2**26)
        self.slots = np.full(2**bits if self.direct else 1024, -1, dtype=np.int32)
        self.seats = np.empty((256, words), dtype=np.uint64)  # the maps by number, and room for more
        self.taken = 0

    @property
    def known(self) -> Packed:
        """All maps, by number."""
        return self.seats[: self.taken]

    def add(self, packed: Packed) -> Numbers:
        """The number of each map; a new one gets the next."""
        base, end = self.taken, self.taken + len(packed)
        self._make_room(end)
        self.seats[base:end] = packed  # all may sit down at first
        seat, slot = self._probe(packed, claim=base)
        new = seat == np.arange(base, end, dtype=np.int32)  # the others found somebody like them
        moved = base - 1 + np.cumsum(new, dtype=np.int32)
        self.taken += int(new.sum())
        self.seats[base : self.taken] = packed[new]
        self.slots[slot[new]] = moved[new]
        old = seat < base
        seat[~old] = moved[seat[~old] - base]
        return seat

    def find(self, packed: Packed) -> Numbers:
        """The number of each map, all of which are known."""
        return self._probe(packed, claim=None)[0]

    def _probe(self, packed: Packed, claim: int | None) -> tuple[Numbers, Numbers]:
        """Whose seat is in each map's slot? Where it is somebody else's, look in the next."""
        slot = self._hash(packed)
        seats = None if claim is None else np.arange(claim, claim + len(packed), dtype=np.int32)
        found = self._seated(slot, seats)
        if self.direct:
            return found, slot
        asking = np.flatnonzero((self.seats[found] != packed).any(axis=1))
        while len(asking):
            slot[asking] = (slot[asking] + 1) % len(self.slots)
            found[asking] = self._seated(slot[asking], None if seats is None else seats[asking])
            asking = asking[(self.seats[found[asking]] != packed[asking]).any(axis=1)]
        return found, slot

    def _seated(self, slot: Numbers, seats: Numbers | None) -> Numbers:
        """Whose seat is in these slots? In an empty one the first that asks puts its own, if it has one."""
        found: np.ndarray = self.slots[slot]
        if seats is None:
            return found
        free = np.flatnonzero(found < 0)
        asked = slot[free]
        self.slots[asked[::-1]] = seats[free[::-1]]  # the last to write is the first to ask
        found[free] = self.slots[asked]
        return found

    def _hash(self, packed: Packed) -> Numbers:
        if self.direct:
            return packed[:, 0].astype(np.int32)
        mixed = np.zeros(len(packed), dtype=np.uint64)
        for word in packed.T:
            mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        return (mixed % np.uint64(len(self.slots))).astype(np.int32)

    def _make_room(self, end: int) -> None:
        if end > len(self.seats):
            seats = np.empty((2 * end, self.seats.shape[1]), dtype=np.uint64)
            seats[: self.taken] = self.known
            self.seats = seats
        if not self.direct and 2 * end > len(self.slots):
            self.slots = np.full(2 ** (4 * end - 1).bit_length(), -1, dtype=np.int32)
            self._probe(self.known, claim=0)


@dataclass(frozen=True)
class Products:
    """The products of letters, shortest first, from the identity on; `then[i, s]` is map i followed by letter s."""

    packing: Packing
    numbering: Numbering
    then: Integer[np.ndarray, "map letter"]

    def __len__(self) -> int:
        return self.numbering.taken

    def rows(self) -> Rows:
        """All maps."""
        return self.packing.unpack(self.numbering.known)

    def number(self, rows: Rows) -> Numbers:
        """The numbers of maps that are among the products."""
        return self.numbering.find(self.packing.pack(rows))


def products(letters: Rows, expected: int, seen: Callable[[int], None] | None = None) -> Products:
    """All products of the letters, of which there may be as many as expected; `seen` may stop the search by raising."""
    packing = Packing(letters)
    numbering = Numbering(packing.bits * packing.points, packing.words, expected)
    numbering.add(packing.pack(np.arange(packing.points)[None]))
    then: list[np.ndarray] = []
    begin = 0
    while begin < numbering.taken:
        shell = numbering.known[begin : begin + AT_ONCE // len(letters) + 1]
        begin += len(shell)
        longer = packing.then(shell).reshape(-1, packing.words)
        then.append(numbering.add(longer).reshape(-1, len(letters)))
        if seen:
            seen(numbering.taken)
    return Products(packing, numbering, np.concatenate(then))
