"""What studies wrote is read back, by this version and if an earlier one wrote it, in every language."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from glassformer.documents.evolution import results as evolution
from glassformer.documents.inside import results as superposition
from glassformer.documents.lineage import results as lineage
from glassformer.documents.lineage.family import BLOCKS, READERS, TASKS
from glassformer.documents.lineage.skips import KINDS
from glassformer.documents.results import FORMER, STUDIES, fits, in_all_languages
from glassformer.errors import InputError
from glassformer.ui.web.studies import read
from studied import STUDIED, write


@pytest.mark.parametrize("name", STUDIES)
def test_what_is_written_has_the_fields_that_are_declared(name: str) -> None:
    assert set(STUDIED[name]()) == {field.name for field in fields(STUDIES[name])}


@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("evolution", ("claims", "quick", "names")),
        ("superposition", ("names", "shares")),
        ("lineage", ("by_distance", "quick", "names")),
    ],
)
def test_results_of_earlier_versions_still_open(name: str, later: tuple[str, ...], tmp_path: Path) -> None:
    written = {key: value for key, value in json.loads(json.dumps(STUDIED[name]())).items() if key not in later}
    for verdict in written.get("verdicts", []):
        del verdict["messages"]
    former = json.dumps(written)
    for title, id in FORMER[name].items():
        former = former.replace(json.dumps(id), json.dumps(title))
    assert former != json.dumps(written)
    (tmp_path / f"{name}.json").write_text(former)
    named = in_all_languages({key: value for key, value in STUDIED[name]().items() if key in ("names", "shares")})
    assert read(tmp_path, f"{name}.json") == written | named


def test_all_that_a_study_can_write_has_a_title() -> None:
    assert set(evolution.QUESTIONS) | set(evolution.NAMES) < set(evolution.titles())
    assert {*superposition.SHARES, *superposition.PHASES} < set(superposition.titles())
    titles = lineage.titles()
    assert list(titles["members"]) == list(READERS)
    assert set(titles["members"]) > set(BLOCKS)
    assert set(titles["tasks"]) == set(TASKS)
    assert list(titles["skips"]) == list(KINDS)
    assert {test for task in TASKS.values() for test in task.tests} == set(titles["tests"])
    known = {*evolution.titles(), *superposition.titles(), *(id for some in titles.values() for id in some)}
    assert {id for former in FORMER.values() for id in former.values()} < known


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
