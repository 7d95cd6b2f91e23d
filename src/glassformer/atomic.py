"""Writes a file whole or not at all: a reader never sees half of it, and a crash leaves the old one."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from glassformer.errors import InputError


def write_atomically(path: Path, data: bytes) -> None:
    """Puts the data at the path in one step; what was there before stays until then."""
    try:
        target = path.resolve()  # a link goes on pointing at the file
        temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            _write_through(temporary, data)
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError, RuntimeError) as error:  # the last two: a path that no file can have
        raise InputError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None


def _write_through(path: Path, data: bytes) -> None:
    """Writes a new file and waits until it is on the disk."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
