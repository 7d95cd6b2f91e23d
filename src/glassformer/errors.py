"""The one error that means "your input is wrong": its message says what, where, and what to do."""

from __future__ import annotations

import math
import operator
from importlib import import_module
from typing import Any, SupportsIndex

from glassformer.messages import Message, sentences, verbatim


class InputError(ValueError):
    """Something the user gave cannot be used as it is; the command line prints it and exits with 2."""

    def __init__(self, id: str | Message, /, **values: Any) -> None:
        self.message = id if isinstance(id, Message) else Message(id, **values)
        super().__init__(str(self.message))

    def __reduce__(self) -> tuple[type[InputError], tuple[Message]]:
        return type(self), (self.message,)  # from one process to another, in every language


def optional(module: str, id: str, **values: Any) -> Any:
    """A library that is an extra; where it is not installed, the message with this id says what to install."""
    try:
        return import_module(module)
    except ImportError:
        raise InputError(id, **values) from None


def whole_number(value: SupportsIndex, what: str | Message, least: int) -> int:
    """The value as an int, NumPy's kinds included; if it is none, or below the least, the error says what it is for."""
    what = named(what)
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError("common.not_whole", what=what, value=value) from None
    if isinstance(value, bool) or number < least:
        raise InputError("common.whole_number", what=what, least=least, value=value)
    return number


def finite_number(value: float, what: str | Message, least: float) -> float:
    """The value, if it is a number from the least on and not infinite; if not, the error says what it is for."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < least:
        raise InputError("common.finite_number", what=named(what), least=least, value=value)
    return value


def named(what: str | Message) -> Message:
    """What a number is for: by the id of its message, or a parameter by its name."""
    if isinstance(what, Message):
        return what
    return Message(what) if what in sentences("en") else verbatim(what)
