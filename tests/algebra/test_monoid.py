import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from glassformer.algebra import Limits, monoid
from glassformer.algebra.limits import TooLargeError, Watch
from glassformer.automata import Machine, machine
from glassformer.errors import InputError
from oracle import ROWS, machine_of
from strategies import machines


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_size_equals_the_oracle(row: dict[str, int]) -> None:
    assert len(monoid(machine_of(row))) == row["monoid"]


@settings(max_examples=60)
@given(machines(max_states=6, max_letters=3))
def test_size_and_idempotents_equal_those_of_libsemigroups(given_machine: Machine) -> None:
    from libsemigroups_pybind11 import FroidurePin, ReportGuard, Transf

    silent = ReportGuard(False)
    letters = [list(range(len(given_machine.states))), *given_machine.delta.tolist()]
    peer = FroidurePin([Transf(letter) for letter in letters])
    ours = monoid(given_machine)
    assert len(ours) == peer.size()
    assert int(ours.idempotents.sum()) == peer.number_of_idempotents()
    del silent


@settings(max_examples=60)
@given(machines(max_states=5, max_letters=3))
def test_words_are_shortest_and_make_their_elements(given_machine: Machine) -> None:
    ours = monoid(given_machine)
    first: dict[bytes, str] = {}
    for length in range(4):
        for letters in itertools.product(given_machine.symbols, repeat=length):
            image = [given_machine.run(letters, q)[-1] if letters else q for q in range(len(given_machine.states))]
            first.setdefault(np.array(image, dtype=np.uint8).tobytes(), "".join(letters))
    for element, row in enumerate(ours.elements):
        word = ours.word(element)
        if row.tobytes() in first:
            assert word == first[row.tobytes()]
        else:
            assert len(word) >= 4
        if word:
            assert [given_machine.run(word, q)[-1] for q in range(len(row))] == row.tolist()


@settings(max_examples=60)
@given(machines(max_states=4, max_letters=2))
def test_green_s_relations_are_those_of_the_definition(given_machine: Machine) -> None:
    ours = monoid(given_machine)
    rows = ours.elements
    product = {(i, j): int(ours.products.number(y[x][None])[0]) for i, x in enumerate(rows) for j, y in enumerate(rows)}
    everything = range(len(rows))
    right = [{product[x, m] for m in everything} for x in everything]
    left = [{product[m, x] for m in everything} for x in everything]
    both = [{product[y, m] for y in left[x] for m in everything} for x in everything]
    for relation, ideals in ((ours.green.r, right), (ours.green.l, left), (ours.green.j, both)):
        for x, y in itertools.combinations(everything, 2):
            assert (relation[x] == relation[y]) == (ideals[x] == ideals[y])
    pairs = list(zip(ours.green.r.tolist(), ours.green.l.tolist(), strict=True))
    for x, y in itertools.combinations(everything, 2):
        assert (ours.green.h[x] == ours.green.h[y]) == (pairs[x] == pairs[y])


def test_full_transformation_monoid_has_the_known_counts() -> None:
    ours = monoid(machine("transformations(5)"))
    assert len(ours) == 5**5
    assert ours.green.count() == {"R": 52, "L": 31, "H": 456, "J": 5}  # kernels, images, fitting pairs, ranks
    assert int(ours.idempotents.sum()) == 196


def test_a_monoid_past_the_limit_is_refused_with_the_count() -> None:
    with pytest.raises(TooLargeError, match=r"more than 1,000 elements, the limit \(1,\d\d\d were found\)"):
        monoid(machine("transformations(6)"), Watch(Limits(elements=1000)))
    with pytest.raises(TooLargeError, match="0 seconds, the limit, were over"):
        monoid(machine("transformations(6)"), Watch(Limits(seconds=0)))


def test_an_element_out_of_range_is_named() -> None:
    with pytest.raises(InputError, match="element 9 is out of range: there are 2 elements"):
        monoid(machine("parity")).word(9)
