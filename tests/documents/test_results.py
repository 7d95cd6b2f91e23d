"""What studies wrote is read back, by this version and if an earlier one wrote it, in every language."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from glassformer.documents.results import STUDIES, fits, in_all_languages
from glassformer.errors import InputError
from glassformer.ui.web.studies import read
from studied import STUDIED, write


@pytest.mark.parametrize("name", STUDIES)
def test_what_is_written_has_the_fields_that_are_declared(name: str) -> None:
    assert set(STUDIED[name]()) == {field.name for field in fields(STUDIES[name])}


@pytest.mark.parametrize(
    ("name", "later"), [("evolution", ("claims", "quick", "names")), ("lineage", ("by_distance", "quick"))]
)
def test_results_of_earlier_versions_still_open(name: str, later: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, name)
    file = tmp_path / name / f"{name}.json"
    written = {key: value for key, value in json.loads(file.read_text()).items() if key not in later}
    for verdict in written.get("verdicts", []):
        del verdict["messages"]
    file.write_text(json.dumps(written))
    assert read(tmp_path, f"{name}/{name}.json") == written


def test_verdicts_come_in_every_language() -> None:
    for study, key in (("evolution", "claims"), ("lineage", "verdicts")):
        found = in_all_languages(STUDIED[study]())[key]
        assert found
        for verdict in found:
            for part in ("claim", "said"):
                message = verdict["messages"][part]
                assert message["en"] == verdict[part] != message["ko"]


def test_a_sentence_that_this_version_does_not_have_is_none() -> None:
    assert in_all_languages([{"id": "lineage.gone", "values": {}}, {"a": 1}]) == [None, {"a": 1}]


@pytest.mark.parametrize(
    ("value", "shape", "right"),
    [
        (1, float, True),
        (True, float, False),
        (float("nan"), float, False),
        (None, int | None, True),
        ({"8": 1.5}, dict[int, float], True),
        ({"8": "x"}, dict[int, float], False),
        ([["alone"], ["x"]], list[list[str]], True),
        ({"a": [1, None, "x"]}, Any, True),
        ({"a": [float("inf")]}, Any, False),
    ],
)
def test_values_fit_types(value: object, shape: object, right: bool) -> None:
    assert fits(value, shape) == right


def test_what_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "superposition")
    file = tmp_path / "superposition" / "superposition.json"
    deep = json.dumps(json.loads(file.read_text()) | {"names": "HERE"}).replace(
        '"HERE"', '{"a": ' * 300 + "1" + "}" * 300
    )
    file.write_text(deep)
    with pytest.raises(InputError, match="does not hold"):
        read(tmp_path, "superposition/superposition.json")
