"""The command that runs what the source documents claim."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from glassformer.cli.terminal import AsJson, app, err, out, print_json, progress_bar, table_of


@app.command()
def claims(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Which claims; default: those that take seconds.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also those that train on text: some 25 minutes, resumable.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the claims without running them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run what the source documents claim, and print measured beside claimed; exit 1 if one does not hold."""
    from glassformer.claims import find
    from glassformer.claims import run as measure

    chosen = [claim for claim in find(ids or []) if ids or every or listed or not claim.slow]
    if not (ids or every or listed):
        err.print("claims on text (S3) take some 25 minutes: --all runs them, too")
    if listed:
        return print_json([{"id": c.id, "claimed": c.claimed} for c in chosen]) if as_json else list_claims(chosen)
    for prepare in {claim.prepare for claim in chosen if claim.prepare}:
        with progress_bar("training") as advance:
            prepare(lambda what, count, of: advance(count, of))
    outcomes = []
    with progress_bar("measuring") as advance:
        for outcome in measure(chosen):
            outcomes.append(outcome)
            advance(len(outcomes), len(chosen))
    if as_json:
        print_json([outcome.to_json() for outcome in outcomes])
    else:
        table = table_of("claim", "claimed", "measured", "holds", show_lines=True)
        for outcome in outcomes:
            table.add_row(outcome.id, outcome.claimed, outcome.measured, "yes" if outcome.holds else "NO")
        out.print(table)
    if not all(outcome.holds for outcome in outcomes):
        raise typer.Exit(1)
    return None


def list_claims(chosen: list[Any]) -> None:
    """The ids and what they claim."""
    table = table_of("claim", "claimed")
    for claim in chosen:
        table.add_row(claim.id, claim.claimed)
    out.print(table)
