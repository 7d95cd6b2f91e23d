"""How counts and names are put into the tables of the command line and of notebooks."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """1 layer, 1,024 layers."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def visible(name: str) -> str:
    """A name for a table: as it is, or quoted with escapes if it has unprintable characters."""
    return name if name.isprintable() and name.strip() else repr(name)
