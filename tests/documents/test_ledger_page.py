"""`glassformer claims --html FILE`: the ledger as a page that stands alone."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from glassformer.documents import ledger
from glassformer.documents.ledger import CLAIMS, DOCUMENTS, Claim
from glassformer.messages import verbatim
from glassformer.ui.drawing.ledger import LedgerRow, draw_ledger
from shell import Shell

ROWS = [
    LedgerRow("S0.1", "a < b & 'c'", "<script>alert(1)</script>", True),
    LedgerRow("S0.2", 'said "so"', "not\u00a0so", False),
    LedgerRow("S4.1", "more", "seen", True),
]


class Page(HTMLParser):
    """The words of a page by where they stand, and what it opens and closes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.words: dict[str, list[str]] = {}
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.setdefault(self.open[-1], []).append(data)


def test_the_page_has_every_row_under_its_document() -> None:
    page = Page(draw_ledger(ROWS, {"S0": "Shortcuts & more"}, verbatim("a <note>")))
    assert page.words["h2"] == ["S0 · Shortcuts & more", "S4"]
    assert page.words["td"] == [words for row in ROWS for words in (row.claimed, row.measured)]
    assert [name for name in page.words["th"] if "." in name] == ["S0.1", "S0.2", "S4.1"]
    assert page.words["p"][0] == "2 of 3 claims hold"
    assert {"1 of 2 claims hold", "1 of 1 claim holds", "a <note>"} <= set(page.words["p"])


def test_what_does_not_hold_is_said_in_words_first_of_all() -> None:
    text = draw_ledger(ROWS, {})
    page = Page(text)
    assert page.words["span"] == ["✗ does not hold", "✓ holds", "✗ does not hold", "✓ holds"]
    assert page.words["a"] == ["S0.2"]
    assert 'href="#S0.2"' in text
    assert 'id="S0.2"' in text
    assert "does not hold" not in draw_ledger(ROWS[:1], {})


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    text = draw_ledger(ROWS, {"S0": "<img src=x>"}, verbatim("<link>"))
    assert not {"script", "link", "img", "iframe"} & Page(text).tags
    assert not re.search(r"https?:|url\(|@import", text)
    assert "prefers-color-scheme: dark" in text


def test_the_words_around_the_claims_come_in_korean() -> None:
    page = Page(draw_ledger(ROWS, {}, language="ko"))
    assert page.words["h1"] == ["주장 목록"]
    assert page.words["p"][0] == "주장 3개 가운데 2개 성립"
    assert page.words["span"][:2] == ["✗ 성립하지 않음", "✓ 성립"]


def test_a_page_without_rows_is_a_page() -> None:
    assert Page(draw_ledger([], {})).words["p"] == ["0 of 0 claims hold"]


def test_every_claim_is_of_a_document_with_a_title() -> None:
    assert {claim.id.split(".")[0] for claim in CLAIMS} == set(DOCUMENTS)
    for claim in CLAIMS:
        assert DOCUMENTS[claim.id.split(".")[0]] in (sys.modules[claim.measure.__module__].__doc__ or "")


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two claims that are quick, of which one does not hold, and one that trains."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    claims = (
        Claim("S0.1", "One.", lambda: (verbatim("seen"), True)),
        Claim("S0.2", "Two.", lambda: (verbatim("not seen"), False)),
        Claim("S3.1", "Three.", lambda: (verbatim("seen"), True), lambda progress: None),
    )
    monkeypatch.setattr(ledger, "CLAIMS", claims)


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("asked", "shown"),
    [([], "S0.1 S0.2"), (["--quick"], "S0.1 S0.2"), (["S0.2"], "S0.2"), (["--all"], "S0.1 S0.2 S3.1")],
)
def test_the_page_is_written_even_if_a_claim_does_not_hold(
    shell: Shell, tmp_path: Path, asked: list[str], shown: str
) -> None:
    text, notes = shell("claims", *asked, "--html", "ledger.html", code=1)
    page = (tmp_path / "ledger.html").read_text(encoding="utf-8")
    assert re.findall(r'<tr id="(.*?)"', page) == shown.split()
    assert "not seen" in text
    assert "wrote ledger.html" in notes
    assert ("more can be run" in page) == (asked != ["--all"])


@pytest.mark.usefixtures("three")
def test_quick_names_what_it_leaves_out(shell: Shell) -> None:
    assert "left out, because they take longer: S3.1\n" in shell("claims", "--quick", code=1)[1]


@pytest.mark.usefixtures("three")
def test_the_page_goes_with_json(shell: Shell, tmp_path: Path) -> None:
    assert shell.json("claims", "S0.1", "--html", "ledger.html")[0]["holds"] is True
    assert (tmp_path / "ledger.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--quick", "--all"], "give ids, or --quick, or --all"),
        (["--all", "S0.1"], "give ids, or --quick, or --all"),
        (["--quick", "S0.1"], "give ids, or --quick, or --all"),
        (["--again"], "give it with --all"),
        (["--list", "--html", "x.html"], "leave one of them out"),
        (["--html", "nowhere/x.html"], "nowhere/x.html: cannot be written: there is no folder nowhere"),
        (["--html", "."], "it is a folder"),
        (["--list", "--keep", "x.json"], "leave one of them out"),
        (["--keep", "nowhere/x.json"], "nowhere/x.json: cannot be written: there is no folder nowhere"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_measured(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.setattr("glassformer.ui.cli.claims.measure", lambda *asked: pytest.fail("measured"))
    _, notes = shell("claims", *arguments, code=2)
    assert message in notes


def test_quick_claims_can_be_listed(shell: Shell) -> None:
    listed = [row["id"] for row in shell.json("claims", "--list", "--quick")]
    assert listed == [claim.id for claim in CLAIMS if claim.quick]
    assert not [claim.id for claim in CLAIMS if claim.quick and claim.slow]
    assert {name.split(".")[0] for name in listed} == {"S0", "S1", "S2", "S4"}
