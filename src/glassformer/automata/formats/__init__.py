"""Machine files: JSON, DOT (Graphviz) and AT&T text (OpenFst, foma).

The suffix of a file says which: .json, .dot or .gv, .att. Each format is one module with `loads` and `dumps`, and says
at its top how a machine is written in it. Only `read` and `write` touch the disk.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

from glassformer.atomic import write_atomically
from glassformer.automata.formats import att, dot, json
from glassformer.automata.infinite import AnyMachine, finite
from glassformer.automata.semiautomaton import Machine
from glassformer.errors import InputError
from glassformer.messages import listed

LARGEST_FILE = 16 * 2**20  # bytes

FORMATS = {"json": json, "dot": dot, "att": att}
SUFFIXES = {".json": "json", ".dot": "dot", ".gv": "dot", ".att": "att"}


def read(path: str | os.PathLike[str]) -> Machine:
    """The machine in a file; one with infinitely many states is refused."""
    return finite(read_any(path))


def read_any(path: str | os.PathLike[str]) -> AnyMachine:
    """The machine in a file."""
    path = Path(path)
    if path.suffix.lower() == ".hoa":
        raise InputError("formats.hoa", path=str(path))
    kind = _kind(path)
    data = _bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("formats.not_utf8", path=str(path), line=line) from None
    return loads_any(text, kind, str(path))


def write(machine: Machine, path: str | os.PathLike[str]) -> None:
    """Puts a machine into a file, whole or not at all."""
    path = Path(path)
    write_atomically(path, dumps(machine, _kind(path)).encode())


def loads(text: str, kind: str, name: str = "<text>") -> Machine:
    """The machine that a text in one of the formats describes; one with infinitely many states is refused."""
    return finite(loads_any(text, kind, name))


def loads_any(text: str, kind: str, name: str = "<text>") -> AnyMachine:
    """The machine that a text in one of the formats describes."""
    machine: AnyMachine = _format(kind).loads(text, name)
    return machine


def dumps(machine: AnyMachine, kind: str) -> str:
    """The text that describes a machine in one of the formats; only JSON describes one with infinitely many states."""
    text: str = _format(kind).dumps(machine if kind == "json" else finite(machine))
    return text


def _format(kind: str) -> ModuleType:
    if kind not in FORMATS:
        raise InputError("formats.unknown", kind=kind, formats=listed(list(FORMATS)))
    return FORMATS[kind]


def _kind(path: Path) -> str:
    if path.suffix.lower() not in SUFFIXES:
        raise InputError("formats.suffix", path=str(path), suffix=path.suffix)
    return SUFFIXES[path.suffix.lower()]


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            kind = "a_directory" if path.is_dir() else "no_file" if path.exists() else "not_there"
            raise InputError(f"formats.is_{kind}", path=str(path))
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError("formats.cannot_read", path=str(path), why=str(error.strerror)) from None
    if len(data) > LARGEST_FILE:
        raise InputError("formats.too_large", path=str(path), limit=LARGEST_FILE // 2**20)
    return data
