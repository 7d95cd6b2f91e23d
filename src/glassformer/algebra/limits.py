"""How far the searches of this package go before they stop with an error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from glassformer.errors import InputError, named
from glassformer.messages import Message


class TooLargeError(InputError):
    """A search passed its limit; the message tells how far it came."""


@dataclass(frozen=True)
class Limits:
    """The most that one search looks at."""

    elements: int = 10**6
    """Elements of the transition monoid."""
    images: int = 50_000
    """Images of the state set."""
    rows: int = 500_000
    """Rows of the cascade's tables."""
    points: int = 2_000
    """Points that a group may move."""
    seconds: float = 60.0
    """Time of this thread at work: what a search finds does not depend on what else the computer does."""


@dataclass(frozen=True)
class Watch:
    """Keeps an eye on a search: shows how far it is, and stops it at a limit."""

    limits: Limits = field(default_factory=Limits)
    show: Callable[[Message, int, int], None] | None = None
    begin: float = field(default_factory=time.thread_time)

    def __call__(self, what: str, done: int, limit: int) -> None:
        """So many are done of what the message with this id names, and so many are allowed."""
        counted = named(what)
        if done > limit:
            raise TooLargeError("algebra.too_many", limit=limit, what=counted, done=done)
        if time.thread_time() > self.begin + self.limits.seconds:
            raise TooLargeError("algebra.time_over", seconds=self.limits.seconds, done=done, what=counted)
        if self.show:
            self.show(counted, done, limit)

    def still(self, what: str, done: int, limit: int) -> bool:
        """Whether the search may go on."""
        try:
            self(what, done, limit)
        except TooLargeError:
            return False
        return True

    def again(self) -> Watch:
        """The same for another search: the time starts anew."""
        return Watch(self.limits, self.show)
