"""What studies wrote into the served folder, for the views that draw it: found by name, read within bounds, checked.

The numbers are those that `glassformer evolve`, `superposition` and `lineage` left behind; nothing is computed here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from glassformer.documents.results import STUDIES, fits, opened
from glassformer.errors import InputError

LARGEST: Final = 4_000_000
"""Bytes of a file that is shown."""
MOST_PLACES: Final = 20


def kept(folder: Path) -> dict[str, list[str]]:
    """The files of every study in a folder and its folders; links that lead out of it are passed over."""
    root = folder.resolve()
    found = {name: sorted([*root.glob(f"{name}.json"), *root.glob(f"*/{name}.json")]) for name in STUDIES}
    return {
        name: [path.relative_to(root).as_posix() for path in paths if path.resolve().is_relative_to(root)][:MOST_PLACES]
        for name, paths in found.items()
    }


def read(folder: Path, place: str) -> dict[str, Any]:
    """What a study wrote, with its messages in every language."""
    name = Path(place).stem
    command = "evolve" if name == "evolution" else name
    if name not in STUDIES or place not in kept(folder)[name]:
        raise InputError("page.no_study")
    path = folder / place
    if path.stat().st_size > LARGEST:
        raise InputError("page.study_too_large", place=place, limit=LARGEST)
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise InputError("page.study_not_json", place=place, command=command) from None
    try:
        known = fits(written, STUDIES[name])
    except RecursionError:  # nested far deeper than anything that a study writes
        known = False
    if not known:
        raise InputError("page.study_of_another_version", place=place, command=command)
    return opened(name, written)
