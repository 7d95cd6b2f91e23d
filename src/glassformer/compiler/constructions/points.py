"""The fewest points whose movements tell the state of a machine.

A letter moves states. To know where the start state has gone it is enough to follow the states that can be
reached. Of a group that multiplies its own elements (S5: 120 states) one need not even follow those: a few
points on which the group acts faithfully (S5: 5) are moved in a different way by every element.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import factorial

import numpy as np
from jaxtyping import Bool, Integer

from glassformer.automata import Machine

LARGEST_GROUP = 1000  # elements; the search for a small action looks at pairs of them
LONGEST_SEARCH = 200_000  # pairs tried, times elements: a fraction of a second


@dataclass(frozen=True)
class Points:
    """Points that letters move, and how to tell the state from where they are.

    After a word that leads from the start to state `states[i]`, the points `coordinates` are at `places[i]`.
    """

    moves: Integer[np.ndarray, "symbol point"]
    states: Integer[np.ndarray, " reached"]
    coordinates: Integer[np.ndarray, " coordinate"]
    places: Integer[np.ndarray, "reached coordinate"]


def fewest_points(machine: Machine) -> Points:
    """The cosets of a large subgroup for a group that multiplies its elements; else the reachable states."""
    reached = machine.reachable()
    delta = np.searchsorted(reached, machine.delta[:, reached])
    start = int(np.searchsorted(reached, machine.start))
    if 2 < len(reached) <= LARGEST_GROUP and (product := multiplication(delta, start)) is not None:
        coset = faithful_cosets(product, start)
        points = int(coset.max()) + 1
        one_of_each = np.unique(coset, return_index=True)[1]
        moves = coset[delta[:, one_of_each]]
        return Points(moves, reached, np.arange(points), coset[product[one_of_each]].T)
    return Points(delta, reached, np.array([start]), np.arange(len(reached))[:, None])


def multiplication(
    delta: Integer[np.ndarray, "symbol state"], start: int
) -> Integer[np.ndarray, "element element"] | None:
    """`product[p, q]`, if the states are the elements of a group and letters multiply by some of them.

    q stands for the words that lead to it from the start. That is a group exactly when all such words move every
    state p alike, and no letter merges states.
    """
    n = delta.shape[1]
    if any(len(np.unique(row)) < n for row in delta):
        return None
    product = np.full((n, n), -1)
    product[:, start] = np.arange(n)
    for q in (queue := [start]):
        for row in delta:
            if product[0, row[q]] < 0:
                product[:, row[q]] = row[product[:, q]]
                queue.append(int(row[q]))
    regular = all((row[product] == product[:, row]).all() for row in delta)
    return product if regular else None


def fewest_moves(
    product: Integer[np.ndarray, "element element"], one: int, known: Integer[np.ndarray, "element place"]
) -> Integer[np.ndarray, "element point"]:
    """What each element of a group does to as few points as the search gives: those that are known, or cosets."""
    if len(product) > LARGEST_GROUP or factorial(known.shape[1] - 1) < len(product):
        return known  # too many elements to look for fewer points, or too many to move fewer
    coset = faithful_cosets(product, one)
    one_of_each = np.unique(coset, return_index=True)[1]
    return coset[product[one_of_each]].T if len(one_of_each) < known.shape[1] else known


def faithful_cosets(product: Integer[np.ndarray, "element element"], one: int) -> Integer[np.ndarray, " element"]:
    """The right coset Hg of each element g, for the largest known H on whose cosets the group acts faithfully.

    Tried are subgroups with one generator, then with two, the first up to conjugation; a point stabiliser of S_n
    and A_n is one. The search ends when no smaller action can exist (a group in S_m has at most m! elements), or
    when it has taken long enough. In a commutative group only H = {1} is faithful.
    """
    n = len(product)
    best = np.arange(n)
    if (product == product.T).all():
        return best
    fewest = next(m for m in range(1, n + 1) if factorial(m) >= n)
    firsts = conjugacy_representatives(product, one)
    pairs = itertools.chain(((a, one) for a in firsts), itertools.product(firsts, range(n)))
    for a, b in itertools.islice(pairs, LONGEST_SEARCH // n):
        subgroup = generated(product, one, [a, b])
        if n // int(subgroup.sum()) > best.max():
            continue
        coset = cosets(product, subgroup)
        if is_faithful(product, coset):
            best = coset
        if best.max() + 1 == fewest:
            break
    return best


def is_faithful(product: Integer[np.ndarray, "element element"], coset: Integer[np.ndarray, " element"]) -> bool:
    """Whether only 1 leaves every coset where it is."""
    return int((coset[product] == coset[:, None]).all(axis=0).sum()) == 1


def generated(
    product: Integer[np.ndarray, "element element"], one: int, generators: list[int]
) -> Bool[np.ndarray, " element"]:
    """Which elements the generators make."""
    inside = np.zeros(len(product), dtype=bool)
    new = np.array([one])
    while len(new):
        inside[new] = True
        new = np.unique(product[new[:, None], generators])
        new = new[~inside[new]]
    return inside


def cosets(
    product: Integer[np.ndarray, "element element"], subgroup: Bool[np.ndarray, " element"]
) -> Integer[np.ndarray, " element"]:
    """A number for the right coset Hg of each element g."""
    smallest_member = product[subgroup].min(axis=0)
    return np.unique(smallest_member, return_inverse=True)[1].reshape(-1)


def conjugacy_representatives(product: Integer[np.ndarray, "element element"], one: int) -> list[int]:
    """One element of every class { g⁻¹ag }, except the class of 1."""
    n = len(product)
    inverse = np.argmax(product == one, axis=1)
    conjugates = product[product[inverse].T, np.arange(n)]  # [a, g] = g⁻¹·a·g
    smallest = conjugates.min(axis=1)
    return [int(a) for a in np.unique(smallest) if a != one]
