"""The zoo: machines that theory and experiments keep coming back to. Each docstring says what it computes.

Every function here is a word of the spec language: `machine("dihedral(4)")` is `zoo.dihedral(4)`.
Group machines hold the element reached so far: the state is the product of the letters read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from glassformer.automata.semiautomaton import Label, Machine
from glassformer.errors import InputError

BRACKETS: Final = ("()", "[]", "{}", "<>")
DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


# -- counters and groups -----------------------------------------------------------------------------------


def parity() -> Machine:
    """Whether the number of 1s read so far is even or odd."""
    return _machine("01", ("even", "odd"), lambda bit, letter: (bit + letter) % 2)


def cyclic(n: int = 3) -> Machine:
    """The number of 1s read so far, modulo n (the cyclic group of order n)."""
    _within("n", n, 1, 1000)
    return _machine("01", _numbers(n), lambda count, letter: (count + letter) % n)


def parities(k: int = 2) -> Machine:
    """k bits at once: letter i flips bit i, letter 0 none (the group C2^k, also written so)."""
    _within("k", k, 1, 9)
    states = [format(bits, f"0{k}b")[::-1] for bits in range(2**k)]
    return _machine(DIGITS[: k + 1], states, lambda bits, letter: bits ^ (1 << letter >> 1))


def dihedral(n: int = 4) -> Machine:
    """The symmetry of a regular n-gon after rotations r and flips s (order 2n)."""
    _within("n", n, 3, 200)
    rotate = [(i + 1) % n for i in range(n)]
    flip = [-i % n for i in range(n)]
    return _group({"r": rotate, "s": flip})


def quaternion() -> Machine:
    """The product of the quaternions i and j read so far, one of ±1, ±i, ±j, ±k (order 8)."""
    names = ("1", "i", "-1", "-i", "j", "-k", "-j", "k")
    times_i, times_j = (1, 2, 3, 0, 5, 6, 7, 4), (4, 7, 6, 5, 2, 1, 0, 3)
    return Machine(names, ("i", "j"), np.array([times_i, times_j]))


def alternating(n: int = 5) -> Machine:
    """The even permutation of n points made by a 3-cycle t and a longest even cycle c (order n!/2)."""
    _within("n", n, 3, 7)
    first = n % 2 == 0  # the points 0 … n−1 for odd n, 1 … n−1 for even n: a cycle of odd length is even
    cycle = [*range(first), *range(first + 1, n), int(first)]
    return _group({"t": [1, 2, 0, *range(3, n)], "c": cycle})


def symmetric(n: int = 5) -> Machine:
    """The permutation of n points made by a swap s of the first two and a cycle c of all (order n!)."""
    _within("n", n, 2, 7)
    return _group({"s": [1, 0, *range(2, n)], "c": [*range(1, n), 0]})


# -- memories ----------------------------------------------------------------------------------------------


def flipflop() -> Machine:
    """One bit of memory: 0 and 1 write it, r (read) keeps it."""
    return memory(2)


def memory(n: int = 4) -> Machine:
    """A memory with n values: a digit writes it, r (read) keeps it."""
    _within("n", n, 1, 100)
    return _machine(("r", *_numbers(n)), _numbers(n), lambda value, letter: letter - 1 if letter else value)


def first_symbol(n: int = 2) -> Machine:
    """The first letter read, of n letters."""
    return _letters_seen(n, lambda seen, letter: seen or letter + 1)


def last_symbol(n: int = 2) -> Machine:
    """The last letter read, of n letters."""
    return _letters_seen(n, lambda _, letter: letter + 1)


def permutation_reset(n: int = 4) -> Machine:
    """One of n places: c moves all places on by one, s swaps the first two, a digit jumps to that place."""
    _within("n", n, 2, 100)
    cycle, swap = [*range(1, n), 0], [1, 0, *range(2, n)]
    return _maps({"c": cycle, "s": swap} | {digit: [i] * n for i, digit in enumerate(_numbers(n))})


def resettable(n: int = 3) -> Machine:
    """The number of +s since the last 0, modulo n."""
    _within("n", n, 1, 1000)
    return _machine("+0", _numbers(n), lambda count, letter: 0 if letter else (count + 1) % n)


def transformations(n: int = 3) -> Machine:
    """One of n places, moved by c (cycle), s (swap the first two) and m (merge them): all maps, T_n."""
    _within("n", n, 2, 100)
    return _maps({"c": [*range(1, n), 0], "s": [1, 0, *range(2, n)], "m": [0, 0, *range(2, n)]})


# -- walks and languages -----------------------------------------------------------------------------------


def gridworld(n: int = 4) -> Machine:
    """A walker on n cells in a row: L and R step and stop at the walls, S stays."""
    _within("n", n, 1, 1000)
    return _machine("LRS", _numbers(n), lambda cell, letter: min(max(cell + (-1, 1, 0)[letter], 0), n - 1))


def dyck(pairs: int = 2, depth: int = 3) -> Machine:
    """The open brackets, at most `depth` deep, of `pairs` kinds; accepts when all are closed in order."""
    _within("pairs", pairs, 1, len(BRACKETS))
    _within("depth", depth, 1, 12)
    if sum(pairs**level for level in range(depth + 1)) > 5000:
        raise InputError("automata.dyck_too_large", pairs=pairs, depth=depth)
    kinds = BRACKETS[:pairs]
    opening = [kind[0] for kind in kinds]
    stacks = ["".join(stack) for level in range(depth + 1) for stack in itertools.product(opening, repeat=level)]
    names = ["empty", *stacks[1:], "error"]
    number = {stack: i for i, stack in enumerate(stacks)}
    error = len(stacks)

    def after(state: int, letter: int) -> int:
        kind, closes = divmod(letter, 2)
        if state == error:
            return error
        stack = stacks[state]
        if closes:
            return number[stack[:-1]] if stack.endswith(opening[kind]) else error
        return number.get(stack + opening[kind], error)

    return _machine("".join(kinds), names, after, accepting={"empty"})


def abab() -> Machine:
    """Whether the word is abab repeated."""
    return _maps({"a": [1, 4, 3, 4, 4], "b": [4, 2, 4, 0, 4]}, accepting={"0"})


def adder() -> Machine:
    """Binary addition, lowest place first: a letter is the number of 1s at a place, the label the sum's bit."""
    states = ("0", "1", "0 carry", "1 carry")
    sums = _machine("012", states, lambda state, ones: (state // 2 + ones) % 2 + (state // 2 + ones) // 2 * 2)
    return Machine(sums.states, sums.symbols, sums.delta, outputs=("0", "1", "0", "1"))


def divisible(k: int = 3, base: int = 2) -> Machine:
    """Whether the number read, highest digit first in the given base, is divisible by k."""
    _within("k", k, 1, 1000)
    _within("base", base, 2, len(DIGITS))
    return _machine(DIGITS[:base], _numbers(k), lambda rest, digit: (rest * base + digit) % k, accepting={"0"})


def threshold(k: int = 3) -> Machine:
    """Whether at least k letters 1 have been read."""
    _within("k", k, 1, 1000)
    return _machine("01", _numbers(k + 1), lambda count, letter: min(count + letter, k), accepting={str(k)})


def tomita(number: int = 3) -> Machine:
    """Tomita's: 1*; (10)*; no odd 1s before odd 0s; no 000; even 0s and even 1s; #0 = #1 mod 3; 0*1*0*1*."""
    _within("number", number, 1, 7)
    zero, one, accepting = {
        1: ([1, 1], [0, 1], "0"),
        2: ([2, 0, 2], [1, 2, 2], "0"),  # (10)*
        3: ([0, 2, 3, 2, 4], [1, 0, 4, 1, 4], "013"),  # an odd run of 1s, then a run of 0s that must be even
        4: ([1, 2, 3, 3], [0, 0, 0, 3], "012"),  # no 000
        5: ([1, 0, 3, 2], [2, 3, 0, 1], "0"),  # an even number of 0s and an even number of 1s
        6: ([1, 2, 0], [2, 0, 1], "0"),  # as many 0s as 1s, modulo 3
        7: ([0, 2, 2, 4, 4], [1, 1, 3, 3, 4], "0123"),  # 0*1*0*1*
    }[number]
    return _maps({"0": zero, "1": one}, accepting=set(accepting))


def random(n: int = 6, letters: int = 2, seed: int = 0) -> Machine:
    """A machine with n states whose every transition is drawn at random."""
    _within("n", n, 1, 1000)
    _within("letters", letters, 1, 26)
    delta = np.random.default_rng(seed).integers(0, n, (letters, n))
    return Machine(_numbers(n), tuple("abcdefghijklmnopqrstuvwxyz"[:letters]), delta)


ZOO: Final[dict[str, Callable[..., Machine]]] = {
    make.__name__: make
    for make in (
        *(parity, cyclic, parities, dihedral, quaternion, alternating, symmetric),
        *(flipflop, memory, first_symbol, last_symbol, permutation_reset, resettable, transformations),
        *(gridworld, dyck, abab, adder, divisible, threshold, tomita, random),
    )
}

SPECIMENS: Final = (
    *("parity", *(f"cyclic({n})" for n in range(2, 9)), "C2^2", "C2^3", "dihedral(3)", "dihedral(4)", "quaternion"),
    *("alternating(4)", "alternating(5)", "symmetric(3)", "symmetric(4)", "symmetric(5)"),
    *("flipflop", "memory(4)", "first_symbol(3)", "last_symbol(3)", "permutation_reset(4)", "resettable(3)"),
    *("transformations(3)", "transformations(4)", "gridworld(4)", "gridworld(9)", "gridworld(20)"),
    *("dyck(pairs=1, depth=3)", "dyck(pairs=2, depth=3)", "abab", "adder", "divisible(7)", "divisible(5, base=10)"),
    *("threshold(3)", *(f"tomita({i})" for i in range(1, 8)), "random(12, letters=5, seed=1)"),
)
"""One spec for every machine that the literature keeps using: what "the whole zoo" means in tests and benchmarks."""


# -- how they are made -------------------------------------------------------------------------------------


def _machine(
    symbols: Sequence[str],
    states: Sequence[str],
    after: Callable[[int, int], int],
    accepting: set[str] | None = None,
) -> Machine:
    """A machine from the rule `after(state, letter)`; it starts in its first state."""
    delta = np.array([[after(q, a) for q in range(len(states))] for a in range(len(symbols))])
    outputs: tuple[Label, ...] = () if accepting is None else tuple(q in accepting for q in states)
    return Machine(tuple(states), tuple(symbols), delta, outputs=outputs)


def _maps(maps: dict[str, list[int]], accepting: set[str] | None = None) -> Machine:
    """A machine from what each letter does to the states 0, 1, 2, …"""
    rows = list(maps.values())
    return _machine(list(maps), _numbers(len(rows[0])), lambda q, a: rows[a][q], accepting)


def _group(generators: dict[str, list[int]]) -> Machine:
    """The machine whose states are the permutations that the generators make, and which multiplies them."""
    identity = tuple(range(len(next(iter(generators.values())))))
    number = {identity: 0}
    rows: list[list[int]] = []
    for element in (queue := [identity]):
        row = []
        for generator in generators.values():
            product = tuple(generator[point] for point in element)
            if product not in number:
                number[product] = len(number)
                queue.append(product)
            row.append(number[product])
        rows.append(row)
    separator = "" if len(identity) <= 10 else ","
    names = tuple(separator.join(map(str, element)) for element in number)
    return Machine(names, tuple(generators), np.array(rows).T)


def _letters_seen(n: int, after: Callable[[int, int], int]) -> Machine:
    _within("n", n, 1, 26)
    letters = "abcdefghijklmnopqrstuvwxyz"[:n]
    return _machine(letters, ("none", *letters), after)


def _numbers(n: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(n))


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InputError("automata.between", name=name, low=low, high=high, value=value)
