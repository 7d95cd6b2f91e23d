"""Commands that bring text."""

from __future__ import annotations

from typing import Annotated

import typer

from glassformer.documents.verdict import yes_or_no
from glassformer.ui.cli.terminal import AsJson, app, note, print_json, print_result, say

corpus = typer.Typer(no_args_is_help=True, help="Real text to learn from and to measure on.")
app.add_typer(corpus, name="corpus")


@corpus.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Which corpus; `corpus list` tells.")] = "help-en-de",
    again: Annotated[bool, typer.Option("--again", help="Even if it is there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Download packages that hold a corpus, unpack them (nothing is installed), and keep the sentences."""
    from glassformer.training import fetching

    about = fetching.fetch(name, again)
    if as_json:
        return print_json({**about, "path": str(fetching.place_of(name))})
    say("cli.sentences", name=name, sentences=about["sentences"])
    note("cli.kept_in", place=fetching.place_of(name))
    return None


@corpus.command("list")
def list_corpora(as_json: AsJson = False) -> None:
    """The corpora that can be fetched, which of them are here, and how many sentences (or pairs) they have."""
    from glassformer.training import fetching

    found = {name: fetching.here(name) for name in fetching.SOURCES}
    counts = {name: about["sentences"] if about else None for name, about in found.items()}
    listed = {
        name: {"about": source.about, "here": counts[name] is not None, "sentences": counts[name]}
        for name, source in fetching.SOURCES.items()
    }
    here = {name: (yes_or_no(n is not None), "" if n is None else f"{n:,}") for name, n in counts.items()}
    rows = ((name, source.about, *here[name]) for name, source in fetching.SOURCES.items())
    print_result(listed, as_json, ("name", "what", "here", "sentences"), rows)
