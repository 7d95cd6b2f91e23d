"""`glassformer serve`, as a process that tests can ask."""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

ASKED = {"spec": "regex:(ab)*", "word": "abba", "length": 16, "method": "auto", "without": []}


class Server:
    """`glassformer serve` in a process of its own, opened by the link that it prints."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "glassformer", "serve", str(folder), "--port", "0", *options]
        self.said = Path(tempfile.mkstemp(suffix=".txt")[1])
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=said)
        self.folder = folder
        for _ in range(600):
            if found := re.search(r"(http://127\.0\.0\.1:(\d+))/(?:\?token=([\w-]+))?", self.said.read_text()):
                self.link, self.url, self.port = found[0], found[1], int(found[2])
                self.headers = {"authorization": f"Bearer {found[3]}"} if found[3] else {}
                try:
                    httpx.get(self.url)
                    return
                except httpx.TransportError:
                    pass
            time.sleep(0.1)
        raise TimeoutError("the server does not answer")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.said.unlink()

    def get(self, path: str = "/", **headers: str) -> httpx.Response:
        return httpx.get(self.url + path, headers=self.headers | {k.replace("_", "-"): v for k, v in headers.items()})

    def ask(self, path: str = "/api/look", **changes: Any) -> httpx.Response:
        return httpx.post(self.url + path, json=ASKED | changes, headers=self.headers, timeout=120)

    def send(self, content: str | bytes, path: str = "/api/look", kind: str = "application/json") -> httpx.Response:
        return httpx.post(self.url + path, content=content, headers=self.headers | {"content-type": kind}, timeout=120)
