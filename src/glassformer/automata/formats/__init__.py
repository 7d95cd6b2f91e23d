"""Machine files: JSON, DOT (Graphviz), HOA (omega-automata tools) and AT&T text (OpenFst, foma).

The suffix of a file says which: .json, .dot or .gv, .hoa, .att. Each format is one module with `loads` and `dumps`,
and says at its top how a machine is written in it. Only `read` and `write` touch the disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from glassformer.atomic import write_atomically
from glassformer.automata.formats import att, dot, hoa, json
from glassformer.automata.semiautomaton import Machine
from glassformer.errors import InputError
from glassformer.wording import listed

LARGEST_FILE = 16 * 2**20  # bytes

READERS: dict[str, Callable[[str, str], Machine]]
READERS = {"json": json.loads, "dot": dot.loads, "hoa": hoa.loads, "att": att.loads}
WRITERS: dict[str, Callable[[Machine], str]]
WRITERS = {"json": json.dumps, "dot": dot.dumps, "hoa": hoa.dumps, "att": att.dumps}
SUFFIXES = {".json": "json", ".dot": "dot", ".gv": "dot", ".hoa": "hoa", ".att": "att"}


def read(path: str | os.PathLike[str]) -> Machine:
    """The machine in a file."""
    path = Path(path)
    kind = _kind(path)
    data = _bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: this is not UTF-8 text; save the file as UTF-8") from None
    return loads(text, kind, str(path))


def write(machine: Machine, path: str | os.PathLike[str]) -> None:
    """Puts a machine into a file, whole or not at all."""
    path = Path(path)
    write_atomically(path, dumps(machine, _kind(path)).encode())


def loads(text: str, kind: str, name: str = "<text>") -> Machine:
    """The machine that a text in one of the formats describes."""
    return READERS[_known(kind)](text, name)


def dumps(machine: Machine, kind: str) -> str:
    """The text that describes a machine in one of the formats."""
    return WRITERS[_known(kind)](machine)


def _known(kind: str) -> str:
    if kind not in READERS:
        raise InputError(f"there is no format {kind!r}; the formats are {listed(list(READERS))}")
    return kind


def _kind(path: Path) -> str:
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: a machine file ends in .json, .dot (or .gv), .hoa or .att, not in {path.suffix!r}")
    return SUFFIXES[path.suffix.lower()]


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            what = "is a directory" if path.is_dir() else "is not a file" if path.exists() else "does not exist"
            raise InputError(f"{path}: this {what}; name a machine file")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > LARGEST_FILE:
        raise InputError(f"{path}: the file is larger than {LARGEST_FILE // 2**20} MiB, the limit")
    return data
