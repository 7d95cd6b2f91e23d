"""Writes a file, or a folder of files, whole or not at all: a reader never sees half of it, a crash loses nothing.

What is written is first complete and synced in a workplace beside its place, and then moved there in one step: a file
by renaming it, a folder that replaces another by exchanging the two, which Linux and macOS can. Elsewhere the old
folder is moved to `.NAME….before` and the new one into its place; if a crash comes between the two, `recover` moves
the old one back. Whoever writes holds a lock on the workplace that dies with the process, so the next one who writes
here knows which workplaces nobody needs any more, and clears them.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from glassformer.errors import InputError

try:
    import fcntl
except ImportError:  # Windows, where workplaces cannot be locked: after a day nobody needs them
    fcntl = None  # type: ignore[assignment]

UNLOCKED_FOR: Final = 86_400.0
"""Seconds after which a workplace without a lock is abandoned, where there are no locks."""
AT_FDCWD: Final = {"linux": -100, "darwin": -2}
EXCHANGE: Final = {"linux": ("renameat2", 2), "darwin": ("renameatx_np", 2)}
"""The system's call that can exchange two names, and the flag that says so."""


def write_atomically(path: Path, data: bytes) -> None:
    """Puts the data at the path in one step; what was there before stays until then. Devices are just written to."""
    try:
        target = path.resolve()  # a link goes on pointing at the file
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)  # a device or a pipe must not be replaced by a file
            return
        with _workplace(target) as place:
            _write_through(place / "new", data)
            if target.exists():
                shutil.copymode(target, place / "new")
            os.replace(place / "new", target)
            _sync(target.parent)
    except (OSError, ValueError, RuntimeError) as error:  # the last two: a path that no file can have
        raise _cannot_write(path, error) from None


def write_folder_atomically(path: Path, contents: Mapping[str, bytes]) -> None:
    """Puts a folder with these files at the path in one step, in place of a folder that was there before."""
    try:
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        recover(target)
        if target.exists() and not target.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        with _workplace(target) as place:
            new = place / "new"
            new.mkdir()
            for name, data in contents.items():
                _write_through(new / name, data)
            _sync(new)
            if not target.exists():
                new.rename(target)
            elif not _exchanged(new, target):
                _replace_in_two_steps(new, target)
            _sync(target.parent)
    except (OSError, ValueError, RuntimeError) as error:
        raise _cannot_write(path, error) from None


def _replace_in_two_steps(new: Path, target: Path) -> None:
    """Where the system cannot exchange two names."""
    shutil.rmtree(_before(target), ignore_errors=True)
    target.rename(_before(target))
    try:
        new.rename(target)
    finally:
        recover(target)
    shutil.rmtree(_before(target), ignore_errors=True)


def recover(folder: Path) -> None:
    """Move a folder back that was to be replaced, if the new one never came into its place."""
    with suppress(OSError, ValueError):  # somebody else has just done it, or no folder can have this name
        if not folder.exists() and _before(folder).exists():
            _before(folder).rename(folder)


@contextmanager
def _workplace(target: Path) -> Iterator[Path]:
    """A folder beside the target that is gone afterwards, with all that is still in it."""
    clear_abandoned(target.parent, target.name)
    while True:
        place = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.tmp")
        place.mkdir()
        lock = _locked(place, wait=True)
        if lock is None or place.exists():
            break  # else somebody took it for abandoned before it was locked
        os.close(lock)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def clear_abandoned(folder: Path, name: str = "") -> None:
    """Remove the workplaces in a folder whose owners are gone: those of a name, or all."""
    if not folder.is_dir():
        return
    prefix = f".{name[:64]}." if name else "."
    for path in folder.iterdir():
        if path.name.startswith(prefix) and path.suffix == ".tmp":
            with suppress(OSError):
                if fcntl is None and time.time() - path.stat().st_mtime < UNLOCKED_FOR:
                    continue
                lock = _locked(path, wait=False)
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
                if lock is not None:
                    os.close(lock)


def _locked(place: Path, wait: bool) -> int | None:
    """A lock as a file descriptor, or OSError if another process holds it; None where there are no locks."""
    if fcntl is None:
        return None
    descriptor = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system cannot."""
    if sys.platform not in EXCHANGE:
        return False
    name, flag = EXCHANGE[sys.platform]
    call: Any = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    here = AT_FDCWD[sys.platform]
    return call is not None and call(here, os.fsencode(one), here, os.fsencode(other), flag) == 0


def _before(target: Path) -> Path:
    """Where a folder lies while it is replaced."""
    digest = hashlib.sha256(target.name.encode()).hexdigest()[:16]
    return target.with_name(f".{target.name[:64]}.{digest}.before")


def _write_through(path: Path, data: bytes) -> None:
    """Writes a new file and waits until it is on the disk."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Waits until the names in a folder are on the disk, where a system can tell."""
    if fcntl is None:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems cannot
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cannot_write(path: Path, error: Exception) -> InputError:
    return InputError("common.cannot_write", path=path, why=getattr(error, "strerror", None) or str(error))
