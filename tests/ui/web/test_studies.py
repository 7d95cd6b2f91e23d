"""Numbers of studies in the served folder: found, read and checked; and approximations that are small enough."""

import json
from pathlib import Path
from typing import Any

import pytest

from glassformer.documents.results import in_all_languages
from glassformer.errors import InputError
from glassformer.ui.web import studies
from glassformer.ui.web.jobs import answer
from studied import STUDIED, write

ASKED = {"function": "sort", "d": 1, "n": 2, "cells": 4}


@pytest.mark.parametrize("name", STUDIED)
def test_what_a_study_writes_is_what_its_view_reads(name: str, tmp_path: Path) -> None:
    write(tmp_path, name)
    assert studies.kept(tmp_path)[name] == [f"{name}/{name}.json"]
    found = studies.read(tmp_path, f"{name}/{name}.json")
    assert found == in_all_languages(json.loads(json.dumps(STUDIED[name]())))


def test_files_that_are_no_study_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "served").mkdir()
    write(tmp_path, "lineage")
    served = tmp_path / "served"
    (served / "lineage.json").symlink_to(tmp_path / "lineage" / "lineage.json")
    assert studies.kept(served) == {"evolution": [], "superposition": [], "lineage": []}
    for place in ("lineage.json", "../lineage/lineage.json", "secret.json", "/etc/passwd"):
        with pytest.raises(InputError, match="no such study"):
            studies.read(served, place)
    broken = ("{", "[" * 9999, '{"dots": NaN}', '{"\\ud800": 1}', "9" * 5000)
    wrong = dict.fromkeys(broken, "is not JSON") | {
        "{}": "does not hold",
        '{"dots": ' + "9" * 400 + "}": "does not hold",
    }
    for text, words in wrong.items():
        (served / "superposition.json").write_text(text)
        with pytest.raises(InputError, match=words):
            studies.read(served, "superposition.json")
    monkeypatch.setattr(studies, "LARGEST", 3)
    with pytest.raises(InputError, match="larger than 3 bytes"):
        studies.read(served, "superposition.json")


def test_a_small_approximation_is_built_stage_by_stage() -> None:
    status, text = answer("approximate", json.dumps(ASKED))
    assert status == 200
    found = json.loads(text)
    assert found["blocks"] == found["formula_blocks"] == sum(part["blocks"] for part in found["parts"]) == 50
    assert found["contextual"]
    assert [len(stage["lines"]) for stage in found["stages"].values()] == [3, 2, 2, 3]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"function": "magic"}, "there is no function 'magic'"),
        ({"d": 9}, "d is a whole number from 1 to 3 here"),
        ({"n": "2"}, "n is a whole number"),
        ({"n": 4, "cells": 64}, "the limit is 4,000"),
        ({"cells": 3}, "powers of two"),
        ({"function": None}, "a text 'function'"),
    ],
)
def test_an_approximation_that_is_too_large_or_none_is_refused(changes: dict[str, Any], words: str) -> None:
    status, text = answer("approximate", json.dumps(ASKED | changes))
    assert status == 400
    assert words in json.loads(text)["error"]["en"]
    assert answer("approximate", "[]")[0] == 400
