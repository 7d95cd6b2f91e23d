"""What is found out about a machine on the way to a transformer, each thing once, and only if it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from glassformer.algebra.cascade import Cascade, lowest, tabulated
from glassformer.algebra.holonomy import holonomy
from glassformer.algebra.limits import TooLargeError, Watch
from glassformer.automata import AnyMachine, Machine, finite


@dataclass(frozen=True)
class Analysis:
    """A machine, and what searches within limits find; one that passed a limit raises its TooLargeError again."""

    source: AnyMachine
    watch: Watch = field(default_factory=Watch)
    merge: bool = True
    """Whether levels of the cascade are merged where that makes it lower."""

    @property
    def machine(self) -> Machine:
        """The machine, if it has finitely many states; InfiniteError if not."""
        return finite(self.source)

    @cached_property
    def trimmed(self) -> Machine:
        """The machine without the states that no word leads to."""
        return self.machine.trim()

    @property
    def plain_cascade(self) -> Cascade:
        """The cascade by holonomy alone, with every level."""
        return _result(self._plain)

    @property
    def cascade(self) -> Cascade:
        """The lowest cascade that was found."""
        return self.plain_cascade if not self.merge or self.merge_error else _result(self._merged)

    @property
    def merge_error(self) -> TooLargeError | None:
        """The limit that merging levels passed, if it did."""
        return self._merged if isinstance(self._merged, TooLargeError) else None

    @cached_property
    def _plain(self) -> Cascade | TooLargeError:
        watch = self.watch.again()
        return _searched(lambda: tabulated(holonomy(self.trimmed, watch), watch))

    @cached_property
    def _merged(self) -> Cascade | TooLargeError:
        return _searched(lambda: lowest(self.plain_cascade, self.watch.again()))


def _searched(search: Callable[[], Cascade]) -> Cascade | TooLargeError:
    try:
        return search()
    except TooLargeError as error:
        return error


def _result(found: Cascade | TooLargeError) -> Cascade:
    if isinstance(found, TooLargeError):
        raise found
    return found
