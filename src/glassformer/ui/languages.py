"""Sentences as the page gets them: in every language at once, so that it only has to choose."""

from __future__ import annotations

import json
from typing import TypeAlias

from glassformer.messages import Message, verbatim

Sentence: TypeAlias = dict[str, str]
"""The id of a message, and its text by language."""


def in_all_languages(sentence: Message | str) -> Sentence:
    """A sentence for the page; text that is no message has English alone."""
    message = verbatim(sentence) if isinstance(sentence, str) else sentence
    found = message.in_all_languages()
    return {"id": message.id, "en": found["en"]} if message.id == "common.verbatim" else found


def refusal(message: Message) -> str:
    """What was wrong with a request, as JSON."""
    return json.dumps({"error": in_all_languages(message)}, ensure_ascii=False)
