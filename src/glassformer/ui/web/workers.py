"""Processes that do what is asked for, each with a bound on memory and every job with one on time.

A job that takes too long is ended with its process, and another process takes its place; a job that nobody waits for
any more is interrupted, and its process goes on. Jobs that are done in a moment have processes of their own, so that
they never wait for a training. Every client gets its turn, and who asks for too much at once is refused.
"""

from __future__ import annotations

import _thread
import asyncio
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Any, Final, TypeAlias

from glassformer.messages import Message
from glassformer.ui.web.wire import refusal

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MEMORY: Final = 6 * 2**30
"""Bytes of a worker: of address space, of which torch alone reserves some 2 GiB; on macOS, which does not bound that,
of the memory that it used at most."""
MEMORY_IS_BOUNDED: Final = resource is not None
MOST_WAITING: Final = 64
MOST_OF_ONE: Final = 8
"""Jobs of one client that wait."""
GRACE: Final = 2.0
"""Seconds after which a job that was interrupted is ended with its process."""
QUICK: Final = ("look",)

Answer: TypeAlias = tuple[int, bytes]
"""An HTTP status, and JSON."""
_numbers = count(1)


@dataclass(eq=False)
class Job:
    """Something to do, and who waits for it."""

    kind: str
    body: bytes
    seconds: float
    client: str = ""
    answer: asyncio.Future[Answer] | None = None
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def is_waited_for(self) -> bool:
        """Whether anybody still is there."""
        return self.answer is None or not self.answer.done()


class Worker:
    """One process and the pipe to it."""

    def __init__(self, kept: Path) -> None:
        self.kept = kept
        self.process: Any = None
        self.pipe: Any = None
        self.sending = threading.Lock()
        self.job: Job | None = None
        self.client = ""

    @property
    def is_there(self) -> bool:
        """Whether it can do a job at once."""
        return self.process is not None and self.process.is_alive()

    def start(self) -> bool:
        """Begin, or begin again, if it is not there; whether it is now."""
        if self.is_there:
            return True
        self.stop()
        context = multiprocessing.get_context("spawn")
        try:
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=work, args=(theirs, self.kept), daemon=True)
            self.process.start()
            theirs.close()
            if self.pipe.poll(60):
                self.pipe.recv()
                return True
        except (EOFError, OSError):
            pass
        self.stop()
        return False

    def stop(self) -> None:
        """End it, whatever it does."""
        self.kill()
        if self.process is not None:
            self.process.join()
            self.pipe.close()
            self.process = None

    def kill(self) -> None:
        """End it, and leave the rest to the thread that waits for its answer."""
        if self.process is not None and self.process.pid is not None:
            self.process.kill()

    def do(self, job: Job) -> Answer:
        """A job, in at most its seconds."""
        if not self.start():
            return _ended()
        try:
            self.send((job.number, job.kind, job.body))
            if not self.pipe.poll(job.seconds):
                self.stop()
                return 503, refusal(Message("page.too_long", seconds=job.seconds))
            answer: Answer = self.pipe.recv()
        except (EOFError, OSError):
            self.stop()
            return _ended()
        if answer[0] == 500:  # nobody knows in which state it is
            self.stop()
        return answer

    def send(self, what: Any) -> None:
        """To the process, from any thread."""
        with self.sending:
            self.pipe.send(what)

    def interrupt(self, job: Job) -> None:
        """Ask the process to leave a job, if it still does it."""
        if self.job is job and self.process is not None:
            with suppress(OSError):
                self.send(job.number)

    def end(self, job: Job) -> None:
        """End the process, if it still does the job."""
        if self.job is job:
            self.kill()


def _ended() -> Answer:
    return 503, refusal(Message("page.too_much"))


class Lane:
    """Workers, and the jobs that wait for them: who has had least time is next, and nobody has two workers at once."""

    def __init__(self, workers: int) -> None:
        self.count = workers
        self.workers: list[Worker] = []
        self.idle: list[tuple[Worker, asyncio.Future[Job]]] = []
        self.waiting: dict[str, deque[Job]] = {}
        self.used: dict[str, float] = {}
        """Seconds that each client has had since somebody began to wait."""

    def put(self, job: Job) -> Answer | None:
        """Have it done, or say why not. Where all is full, a client with much gives up a job for a client with none."""
        if len(self.waiting.get(job.client, ())) >= MOST_OF_ONE:
            return 429, refusal(Message("page.too_many_of_one", limit=MOST_OF_ONE))
        if sum(map(len, self.waiting.values())) >= MOST_WAITING:
            longest = max(self.waiting.values(), key=len)
            crowded = 503, refusal(Message("page.too_many_requests"))
            if job.client in self.waiting or len(longest) == 1:
                return crowded
            given_up = longest.pop().answer
            if given_up is not None and not given_up.done():
                given_up.set_result(crowded)
        self.waiting.setdefault(job.client, deque()).append(job)
        self._give()
        return None

    async def take(self, worker: Worker) -> Job:
        """A job for a worker that has none."""
        turn: asyncio.Future[Job] = asyncio.get_running_loop().create_future()
        self.idle.append((worker, turn))
        self._give()
        return await turn

    def _give(self) -> None:
        """Jobs to idle workers: to each client the one that it had before, if that is free, for it has its models."""
        busy = {worker.client for worker in self.workers if worker.job is not None and worker.job.is_waited_for}
        for client in sorted(
            [each for each in self.waiting if each not in busy], key=lambda client: self.used.get(client, 0.0)
        ):
            if not self.idle:
                return
            worker, turn = next((each for each in self.idle if each[0].client == client), self.idle[-1])
            self.idle.remove((worker, turn))
            jobs = self.waiting.pop(client)
            worker.job, worker.client = jobs.popleft(), client
            if jobs:
                self.waiting[client] = jobs  # behind all others
            turn.set_result(worker.job)

    def abandon(self, job: Job) -> None:
        """Nobody waits for it any more."""
        if job in (jobs := self.waiting.get(job.client, deque())):
            jobs.remove(job)
            if not jobs:
                del self.waiting[job.client]
        for worker in self.workers:
            worker.interrupt(job)
            asyncio.get_running_loop().call_later(GRACE, worker.end, job)
        self._give()

    async def run(self, worker: Worker, starting: asyncio.Lock) -> None:
        """Let a worker do one job after the other, and be there again before it takes the next."""
        while True:
            if not worker.is_there:
                async with starting:  # one after the other, so that the first is there soon
                    await asyncio.to_thread(worker.start)
            job = await self.take(worker)
            begun = time.monotonic()
            answer = await asyncio.to_thread(worker.do, job) if job.is_waited_for else None
            worker.job = None
            self.used[job.client] = self.used.get(job.client, 0.0) + time.monotonic() - begun
            if not self.waiting:
                self.used.clear()
            if answer is not None and job.answer is not None and not job.answer.done():
                job.answer.set_result(answer)


class Workers:
    """Two that look at machines, and one for all that takes longer. What was trained lies in a folder of all."""

    def __init__(self, quick: int = 2, slow: int = 1) -> None:
        self.quick, self.slow = Lane(quick), Lane(slow)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """They are there, and end with this."""
        lanes, starting = (self.quick, self.slow), asyncio.Lock()
        with tempfile.TemporaryDirectory(prefix="glassformer-", ignore_cleanup_errors=True) as kept:
            for lane in lanes:
                lane.workers = [Worker(Path(kept)) for _ in range(lane.count)]
            tasks = [asyncio.create_task(lane.run(worker, starting)) for lane in lanes for worker in lane.workers]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                for worker in (worker for lane in lanes for worker in lane.workers):
                    worker.kill()

    async def do(self, kind: str, body: bytes, client: str, seconds: float) -> Answer:
        """A job; whoever cancels this does not want it any more."""
        lane = self.quick if kind in QUICK else self.slow
        job = Job(kind, body, seconds, client, asyncio.get_running_loop().create_future())
        if refused := lane.put(job):
            return refused
        assert job.answer is not None
        try:
            return await job.answer
        except asyncio.CancelledError:
            lane.abandon(job)
            raise


def work(pipe: Connection, kept: Path) -> None:
    """The process: jobs in, answers out, until the pipe is closed. A number that comes in interrupts that job."""
    asked: SimpleQueue[tuple[int, str, bytes]] = SimpleQueue()
    doing = abandoned = 0

    def interrupted(_: int, frame: FrameType | None) -> None:  # nobody else may: Ctrl-C in a terminal is for the server
        if not doing or doing != abandoned:
            return
        while frame is not None:
            if "importlib" in frame.f_code.co_filename:  # half a module would stay: a little later
                threading.Timer(0.05, leave, [doing]).start()
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    def leave(number: int) -> None:
        if doing == number:
            _thread.interrupt_main()

    def listen() -> None:
        nonlocal abandoned
        try:
            while True:
                match pipe.recv():
                    case int(number):
                        abandoned = number
                        leave(number)
                    case job:
                        asked.put(job)
        except (EOFError, OSError):  # the server was killed, or this process would have been
            shutil.rmtree(kept, ignore_errors=True)
            os._exit(0)

    signal.signal(signal.SIGINT, interrupted)
    _bound_memory()
    threading.Thread(target=listen, daemon=True).start()
    from glassformer.ui.web import jobs

    jobs.kept_in(kept)
    jobs.answer("look", jobs.FIRST)
    pipe.send("ready")
    while True:
        number, kind, body = asked.get()
        doing = number
        try:
            answer = (499, b"") if number == abandoned else jobs.answer(kind, body)
            doing = 0
        except KeyboardInterrupt:
            doing = 0
            answer = 499, b""
        except Exception:
            doing = 0
            traceback.print_exc()
            answer = 500, refusal(Message("page.failed"))
        pipe.send(answer)


def _bound_memory() -> None:
    if resource is None:
        return
    if sys.platform != "darwin":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        return

    def watch() -> None:
        while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MEMORY:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
