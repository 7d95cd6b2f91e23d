"""Where in a text something is wrong: the error that says so and points at it."""

from __future__ import annotations

from typing import NamedTuple

from glassformer.errors import InputError

BEFORE, AFTER = 60, 20  # characters of the line to show on either side of the place


class Source(NamedTuple):
    """A text to read, and the name that messages give it."""

    text: str
    name: str

    def mistake(self, what: str, at: int) -> InputError:
        """An error that names line and column (both from 1) of a place and shows it above a caret."""
        begin = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        left = max(begin, at - BEFORE)
        right = min(len(self.text) if end < 0 else end, at + AFTER)
        shown = "".join(letter if letter.isprintable() else "·" for letter in self.text[left:right])
        place = f"{self.name}, line {self.line(at)}, column {at - begin + 1}"
        return InputError(f"{place}: {what}\n  {shown}\n  {' ' * (at - left)}^")

    def line(self, at: int) -> int:
        """The number of the line of a place, from 1."""
        return self.text.count("\n", 0, at) + 1
