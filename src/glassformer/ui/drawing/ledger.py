"""The ledger as one page: what was claimed, what was measured, and whether that holds. No script, nothing to load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
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
PAGE: Final = Template(Path(__file__).with_suffix(".html").read_text("utf-8"))


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
        return PAGE.substitute(
            language=self.language,
            title=f"{self.say(TITLE)}: {self.count(rows)}",
            head=self.head(rows, note),
            sections="".join(sections),
            ink=svg.INK,
            paper=svg.PAPER,
            blue=svg.BLUE,
            orange=svg.ORANGE,
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
