"""Puts the claims into the pages while the site is built: what was claimed and measured, the verdict, the command.

In the pages stand links to the ledger, docs/claims.json. `[S0.6: what was measured](../claims.json)` becomes that claim
and `[All claims](../claims.json)` a table. `glassformer claims --all --keep docs/claims.json` measures what is missing,
and what rests on code that was changed since.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from glassformer.documents.ledger import CLAIMS, DOCUMENTS, Claim, Kept, Outcome

LEDGER = Path(__file__).with_name("claims.json")
ONE = re.compile(r"^\[(S\d+\.\d+): what was measured\]\(\.\./claims\.json\)$", re.MULTILINE)
ALL = re.compile(r"^\[All claims\]\(\.\./claims\.json\)$", re.MULTILINE)
WORDS = {True: "holds", False: "does not hold", None: "not run yet"}
SIGNS = {True: "✓&nbsp;", False: "✗&nbsp;", None: ""}
KINDS = {True: "success", False: "failure", None: "warning"}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What mkdocs calls with the text of every page."""
    if "claims.json)" not in markdown:
        return markdown
    kept, claims = Kept(LEDGER), {claim.id: claim for claim in CLAIMS}
    markdown = ONE.sub(lambda link: card(claims[link[1]], kept), markdown)
    return ALL.sub(lambda link: table(CLAIMS, kept), markdown)


def card(claim: Claim, kept: Kept) -> str:
    """One claim as a box in the colour of its verdict."""
    holds = verdict(claim, kept)
    parts = {"Claimed": plain(claim.claimed), "Measured": measured(claim, kept), "Run it": f"`{command(claim)}`"}
    body = "\n\n".join(f"    **{name}.** {text}" for name, text in parts.items())
    return f'<a id="{claim.id}"></a>\n\n!!! {KINDS[holds]} "{claim.id} {WORDS[holds]}"\n\n{body}'


def table(claims: Sequence[Claim], kept: Kept) -> str:
    """All claims, document by document, each with a link to its box."""
    lines = [f"**{count([verdict(claim, kept) for claim in claims])}**"]
    for document, title in DOCUMENTS.items():
        page = f"{document.lower()}.md"
        lines += [f"\n## [{document} · {title}]({page})\n", "| claim | what is claimed | verdict |", "|---|---|---|"]
        for claim in claims:
            if claim.id.startswith(f"{document}."):
                claimed, holds = plain(claim.claimed).replace("|", r"\|"), verdict(claim, kept)
                lines.append(f"| [{claim.id}]({page}#{claim.id}) | {claimed} | {SIGNS[holds]}{WORDS[holds]} |")
    return "\n".join(lines)


def count(verdicts: Sequence[bool | None]) -> str:
    """How many claims hold, do not, and were not run."""
    holding, refuted, missing = (verdicts.count(each) for each in (True, False, None))
    holds = f"{holding} of {len(verdicts)} claims {'holds' if holding == 1 else 'hold'}"
    return holds + f", {refuted} not" * bool(refuted) + f", {missing} not run yet" * bool(missing) + "."


def last_outcome(claim: Claim, kept: Kept) -> Outcome | None:
    """What was measured last, be it by an experiment that was changed since; never that of another claim."""
    match kept.rows.get(claim.id):
        case {"claimed": claim.claimed, "measured": str(words), "holds": bool(holds)}:
            return Outcome(claim.id, claim.claimed, words, holds)
    return None


def verdict(claim: Claim, kept: Kept) -> bool | None:
    """Whether it holds; None if it was never measured."""
    outcome = last_outcome(claim, kept)
    return outcome.holds if outcome else None


def measured(claim: Claim, kept: Kept) -> str:
    """What was seen, or what it would take to see something."""
    outcome = last_outcome(claim, kept)
    if outcome:
        changed = "" if kept.of(claim) else " *(The experiment was changed since.)*"
        return plain(outcome.measured) + changed
    return "Nothing yet." + " It trains on text first, some 25 minutes on two cores." * claim.slow


def command(claim: Claim) -> str:
    """What to type to measure it."""
    return f"glassformer claims {claim.id}"


def plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_\[\]])", r"\\\1", escape(text, quote=False))
