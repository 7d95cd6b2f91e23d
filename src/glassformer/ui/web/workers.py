"""Processes that do what is asked for, each with a bound on memory and every job with one on time.

A job that takes too long is ended with its process, and another process takes its place. Few may wait; who comes when
they are many is refused at once, so that ten thousand requests take no more than their turn.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import signal
import sys
import zlib
from multiprocessing.connection import Connection
from typing import Any, Final

from glassformer.messages import Message

MEMORY: Final = 6 * 2**30
"""Bytes of address space of a worker; torch alone reserves some 2 GiB of it."""
MOST_WAITING: Final = 16


def refusal(message: Message) -> str:
    """What was wrong with a request, in all languages, as JSON."""
    return json.dumps({"error": message.in_all_languages()}, ensure_ascii=False)


class Worker:
    """One process and the pipe to it."""

    def __init__(self) -> None:
        self.process: Any = None
        self.pipe: Any = None

    def start(self) -> None:
        """Begin, or begin again."""
        self.stop()
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self) -> None:
        """End it, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None

    def do(self, job: str, body: str, seconds: float) -> tuple[int, str]:
        """A job, in at most so many seconds; the first one also waits for the process to be there."""
        if self.process is None or not self.process.is_alive():
            self.start()
            if not self.pipe.poll(60):
                self.stop()
                return _ended()
            self.pipe.recv()
        try:
            self.pipe.send((job, body))
            if not self.pipe.poll(seconds):
                self.stop()
                return 503, refusal(Message("page.too_long", seconds=seconds))
            status, text = self.pipe.recv()
            return status, text
        except (EOFError, OSError):
            self.stop()
            return _ended()


def _ended() -> tuple[int, str]:
    return 503, refusal(Message("page.too_much"))


class Workers:
    """Some workers; requests for one machine go to the same one, which has kept its models. Few may wait."""

    def __init__(self, count: int = 2) -> None:
        self.all = [(Worker(), asyncio.Lock()) for _ in range(count)]
        self.waiting = 0

    async def do(self, job: str, body: str, machine: str, seconds: float) -> tuple[int, str]:
        """A job: an HTTP status, and JSON."""
        if self.waiting >= MOST_WAITING:
            return 503, refusal(Message("page.too_many_requests"))
        worker, turn = self.all[zlib.crc32(machine.encode()) % len(self.all)]
        self.waiting += 1
        try:
            async with turn:
                return await asyncio.to_thread(worker.do, job, body, seconds)
        finally:
            self.waiting -= 1

    def stop(self) -> None:
        """End all."""
        for worker, _ in self.all:
            worker.stop()


def work(pipe: Connection) -> None:
    """The process: jobs in, answers out, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "darwin":  # which does not heed it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from glassformer.ui.web.jobs import answer

    pipe.send("ready")
    try:
        while True:
            pipe.send(answer(*pipe.recv()))
    except (EOFError, OSError):
        return
