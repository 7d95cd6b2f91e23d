"""`glassformer serve`, as a process that tests can ask."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

ASKED = {"spec": "regex:(ab)*", "word": "abba", "length": 16, "method": "auto", "without": []}


class Server:
    """`glassformer serve` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as tried:
            tried.bind(("127.0.0.1", 0))
            self.port = tried.getsockname()[1]
        command = [sys.executable, "-m", "glassformer", "serve", str(folder), "--port", str(self.port)]
        self.process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
        self.folder = folder
        self.url = f"http://127.0.0.1:{self.port}"
        for _ in range(600):
            try:
                httpx.get(self.url)
                return
            except httpx.TransportError:
                time.sleep(0.1)
        raise TimeoutError("the server does not answer")

    def ask(self, path: str = "/api/look", **changes: Any) -> httpx.Response:
        return httpx.post(self.url + path, json=ASKED | changes, timeout=120)
