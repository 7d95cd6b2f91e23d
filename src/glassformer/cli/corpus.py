"""Commands that bring text."""

from __future__ import annotations

from typing import Annotated

import typer

from glassformer.cli.terminal import AsJson, app, err, out, print_json, table_of

corpus = typer.Typer(no_args_is_help=True, help="Real text to learn from and to measure on.")
app.add_typer(corpus, name="corpus")


@corpus.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Which corpus; `corpus list` tells.")] = "help-en-de",
    again: Annotated[bool, typer.Option("--again", help="Even if it is there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Download packages that hold a corpus, unpack them (nothing is installed), and keep the sentences."""
    from glassformer.learn import fetching

    about = fetching.fetch(name, again)
    if as_json:
        return print_json({**about, "path": str(fetching.place_of(name))})
    out.print(f"{name}: {about['sentences']:,} sentences")
    err.print(f"kept in {fetching.place_of(name)}")
    return None


@corpus.command("list")
def list_corpora(as_json: AsJson = False) -> None:
    """The corpora that can be fetched, and which of them are here."""
    from glassformer.learn import fetching

    here = {name: fetching.about_of(name).exists() for name in fetching.SOURCES}
    if as_json:
        return print_json(
            {name: {"about": source.about, "here": here[name]} for name, source in fetching.SOURCES.items()}
        )
    table = table_of("name", "what", "here")
    for name, source in fetching.SOURCES.items():
        table.add_row(name, source.about, "yes" if here[name] else "no")
    out.print(table)
    return None
