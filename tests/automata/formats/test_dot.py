"""Machines as Graphviz files, our own and other people's."""

from __future__ import annotations

import numpy as np
import pytest

from glassformer.automata import Machine
from glassformer.automata.formats import dumps, loads
from machine_files import ENDS_IN_A, refusal


def test_dot_merges_edges_and_marks_start_and_acceptance() -> None:
    assert dumps(ENDS_IN_A, "dot").splitlines() == [
        "digraph {",
        "  rankdir=LR",
        '  letters="a,b"',
        "  language=true",
        "  node [shape=circle]",
        '  "" [shape=none, label="", width=0, height=0]',
        '  "no"',
        '  "yes" [shape=doublecircle]',
        '  "" -> "no"',
        '  "no" -> "yes" [label="a"]',
        '  "no" -> "no" [label="b"]',
        '  "yes" -> "yes" [label="a"]',
        '  "yes" -> "no" [label="b"]',
        "}",
    ]
    loop = Machine(("q",), ("a", ","), np.array([[0], [0]]))
    assert '"q" -> "q" [label="a,\\,"]' in dumps(loop, "dot")


def test_dot_of_other_people_is_read() -> None:
    text = """
        // the usual style
# of a preprocessor too
        STRICT digraph "finite state machine" {
            rankdir = LR; size="8,5"
            graph [fontsize=10]
            node [shape = doublecircle, color=red]; yes;
            node [shape = circle];
            edge [label = "b"]
            init [shape=point]
            init -> no [label=""];
            no:e -> yes:w:x [label = a]; /* ports
            are ignored */
            no -> no
            yes -> yes [label = "a"] [color=blue; style=dashed]
            yes -> no
        }
    """
    machine = loads(text, "dot")
    assert machine.symbols == ("a", "b")
    assert machine.states == ("yes", "no")
    assert machine.start == 1
    assert machine.outputs == (True, False)
    assert machine.delta.tolist() == [[0, 0], [1, 1]]


def test_dot_chains_lists_and_first_node_as_start() -> None:
    machine = loads('digraph { p -> q -> p [label="a, b"] }', "dot")
    assert machine == Machine(("p", "q"), ("a", "b"), np.array([[1, 0], [1, 0]]), 0, ("p", "q"))


@pytest.mark.parametrize("name", ["__start", '""', "s [shape=none]; s", "s [style=invis]; s", "s [shape=plaintext]; s"])
def test_dot_start_arrow_may_come_from_any_unseen_node(name: str) -> None:
    machine = loads(f"digraph {{ p -> q [label=a]; q -> q [label=a]; {name} -> q }}", "dot")
    assert machine.states == ("p", "q")
    assert machine.start == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "p -> p [label=a]; p -> q [label=a]",
            "two edges for letter 'a' leave state 'p': the one in line 1 leads to 'p'",
        ),
        ("p -> p [label=a]\n p -> p [label=a]", "m.dot, line 2, column 2: two edges for letter 'a' leave state 'p'"),
        ("p -> p [label=a]; p -> q [label=b]", "from state 'q' letter 'a' leads nowhere"),
        ("p -> q", "a letter is missing on the edge from 'p' to 'q'"),
        ('p -> q [label="a,"]', "a letter is missing"),
        ("p", "the alphabet is empty"),
        ("", "there are no states"),
        ("__start -> p; __start -> q; p -> q -> p [label=a]", "a second start"),
        ("p -> p [label=a]; q [output=x]; q -> q [label=a]", "state 'p' has no output"),
        ("letters=b; p -> p [label=a]", "letter 'a' is not among the letters"),
        ("subgraph x { p }", "subgraphs are not read"),
        ("{ p q } -> r", "subgraphs are not read"),
        ("p -- q", "write ->"),
        ("p [label=<b>]", "HTML-like"),
        ('p [label="x', "never closed"),
        ("p [label=", "column 19: the text ends too early"),
    ],
)
def test_dot_mistakes_are_named(body: str, reason: str) -> None:
    closing = "" if reason.endswith(("early", "closed")) else "}"
    assert reason in refusal(f"digraph {{{body}{closing}", "dot")


def test_dot_needs_a_directed_graph() -> None:
    assert "write digraph" in refusal("graph { }", "dot")
