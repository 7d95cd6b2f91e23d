"""What studies leave in files: one dataclass for each file says what is written there, and what can be read back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

from glassformer.documents.evolution import results as evolution
from glassformer.documents.inside import results as superposition
from glassformer.documents.lineage import results as lineage
from glassformer.messages import Message, verbatim

STUDIES: Final = {
    "evolution": evolution.Evolution,
    "superposition": superposition.Superposition,
    "lineage": lineage.Lineage,
}
"""By the names of their files, without `.json`."""
FORMER: Final = {"evolution": evolution.FORMER, "superposition": superposition.FORMER, "lineage": lineage.FORMER}
"""For each study the ids of what earlier versions called by an English title."""
JSON: Final = float | str | bool | None | list[Any] | dict[str, Any]


def fits(value: Any, shape: Any) -> bool:
    """Whether parsed JSON has the shape of a type: numbers are finite, and a field with a default may be missing."""
    if is_dataclass(shape):
        hints = get_type_hints(shape)
        return isinstance(value, dict) and all(
            fits(value[each.name], hints[each.name]) if each.name in value else _has_default(each)
            for each in fields(shape)
        )
    kind, parts = get_origin(shape), get_args(shape)
    if kind is UnionType:
        return any(fits(value, part) for part in parts)
    if kind is list:
        return isinstance(value, list) and all(fits(each, parts[0]) for each in value)
    if kind is dict:  # in JSON all keys are text
        return isinstance(value, dict) and all(fits(each, parts[1]) for each in value.values())
    if shape in (int, float):
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if shape is Any:
        return fits(value, JSON)
    return isinstance(value, shape)


def _has_default(field: Any) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def opened(study: str, written: dict[str, Any]) -> dict[str, Any]:
    """What a study wrote, as this version writes it: by ids, with the titles of all of them, in every language."""
    found = _by_ids(written, FORMER[study])
    for each in fields(STUDIES[study]):
        if not each.init and callable(each.default_factory):
            found[each.name] = each.default_factory()
    return {each.name: in_all_languages(found[each.name]) for each in fields(STUDIES[study]) if each.name in found}


def _by_ids(value: Any, former: Mapping[str, str]) -> Any:
    """Keys and texts of parsed JSON by their ids; messages stay as they are."""
    if isinstance(value, list):
        return [_by_ids(each, former) for each in value]
    if isinstance(value, dict) and not _is_message(value):
        return {former.get(name, name): _by_ids(each, former) for name, each in value.items()}
    return former.get(value, value) if isinstance(value, str) else value


def _is_message(value: Mapping[Any, Any]) -> bool:
    return {"id", "values"} <= value.keys() <= {"id", "values", "text"}


def in_all_languages(value: Any) -> Any:
    """Parsed JSON with its messages in every language; what this version has no sentence for is None."""
    if isinstance(value, list):
        return [in_all_languages(each) for each in value]
    if not isinstance(value, dict):
        return value
    if not _is_message(value):
        return {name: in_all_languages(each) for name, each in value.items()}
    try:
        message = Message.from_json(value)
    except ValueError:
        return None
    return None if message == verbatim(value["id"]) else message.in_all_languages()
