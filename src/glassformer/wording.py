"""How counts and lists are put into words, in messages and tables."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], most: int = 12) -> str:
    """'a', 'b', 'c', … and 7 more."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … and {len(names) - most} more"


def counted(number: int, thing: str) -> str:
    """1 layer, 1,024 layers."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def visible(name: str) -> str:
    """A name for a table: as it is, or quoted with escapes if it has signs that cannot be seen."""
    return name if name.isprintable() and name.strip() else repr(name)
