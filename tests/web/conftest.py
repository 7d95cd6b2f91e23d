"""A browser for the tests of pages. It is closed after each module: its event loop would be in the way of others."""

from collections.abc import Iterator
from typing import Any

import pytest

from browsing import CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()
