"""Machines in the Hanoi format, our own and other tools'."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.automata import Machine
from glassformer.automata.formats import dumps, loads
from machine_files import refusal


def test_hoa_is_complete_for_other_tools() -> None:
    machine = Machine(("p",), ("a", "b", "c"), np.array([[0], [0], [0]]), 0, (True,))
    assert dumps(machine, "hoa").splitlines() == [
        "HOA: v1",
        'tool: "glassformer"',
        "States: 1",
        "Start: 0",
        'AP: 2 "bit0" "bit1"',
        "Alias: @a !0&!1",
        "Alias: @b 0&!1",
        "Alias: @c !0&1 | 0&1",
        "acc-name: Buchi",
        "Acceptance: 1 Inf(0)",
        "properties: trans-labels explicit-labels state-acc deterministic complete",
        'glassformer-letters: "a" "b" "c"',
        "--BODY--",
        'State: 0 "p" {0}',
        "  [@a] 0",
        "  [@b] 0",
        "  [@c] 0",
        "--END--",
    ]


def test_hoa_with_implicit_labels_is_read() -> None:
    text = """HOA: v1
        States: 3
        Start: 0
        acc-name: Rabin 1
        Acceptance: 2 (Fin(0) & Inf(1))
        AP: 2 "a" "b"
        --BODY--
        State: 0 "a U b" { 0 }
          2  /* !a  & !b */
          0  /*  a  & !b, and /* a comment */ inside */
          1  /* !a  &  b */
          1  /*  a  &  b */
        State: 1 { 1 }
          1 1 1 1       /* four transitions on one line */
        State: 2 "sink state" { 0 }
          2 2 2 2
        --END--
    """
    machine = loads(text, "hoa")
    assert machine.symbols == ("!a&!b", "a&!b", "!a&b", "a&b")
    assert machine.states == ("a U b", "1", "sink state")
    assert machine.outputs == (False, True, False)
    assert machine.delta.tolist() == [[2, 1, 2], [0, 1, 2], [1, 1, 2], [1, 1, 2]]


def test_hoa_with_aliases_and_formulas_is_read() -> None:
    text = """HOA: v1 name: "x /* no comment */" Start: 1 Acceptance: 1 Inf(!0) | f properties: a properties: b
        Alias: @a 0 Alias: @none !@a & (!1) AP: 2 "a" "b"
        --BODY--
        State: 1 [@none] 0 [!@none & t] 1
        State: [t] 0 {0} 0
        --END--"""
    machine = loads(text, "hoa")
    assert machine.start == 1
    assert machine.outputs == (False, True)
    assert machine.delta.tolist() == [[0, 0], [0, 1], [0, 1], [0, 1]]


def test_hoa_with_one_or_no_proposition_names_its_letters() -> None:
    head, tail = "HOA: v1 Start: 0 Acceptance: 0 t ", " --BODY-- State: 0 [t] 0 --END--"
    assert loads(head + 'AP: 1 "a"' + tail, "hoa").symbols == ("!a", "a")
    assert loads(head + tail, "hoa").symbols == ("t",)
    assert loads(head + tail, "hoa").outputs == (True,)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            "[!0] 1 => [t] 1",
            "line 9, column 7: the automaton is non-deterministic: from state 0 letter 'a' has two edges",
        ),
        ("[!0] 1 => ", "line 8, column 8: the automaton is incomplete: from state 0 letter '!a' leads nowhere"),
        ("[!0] 1 => [!0] 1 {0}", "acceptance stands on an edge"),
        ("[!0] 1 => [!0] 0&1", "alternating"),
        ("[!0] 1 => [!0] 7", "there is no state 7"),
        ("[!0] 1 => [!0] 99999999999999", "too large"),
        ("[!0] 1 => [!5] 1", "there is no proposition 5"),
        ("[!0] 1 => [@x] 1", "the alias @x is not defined"),
        ("[!0] 1 => [Inf(0)] 1", "a label is made of"),
        ("[!0] 1 => 1", "a label on every edge, or 2 edges without labels"),
        ("State: 1 => State: 0", "state 0 is there twice"),
        ("State: 1 => State: 5", "there is no state 5"),
        ("States: 2 => States: 3", "state 2 has no edges"),
        ("States: 2 => States: 0", "no states"),
        ("States: 2 => States: 2 States: 2", "the header States: is there twice"),
        ("Start: 0 => ", "the header Start: is missing"),
        ("Start: 0 => Start: 0 Start: 1", "a second start state"),
        ("Start: 0 => Start: 0&1", "alternating"),
        ("Start: 0 => Start: 3", "there is no state 3"),
        ("Acceptance: 1 Inf(0) => ", "the header Acceptance: is missing"),
        ("Acceptance: 1 Inf(0) => Acceptance: 0 t", "there is no acceptance set 0"),
        ("Acceptance: 1 Inf(0) => Acceptance: 1 0", "an acceptance condition is made of"),
        ("Acceptance: 1 Inf(0) => Acceptance: 1 Foo(0)", "an acceptance condition is made of"),
        ('AP: 1 "a" => AP: 2 "a"', "as many different names"),
        ('AP: 1 "a" => AP: 13 ' + " ".join(f'"a{i}"' for i in range(13)), "the limit is 12"),
        ("tool:  => Tool: ", "must not be ignored"),
        ("tool:  => acc-name: ", "the header acc-name: is there twice"),
        ("v1 => v2", "only version v1"),
        ('tool: "x" => glassformer-letters: "p" "q" "r"', "3 letters do not fit 1 propositions"),
        ('tool: "x" => glassformer-outputs: "p"', "1 outputs for 2 states"),
        ('tool: "x" => Alias: @x 0 Alias: @x 0', "the alias @x is defined twice"),
        ('tool: "x" => /* open', "this comment is never closed"),
        ("--END-- => --END-- HOA: v1", "a second automaton"),
        ("--END-- => ", "the text ends too early"),
        ("--END-- => --ABORT--", "gave up"),
        ("--BODY-- => !", "does not belong here"),
    ],
)
def test_hoa_mistakes_are_named(change: str, reason: str) -> None:
    text = "\n".join(
        [
            "HOA: v1",
            'tool: "x"',
            "States: 2",
            "Start: 0",
            'AP: 1 "a"',
            "acc-name: Buchi Acceptance: 1 Inf(0)",
            "--BODY--",
            "State: 0 [0] 0",
            "  [!0] 1",
            "State: 1 {0} [t] 0",
            "--END--",
        ]
    )
    old, _, new = change.partition(" => ")
    assert loads(text, "hoa").outputs == (False, True)
    assert old in text
    message = refusal(text.replace(old, new), "hoa")
    assert message.startswith("m.hoa")
    assert reason in message
