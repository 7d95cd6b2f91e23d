"""HTTP on connections that keep nobody out: a request arrives whole and an answer is read within some seconds.

uvicorn alone waits for a request without end, and turns everybody away while too many wait.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

SECONDS_TO_SEND: Final = 5.0
"""From the first byte of a request, or from the beginning of the connection, to the last byte of the request."""
SECONDS_TO_READ: Final = 30.0
"""The longest that a client may read nothing of its answer."""
OTHER_FILES: Final = 100
"""Files that the process opens besides."""


class BoundedProtocol(H11Protocol):
    """Closes connections that are too slow, and, where there are too many, the one that has been incomplete longest."""

    most: ClassVar = 4000
    incomplete: ClassVar[dict[BoundedProtocol, asyncio.TimerHandle]] = {}
    unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._follow()
        if len(self.connections) > self.most:
            next(iter(self.incomplete)).transport.abort()

    def data_received(self, data: bytes) -> None:
        """A part of a request."""
        super().data_received(data)
        self._follow()

    def _follow(self) -> None:
        complete = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        if complete or self.transport.is_closing():
            self._forget()
        elif self not in self.incomplete:
            self.incomplete[self] = self.loop.call_later(SECONDS_TO_SEND, self.transport.abort)

    def _forget(self) -> None:
        if timer := self.incomplete.pop(self, None):
            timer.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._forget()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads slowly."""
        super().pause_writing()
        self.unread = self.loop.call_later(SECONDS_TO_READ, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read on."""
        super().resume_writing()
        if self.unread:
            self.unread.cancel()


def make_room() -> None:
    """Let the process open as many files as there may be connections, or take fewer connections."""
    if resource is None:
        return
    wanted = BoundedProtocol.most + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    allowed = wanted if hard == unlimited else min(hard, wanted)
    if soft != unlimited and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    BoundedProtocol.most = allowed - OTHER_FILES
