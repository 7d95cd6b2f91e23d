"""One owner for a run folder: a lock that ends with its process, however that ends, and a note of who holds it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from glassformer.atomic import clear_abandoned, write_atomically
from glassformer.errors import InputError

LOCK: Final = "lock"
OWNER: Final = "owner.json"


class OwnedError(InputError):
    """Another process works in the folder."""


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Nobody else works in this folder meanwhile; OwnedError if somebody does already, and who."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("training.cannot_make", folder=folder, why=error.strerror) from None
    lock = FileLock(folder / LOCK, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise OwnedError("training.owned", folder=folder, **_owner(folder)) from None
    except OSError as error:
        raise InputError("common.cannot_write", path=folder / LOCK, why=error.strerror) from None
    try:
        clear_abandoned(folder)
        me = {"process": os.getpid(), "host": socket.gethostname()}
        write_atomically(folder / OWNER, json.dumps(me).encode())
        yield
    finally:
        (folder / OWNER).unlink(missing_ok=True)
        lock.release()


def is_of_an_owner(name: str) -> bool:
    """Whether a file in a run folder is only there because somebody works in it, or did until it was killed."""
    return name in (LOCK, OWNER) or (name.startswith(".") and name.endswith(".tmp"))


def _owner(folder: Path) -> dict[str, object]:
    """Who says to work there; it may have ended just now."""
    try:
        found = json.loads((folder / OWNER).read_text(encoding="utf-8"))
        return {"process": str(found["process"]), "host": str(found["host"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"process": "?", "host": "?"}
