"""Permutations as tuples: g[i] is where g takes point i."""

from __future__ import annotations

from typing import TypeAlias

Permutation: TypeAlias = tuple[int, ...]


def then(first: Permutation, second: Permutation) -> Permutation:
    """First the one, then the other."""
    return tuple([second[i] for i in first])


def inverse(permutation: Permutation) -> Permutation:
    """What undoes it."""
    undone = [0] * len(permutation)
    for i, image in enumerate(permutation):
        undone[image] = i
    return tuple(undone)


def power(permutation: Permutation, exponent: int) -> Permutation:
    """That many times; if negative, undone that many times."""
    result = tuple(range(len(permutation)))
    square = permutation if exponent >= 0 else inverse(permutation)
    for bit in reversed(bin(abs(exponent))[2:]):
        result = then(result, square) if bit == "1" else result
        square = then(square, square)
    return result


def is_even(permutation: Permutation) -> bool:
    """Whether it is a product of an even number of swaps: as many as there are points, less the cycles."""
    seen: set[int] = set()
    cycles = 0
    for i in range(len(permutation)):
        cycles += i not in seen
        while i not in seen:
            seen.add(i)
            i = permutation[i]
    return (len(permutation) - cycles) % 2 == 0


def three_cycles(degree: int, points: list[int]) -> tuple[Permutation, ...]:
    """Generators of the alternating group of some points."""
    first, second, *others = points
    cycles = []
    for third in others:
        cycle = list(range(degree))
        cycle[first], cycle[second], cycle[third] = second, third, first
        cycles.append(tuple(cycle))
    return tuple(cycles)
