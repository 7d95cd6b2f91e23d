"""Connections that send nothing, too little, or read nothing do not keep others out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("uvicorn")

import uvicorn
from uvicorn.server import ServerState

from glassformer.ui.web import connections
from glassformer.ui.web.connections import BoundedProtocol

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = b"x" * 50_000_000


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Say how much was sent, or send very much."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": LARGE if scope["path"] == "/large" else str(size).encode()})


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[int]:
    config = uvicorn.Config(app, http=BoundedProtocol, ws="none", lifespan="off", log_config=None, timeout_keep_alive=1)
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()
    server = await loop.create_server(lambda: BoundedProtocol(config, state, {}), "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    for each in list(state.connections):
        each.transport.abort()
    await asyncio.sleep(0)


def run(test: Callable[[int], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with listening() as port, asyncio.timeout(60):
            await test(port)

    asyncio.run(whole())


async def sent(port: int, data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    return reader, writer


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
        REQUEST + b"GET / HT",
    ],
)
def test_half_a_request_is_waited_for_some_seconds(part: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SECONDS_TO_SEND", 0.2)

    async def test(port: int) -> None:
        reader, writer = await sent(port, part)
        with contextlib.suppress(ConnectionError):
            assert (b" 200 " in await reader.read()) == part.startswith(REQUEST)  # and then it is closed
        writer.close()
        reader, writer = await sent(port, REQUEST)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        writer.close()

    run(test)
    assert not BoundedProtocol.incomplete


def test_drop_by_drop_is_no_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SECONDS_TO_SEND", 0.3)

    async def test(port: int) -> None:
        reader, writer = await sent(port, b"GET / HTTP/1.1\r\n")

        async def drip() -> None:
            while True:
                writer.write(b"x: y\r\n")
                await asyncio.sleep(0.05)

        dripping = asyncio.ensure_future(drip())
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        dripping.cancel()
        writer.close()

    run(test)


def test_where_there_are_too_many_the_first_that_is_incomplete_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "most", 3)

    async def test(port: int) -> None:
        half = [await sent(port, b"GET") for _ in range(3)]
        await asyncio.sleep(0.1)
        reader, writer = await sent(port, REQUEST)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        with contextlib.suppress(ConnectionError):
            assert await half[0][0].read() == b""
        for _, each in [*half, (reader, writer)]:
            each.close()

    run(test)


def test_who_does_not_read_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SECONDS_TO_READ", 0.2)

    async def test(port: int) -> None:
        reader, writer = await sent(port, REQUEST.replace(b"/ ", b"/large ", 1))
        await asyncio.sleep(1)
        received = 0
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1_000_000):
                received += len(data)
        assert received < len(LARGE)
        writer.close()

    run(test)
