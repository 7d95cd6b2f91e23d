"""What a study concludes: a sentence that was claimed, what was seen, and whether it is so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """Whether a claim held here, and by what number."""

    claim: str
    said: str
    holds: bool
