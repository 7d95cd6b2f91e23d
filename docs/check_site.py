"""Opens every page of the built site in Chromium: python docs/check_site.py site

A page may ask nobody else for anything, complain about nothing, and be no wider than a telephone.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TELEPHONE = 400


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a log."""

    def log_message(self, *_: object) -> None: ...


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of the folder, on this machine alone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def faults(folder: Path, own: str) -> Iterator[str]:
    """What is wrong with the pages, one after the other."""
    from playwright.sync_api import ConsoleMessage, Request, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": TELEPHONE, "height": 900})
        seen: list[str] = []

        def asked(request: Request) -> None:
            seen.extend([] if request.url.startswith((own, "data:")) else [f"asks {request.url}"])

        def printed(message: ConsoleMessage) -> None:
            seen.extend([f"says {message.text}"] if message.type in ("error", "warning") else [])

        page.on("request", asked)
        page.on("console", printed)
        page.on("pageerror", lambda error: seen.append(f"fails: {error}"))
        for path in sorted(folder.rglob("*.html")):
            name = str(path.relative_to(folder))
            page.goto(own + name)
            wide = page.evaluate("document.documentElement.scrollWidth")
            yield from (f"{name} {words}" for words in (*seen, *[f"is {wide} pixels wide"] * (wide > TELEPHONE)))
            seen.clear()
        browser.close()


def main(folder: Path) -> int:
    if not any(folder.glob("*.html")):
        print(f"there is no site in {folder}: build it first, by make site")
        return 2
    if not CHROMIUM:
        print("the pages were not looked at: there is no Chromium here")
        return int(os.environ.get("GLASSFORMER_BROWSER") == "required")
    with served(folder) as own:
        found = list(faults(folder, own))
    print(*found, f"{len(found)} faults in {len(list(folder.rglob('*.html')))} pages", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
