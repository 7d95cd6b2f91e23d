"""A process may be killed at any line of a write: what was there is there, or what was to be, and nothing else."""

import itertools
from pathlib import Path

import pytest

from glassformer import atomic
from glassformer.atomic import recover, write_atomically, write_folder_atomically
from glassformer.errors import InputError
from kills import killed_at_line

OLD, NEW = {"a": b"old", "b": b"old"}, {"a": b"new", "c": b"new"}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("was_there", [True, False])
def test_a_file_is_old_or_new_whenever_its_writer_is_killed(tmp_path: Path, was_there: bool) -> None:
    target = tmp_path / "file"
    seen = set()
    for line in itertools.count(1):
        write_atomically(target, b"old") if was_there else target.unlink(missing_ok=True)
        killed = killed_at_line(line, lambda: write_atomically(target, b"new"))
        seen.add(target.read_bytes() if target.exists() else None)
        if not killed:
            break
    assert line > 20
    assert seen == {b"old" if was_there else None, b"new"}
    write_atomically(target, b"last")
    assert contents(tmp_path) == {"file": b"last"}  # what killed writers left was cleared


@pytest.mark.parametrize("was_there", [True, False])
@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_old_or_new_whenever_its_writer_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_there: bool, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchanged", lambda *_: False)
    target = tmp_path / "folder"
    seen = []
    for line in itertools.count(1):
        if was_there:
            write_folder_atomically(target, OLD)
        else:
            write_folder_atomically(target, OLD)
            for path in target.iterdir():
                path.unlink()
            target.rmdir()
        killed = killed_at_line(line, lambda: write_folder_atomically(target, NEW))
        recover(target)
        seen.append(contents(target) if target.exists() else None)
        if not killed:
            break
    assert line > 30
    assert seen[0] == (OLD if was_there else None)
    assert seen[-1] == NEW
    assert all(each in (seen[0], NEW) for each in seen)
    write_folder_atomically(target, OLD)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_folder_comes_back_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder_atomically(tmp_path / "folder", OLD)
    monkeypatch.setattr(atomic, "_exchanged", lambda *_: False)
    rename = Path.rename

    def fails_for_what_is_new(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_for_what_is_new)
    with pytest.raises(InputError, match="Input/output error"):
        write_folder_atomically(tmp_path / "folder", NEW)
    assert contents(tmp_path / "folder") == OLD


def test_a_file_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", b"old")
    with pytest.raises(InputError, match="Not a directory"):
        write_folder_atomically(tmp_path / "file", NEW)
    assert contents(tmp_path) == {"file": b"old"}


def test_the_workplace_of_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    with atomic._workplace(tmp_path / "file") as place:
        (place / "new").write_bytes(b"half")
        write_atomically(tmp_path / "file", b"other")
        assert (place / "new").read_bytes() == b"half"
    assert contents(tmp_path) == {"file": b"other"}
