"""The ledger as one page: what was claimed, what was measured, and whether that holds. No script, nothing to load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

from glassformer.messages import Message
from glassformer.ui.drawing import svg


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


TITLE: Final = Message("documents.ledger_title")
COLUMNS: Final = (
    Message("documents.ledger_id"),
    Message("documents.ledger_claimed"),
    Message("documents.ledger_measured"),
    Message("documents.ledger_holds"),
)
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


def draw_ledger(
    rows: Sequence[LedgerRow], titles: Mapping[str, str], note: Message | None = None, language: str = "en"
) -> str:
    """The whole page; titles are those of the documents, and the note is about the run.

    Claims and what was measured are in English; the words around them are in the language.
    """
    return _Ledger(language).page(rows, titles, note)


@dataclass(frozen=True)
class _Ledger:
    """The parts of a page in one language."""

    language: str

    def say(self, message: Message) -> str:
        return escape(message.in_language(self.language))

    def page(self, rows: Sequence[LedgerRow], titles: Mapping[str, str], note: Message | None) -> str:
        documents: dict[str, list[LedgerRow]] = {}
        for row in rows:
            documents.setdefault(row.document, []).append(row)
        sections = [self.section(name, titles.get(name, ""), of_it) for name, of_it in documents.items()]
        return (
            f'<!doctype html>\n<html lang="{self.language}">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{self.say(TITLE)}: {self.count(rows)}</title>\n<style>{STYLE}</style>\n</head>\n"
            f"<body>\n{self.head(rows, note)}{''.join(sections)}</body>\n</html>\n"
        )

    def head(self, rows: Sequence[LedgerRow], note: Message | None) -> str:
        refuted = [f'<a href="#{escape(row.id)}">{escape(row.id)}</a>' for row in rows if not row.holds]
        failing = f"<p>{self.sign(False)} {', '.join(refuted)}</p>\n" if refuted else ""
        remark = f'<p class="faint">{self.say(note)}</p>\n' if note else ""
        return f'<h1>{self.say(TITLE)}</h1>\n<p class="count">{self.count(rows)}</p>\n{failing}{remark}'

    def section(self, document: str, title: str, rows: Sequence[LedgerRow]) -> str:
        heading = f"{escape(document)} · {escape(title)}" if title else escape(document)
        names = "".join(f'<th scope="col">{self.say(name)}</th>' for name in COLUMNS)
        lines = "".join(map(self.line, rows))
        return (
            f'<section>\n<h2>{heading}</h2>\n<p class="faint">{self.count(rows)}</p>\n'
            f"<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>\n</section>\n"
        )

    def line(self, row: LedgerRow) -> str:
        name, (_, claimed, measured, _) = escape(row.id), map(self.say, COLUMNS)
        return (
            f'<tr id="{name}"><th scope="row">{name}</th><td data-name="{claimed}">{escape(row.claimed)}</td>'
            f'<td data-name="{measured}">{escape(row.measured)}</td><td>{self.sign(row.holds)}</td></tr>\n'
        )

    def sign(self, holds: bool) -> str:
        """By colour, mark and word: each is enough alone."""
        if holds:
            return f'<span class="yes">✓ {self.say(Message("documents.ledger_holds"))}</span>'
        return f'<span class="no">✗ {self.say(Message("documents.ledger_refuted"))}</span>'

    def count(self, rows: Sequence[LedgerRow]) -> str:
        return self.say(Message("documents.ledger_count", holding=sum(row.holds for row in rows), claims=len(rows)))
