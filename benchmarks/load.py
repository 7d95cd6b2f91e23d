"""Does the page stay up when ten thousand requests come at once?

    python benchmarks/load.py

A server of its own; 10,000 connections are opened as fast as they can be, each with one request; then come an
expression with exponentially many states, a word of 10 MB, and brackets without end; and does it still answer?
Requests that come when few wait are done one after the other; the others are told at once to come again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import Any

import httpx

ASKED: dict[str, Any] = {"spec": "regex:(ab)*", "word": "abba", "length": 16, "method": "auto", "without": []}


async def one(port: int, codes: Counter[str]) -> None:
    """A request over a connection of its own; its status, or that there was none."""
    body = json.dumps(ASKED)
    head = f"POST /api/look HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        told = await asyncio.wait_for(reader.read(12), 120)
        codes[told.decode().partition(" ")[2] or "closed"] += 1
        writer.close()
    except (OSError, TimeoutError):
        codes["refused"] += 1


async def flood(port: int, count: int) -> Counter[str]:
    """What became of so many requests, all at once."""
    codes: Counter[str] = Counter()
    await asyncio.gather(*(one(port, codes) for _ in range(count)))
    return codes


def answered(url: str, **changes: Any) -> str:
    """One request: its status, how long it took, and what was refused."""
    begun = time.monotonic()
    reply = httpx.post(f"{url}/api/look", json=ASKED | changes, timeout=120)
    refusal = reply.json().get("error", {}).get("en", "")[:90]
    return f"{reply.status_code} after {time.monotonic() - begun:.2f} s{': ' * bool(refusal)}{refusal}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200 requests, to show that it works")
    count = 200 if parser.parse_args().quick else 10_000
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([sys.executable, "-m", "glassformer", "serve", folder, "--port", str(port)])
        try:
            while socket.socket().connect_ex(("127.0.0.1", port)):
                time.sleep(0.2)
            print(f"first answer {answered(url)}; second {answered(url)}", flush=True)
            begun = time.monotonic()
            codes = asyncio.run(flood(port, count))
            print(f"{count:,} requests at once: {dict(codes)}, in {time.monotonic() - begun:.1f} s", flush=True)
            print(f"afterwards: {answered(url)}")
            print(f"an expression with 2^60 states: {answered(url, spec='regex:(a|b)*a(a|b){60}')}")
            print(f"a word of 10 MB: {answered(url, word='a' * 10_000_000)}")
            print(f"brackets without end: {answered(url, spec='regex:' + '(' * 300)}")
            print(f"afterwards: {answered(url)}")
        finally:
            server.terminate()
            server.wait()
