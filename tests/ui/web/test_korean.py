"""Whatever Python sends to the page comes in all languages, and the page only chooses."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from browsing import Watched, skip_without_a_browser
from glassformer.algebra import Limits
from glassformer.automata import machine
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler.pipeline import compile
from glassformer.messages import LANGUAGES
from glassformer.ui.looking import built_seen, class_seen
from glassformer.ui.web.jobs import answer
from serving import Server

pytestmark = pytest.mark.filterwarnings("ignore")
ENGLISH = re.compile(r"\b[a-z]{2,} [a-z]{2,}(?: [a-z]{2,})?\b")
"""Two words in a row; names of members and tasks are English in Korean, too, but never stand beside each other."""
QUOTED = re.compile(r"'[^']*'|`[^`]*`|\([^가-힣]*\)")
"""Letters, commands, and what other libraries say."""


def sentences_in(value: Any) -> Iterator[dict[str, str]]:
    """Every sentence in what the page gets."""
    if isinstance(value, dict) and {"id", "en"} <= value.keys():
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from sentences_in(part)


def assert_all_korean(value: Any, least: int = 1) -> None:
    """All messages in it have Korean; what is verbatim is the same in every language."""
    messages = [each for each in sentences_in(value) if each["id"] != "common.verbatim"]
    assert len(messages) >= least
    assert all(each.keys() == {"id", *LANGUAGES} for each in messages)
    assert [each for each in messages if not re.search("[가-힣]", each["ko"])] == []
    assert [each["ko"] for each in messages if ENGLISH.search(QUOTED.sub("", each["ko"]))] == []


def words_in(drawing: str) -> list[str]:
    return re.findall(r">([^<>]+)</text>", drawing)


@pytest.mark.parametrize("spec", SPECIMENS)
def test_a_machine_of_the_zoo_and_its_model(spec: str) -> None:
    found = class_seen(machine(spec), spec, 16)
    assert_all_korean([built_seen(compile(machine(spec), 16, method)) for method in ("auto", "log")], 10)
    assert_all_korean(found, 0)
    if found["drawing"]:
        english, korean = (words_in(found["drawing"][language]) for language in LANGUAGES)
        assert len(english) == len(korean)
        assert not any(ENGLISH.search(words) for words in korean[1:])


@pytest.mark.parametrize("spec", ["symmetric(5)", "permutation_reset(4)", "dyck(pairs=2, depth=2)", "regex:(a|b)*abb"])
def test_a_cascade(spec: str) -> None:
    assert_all_korean(built_seen(compile(machine(spec), 16, "cascade")), 10)


def test_groups_without_a_name_are_described() -> None:
    found = class_seen(machine("divisible(7)"), "divisible(7)", 16)
    for language, order in (("en", "order 21"), ("ko", "위수 21")):
        assert any(order in words for words in words_in(found["drawing"][language]))


def test_what_was_not_found_out_within_the_limits() -> None:
    spec = "random(12, letters=5, seed=1)"
    limits = (Limits(elements=10), Limits(images=3), Limits(rows=5), Limits(seconds=0.0))
    assert_all_korean([class_seen(machine(spec), spec, 16, each) for each in limits], 0)


REFUSED: list[dict[str, Any]] = [
    {"file": "m.json"},
    {"spec": "a" * 401},
    {"spec": None},
    {"spec": "x.json"},
    {"spec": "cyclic(300)"},
    {"word": "0" * 600},
    {"length": 2000},
    {"method": "magic"},
    {"method": "gridworld"},
    {"without": [[9, 9]]},
    {"without": [[0, 0]] * 100},
    {"spec": "random(250)", "method": "log", "length": 1024},
]


@pytest.mark.parametrize("changes", REFUSED)
def test_what_is_refused(changes: dict[str, Any]) -> None:
    status, text = answer("look", json.dumps({"spec": "parity"} | changes))
    assert status == 400
    assert_all_korean(json.loads(text))


PATTERNS = [
    "(",
    "a)",
    "a**",
    "*",
    "[",
    "a{3,2}",
    "a{x",
    "[b-a]",
    "a|",
    "|a",
    "a]",
    "$",
    "\\",
    "[\\D]",
    "\\q",
    "[]",
    "a&b|c",
]
SPECS = [
    "",
    "nope",
    "cyclc(5)",
    "cyclic(",
    "cyclic(5, 6, 7)",
    "cyclic(x)",
    "cyclic(0)",
    "dyck(pairs=2, depth=40)",
    "1 + 1",
]
FILES = {
    "m.json": ["{", "[]", '{"symbol": ["a"]}', '{"symbols": ["a"], "states": ["q"], "delta": [[7]], "start": "q"}'],
    "m.dot": ["", "graph { a -- b }", "digraph { }", 'digraph { a -> b [label="x"]; subgraph c {} }'],
    "m.att": ["", "0 1 <eps>", "0 1 a b c d", "0 1 a 3.5"],
    "m.txt": [""],
}


def test_nothing_is_english_alone() -> None:
    asked: list[dict[str, Any]] = [{"spec": f"regex:{pattern}"} for pattern in PATTERNS]
    asked += [{"spec": spec} for spec in SPECS] + [{"spec": "parity", "word": "01x"}]
    asked += [{"spec": name, "file": {"name": name, "text": text}} for name, texts in FILES.items() for text in texts]
    answers = [answer("look", json.dumps(each)) for each in asked]
    assert {status for status, _ in answers} == {400}
    sentences = [json.loads(text)["error"] for _, text in answers]
    sentences += sentences_in([class_seen(machine(spec), spec, 16) for spec in ("parity", "symmetric(5)")])
    assert [each["en"] for each in sentences if each["id"] == "common.verbatim"] == []


def test_what_is_no_request() -> None:
    for body in ("[", "[]"):
        assert_all_korean(json.loads(answer("look", body)[1]))
    assert_all_korean(json.loads(answer("approximate", json.dumps({"function": "sort", "d": 9}))[1]))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    skip_without_a_browser()
    made = Server(tmp_path_factory.mktemp("served"))
    yield made
    made.stop()


def test_the_page_chooses(browser: Any, server: Server) -> None:
    page = Watched(browser).page
    page.goto(server.link)
    shown = page.evaluate(
        """async () => {
            const { say } = await import("/views/words.js");
            const words = { id: "x", en: "a state", ko: "상태" };
            const verbatim = { id: "common.verbatim", en: "as it is", ko: "as it is" };
            return ["en", "ko"].map((language) => ({ get: () => language })).flatMap((model) =>
                [say(model, words), say(model, "does", { words }), say(model, verbatim)]);
        }"""
    )
    assert shown == ["a state", "What it does: a state", "as it is", "상태", "하는 일: 상태", "as it is"]


def test_a_mistake_is_shown_again_when_the_language_changes(browser: Any, server: Server) -> None:
    page = Watched(browser).page
    page.goto(f"{server.link}#spec=cyclic(999)")
    page.wait_for_selector("[role=alert]")
    assert "up to 256 states" in page.locator("[role=alert]").inner_text()
    page.select_option("#language", "ko")
    page.wait_for_function("() => document.querySelector('[role=alert]').innerText.includes('상태 256개까지')")
