"""What studies wrote into the served folder, for the views that draw it: found by name, read within bounds, checked.

The numbers are those that `glassformer evolve`, `superposition` and `lineage` left behind; nothing is computed here.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final

from glassformer.errors import InputError

LARGEST: Final = 4_000_000
"""Bytes of a file that is shown."""
MOST_PLACES: Final = 20

VERDICTS: Final = [{"claim": str, "said": str, "holds": bool}]
SHAPES: Final[dict[str, dict[str, Any]]] = {
    "evolution": {
        "learned": {str: {"accuracy": float, "guess": float}},
        "information": {str: [{str: float}]},
        "distances": {str: [{str: float}]},
        "changes": {str: [{str: float}]},
        "most": float,
    },
    "superposition": {
        "pentagons": float,
        "dots": [{"rarity": float, "dimensionality": [float]}],
        "plateaus": {str: float},
        "importances": [float],
        "rarities": [float],
        "phases": [[str]],
        "dictionaries": [
            {"kind": str, "explained": float, "active": float, "mean_max_cosine": float, "recovered": float}
        ],
    },
    "lineage": {
        "family": [
            {
                "host": str,
                "task": str,
                "member": str,
                "accuracy": float,
                "width": float,
                "seeds": [float],
                "whole": float,
                "tests": {str: float},
                "reached": (float, None),
                "seconds": float,
            }
        ],
        "skips": {"accuracies": {str: {str: float}}, "gradients": {str: [float]}},
        "translating": ({"bleu": {str: {str: float}}}, None),
        "verdicts": VERDICTS,
    },
}
"""What each file must hold: keys by name, or any text; lists of one kind; one of several."""
MAY: Final[dict[str, dict[str, Any]]] = {
    "evolution": {"claims": VERDICTS, "quick": bool},
    "lineage": {"by_distance": {str: [float]}, "quick": bool},
}
"""And what it may."""


def kept(folder: Path) -> dict[str, list[str]]:
    """The files of every study in a folder and its folders; links that lead out of it are passed over."""
    root = folder.resolve()
    found = {name: sorted([*root.glob(f"{name}.json"), *root.glob(f"*/{name}.json")]) for name in SHAPES}
    return {
        name: [path.relative_to(root).as_posix() for path in paths if path.resolve().is_relative_to(root)][:MOST_PLACES]
        for name, paths in found.items()
    }


def read(folder: Path, place: str) -> dict[str, Any]:
    """What a study wrote, as far as the views show it."""
    name = Path(place).stem
    command = "evolve" if name == "evolution" else name
    if name not in SHAPES or place not in kept(folder)[name]:
        raise InputError("page.no_study")
    path = folder / place
    if path.stat().st_size > LARGEST:
        raise InputError("page.study_too_large", place=place, limit=LARGEST)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise InputError("page.study_not_json", place=place, command=command) from None
    if not fits(values, SHAPES[name]):
        raise InputError("page.study_of_another_version", place=place, command=command)
    more = {key: values[key] for key, shape in MAY.get(name, {}).items() if key in values and fits(values[key], shape)}
    return {key: values[key] for key in SHAPES[name]} | more


def fits(value: Any, shape: Any) -> bool:
    """Whether a value has a shape; numbers are finite."""
    if isinstance(shape, tuple):
        return any(fits(value, each) for each in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(each, shape[0]) for each in value)
    if isinstance(shape, dict) and str in shape:
        return isinstance(value, dict) and all(fits(each, shape[str]) for each in value.values())
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(key in value and fits(value[key], own) for key, own in shape.items())
    if shape is float:
        return isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value)
    return value is None if shape is None else isinstance(value, shape)
