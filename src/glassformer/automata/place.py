"""Where a text is wrong: the error that names the place and points at it."""

from __future__ import annotations

from typing import Any, NamedTuple

from glassformer.errors import InputError
from glassformer.messages import Message

BEFORE, AFTER = 60, 20  # characters of the line to show on either side of the place


class Source(NamedTuple):
    """A text to read, and the name that messages give it."""

    text: str
    name: str | Message

    def mistake(self, id: str | Message, /, at: int, **values: Any) -> InputError:
        """An error that names line and column (both from 1) of a place and shows it above a caret."""
        begin = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        left = max(begin, at - BEFORE)
        right = min(len(self.text) if end < 0 else end, at + AFTER)
        return InputError(
            "automata.mistake",
            name=self.name,
            line=self.line(at),
            column=at - begin + 1,
            what=_message(id, values),
            shown="".join(letter if letter.isprintable() else "·" for letter in self.text[left:right]),
            indent=" " * (at - left),
        )

    def wrong(self, id: str | Message, /, **values: Any) -> InputError:
        """An error that names the text, and no place in it."""
        return InputError("automata.wrong", name=self.name, what=_message(id, values))

    def line(self, at: int) -> int:
        """The number of the line of a place, from 1."""
        return self.text.count("\n", 0, at) + 1


def _message(id: str | Message, values: dict[str, Any]) -> Message:
    return id if isinstance(id, Message) else Message(id, **values)
