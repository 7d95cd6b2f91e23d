"""The way down a cascade from one start: it leads to the machine's states, and carries no more than it needs."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.algebra import decompose
from glassformer.algebra.cascade import Cascade
from glassformer.algebra.way import way_down
from glassformer.automata import Machine, machine
from glassformer.automata.zoo import SPECIMENS
from strategies import machines, machines_in_parts


def followed(cascade: Cascade, start: int, word: np.ndarray) -> list[int]:
    """The state after every prefix, by nothing but the way: a coordinate for each component that is asked for."""
    way, found = way_down(cascade, start), []
    coordinates = [dict.fromkeys(stop.groups, stop.first) for stop in way.stops]
    for letter in word.tolist():
        situation = way.entered[letter]
        for stop, places in zip(way.stops, coordinates, strict=True):
            leads = stop.leads[situation]
            ahead = leads[places[stop.on[situation]]] if situation in stop.asks else leads[0]
            if turn := stop.turn(situation):
                places[turn[0]] = turn[1][places[turn[0]]]
            if target := stop.target(situation):
                places[target[0]] = target[1]
            situation = ahead
        found.append(int(cascade.state_of[way.last[situation][1]]))
    return found


@pytest.mark.parametrize("spec", SPECIMENS)
def test_the_way_leads_to_the_states_of_every_zoo_machine(spec: str) -> None:
    made = machine(spec).trim()
    word = np.random.default_rng(0).integers(0, len(made.symbols), 60)
    assert followed(decompose(made), made.start, word) == made.run(word).tolist()


@pytest.mark.usefixtures("types_unchecked")
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_machine=machines() | machines_in_parts(), seed=st.integers(0, 10**6), merge=st.booleans())
def test_the_way_leads_to_the_states_of_random_machines_and_is_never_deeper(
    given_machine: Machine, seed: int, merge: bool
) -> None:
    made = given_machine.trim()
    cascade = decompose(made, merge)
    for word in np.random.default_rng(seed).integers(0, len(made.symbols), (4, 24)):
        assert followed(cascade, made.start, word) == made.run(word).tolist()
    assert way_down(cascade, made.start).layers(24) <= max(1, cascade.layers(24))


def test_a_reset_that_a_turn_can_do_as_well_needs_no_memory() -> None:
    """`c` is allowed in state 0 alone, where it changes nothing: elsewhere it leads to the dead end, as `a` does."""
    made = Machine(("0", "1", "dead"), ("a", "b", "c"), np.array([[2, 2, 2], [1, 0, 2], [0, 2, 2]]))
    assert decompose(made, merge=False).depth == 3
    assert decompose(made).depth == 2
    first = decompose(made).levels[0]
    assert first.components[0].group.name == "C2"
    assert not first.ever_resets


def test_situations_that_differ_only_in_what_cannot_occur_are_one() -> None:
    """From the start, `c` leads to a reset, later to none: but the first comes where the coordinate is known."""
    made = Machine(("0", "1", "2"), ("a", "b", "c"), np.array([[1, 1, 1], [0, 2, 1], [1, 1, 2]]))
    first, second = way_down(decompose(made), made.start).stops
    assert first.leads[2] == [3, 3]
    assert first.memory == "the latest reset"
    assert {letter for _, _, letter in second.situations[3]} == {2}
    assert len(second.situations[3]) == 2


def test_what_is_told_apart_in_vain_costs_no_layer() -> None:
    """Both letters take 0 where they take 1: nobody need remember that the word has begun."""
    made = Machine(("0", "1", "2"), ("a", "b"), np.array([[2, 2, 1], [1, 1, 1]]))
    assert decompose(made).depth == 3
    assert way_down(decompose(made), made.start).depth == 2


def test_resets_that_are_left_and_change_nothing_need_no_memory() -> None:
    """`b` and `c` leave 0 for ever, for 1 or 2, and change between them then: the turns from 1 tell which it is."""
    made = Machine(("0", "1", "2"), ("a", "b", "c"), np.array([[0, 1, 2], [1, 2, 1], [2, 2, 1]]))
    assert [stop.memory for stop in way_down(decompose(made), made.start).stops] == ["the first", "nothing"]


def test_levels_that_nobody_asks_for_are_passed_over() -> None:
    last = machine("last_symbol(3)").trim()
    assert len(decompose(last).levels) == 1
    assert way_down(decompose(last), last.start).stops == []
