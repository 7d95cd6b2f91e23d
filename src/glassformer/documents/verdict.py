"""What a study concludes: what was claimed, what was seen, and whether the claim holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from glassformer.messages import Message


@dataclass(frozen=True)
class Verdict:
    """Whether a claim held here, and by what numbers."""

    claim: Message
    seen_text: Message
    holds: bool

    def written(self) -> Written:
        """The same for a file."""
        messages = {"claim": self.claim.to_json(), "said": self.seen_text.to_json()}
        return Written(str(self.claim), str(self.seen_text), self.holds, messages)


@dataclass(frozen=True)
class Written:
    """A verdict in a file: in English, and by the ids and values of its messages, for readers of other languages."""

    claim: str
    said: str
    holds: bool
    messages: dict[str, Any] = field(default_factory=dict)


Measured: TypeAlias = tuple[Message, bool]
"""What was seen, and whether the claim holds."""


def numbered(document: str, *measures: Callable[[], Measured], first: int = 1) -> dict[str, Callable[[], Measured]]:
    """What measures the claims of a document, in their order, by their ids."""
    return {f"{document}.{number}": measure for number, measure in enumerate(measures, first)}


def yes_or_no(value: bool) -> Message:
    """In words."""
    return Message("documents.yes" if value else "documents.no")
