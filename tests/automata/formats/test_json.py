"""Machines as JSON."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.automata import Machine
from glassformer.automata.formats import dumps, loads
from machine_files import EVEN, refusal


def test_json_is_readable() -> None:
    assert dumps(EVEN, "json") == (
        '{\n  "symbols": ["a", "b"],\n  "states": ["even", "odd"],\n  "delta": [\n    [1, 0],\n    [0, 1]\n  ],\n'
        '  "start": "even",\n  "outputs": ["yes", "no"]\n}\n'
    )


def test_json_start_and_outputs_may_be_left_out() -> None:
    machine = loads('{"symbols": ["a"], "states": ["p", "q"], "delta": [[1, 0]]}', "json")
    assert machine == Machine(("p", "q"), ("a",), np.array([[1, 0]]), 0, ("p", "q"))
    machine = loads(
        '{"symbols": ["a"], "states": ["p", "q"], "delta": [[1, 0]], "start": 1, "outputs": [true, false]}', "json"
    )
    assert machine == Machine(("p", "q"), ("a",), np.array([[1, 0]]), 1, (True, False))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ('"states": ["p", "q"], ', "the key 'states' is missing"),
        ('"symbols" => "simbols"', "unknown key 'simbols'; did you mean 'symbols'?"),
        ('"start" => "xyz"', "unknown key 'xyz'; the keys are"),
        ('"start": "p" => "start": "r"', "'start' is the name or the number of one of the states 'p', 'q', not \"r\""),
        ('"start": "p" => "start": true', "'start' is the name or the number"),
        ('"start": "p" => "start": 2', "'start' is the name or the number"),
        ('"start": "p" => "states": ["r"]', "the key 'states' is there 2 times"),
        ('["a", "b"] => "ab"', "'symbols' is a list of names, not \"ab\""),
        ('["a", "b"] => ["a", 1]', "symbols[1] is a name, not 1"),
        ('["a", "b"] => ["a", "a"]', "the letter 'a' is named twice"),
        ('["a", "b"] => []', "'delta' is a list of 0 rows"),
        ("[0, 1] => [0]", "delta[1] is a list of 2 numbers, one for each state, not a list of 1"),
        ("[0, 1] => [0, 2]", "delta[1][1] is the number of a state, from 0 to 1, not 2"),
        ("[0, 1] => [0, true]", "delta[1][1] is the number of a state, from 0 to 1, not true"),
        ("[0, 1] => [0, 1.0]", "delta[1][1] is the number of a state, from 0 to 1, not 1.0"),
        ("[0, 1] => [0, NaN]", "delta[1][1] is the number of a state, from 0 to 1, not NaN"),
        ('["x", "y"] => ["x"]', "'outputs' is a list of 2 labels"),
        ('["x", "y"] => ["x", true]', "outputs[1] is true"),
        ('["x", "y"] => [1, 2]', "outputs[0] is 1"),
        ('["x", "y"] => null', "'outputs' is a list of 2 labels, one for each state, not null"),
        ('"y"]} => "y"]', "line 2, column 37: this is not JSON"),
    ],
)
def test_json_mistakes_are_named(change: str, reason: str) -> None:
    text = (
        '{"symbols": ["a", "b"], "states": ["p", "q"], "delta": [[1, 0], [0, 1]],\n'
        ' "start": "p", "outputs": ["x", "y"]}'
    )
    old, _, new = change.partition(" => ")
    assert old in text
    message = refusal(text.replace(old, new), "json")
    assert message.startswith("m.json")
    assert reason in message


def test_half_a_character_is_refused() -> None:
    assert "half a character" in refusal('{"symbols": ["\\ud800"], "states": ["q"], "delta": [[0]]}', "json")
    assert "half a character" in refusal(
        '{"symbols": ["a"], "states": ["q"], "delta": [[0]], "outputs": ["\\ud800"]}', "json"
    )
