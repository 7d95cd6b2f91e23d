"""Where does every prefix of a word lead? On plain arrays, fast for many words and for one long one.

`table[letter, state]` is a state. To *walk* is to find the entry of the table that is used at each position, as its
number letter·n + state; what stands there is the state after it. Two walks that give the same:

    walk_by_steps     letter by letter, all words of a batch at once
    walk_by_scanning  by composing the maps of letters: O(log T) vector steps, so one long word is quick too

Either may go k letters at a time, as one letter of a bigger machine whose table holds the states in between.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from jaxtyping import Integer

BLOCK = 32  # letters that are composed one by one before whole blocks are taken as letters
LARGEST_LOOK_UP = 2**15  # states in the table of blocks: a larger one takes too long to make

Table: TypeAlias = Integer[np.ndarray, "letter state"]
Words: TypeAlias = Integer[np.ndarray, "*batch length"]
Start: TypeAlias = Integer[np.ndarray, "..."] | np.intp


def states_after_prefixes(table: Table, words: Words, start: int) -> Words:
    """The state after every prefix of every word, by the fastest method for these sizes."""
    batch = math.prod(words.shape[:-1])
    # One vector step costs as much as some hundreds of its elements. Stepping takes a step for each letter, of one
    # element for each word; scanning takes few steps, but moves every state through every letter.
    composing_pays = words.shape[-1] > 8 * BLOCK and batch * table.shape[1] <= 512
    walk = walk_by_scanning if composing_pays else walk_by_steps
    k = letters_at_a_time(table, words.size)
    if k == 1:
        return table.take(walk(table, words, np.intp(start)))
    along = _states_along_blocks(table, k)
    visited = walk(np.ascontiguousarray(along[..., -1]), _numbered(words, len(table), k), np.intp(start))
    states = along.reshape(-1, k).take(visited, axis=0)  # [*batch, block, k]
    return states.reshape(*words.shape[:-1], -1)[..., : words.shape[-1]]


def scan(table: Table, words: Words, start: int) -> Words:
    """The same, always by composing maps."""
    return table.take(walk_by_scanning(table, words, np.intp(start)))


def walk_by_steps(table: Table, words: Words, start: Start) -> Words:
    """Letter by letter, all words in step, each from its own start state."""
    visited = _rows(table, words)
    state, look_up = np.broadcast_to(start, visited.shape[1:]).copy(), table.ravel().take
    for t in range(len(visited)):
        visited[t, ...] += state
        look_up(visited[t, ...], out=state, mode="clip")  # "clip" lets it write straight into `state`
    return np.moveaxis(visited, 0, -1)


def walk_by_scanning(table: Table, words: Words, start: np.intp) -> Words:
    """By composing maps.

    Cut the words into blocks of BLOCK letters. The map of a block is one letter of a bigger machine, so the
    scan of those letters gives the state before each block; from there all blocks step at once.
    """
    *batch, length = words.shape
    count = length // BLOCK
    if count == 0:
        return walk_by_steps(table, words, start)
    blocks = words[..., : count * BLOCK].reshape(*batch, count, BLOCK)
    maps = compose(table, blocks)
    names = np.arange(maps.size // maps.shape[-1]).reshape(*batch, count)
    bigger = maps.reshape(-1, maps.shape[-1])
    visited = walk_by_scanning(bigger, names, start)
    inside = walk_by_steps(table, blocks, visited % table.shape[1]).reshape(*batch, count * BLOCK)
    remainder = walk_by_steps(table, words[..., count * BLOCK :], bigger.take(visited[..., -1]))
    return np.concatenate([inside, remainder], axis=-1)


def letters_at_a_time(table: Table, letters: int) -> int:
    """The largest k whose look-up table stays small, and small beside the work that it saves; at least 1."""
    most = min(LARGEST_LOOK_UP, letters // 4)
    k = 1
    while len(table) ** (k + 1) * table.shape[1] * (k + 1) <= most and k < 16:
        k += 1
    return k


def compose(table: Table, words: Words) -> Integer[np.ndarray, "*batch state"]:
    """The map of every word: where it leads from each state."""
    maps = np.broadcast_to(np.arange(table.shape[1]), (*words.shape[:-1], table.shape[1])).copy()
    index, look_up = np.empty_like(maps), table.ravel().take
    for row in _rows(table, words)[..., None]:
        np.add(row, maps, out=index)
        look_up(index, out=maps, mode="clip")
    return maps


def every_block(letters: int, k: int) -> Integer[np.ndarray, "block k"]:
    """All words of k letters, in the order in which they are numbered."""
    place_values = letters ** np.arange(k - 1, -1, -1)
    return np.arange(letters**k)[:, None] // place_values % letters


def _states_along_blocks(table: Table, k: int) -> Integer[np.ndarray, "block state k"]:
    """The states along every block of k letters, from every state."""
    n = table.shape[1]
    blocks = np.repeat(every_block(len(table), k)[:, None], n, axis=1)
    return table.take(walk_by_steps(table, blocks, np.arange(n)))


def _numbered(words: Words, letters: int, k: int) -> Integer[np.ndarray, "*batch block"]:
    """The number of each block of k letters: its letters as digits, the first one highest; a short block ends in 0s."""
    small = words.astype(np.uint16)  # LARGEST_LOOK_UP keeps the numbers below 2^16, and small ones are quick
    numbers = np.zeros((*words.shape[:-1], -(-words.shape[-1] // k)), dtype=np.uint16)
    for j in range(k):
        digits = small[..., j::k]
        numbers *= np.uint16(letters)
        numbers[..., : digits.shape[-1]] += digits
    return numbers


def _rows(table: Table, words: Words) -> Integer[np.ndarray, "length *batch"]:
    """Positions first, and each letter as the number of the first entry of its row."""
    rows: np.ndarray = np.multiply(np.moveaxis(words, -1, 0), table.shape[1], dtype=np.intp, order="C")
    return rows
