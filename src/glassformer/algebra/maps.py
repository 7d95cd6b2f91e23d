"""All products of some maps from points to points, numbered in the order of their length.

A map of n points is n digits, packed into one or a few 64-bit words. To follow a map by a letter, some bits at a time
are looked up in a table that has the letter applied already. A hash table, probed for all products of a length at once,
gives their numbers. So a breadth-first search needs no loop over elements.
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


class HashTable:
    """Packed maps by their numbers, which are given in the order in which maps come; open addressing, linear probing.

    Where there is room for all maps there could be, the slot of a map is the map itself, and no probing is needed.
    """

    def __init__(self, bits: int, words: int, expected: int) -> None:
        self.direct = 2 ** min(bits, 62) <= min(8 * expected, 2**26)
        self.slots = np.full(2**bits if self.direct else 1024, -1, dtype=np.int32)  # the number of a map; −1: empty
        self.keys = np.empty((256, words), dtype=np.uint64)  # the maps by number, and room for more
        self.count = 0

    @property
    def known(self) -> Packed:
        """All maps, by number."""
        return self.keys[: self.count]

    def insert_many(self, packed: Packed) -> Numbers:
        """The number of each map; a new one gets the next."""
        first, end = self.count, self.count + len(packed)
        self._grow(end)
        self.keys[first:end] = packed  # tentative: a number for every map, be it new or not
        number, slot = self._probe(packed, np.arange(first, end, dtype=np.int32))
        new = number == np.arange(first, end, dtype=np.int32)  # the others are known, or equal to one before them
        final = first - 1 + np.cumsum(new, dtype=np.int32)
        self.count += int(new.sum())
        self.keys[first : self.count] = packed[new]
        self.slots[slot[new]] = final[new]
        tentative = number >= first
        number[tentative] = final[number[tentative] - first]
        return number

    def lookup(self, packed: Packed) -> Numbers:
        """The number of each map, all of which are known."""
        return self._probe(packed, None)[0]

    def _probe(self, packed: Packed, tentative: Numbers | None) -> tuple[Numbers, Numbers]:
        """The number that stands for each map, and its slot; where a slot holds another map, the next is tried."""
        slot = self._hash(packed)
        number = self._read(slot, tentative)
        if self.direct:
            return number, slot
        wrong = np.flatnonzero((self.keys[number] != packed).any(axis=1))
        while len(wrong):
            slot[wrong] = (slot[wrong] + 1) % len(self.slots)
            number[wrong] = self._read(slot[wrong], None if tentative is None else tentative[wrong])
            wrong = wrong[(self.keys[number[wrong]] != packed[wrong]).any(axis=1)]
        return number, slot

    def _read(self, slot: Numbers, tentative: Numbers | None) -> Numbers:
        """The numbers in these slots; an empty slot takes the first tentative number that is for it."""
        number: np.ndarray = self.slots[slot]
        if tentative is None:
            return number
        empty = np.flatnonzero(number < 0)
        self.slots[slot[empty][::-1]] = tentative[empty[::-1]]  # the last to be written is the first of them
        number[empty] = self.slots[slot[empty]]
        return number

    def _hash(self, packed: Packed) -> Numbers:
        if self.direct:
            return packed[:, 0].astype(np.int32)
        mixed = np.zeros(len(packed), dtype=np.uint64)
        for word in packed.T:
            mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        return (mixed % np.uint64(len(self.slots))).astype(np.int32)

    def _grow(self, end: int) -> None:
        """Room for so many maps, and more slots than twice as many; the known ones are inserted again."""
        if end > len(self.keys):
            keys = np.empty((2 * end, self.keys.shape[1]), dtype=np.uint64)
            keys[: self.count] = self.known
            self.keys = keys
        if not self.direct and 2 * end > len(self.slots):
            self.slots = np.full(2 ** (4 * end - 1).bit_length(), -1, dtype=np.int32)
            self._probe(self.known, np.arange(self.count, dtype=np.int32))


@dataclass(frozen=True)
class Products:
    """The products of letters, shortest first, from the identity on; `then[i, s]` is map i followed by letter s."""

    packing: Packing
    table: HashTable
    then: Integer[np.ndarray, "map letter"]

    def __len__(self) -> int:
        return self.table.count

    def rows(self) -> Rows:
        """All maps."""
        return self.packing.unpack(self.table.known)

    def number(self, rows: Rows) -> Numbers:
        """The numbers of maps that are among the products."""
        return self.table.lookup(self.packing.pack(rows))


def products(letters: Rows, expected: int, seen: Callable[[int], None] | None = None) -> Products:
    """All products of the letters, of which there may be as many as expected; `seen` may stop the search by raising."""
    packing = Packing(letters)
    table = HashTable(packing.bits * packing.points, packing.words, expected)
    table.insert_many(packing.pack(np.arange(packing.points)[None]))
    then: list[np.ndarray] = []
    begin = 0
    while begin < table.count:
        shell = table.known[begin : begin + AT_ONCE // len(letters) + 1]
        begin += len(shell)
        longer = packing.then(shell).reshape(-1, packing.words)
        then.append(table.insert_many(longer).reshape(-1, len(letters)))
        if seen:
            seen(table.count)
    return Products(packing, table, np.concatenate(then))
