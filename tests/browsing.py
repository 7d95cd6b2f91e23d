"""Chromium, for tests that look at pages as a person does."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
KEPT = Path(__file__).parents[1] / "screenshots"


def skip_without_a_browser() -> None:
    """Where there is none, and none is required."""
    if not CHROMIUM and os.environ.get("GLASSFORMER_BROWSER") != "required":
        pytest.skip("there is no Chromium here to look at the page with", allow_module_level=True)
    pytest.importorskip("playwright.sync_api")


class Watched:
    """A page, what it complains about, and whom it asks."""

    def __init__(self, browser: Any, width: int = 1280) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.page.set_default_timeout(60_000)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def shown(self, name: str) -> None:
        """Keep a picture, to be looked at by whoever changes a view."""
        KEPT.mkdir(exist_ok=True)
        self.page.screenshot(path=KEPT / f"{name}.png", full_page=True)

    def is_quiet(self, own: str) -> None:
        """No error, and nothing asked of anybody else."""
        assert self.complaints == []
        assert [url for url in self.asked if not url.startswith((own, "data:"))] == []

    def fits(self) -> bool:
        """Nothing sticks out to the side."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
