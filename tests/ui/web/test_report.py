"""The report: one file, everything in it, stage by stage."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassformer.automata import machine
from glassformer.messages import LANGUAGES, Message
from glassformer.ui import explaining
from glassformer.ui.explaining import Scale, explain
from glassformer.ui.web.bundle import VIEWS, script
from glassformer.ui.web.page import report_page
from glassformer.ui.web.server import PAGE
from shell import Shell

TINY = Scale(length=6, shown=5, words=4, steps=4, layers=1, width=16, tested=16, seconds=1.0)


def values_in(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="values">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_a_report_is_one_file_of_at_most_300_kb_without_its_values() -> None:
    page = report_page({"machine": None}, "nothing")
    assert len(page.encode()) < 300_000
    assert not re.search(r'(?:src|href)="(?!data:)', page)  # nothing is fetched
    assert not re.search(r"^\s*(?:import|export)\b", script("report"), re.MULTILINE)


def test_values_cannot_leave_their_script() -> None:
    values = {"machine": {"spec": "</script><script>alert(1)</script>"}}
    page = report_page(values, "</title><script>alert(2)</script>")
    assert page.count("<script") == 2
    assert values_in(page) == values


def test_both_languages_have_the_same_words() -> None:
    keys = [
        re.findall(r"^  (\w+): ", (VIEWS / f"strings.{name}.js").read_text(), re.MULTILINE) for name in ("en", "ko")
    ]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == len(keys[0])
    texts = [(VIEWS / f"strings.{name}.js").read_text() for name in ("en", "ko")]
    placed = [
        {line.split(":")[0]: sorted(re.findall(r"\{\w+\}", line)) for line in text.splitlines()} for text in texts
    ]
    for key in keys[0]:
        assert placed[0][f"  {key}"] == placed[1][f"  {key}"], key


def test_every_word_that_a_view_says_is_known() -> None:
    known = set(re.findall(r"^  (\w+): ", (VIEWS / "strings.en.js").read_text(), re.MULTILINE))
    said = {key for file in VIEWS.glob("*.js") for key in re.findall(r'say\(model, "(\w+)"', file.read_text())}
    assert said <= known
    assert len(said) > 100


def test_every_word_is_said_by_some_view() -> None:
    known = set(re.findall(r"^  (\w+): ", (VIEWS / "strings.en.js").read_text(), re.MULTILINE)) - {"name"}
    views = "".join(file.read_text() for file in VIEWS.glob("*.js") if not file.name.startswith("strings."))
    views = re.sub(r'(?:\.(?:get|set)|has|id:|class:|name:)\s*\(?"\w+"', "", views)  # names of values, not of words
    said = set(re.findall(r'"(\w+)"', views)) | set(re.findall(r"^  (\w+): \{ render", views, re.MULTILINE))
    assert known - said == set()


def test_every_stage_adds_to_what_is_known(tmp_path: Path) -> None:
    stages = [set(found) for found in explain(machine("parity"), "parity", tmp_path, TINY, lambda *_: None)]
    assert [len(stage) for stage in stages] == sorted({len(stage) for stage in stages})
    assert {"machine", "classified", "built", "verified", "trained", "heads", "breaks"} <= stages[-1]
    *_, again = explain(machine("parity"), "parity", tmp_path, TINY, lambda *_: None)  # nothing is trained again
    assert set(again["breaks"]["accuracy"]["built"].values()) == {1.0}
    assert again["verified"]["wrong"] == 0


def test_words_that_keep_out_of_dead_ends_are_tried_where_there_are_any(tmp_path: Path) -> None:
    tried = {}
    for spec in ("regex:(ab)*", "parity"):
        *_, found = explain(machine(spec), spec, tmp_path / spec[:3], TINY, lambda *_: None)
        tried[spec] = found["breaks"]["accuracy"]["built"]
    assert {tried["regex:(ab)*"][f"{n} letters, no dead end"] for n in (6, 9, 12)} == {1.0}
    assert not any("dead end" in name for name in tried["parity"])


def test_explain_writes_a_report_and_goes_on_after_an_interrupt(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "QUICK", TINY)
    whole = explain

    def interrupted(*arguments: Any) -> Iterator[Any]:
        for found in whole(*arguments):
            yield found
            if "verified" in found:
                raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(explaining, "explain", interrupted)
        shell("explain", "parity", "--quick", "--out", "told", code=130)
    kept = values_in(Path("told/report.html").read_text())
    assert kept["unfinished"]
    assert "trained" not in kept
    told = shell.json("explain", "parity", "--quick", "--out", "told", "--language", "ko")
    assert told["verified"]["wrong"] == 0
    done = values_in(Path("told/report.html").read_text())
    assert not done["unfinished"]
    assert done["language"] == "ko"
    assert "0 of" in shell("explain", "parity", "--quick", "--out", "told")[0]


def test_a_machine_with_one_answer_is_explained_without_training(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "QUICK", TINY)
    Path("one.json").write_text('{"symbols": ["a"], "states": ["q"], "delta": [[0]], "start": "q"}')
    assert "nothing was trained" in shell("explain", "one.json", "--quick", "--out", "told")[0]
    assert "a file: choose a folder" in shell("explain", "parity", "--out", "one.json", code=2)[1]
    assert "speaks en and ko" in shell("explain", "parity", "--language", "fr", code=2)[1]


def test_where_scripts_are_not_allowed_pages_say_so_in_all_languages() -> None:
    for page in (report_page({}, "parity"), PAGE):
        for language in LANGUAGES:
            assert Message("page.drawn_by_script").in_language(language) in page
