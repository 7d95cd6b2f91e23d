"""The ledger as one page: what was claimed, what was measured, and whether that holds. No script, nothing to load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from glassformer.ui.drawing import svg
from glassformer.wording import counted


class LedgerRow(NamedTuple):
    """One claim; its id is the document's and a number, as in S0.6."""

    id: str
    claimed: str
    measured: str
    holds: bool

    @property
    def document(self) -> str:
        """S0 of S0.6."""
        return self.id.split(".")[0]


STYLE: Final = f"""
:root {{ color-scheme: light dark; --ink: {svg.INK}; --faint: #5a5f66; --paper: {svg.PAPER}; --line: #d5dbe1; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6e8ea; --faint: #a3a9b0; --paper: #15181b; --line: #363c43; }}
}}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }}
h1 {{ margin: 0; font-size: 1.8rem; line-height: 1.2; }}
h2 {{ margin: 3rem 0 .25rem; font-size: 1.2rem; line-height: 1.3; }}
p {{ margin: .5rem 0; }}
a {{ color: inherit; }}
.count {{ font-size: 1.2rem; }}
.faint {{ color: var(--faint); }}
table {{ width: 100%; margin-top: .75rem; border-collapse: collapse; table-layout: fixed; }}
th, td {{ padding: .6rem 1rem .6rem 0; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }}
thead th {{ border: 0; padding-block: .25rem; font-weight: normal; color: var(--faint); }}
th:nth-child(1) {{ width: 4.5rem; }}
th:nth-child(4) {{ width: 10.5rem; }}
th:last-child, td:last-child {{ padding-right: 0; }}
tr:target {{ outline: 2px solid currentColor; outline-offset: 2px; }}
.yes, .no {{ display: inline-block; padding: 0 .6rem; border-radius: 1rem; white-space: nowrap; }}
.yes {{ background: {svg.BLUE}; color: #fff; }}
.no {{ background: {svg.ORANGE}; color: #000; font-weight: bold; }}
@media (max-width: 45rem) {{
  body {{ padding: 1.25rem 1rem 3rem; }}
  thead {{ position: absolute; clip-path: inset(50%); }}
  table, tbody {{ display: block; }}
  tbody tr {{ display: grid; grid-template-columns: 1fr auto; gap: .4rem 1rem; padding: .9rem 0;
    border-top: 1px solid var(--line); }}
  tbody th, tbody td {{ padding: 0; border: 0; width: auto; }}
  td:nth-child(2), td:nth-child(3) {{ grid-column: 1 / -1; }}
  td:nth-child(2) {{ grid-row: 2; }}
  td:nth-child(3) {{ grid-row: 3; }}
  td[data-name]::before {{ content: attr(data-name); display: block; font-size: .85rem; color: var(--faint); }}
}}
@media print {{ tr {{ break-inside: avoid; }} .yes, .no {{ print-color-adjust: exact; }} }}
"""


def draw_ledger(rows: Sequence[LedgerRow], titles: Mapping[str, str], note: str = "") -> str:
    """The whole page; titles are those of the documents, and the note is about the run."""
    documents: dict[str, list[LedgerRow]] = {}
    for row in rows:
        documents.setdefault(row.document, []).append(row)
    sections = [_section(name, titles.get(name, ""), of_it) for name, of_it in documents.items()]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Ledger of claims: {_count(rows)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{_head(rows, note)}{''.join(sections)}</body>\n</html>\n"
    )


def _head(rows: Sequence[LedgerRow], note: str) -> str:
    refuted = [f'<a href="#{escape(row.id)}">{escape(row.id)}</a>' for row in rows if not row.holds]
    failing = f"<p>{_sign(False)} {', '.join(refuted)}</p>\n" if refuted else ""
    remark = f'<p class="faint">{escape(note)}</p>\n' if note else ""
    return f'<h1>Ledger of claims</h1>\n<p class="count">{_count(rows)}</p>\n{failing}{remark}'


def _section(document: str, title: str, rows: Sequence[LedgerRow]) -> str:
    heading = f"{escape(document)} · {escape(title)}" if title else escape(document)
    names = "".join(f'<th scope="col">{name}</th>' for name in ("id", "claimed", "measured", "holds"))
    lines = "".join(map(_line, rows))
    return (
        f'<section>\n<h2>{heading}</h2>\n<p class="faint">{_count(rows)}</p>\n'
        f"<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>\n</section>\n"
    )


def _line(row: LedgerRow) -> str:
    name = escape(row.id)
    return (
        f'<tr id="{name}"><th scope="row">{name}</th><td data-name="claimed">{escape(row.claimed)}</td>'
        f'<td data-name="measured">{escape(row.measured)}</td><td>{_sign(row.holds)}</td></tr>\n'
    )


def _sign(holds: bool) -> str:
    """By colour, mark and word: each is enough alone."""
    return '<span class="yes">✓ holds</span>' if holds else '<span class="no">✗ does not hold</span>'


def _count(rows: Sequence[LedgerRow]) -> str:
    holding = sum(row.holds for row in rows)
    return f"{holding:,} of {counted(len(rows), 'claim')} {'holds' if len(rows) == 1 else 'hold'}"
