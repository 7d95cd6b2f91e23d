"""The one error that means "your input is wrong": its message says what, where, and what to do."""

from __future__ import annotations

import math
import operator
from typing import SupportsIndex


class InputError(ValueError):
    """Something the user gave cannot be used as it is; the command line prints it and exits with 2."""


def whole_number(value: SupportsIndex, what: str, least: int) -> int:
    """The value as an int, NumPy's kinds included; if it is none, or below the least, the error says what it is for."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{what} is a whole number, not {value!r}") from None
    if isinstance(value, bool) or number < least:
        raise InputError(f"{what} is a whole number from {least} on, not {value!r}")
    return number


def finite_number(value: float, what: str, least: float) -> float:
    """The value, if it is a number from the least on and not infinite; if not, the error says what it is for."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < least:
        raise InputError(f"{what} is a number from {least:g} on, not {value!r}")
    return value
