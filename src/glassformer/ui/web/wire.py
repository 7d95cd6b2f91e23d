"""JSON as it comes from outside and goes out again: read only if it can also be sent back."""

from __future__ import annotations

import json
from typing import Any

from glassformer.messages import Message


def read(text: bytes | str) -> Any:
    """What JSON says. ValueError for all that is none, and for NaN and infinity, halves of characters, numbers of
    thousands of digits, and nesting without end.
    """
    try:
        values = json.loads(text)
        written(values)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return values


def written(values: Any) -> bytes:
    """As it is sent."""
    return json.dumps(values, ensure_ascii=False, allow_nan=False).encode()


def refusal(message: Message) -> bytes:
    """What was wrong with a request, in all languages."""
    return written({"error": message.in_all_languages()})
