"""Does the page stay up when ten thousand requests come at once, and who waits for them?

    python benchmarks/load.py

A server of its own. While twenty clients ask 2,000 times, for trainings too, and half of what they ask they do not wait
for, one honest client looks at another word every half second: how long does it wait? Then 300 connections send half a
request; 10,000 connections are opened as fast as they can be, each with one request; then come an expression with
exponentially many states, a word of 10 MB, and brackets without end; and does it still answer?
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from random import Random
from typing import Any

import httpx

ASKED: dict[str, Any] = {"spec": "regex:(ab)*", "word": "abba", "length": 16, "method": "auto", "without": []}
KINDS = ("look", "look", "heads", "train")
CLIENTS = 20


class Load:
    """Many requests, each over a connection of its own."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token
        self.codes: Counter[str] = Counter()

    async def one(self, kind: str = "look", client: str = "", patience: float = 120.0, **changes: Any) -> None:
        """A request; its status, or that there was none, or that nobody waited for it."""
        body = json.dumps(ASKED | changes)
        head = f"POST /api/{kind} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
        head += f"Authorization: Bearer {self.token}\r\nX-Page: {client}\r\n"
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
                told = await asyncio.wait_for(reader.read(12), patience)
                self.codes[told.decode().partition(" ")[2] or "closed"] += 1
            finally:
                writer.close()
        except TimeoutError:
            self.codes["abandoned"] += 1
        except OSError:
            self.codes["refused"] += 1

    async def at_once(self, count: int) -> None:
        """So many requests that come together."""
        await asyncio.gather(*(self.one() for _ in range(count)))

    async def abandoning(self, count: int, seconds: float) -> None:
        """So many requests of several clients in so many seconds; every other one is waited for only a moment."""
        drawn, asked = Random(0), []
        for i in range(count):
            machine = {"spec": f"cyclic({drawn.randrange(2, 60)})", "word": "1" * drawn.randrange(60)}
            patience = drawn.random() / 2 if i % 2 else 120.0
            asked.append(self.one(drawn.choice(KINDS), f"client {i % CLIENTS}", patience, **machine))
        started = []
        for each in asked:
            started.append(asyncio.ensure_future(each))
            await asyncio.sleep(seconds / count)
        await asyncio.gather(*started)


def flooded(port: int, token: str, count: int, seconds: float) -> None:
    """The same in a process of its own, so that it does not slow down the client that measures."""
    load, begun = Load(port, token), time.monotonic()
    asyncio.run(load.abandoning(count, seconds))
    taken = time.monotonic() - begun
    print(f"{count:,} requests of {CLIENTS} clients: {dict(load.codes)}, in {taken:.1f} s", flush=True)


def answered(client: httpx.Client, **changes: Any) -> tuple[float, str]:
    """One request: how long it took, and its status with what was refused."""
    begun = time.monotonic()
    reply = client.post("/api/look", json=ASKED | changes)
    refusal = reply.json().get("error", {}).get("en", "")[:90]
    taken = time.monotonic() - begun
    return taken, f"{reply.status_code} after {taken:.2f} s{': ' * bool(refusal)}{refusal}"


def honest(client: httpx.Client, flood: Any) -> None:
    """Look at a word now and then, while others ask for much."""
    times, wrong, words = [], 0, Random(1)
    flood.start()
    while flood.is_alive():
        taken, said = answered(client, word="".join(words.choices("ab", k=12)))
        times.append(taken)
        wrong += not said.startswith("200")
        time.sleep(0.5)
    flood.join()
    longest, middle = max(times), statistics.median(times)
    print(
        f"an honest client meanwhile: {len(times)} answers, {wrong} refused, median {middle:.3f} s, max {longest:.3f} s"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200 requests, to show that it works")
    quick = parser.parse_args().quick
    count, abandoned, seconds = (200, 200, 2.0) if quick else (10_000, 2_000, 10.0)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "glassformer", "serve", folder, "--port", "0"]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr
            found = re.search(r":(\d+)/\?token=(\S+)", server.stderr.readline())
            assert found
            port, token = int(found[1]), found[2]
            headers = {"authorization": f"Bearer {token}", "x-page": "honest"}
            while socket.socket().connect_ex(("127.0.0.1", port)):
                time.sleep(0.2)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=120) as client:
                print(f"first answer {answered(client)[1]}; second {answered(client)[1]}", flush=True)
                client.post("/api/heads", json=ASKED)  # done by the last process that is started
                spawn = multiprocessing.get_context("spawn")
                honest(client, spawn.Process(target=flooded, args=(port, token, abandoned, seconds)))
                print(f"afterwards: {answered(client)[1]}", flush=True)
                half = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
                for each in half:
                    each.sendall(b"POST /api/look HTTP/1.1\r\nHost: ")
                print(f"beside {len(half)} connections that send half a request: {answered(client)[1]}")
                load, since = Load(port, token), time.monotonic()
                asyncio.run(load.at_once(count))
                print(
                    f"{count:,} requests at once: {dict(load.codes)}, in {time.monotonic() - since:.1f} s", flush=True
                )
                print(f"afterwards: {answered(client)[1]}")
                print(f"an expression with 2^60 states: {answered(client, spec='regex:(a|b)*a(a|b){60}')[1]}")
                print(f"a word of 10 MB: {answered(client, word='a' * 10_000_000)[1]}")
                print(f"brackets without end: {answered(client, spec='regex:' + '(' * 300)[1]}")
                print(f"afterwards: {answered(client)[1]}")
        finally:
            server.terminate()
            server.wait()
