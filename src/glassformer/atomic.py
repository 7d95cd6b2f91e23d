"""Writes a file, or a folder of files, whole or not at all: a reader never sees half of it, a crash loses nothing."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from glassformer.errors import InputError


def write_atomically(path: Path, data: bytes) -> None:
    """Puts the data at the path in one step; what was there before stays until then. Devices are just written to."""
    try:
        target = path.resolve()  # a link goes on pointing at the file
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)  # a device or a pipe must not be replaced by a file
            return
        temporary = _beside(target)
        try:
            _write_through(temporary, data)
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError, RuntimeError) as error:  # the last two: a path that no file can have
        raise _cannot_write(path, error) from None


def write_folder_atomically(path: Path, contents: Mapping[str, bytes]) -> None:
    """Puts a folder with these files at the path; a folder that was there before is moved aside, then deleted."""
    try:
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        new, old = _beside(target), _beside(target)
        try:
            new.mkdir()
            for name, data in contents.items():
                _write_through(new / name, data)
            _move_into_place(new, target, old)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise _cannot_write(path, error) from None


def _move_into_place(new: Path, target: Path, old: Path) -> None:
    if target.exists():
        target.rename(old)
    try:
        new.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _beside(target: Path) -> Path:
    """A name in the same folder that nothing has."""
    return target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.tmp")


def _write_through(path: Path, data: bytes) -> None:
    """Writes a new file and waits until it is on the disk."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _cannot_write(path: Path, error: Exception) -> InputError:
    return InputError("common.cannot_write", path=path, why=getattr(error, "strerror", None) or str(error))
