"""Machines survive every file format, and files that hold no machine are refused with the place and the reason."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from glassformer.automata import Label, Machine, any_machine, formats
from glassformer.automata.formats import dumps, loads, read, write
from glassformer.errors import InputError
from machine_files import ENDS_IN_A, EVEN

KINDS = ("json", "dot", "att")

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


@pytest.mark.parametrize("kind", ["json", "dot"])
@settings(max_examples=100)
@given(machine=machines())
def test_machine_comes_back_as_it_was(kind: str, machine: Machine) -> None:
    assert loads(dumps(machine, kind), kind) == machine


@settings(max_examples=100)
@given(machines(WORDS))
def test_machine_comes_back_from_att_up_to_the_order_of_states(machine: Machine) -> None:
    reached = set(machine.delta.ravel().tolist()) == set(range(len(machine.states)))
    repeated = all(machine.outputs[q] == a for a, row in zip(machine.symbols, machine.delta, strict=True) for q in row)
    if machine.is_language or (reached and not repeated):
        back = loads(dumps(machine, "att"), "att")
        assert sorted_by_name(back) == sorted_by_name(machine)
        assert loads(dumps(back, "att"), "att") == back
    else:
        with pytest.raises(InputError, match=r"would be lost|would be taken for a language"):
            dumps(machine, "att")


@pytest.mark.parametrize("name", ["m.json", "m.dot", "m.gv", "m.att", "M.JSON"])
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


# -- files -------------------------------------------------------------------------------------------------


def test_unknown_suffix_lists_the_known_ones(tmp_path: Path) -> None:
    for name in ("m.txt", "m"):
        with pytest.raises(InputError, match=r"\.json, \.dot \(or \.gv\) or \.att"):
            read(tmp_path / name)
        with pytest.raises(InputError, match=r"\.json, \.dot \(or \.gv\) or \.att"):
            write(EVEN, tmp_path / name)
    with pytest.raises(InputError, match="the formats are 'json', 'dot', 'att'"):
        loads("", "xml")


def test_a_format_that_is_gone_is_named_with_what_still_reads_it() -> None:
    with pytest.raises(InputError, match=r"m\.hoa: HOA is not read any more; save it as \.json with glassformer 0\.1"):
        any_machine("m.hoa")


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


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write(EVEN, path)
    assert os.read(reader, 10_000).decode() == dumps(EVEN, "json")
    os.close(reader)
    assert path.is_fifo()
