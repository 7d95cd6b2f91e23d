"""What Python says reaches a Korean reader in Korean: asked of the very function that the page uses."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import Watched, skip_without_a_browser
from glassformer.algebra import Limits
from glassformer.automata import machine
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler.pipeline import compile
from glassformer.documents.lineage import verdicts
from glassformer.documents.lineage.family import IN_THE_BLOCK
from glassformer.documents.lineage.results import BLOCK, RNN, Family, Row, Skips, Translating
from glassformer.documents.lineage.skips import KINDS
from glassformer.errors import InputError
from glassformer.ui.looking import built_seen, class_seen
from glassformer.ui.web import workers
from glassformer.ui.web.jobs import answer
from serving import Server
from studied import STUDIED

skip_without_a_browser()
pytestmark = pytest.mark.filterwarnings("ignore")
ENGLISH = re.compile(r"\b[a-z]{2,} [a-z]{2,}(?: [a-z]{2,})?\b")
"""Two words in a row; names of members and tasks are English in Korean, too, but never stand beside each other."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("served"))
    yield made
    made.process.terminate()
    made.process.wait()


def in_korean(browser: Any, server: Server, said: list[str]) -> dict[str, str]:
    """What the page makes of words."""
    page = Watched(browser).page
    page.goto(server.url)
    korean: list[str] = page.evaluate(
        """async said => {
            const { retell } = await import("/views/words.js");
            return said.map(words => retell({ get: () => "ko" }, words));
        }""",
        said,
    )
    return dict(zip(said, korean, strict=True))


def assert_all_korean(browser: Any, server: Server, said: list[str]) -> None:
    told = in_korean(browser, server, sorted(set(said)))
    left = [words for words, korean in told.items() if not re.search("[가-힣]", korean)]
    assert left == []
    first_lines = {words: korean.split("\n")[0] for words, korean in told.items()}
    quoted = re.compile(r"'[^']*'|`[^`]*`|\([^가-힣]*\)")  # signs, commands, and what other libraries say
    assert [line for line in first_lines.values() if ENGLISH.search(quoted.sub("", line))] == []


def test_what_is_said_of_every_machine_of_the_zoo_and_its_model(browser: Any, server: Server) -> None:
    said: list[str] = []
    asked = [(spec, method) for spec in SPECIMENS for method in ("auto", "log")]
    asked += [("symmetric(5)", "cascade"), ("permutation_reset(4)", "cascade"), ("dyck(pairs=2, depth=2)", "cascade")]
    asked += [("regex:(a|b)*abb", "cascade"), ("regex:(aa)*", "auto"), ("dyck(pairs=1, depth=3)", "dyck")]
    for spec, method in asked:
        built, classified = built_seen(compile(machine(spec), 16, method)), class_seen(machine(spec), spec, 16)
        said += [classified["theorem"], classified["assumes"], built["theorem"], *built["why"].split("; ")]
        said += [*built["margins"], *(part for words in built["margins"].values() for part in words.split("; "))]
        said += [words for part in built["parts"] for words in (*part["heads"], part["mlp"]) if words]
        said += [register["about"] for register in built["registers"]] + classified["notes"]
        drawn = re.findall(r">([^<>]+)</text>", classified["drawing"] or "")
        said += [words for words in drawn if re.search(r"[a-z]{3,} [a-z]{2,}|Level", words)]
    assert_all_korean(browser, server, [words for words in said if words])


def test_what_was_not_found_out_within_the_limits(browser: Any, server: Server) -> None:
    spec = "random(12, letters=5, seed=1)"
    said: list[str] = []
    for limits in (
        Limits(elements=10),
        Limits(images=3),
        Limits(images=3, seconds=math.inf),
        Limits(rows=5),
        Limits(seconds=0.0),
    ):
        said += class_seen(machine(spec), spec, 16, limits)["notes"]
    said += compile("parity", 100, dtype="bfloat16").certificate.summary()["why"].split("; ")
    assert len(set(said)) > 4
    with pytest.raises(InputError, match="would not be exact") as refused:
        compile("cyclic(300)", 100, "cascade", "float16")
    said.append(str(refused.value))
    assert_all_korean(browser, server, said)


def test_what_studies_conclude(browser: Any, server: Server) -> None:
    def row(case: tuple[str, str, str], reached: int | None = 300) -> Row:
        return Row(*case, 32, [0.9, 0.9], 0.9, 0.9, {"longer": 0.5}, reached, 2.5)

    names = ("none", "additive", "scaled dot", "additive, before the step", "scaled dot, before the step")
    rows = [row((RNN, task, name)) for task in ("reverse", "fetch") for name in names]
    rows.append(row((RNN, "fetch", "multi-head"), reached=None))
    rows += [row((BLOCK, IN_THE_BLOCK, name)) for name in ("additive", "scaled dot")]
    family = Family(rows, {name: [0.9, 0.5, 0.2] for name in ("none", "additive")})
    stacked = Skips({kind: {2: 0.9, 16: 0.5} for kind in KINDS}, {kind: [0.1] for kind in KINDS})
    bleu = Translating({name: {8: 20.0, 16: 15.0} for name in ("additive", "none")}, [])
    found = [*verdicts.of_family(family), *verdicts.of_skips(stacked), *verdicts.of_translating(bleu)]
    assert len(found) == 6
    said = [str(words) for verdict in found for words in (verdict.claim, verdict.seen)]
    said += [verdict[key] for verdict in STUDIED["evolution"]()["claims"] for key in ("claim", "said")]
    assert len(said) == 12 + 10
    assert_all_korean(browser, server, said)


PATTERNS = ["(", "a)", "a**", "*", "[", "a{3,2}", "a{x", "[b-a]", "a|", "|a", "a]", "$", "\\", "[\\D]", "\\q", "[]"]
PATTERNS += ["a&b|c", "&a", "", "(a|b)*a.{30}"]
SPECS = ["", "nope", "cyclc(5)", "cyclic(", "cyclic(5, 6, 7)", "cyclic(x)", "cyclic(0)", "x.json", "cyclic(300)"]
SPECS += ["dyck(pairs=2, depth=40)", "1 + 1", "a" * 401]
NO_MACHINES: list[Any] = [
    [],
    {"symbols": ["a"]},
    {"symbol": ["a"]},
    {"symbols": 1, "states": ["q"], "delta": [], "start": "q"},
    {"symbols": ["a", 1], "states": ["q"], "delta": [], "start": "q"},
    {"symbols": ["a"], "states": ["q"], "delta": [[0]], "start": "q", "outputs": [1]},
    {"symbols": ["a"], "states": ["q"], "delta": [], "start": "q"},
    {"symbols": ["a"], "states": ["q"], "delta": [[0, 1]], "start": "q"},
    {"symbols": ["a"], "states": ["q"], "delta": [[7]], "start": "q"},
    {"symbols": ["a"], "states": ["q"], "delta": [[0]], "start": "r"},
    {"symbols": ["a"], "states": ["q"], "delta": [[0]], "start": "q", "outputs": []},
]
FILES = [("f.json", "{"), *(("f.json", json.dumps(each)) for each in NO_MACHINES)]
FILES += [
    ("f.dot", text) for text in ("", "graph { a -- b }", "digraph { }", 'digraph { a -> b [label="x"]; subgraph c {} }')
]
FILES += [("f.att", text) for text in ("", "0 1 <eps>", "0 1 a b c d", "0 1 a 3.5")]
FILES += [("f.txt", "")]
FILES += [("f.dot", 'digraph { s -> q; q -> r [label="a"]; }'), ("f.att", "0 1 a\n1 0 a\n0 0 a\n")]
MISTAKES: list[dict[str, Any]] = [
    *({"spec": f"regex:{pattern}"} for pattern in PATTERNS),
    *({"spec": spec} for spec in SPECS),
    *({"spec": name, "file": {"name": name, "text": text}} for name, text in FILES),
    {"spec": "parity", "word": "01x"},
    {"spec": "parity", "word": "01'"},
    {"spec": "parity", "word": "0" * 600},
    {"spec": "parity", "length": 2000},
    {"spec": "parity", "method": "gridworld"},
    {"spec": "parity", "method": "dyck"},
    {"spec": "parity", "without": [[9, 9]]},
    {"spec": "random(250)", "method": "log", "length": 1024},
]


def test_what_is_refused(browser: Any, server: Server) -> None:
    said = [workers.TOO_LONG.format(seconds=20), workers.TOO_MANY, workers.DIED]
    for mistake in MISTAKES:
        status, text = answer("look", json.dumps(mistake))
        assert status == 400, (mistake, text[:200])
        said.append(json.loads(text)["error"])
    for sizes in ({"function": "sort", "d": 9, "n": 2, "cells": 8}, {"function": "sort", "d": 2, "n": 4, "cells": 64}):
        status, text = answer("approximate", json.dumps(sizes))
        assert status == 400
        said.append(json.loads(text)["error"])
    assert_all_korean(browser, server, said)


def test_particles_follow_the_sound_before_them(browser: Any, server: Server) -> None:
    told = {
        "does this letter reset level 2?": "이 글자가 레벨 2를 초기화하는가?",
        "does this letter reset level 3?": "이 글자가 레벨 3을 초기화하는가?",
        "there are more than 10 elements, the limit (31 were found)": "원소가 한도인 10개보다 많음 (찾은 것 31개)",
        "resets to 1": "1로 초기화",
        "resets to 3": "3으로 초기화",
        "104 would do": "104면 충분",
        "0.3 would do": "0.3이면 충분",
        "95% values": "글자 values의 비율 95 %",  # what people call things stays as it is
        "2 tiles of {range, values, q}": "{range, values, q}의 타일 2개",
        "x must lie between 1 and 2, not 3": "x은(는) 1에서 2 사이여야 합니다 (현재 값: 3)",
    }
    assert in_korean(browser, server, list(told)) == told


def test_a_mistake_is_told_again_when_the_language_changes(browser: Any, server: Server, tmp_path: Path) -> None:
    page = Watched(browser).page
    page.goto(f"{server.url}/#spec=regex:(")
    page.wait_for_selector("[role=alert]")
    assert "never closed" in page.locator("[role=alert]").inner_text()
    page.select_option("#language", "ko")
    page.wait_for_function("() => document.querySelector('[role=alert]').innerText.includes('닫히지 않았습니다')")
