"""Shapes and types are checked at run time in all tests but the longest: every annotated function, every call."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tests themselves run in parallel, and so do their processes
os.environ["COLUMNS"] = "200"  # tables are as wide as they want, whoever imports the command line first

import pytest
from hypothesis import settings

import typecheck

typecheck.install("glassformer")

from browsing import CHROMIUM  # noqa: E402
from shell import Shell  # noqa: E402 (it imports what is to be checked)

# Times on a shared machine prove nothing, and the same examples on every run make a failure repeatable. At night
# other examples are tried each time; a failure prints how to repeat it.
settings.register_profile("daily", deadline=None, derandomize=True)
settings.register_profile("nightly", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("GLASSFORMER_TESTS", "daily"))


@pytest.fixture
def types_unchecked() -> Iterator[None]:
    """For tests that hand over values of the wrong type on purpose, as a user may, or train for long."""
    typecheck.off = True
    yield
    typecheck.off = False


@pytest.fixture
def heeding_interrupts() -> Iterator[None]:
    """Ctrl-C is heeded, although whoever started the tests in the background may have it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    """`glassformer …` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capsys)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """For tests of pages. It is closed after each module: its event loop would be in the way of others."""
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()
