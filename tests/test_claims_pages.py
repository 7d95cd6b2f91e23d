"""The pages of the five documents show every claim once, with its command, and what was measured, whatever that was."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.documents.ledger import CLAIMS, DOCUMENTS, Claim, Kept, run
from glassformer.documents.verdict import Measured
from glassformer.messages import verbatim
from places import script_of_docs

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {name: (DOCS / "claims" / f"{name.lower()}.md").read_text(encoding="utf-8") for name in DOCUMENTS}


@pytest.fixture(scope="module")
def show_claims() -> Any:
    """What mkdocs runs, docs/show_claims.py."""
    return script_of_docs("show_claims")


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "claims.json")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_claim_is_on_the_page_of_its_document_once_with_its_command(document: str, show_claims: Any) -> None:
    shown = show_claims.on_page_markdown(PAGES[document])
    ids = [claim.id for claim in CLAIMS if claim.id.split(".")[0] == document]
    assert re.findall(r'^!!! \w+ "(S\d+\.\d+) ', shown, re.MULTILINE) == ids
    assert re.findall(r"^    \*\*Run it\.\*\* `glassformer claims (.*)`$", shown, re.MULTILINE) == ids
    assert re.findall(r'<a id="(.*?)">', shown) == ids
    assert "claims.json" not in shown


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_picture_of_a_page_is_there(document: str) -> None:
    pictures = re.findall(r"!\[.+?\]\((.*?)\)", PAGES[document])
    assert pictures
    assert all((DOCS / "claims" / picture).is_file() for picture in pictures)


def test_the_table_leads_to_every_claim(show_claims: Any) -> None:
    shown = show_claims.on_page_markdown((DOCS / "claims" / "index.md").read_text(encoding="utf-8"))
    links = re.findall(r"^\| \[(.*?)\]\((.*?)\) \|", shown, re.MULTILINE)
    assert links == [(claim.id, f"{claim.id.split('.')[0].lower()}.md#{claim.id}") for claim in CLAIMS]


def test_the_ledger_holds_outcomes_of_these_claims_alone() -> None:
    rows = json.loads((DOCS / "claims.json").read_text(encoding="utf-8"))
    claimed = {claim.id: claim.claimed for claim in CLAIMS}
    assert {name: row["claimed"] for name, row in rows.items()} == {name: claimed[name] for name in rows}


@pytest.mark.parametrize(
    ("measure", "kind", "verdict"),
    [
        (lambda: (verbatim("12 of 12"), True), "success", "holds"),
        (lambda: (verbatim("11 of 12"), False), "failure", "does not hold"),
    ],
)
def test_a_box_says_what_was_measured(
    show_claims: Any, kept: Kept, measure: Callable[[], Measured], kind: str, verdict: str
) -> None:
    claim = Claim("S0.1", "One.", measure)
    (outcome,) = run([claim], kept)
    box = show_claims.card(claim, kept)
    assert f'!!! {kind} "S0.1 {verdict}"' in box
    assert f"**Measured.** {outcome.measured}\n" in box


def test_a_claim_that_was_not_run_says_so(show_claims: Any, kept: Kept) -> None:
    box = show_claims.card(Claim("S3.1", "One.", lambda: (verbatim(""), True), lambda progress: None), kept)
    assert '!!! warning "S3.1 not run yet"' in box
    assert "25 minutes" in box


def test_an_outcome_of_an_older_experiment_is_called_that_and_one_of_other_words_is_not_shown(
    show_claims: Any, kept: Kept
) -> None:
    claim = Claim("S0.1", "One.", lambda: (verbatim("seen"), True))
    list(run([claim], kept))
    kept.rows["S0.1"]["experiment"] = "another"
    assert "seen *(The experiment was changed since.)*" in show_claims.card(claim, kept)
    kept.rows["S0.1"]["claimed"] = "Two."
    assert "seen" not in show_claims.card(claim, kept)


def test_signs_of_markdown_stay_what_they_are(show_claims: Any) -> None:
    assert show_claims.plain("a_b*c <d> & `e` [f]") == r"a\_b\*c &lt;d&gt; &amp; \`e\` \[f\]"


def test_verdicts_are_counted(show_claims: Any) -> None:
    assert show_claims.count([True, False, None, None]) == "1 of 4 claims holds, 1 not, 2 not run yet."
    assert show_claims.count([True, True]) == "2 of 2 claims hold."
