"""How those who wait for a long computation are told how far it is: by a function that they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Is called with how much is done, and of how much."""
NamedProgress: TypeAlias = Callable[[str, int, int], None]
"""Is called with what is done now, how much of it, and of how much."""


def silent(done: int, of: int) -> None:
    """Where nobody waits."""
