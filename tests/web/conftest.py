"""One browser for all tests of pages."""

from collections.abc import Iterator
from typing import Any

import pytest

from browsing import CHROMIUM


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()
