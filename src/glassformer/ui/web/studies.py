"""What studies wrote into the served folder, for the views that draw it: found by name, read within bounds, checked.

The numbers are those that `glassformer evolve`, `superposition` and `lineage` left behind; nothing is computed here.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any, Final

from glassformer.documents.results import STUDIES, fits, opened
from glassformer.errors import InputError
from glassformer.ui.web import wire

LARGEST: Final = 4_000_000
"""Bytes of a file that is shown."""
MOST_PLACES: Final = 20


def within(folder: Path, place: str) -> Path | None:
    """The regular file at a place in a folder; none for whatever else a place may be, and for links that lead out."""
    try:
        root = folder.resolve()
        path = (root / place).resolve()
        return path if path.is_relative_to(root) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # too long, with a NUL, links in a circle
        return None


def places(folder: Path, name: str, most: int) -> list[str]:
    """The files of a name, which may hold a *, in a folder and its folders, as far as they can be written in a link."""
    root = folder.resolve()
    found = (path.relative_to(root).as_posix() for path in sorted([*root.glob(name), *root.glob(f"*/{name}")]))
    return list(islice((place for place in found if _is_text(place) and within(root, place)), most))


def _is_text(place: str) -> bool:
    try:
        return bool(place.encode())
    except UnicodeEncodeError:
        return False


def kept(folder: Path) -> dict[str, list[str]]:
    """The files of every study in a folder and its folders."""
    return {name: places(folder, f"{name}.json", MOST_PLACES) for name in STUDIES}


def read(folder: Path, place: str) -> dict[str, Any]:
    """What a study wrote, with its messages in every language."""
    name = Path(place).stem
    command = "evolve" if name == "evolution" else name
    if name not in STUDIES or place not in kept(folder)[name]:
        raise InputError("page.no_study")
    with (folder / place).open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError("page.study_too_large", place=place, limit=LARGEST)
    try:
        written = wire.read(data)
    except ValueError:
        raise InputError("page.study_not_json", place=place, command=command) from None
    try:
        known = fits(written, STUDIES[name])
    except (
        RecursionError,
        OverflowError,
    ):  # nested far deeper, or numbers far larger, than anything that a study writes
        known = False
    if not known:
        raise InputError("page.study_of_another_version", place=place, command=command)
    return opened(name, written)
