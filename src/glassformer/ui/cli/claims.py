"""The command that runs what the source documents claim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.atomic import write_atomically
from glassformer.errors import InputError
from glassformer.messages import LANGUAGES, Message
from glassformer.ui.cli.lineage import trials_bar
from glassformer.ui.cli.terminal import AsJson, app, label, note, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from glassformer.documents.ledger import Claim, Kept, Outcome


@app.command()
def claims(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Which claims; default: all that do not train on text."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Those that take less than 5 minutes together.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Also those that train on text: some 25 minutes more. Goes on if interrupted.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="With --all: forget what was measured before, and measure all anew.")
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FILE", help="Keep outcomes in FILE, not in the cache, and go on from there."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write the ledger as a page.")
    ] = None,
    language: Annotated[str, typer.Option(help="The page's language, en or ko; claims are in English.")] = "en",
    listed: Annotated[bool, typer.Option("--list", help="List the claims without running them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run what the source documents claim, and print measured beside claimed; exit 1 if one does not hold."""
    from glassformer.documents.ledger import Kept

    refuse(bool(ids), quick, every, again)
    if language not in LANGUAGES:
        raise InputError("page.language", language=language)
    for file, option in ((html, "--html"), (keep, "--keep")):
        refuse_file(file, option, listed)
    chosen = choose(ids or [], quick, every or listed)
    if listed:
        return print_json([{"id": c.id, "claimed": c.claimed} for c in chosen]) if as_json else list_claims(chosen)
    if quick:
        note("cli.left_out", ids=[claim.id for claim in choose([], False, True) if claim not in chosen])
    elif not (ids or every):
        note("cli.claims_on_text")
    kept = Kept(keep, again) if every or keep else None
    outcomes = measure(chosen, kept)
    if html:
        write_atomically(html, page_of(outcomes, language).encode())
        note("common.wrote", place=html)
    if as_json:
        print_json(outcomes)
    else:
        print_outcomes(outcomes)
    if not all(outcome.holds for outcome in outcomes):
        raise typer.Exit(1)
    return None


def refuse(named: bool, quick: bool, every: bool, again: bool) -> None:
    """What does not go together."""
    if named + quick + every > 1:
        raise InputError("cli.ids_quick_or_all")
    if again and not every:
        raise InputError("cli.again_without_all")


def refuse_file(file: Path | None, option: str, listed: bool) -> None:
    """A file that could not be written, or that nothing would be written to, before anything is measured."""
    if file and listed:
        raise InputError("cli.nothing_measured", option=option)
    if file and (file.is_dir() or not file.parent.is_dir()):
        missing = Message("cli.no_folder", folder=str(file.parent))
        why = Message("cli.is_a_folder") if file.is_dir() else missing
        raise InputError("common.cannot_write", path=str(file), why=why)


def choose(ids: Sequence[str], quick: bool, every: bool) -> list[Claim]:
    """Those that are asked for; if none are, all that do not take many minutes."""
    from glassformer.documents.ledger import find

    found = find(ids)
    if quick:
        return [claim for claim in found if claim.quick]
    return [claim for claim in found if ids or every or not claim.slow]


def measure(chosen: Sequence[Claim], kept: Kept | None) -> list[Outcome]:
    """Train what has to be trained, and measure, but for what is kept."""
    from glassformer.documents.ledger import run

    missing = [claim for claim in chosen if kept is None or kept.of(claim) is None]
    if kept:
        known = len(chosen) - len(missing)
        id = "cli.outcomes_kept" if known else "cli.no_outcome_kept"
        note(id, known=known, outcomes=len(chosen), place=kept.path)
    for prepare in {claim.prepare for claim in missing if claim.prepare}:
        with trials_bar("cli.training") as watch:
            prepare(watch)
    outcomes: list[Outcome] = []
    with progress_bar("cli.measuring") as advance:
        for outcome in run(chosen, kept):
            outcomes.append(outcome)
            advance(len(outcomes), len(chosen))
    return outcomes


def page_of(outcomes: Sequence[Outcome], language: str) -> str:
    """The ledger as a page, which says how many claims there are besides."""
    from importlib.metadata import version

    from glassformer.documents.ledger import DOCUMENTS, find
    from glassformer.ui.drawing.ledger import LedgerRow, draw_ledger

    left = len(find([])) - len(outcomes)
    remark = Message("documents.ledger_version", version=version("glassformer"))
    if left:
        remark = Message("documents.ledger_left_out", version=version("glassformer"), left=left)
    rows = [LedgerRow(**vars(outcome)) for outcome in outcomes]
    return draw_ledger(rows, DOCUMENTS, remark, language)


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Measured beside claimed."""
    shown = {True: label("holds_yes"), False: label("holds_no")}
    rows = ((each.id, each.claimed, each.measured, shown[each.holds]) for each in outcomes)
    print_table(("claim", "claimed", "measured", "holds"), rows, show_lines=True)


def list_claims(chosen: Sequence[Claim]) -> None:
    """The ids and what they claim."""
    print_table(("claim", "claimed"), ((claim.id, claim.claimed) for claim in chosen))
