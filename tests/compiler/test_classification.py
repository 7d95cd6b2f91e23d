import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from glassformer import classify
from glassformer.automata import Machine, Semiautomaton, machine
from glassformer.compiler.pipeline import compile
from glassformer.errors import InputError
from strategies import machines


def test_a_language_is_judged_by_its_minimal_machine() -> None:
    """Two states that count letters modulo 2, and no label that tells them apart."""
    delta = np.array([[1, 0, 3, 2], [2, 3, 2, 3]])
    wasteful = Machine(tuple("pqrs"), ("a", "b"), delta, outputs=(False, False, True, True))
    found = classify(wasteful)
    assert (found.to_json()["states"], found.to_json()["minimal_states"]) == (4, 2)
    assert found.complexity.aperiodic
    assert len(found.monoid or []) == 2
    assert found.groups() == {"C2": found.groups()["C2"]}  # the cascade is that of the machine as it is
    named = Machine(tuple("pqrs"), ("a", "b"), delta)
    assert not classify(named).complexity.aperiodic


def test_states_that_nothing_reaches_count_when_there_are_no_labels() -> None:
    apart = Machine(("p", "q", "r"), ("a",), np.array([[0, 2, 1]]))
    assert classify(apart).to_json()["monoid_size"] == 2


def test_depths_are_given_for_a_length() -> None:
    assert classify("parity", 1).depth == {"log": 1, "cascade": 1}
    assert classify("parity", 1025).depth == {"log": 11, "cascade": 1}
    assert classify("gridworld(9)", 64).depth == {"log": 6, "cascade": 8, "gridworld": 2}
    assert classify("symmetric(5)", 64).depth == {"log": 6, "cascade": None}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_machine=machines(min_states=2, max_states=6, max_letters=3))
@pytest.mark.usefixtures("types_unchecked")
def test_the_depth_of_the_cascade_is_that_of_the_model_from_this_start(given_machine: Machine) -> None:
    depth = classify(given_machine).depth["cascade"]
    assume(depth)
    assert compile(given_machine, 4, "cascade").certificate.layers == depth


def test_merging_can_be_switched_off() -> None:
    assert classify("regex:a*b*").depth["cascade"] == 2
    assert classify("regex:a*b*", merge=False).depth["cascade"] == 3


@pytest.mark.usefixtures("types_unchecked")
def test_requests_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="the length of words is a whole number from 1 on"):
        classify("parity", 0)
    bare = Semiautomaton(("p",), ("a",), machine("cyclic(1)").delta[:1])
    with pytest.raises(InputError, match="give a Machine"):
        classify(bare)  # type: ignore[arg-type]
