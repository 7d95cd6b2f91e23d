"""Machines survive every file format, and files that hold no machine are refused with the place and the reason."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glassformer.automata import Label, Machine, formats
from glassformer.automata.formats import dumps, loads, read, write
from glassformer.errors import InputError

KINDS = ("json", "dot", "hoa", "att")

ODD = [
    "__start",
    "a b",
    " ",
    ",",
    "a,b",
    '"',
    "\\",
    "\\n",
    "\n",
    "\r",
    "é→😀",
    "node",
    "0",
    "00",
    "-1",
    "<eps>",
    "t",
    "//",
]
NAMES = st.one_of(st.sampled_from(ODD), st.text(min_size=1, max_size=4))
WORDS = st.text(alphabet="ab01é,\"\\{}[]'-_", min_size=1, max_size=3)  # names without white space

EVEN = Machine(("even", "odd"), ("a", "b"), np.array([[1, 0], [0, 1]]), 0, ("yes", "no"))
ENDS_IN_A = Machine(("no", "yes"), ("a", "b"), np.array([[1, 1], [0, 0]]), 0, (False, True))


@st.composite
def machines(draw: st.DrawFn, names: st.SearchStrategy[str] = NAMES) -> Machine:
    n, k = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    states = draw(st.lists(names, min_size=n, max_size=n, unique=True))
    symbols = draw(st.lists(names, min_size=k, max_size=k, unique=True))
    delta = draw(st.lists(st.lists(st.integers(0, n - 1), min_size=n, max_size=n), min_size=k, max_size=k))
    labels: st.SearchStrategy[Label] = st.booleans() if draw(st.booleans()) else names
    outputs = draw(st.lists(labels, min_size=n, max_size=n)) if draw(st.booleans()) else []
    return Machine(tuple(states), tuple(symbols), np.array(delta), draw(st.integers(0, n - 1)), tuple(outputs))


def sorted_by_name(machine: Machine) -> Machine:
    """The same machine with its states in the order of their names."""
    order = sorted(range(len(machine.states)), key=lambda q: machine.states[q])
    return Machine(
        tuple(machine.states[q] for q in order),
        machine.symbols,
        np.argsort(order)[machine.delta[:, order]],
        order.index(machine.start),
        tuple(machine.outputs[q] for q in order),
    )


# -- round trips -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["json", "dot", "hoa"])
@settings(max_examples=100)
@given(machine=machines())
def test_machine_comes_back_as_it_was(kind: str, machine: Machine) -> None:
    assert loads(dumps(machine, kind), kind) == machine


@settings(max_examples=100)
@given(machines(WORDS))
def test_machine_comes_back_from_att_up_to_the_order_of_states(machine: Machine) -> None:
    reached = set(machine.delta.ravel().tolist()) == set(range(len(machine.states)))
    if machine.is_language or reached:
        assert sorted_by_name(loads(dumps(machine, "att"), "att")) == sorted_by_name(machine)
    else:
        with pytest.raises(InputError, match="would be lost"):
            dumps(machine, "att")


@pytest.mark.parametrize("name", ["m.json", "m.dot", "m.gv", "m.hoa", "m.att", "M.JSON"])
def test_file_comes_back_by_its_suffix(tmp_path: Path, name: str) -> None:
    write(EVEN, tmp_path / name)
    assert read(tmp_path / name) == EVEN
    assert read(str(tmp_path / name)) == EVEN
    assert os.listdir(tmp_path) == [name]


# -- anything else is an InputError ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100)
@given(text=st.text())
@example(text="")
@example(text="[" * 100_000)
@example(text='{"symbols": ' + "1" * 5000 + "}")
@example(text="digraph {" + "[" * 5000)
@example(
    text='HOA: v1 Acceptance: 0 t Start: 0 AP: 1 "a" --BODY-- State: 0 ['
    + "(" * 5000
    + "t"
    + ")" * 5000
    + "] 0 --END--"
)
def test_any_text_is_a_machine_or_an_input_error(kind: str, text: str) -> None:
    with contextlib.suppress(InputError):
        loads(text, kind)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100)
@given(machine=machines(WORDS), data=st.data())
def test_damaged_file_is_a_machine_or_an_input_error(kind: str, machine: Machine, data: st.DataObject) -> None:
    with contextlib.suppress(InputError):
        text = dumps(machine, kind)
        begin = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(begin, min(len(text), begin + 8)))
        pieces = st.one_of(
            st.text(max_size=3), st.sampled_from([text[:end], '"', "\\", "999999999999", "-1", "true", "0&1"])
        )
        loads(text[:begin] + data.draw(pieces) + text[end:], kind)


def refusal(text: str, kind: str) -> str:
    with pytest.raises(InputError) as caught:
        loads(text, kind, f"m.{kind}")
    return str(caught.value)


# -- files -------------------------------------------------------------------------------------------------


def test_unknown_suffix_lists_the_known_ones(tmp_path: Path) -> None:
    for name in ("m.txt", "m"):
        with pytest.raises(InputError, match=r"\.json, \.dot \(or \.gv\), \.hoa or \.att"):
            read(tmp_path / name)
        with pytest.raises(InputError, match=r"\.json, \.dot \(or \.gv\), \.hoa or \.att"):
            write(EVEN, tmp_path / name)
    with pytest.raises(InputError, match="the formats are 'json', 'dot', 'hoa', 'att'"):
        loads("", "xml")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "latin.json").write_bytes(b'{\n"symbols": ["\xe9"]}')
    (tmp_path / "large.json").write_bytes(b" " * (formats.LARGEST_FILE + 1))
    os.mkfifo(tmp_path / "pipe.json")
    for name, reason in {
        "missing.json": "does not exist",
        "folder.json": "is a directory",
        "latin.json": "line 2: this is not UTF-8",
        "large.json": "larger than 16 MiB",
        "pipe.json": "is not a file",
        "null\0.json": "does not exist",
        "latin.json/m.json": "does not exist",
    }.items():
        with pytest.raises(InputError, match=reason):
            read(tmp_path / name)


def test_byte_order_mark_and_windows_lines_are_no_harm(tmp_path: Path) -> None:
    for kind in KINDS:
        path = tmp_path / f"m.{kind}"
        path.write_bytes(b"\xef\xbb\xbf" + dumps(EVEN, kind).replace("\n", "\r\n").encode())
        assert read(path) == EVEN


def test_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.json"
    write(EVEN, path)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(InputError, match="No space left on device"):
        write(ENDS_IN_A, path)
    assert read(path) == EVEN
    assert os.listdir(tmp_path) == ["m.json"]


def test_write_refuses_places_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    for name in ("folder.json", "nowhere/m.json", "null\0.json", "loop.json"):
        with pytest.raises(InputError, match="cannot be written"):
            write(EVEN, tmp_path / name)


def test_write_keeps_links_and_permissions(tmp_path: Path) -> None:
    file, link = tmp_path / "m.json", tmp_path / "link.json"
    write(EVEN, file)
    file.chmod(0o640)
    link.symlink_to(file)
    write(ENDS_IN_A, link)
    assert link.is_symlink()
    assert read(file) == ENDS_IN_A
    assert file.stat().st_mode & 0o777 == 0o640


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    broken = Machine(("\ud800",), ("a",), np.array([[0]]))
    with pytest.raises(InputError, match="UTF-8"):
        write(broken, tmp_path / "m.json")
    assert "half a character" in refusal(dumps(broken, "json"), "json")
    assert "half a character" in refusal('{"symbols": ["\\ud800"], "states": ["q"], "delta": [[0]]}', "json")


# -- JSON --------------------------------------------------------------------------------------------------


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


# -- DOT ---------------------------------------------------------------------------------------------------


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


# -- HOA ---------------------------------------------------------------------------------------------------


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


# -- AT&T --------------------------------------------------------------------------------------------------


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
