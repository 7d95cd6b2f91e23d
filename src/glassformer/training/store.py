"""Where a sweep keeps its trials: one SQLite file, which any number of processes may use at once.

A trial is claimed by one worker, which sends heartbeats; a trial whose worker has sent none for a while is free again.
The result of a trial is written once, and a trial that is done is never given out again.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from glassformer.errors import InputError

FREE_AFTER: Final = 60.0
"""Seconds without a heartbeat after which another worker may take a trial."""

TABLE: Final = """
create table if not exists trials (
    id text primary key,
    settings text not null,
    status text not null default 'waiting' check (status in ('waiting', 'running', 'done', 'failed')),
    worker text,
    seen real,
    steps integer not null default 0,
    result text
)
"""


@dataclass(frozen=True)
class TrialRow:
    """A trial as it stands."""

    id: str
    settings: dict[str, Any]
    status: str
    steps: int
    result: dict[str, Any] | None


class Store:
    """The trials in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.file = sqlite3.connect(path, timeout=60, isolation_level=None)
            self.file.execute("pragma journal_mode = wal")
            self.file.execute(TABLE)
        except (sqlite3.Error, OSError) as error:
            raise InputError("sweep.store", path=path, why=str(error)) from None

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes meanwhile."""
        self.file.execute("begin immediate")
        try:
            yield
        except BaseException:
            self.file.execute("rollback")
            raise
        self.file.execute("commit")

    def add(self, trials: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Trials that are there already stay as they are."""
        rows = [(identity, json.dumps(settings, sort_keys=True)) for identity, settings in trials]
        try:
            with self.alone():
                self.file.executemany("insert or ignore into trials (id, settings) values (?, ?)", rows)
        except sqlite3.Error as error:
            raise InputError("sweep.store", path=self.path, why=str(error)) from None

    def claim(self, ids: Sequence[str], worker: str) -> tuple[str, dict[str, Any]] | None:
        """The next of these trials that is free; None if there is none."""
        free = "status = 'waiting' or (status = 'running' and seen < ?)"
        with self.alone():
            found = self.file.execute(
                f"select id, settings from trials where ({free}) and id in (select value from json_each(?)) "
                "order by status = 'running', rowid limit 1",
                (time.time() - FREE_AFTER, json.dumps(list(ids))),
            ).fetchone()
            if found is None:
                return None
            self.file.execute(
                "update trials set status = 'running', worker = ?, seen = ?, steps = 0 where id = ?",
                (worker, time.time(), found[0]),
            )
        return found[0], json.loads(found[1])

    def _execute(self, query: str, ids: Sequence[str]) -> sqlite3.Cursor:
        """A query that ends in a condition, of these trials alone."""
        return self.file.execute(f"{query} id in (select value from json_each(?))", (json.dumps(list(ids)),))

    def running(self, ids: Sequence[str]) -> int:
        """How many of these trials somebody is working on, or was until a while ago."""
        return int(self._execute("select count(*) from trials where status = 'running' and", ids).fetchone()[0])

    def heartbeat(self, identity: str, worker: str, steps: int = 0) -> bool:
        """Say that a trial is still being worked on, and how far it is; False if somebody else has it now."""
        changed = self.file.execute(
            "update trials set seen = ?, steps = ? where id = ? and worker = ? and status = 'running'",
            (time.time(), steps, identity, worker),
        )
        return changed.rowcount == 1

    def finish(self, identity: str, worker: str, result: dict[str, Any], failed: bool = False) -> bool:
        """Write the result, unless somebody else did or has the trial now."""
        changed = self.file.execute(
            "update trials set status = ?, result = ?, seen = ? where id = ? and worker = ? and status = 'running'",
            ("failed" if failed else "done", json.dumps(result), time.time(), identity, worker),
        )
        return changed.rowcount == 1

    def give_back(self, worker: str) -> None:
        """What this worker has claimed and not finished is free again."""
        self.file.execute(
            "update trials set status = 'waiting', worker = null where worker = ? and status = 'running'", (worker,)
        )

    def retry_failed(self, ids: Sequence[str]) -> None:
        """Those of these trials that failed are free again."""
        self._execute("update trials set status = 'waiting' where status = 'failed' and", ids)

    def forget(self, ids: Sequence[str]) -> None:
        """Drops the results of those of these trials that are done; they are free again."""
        self._execute("update trials set status = 'waiting', result = null where status = 'done' and", ids)

    def rows(self, ids: Sequence[str]) -> list[TrialRow]:
        """These trials as they stand, in the order given."""
        found = self._execute("select id, settings, status, steps, result from trials where", ids)
        by_id = {
            identity: TrialRow(identity, json.loads(settings), status, steps, json.loads(result) if result else None)
            for identity, settings, status, steps, result in found
        }
        return [by_id[identity] for identity in ids if identity in by_id]
