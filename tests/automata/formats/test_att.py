"""Machines as AT&T text, our own and foma's."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.automata import Machine
from glassformer.automata.formats import dumps, loads
from glassformer.errors import InputError
from machine_files import ENDS_IN_A, EVEN, refusal


def test_att_writes_acceptors_and_transducers() -> None:
    assert dumps(ENDS_IN_A, "att") == "no yes a\nno no b\nyes yes a\nyes no b\nyes\n"
    assert dumps(EVEN, "att") == "even odd a no\neven even b yes\nodd even a yes\nodd odd b no\neven\nodd\n"


def test_att_numbers_keep_their_order_and_names_come_as_they_are_met() -> None:
    machine = loads("10\t2\ta\n2 10 a 0.0\n10 0\n".replace(" 0.0", ""), "att")
    assert machine.states == ("2", "10")
    assert machine.start == 1
    assert machine.outputs == (False, True)
    assert loads("q p a\np q a\n", "att").states == ("q", "p")


def test_att_of_foma_is_read_as_a_language() -> None:
    machine = loads("0 1 a a\n1 0 a a 0\n1\n", "att")
    assert machine.outputs == (False, True)
    assert loads("0 1 a a\n1 0 a a\n0\n1\n", "att").outputs == (True, True)


def test_att_weights_are_not_taken_for_labels() -> None:
    assert "looks like a weight" in refusal("0 1 a 0.5\n1 0 a .25\n", "att")
    assert loads("0 1 a 0.5\n1 0 a half\n", "att").outputs == ("half", "0.5")
    with pytest.raises(InputError, match="taken for weights"):
        dumps(Machine(("p", "q"), ("a",), np.array([[1, 0]]), outputs=("0.5", "1e3")), "att")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the file is empty"),
        ("0 0 <eps>", "line 1, column 5: <eps> is the empty word"),
        ("0 0 @0@", "@0@ is the empty word"),
        ("0 0 a\n0 0.5", "line 2, column 3: the weight '0.5' is not zero"),
        ("0 0 a x 1", "the weight '1' is not zero"),
        ("0 0 a x 0 y", "at most five"),
        ("0 1 a\n0 0 a", "line 2, column 1: two edges for letter 'a' leave state '0'"),
        ("0 1 a\n0 1 a", "line 2, column 1: two edges for letter 'a' leave state '0'"),
        ("0 1 a", "from state '1' letter 'a' leads nowhere"),
        ("0 0 a\n1", "from state '1' letter 'a' leads nowhere"),
        ("0", "the alphabet is empty"),
        ("0 0 a\n0\n0", "line 3, column 1: state '0' is named as accepting already"),
        ("0 0 a x\n0 0 b", "some edges have a label"),
        ("0 0 a x\n0 0 b y", "line 2, column 7: state '0' has the label 'x' in a line before, and 'y' here"),
        ("0 1 a x\n1 1 a x", "the label of state '0' is unknown"),
        ("0 1 a x\n1 0 a y\n1", "labels or accepting states"),
    ],
)
def test_att_mistakes_are_named(text: str, reason: str) -> None:
    message = refusal(text, "att")
    assert message.startswith("m.att")
    assert reason in message


@pytest.mark.parametrize("name", ["a b", "<eps>"])
def test_att_refuses_letters_it_cannot_write(name: str) -> None:
    with pytest.raises(InputError, match="AT&T"):
        dumps(Machine(("q",), (name,), np.array([[0]])), "att")
