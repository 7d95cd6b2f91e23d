"""Commands that show everything at once: a report to keep, and a page to play with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from glassformer.atomic import write_atomically
from glassformer.automata import machine
from glassformer.errors import InputError
from glassformer.messages import LANGUAGES, Message
from glassformer.ui.cli.terminal import AsJson, Spec, app, note, print_json, progress_bar, say

REPORT = "report.html"


@app.command()
def explain(
    spec: Spec,
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the report and both models are kept.")
    ] = Path("explained"),
    quick: Annotated[bool, typer.Option("--quick", help="Smaller, in less than a minute.")] = False,
    language: Annotated[str, typer.Option(help="The report's first language: en or ko; it can be switched.")] = "en",
    as_json: AsJson = False,
) -> None:
    """Classify a machine, build a model for it, train another, compare both, and write one HTML report.

    The report opens from disk without a network. What is done is kept: interrupted, the same command goes on.
    """
    from glassformer.ui.explaining import QUICK, STAGES, ExplainScale
    from glassformer.ui.explaining import explain as stages
    from glassformer.ui.web.page import report_page

    if language not in LANGUAGES:
        raise InputError("page.language", language=language)
    made, found = machine(spec), dict[str, Any]()
    if folder.exists() and not folder.is_dir():
        raise InputError("cli.a_file", folder=str(folder))
    folder.mkdir(parents=True, exist_ok=True)

    def write(unfinished: bool) -> None:
        values = {**found, "language": language, "unfinished": unfinished}
        write_atomically(folder / REPORT, report_page(values, f"{spec} · Glassformer").encode())

    with progress_bar("cli.explaining") as advance:

        def show(stage: str, done: int, of: int) -> None:
            now = Message(f"cli.explaining_{stage}")
            advance(int(1000 * (STAGES.index(stage) + done / of)), 1000 * len(STAGES), now)

        for known in stages(made, spec, folder, QUICK if quick else ExplainScale(), show):
            found |= known
            write(unfinished=True)
    write(unfinished=False)
    if as_json:
        return print_json(summary(found, folder))
    print_summary(found)
    note("common.wrote", place=folder / REPORT)
    return None


def summary(found: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What scripts may want."""
    built = {key: found["built"][key] for key in ("theorem", "method", "layers", "exact_length", "parameters")}
    built["theorem"] = built["theorem"]["en"]
    return {
        "report": str(folder / REPORT),
        "complexity": found["classified"]["complexity"],
        "built": built,
        "verified": found["verified"],
        "trained": {key: found["trained"][key] for key in ("accuracy", "steps")} if "trained" in found else None,
        "breaks": found["breaks"]["accuracy"] if "breaks" in found else None,
    }


def print_summary(found: dict[str, Any]) -> None:
    """The report in a few lines."""
    built, verified = found["built"], found["verified"]
    complexity = found["classified"]["complexity"] or Message("cli.class_not_decided")
    say("cli.explained_class", spec=found["machine"]["spec"], complexity=complexity)
    model = {"theorem": built["theorem"]["en"], "layers": built["layers"], "letters": built["exact_length"]}
    say("cli.explained_built", **model, wrong=verified["wrong"], positions=verified["positions"])
    if "trained" in found:
        trained, built = (found["breaks"]["accuracy"][who] for who in ("trained", "built"))
        names = {test: seen["name"]["en"] for test, seen in found["breaks"]["tests"].items()}
        tests = [f"{names[test]} {trained[test]:.1%} / {built[test]:.1%}" for test in built]
        say("cli.explained_trained", tests=tests)
    else:
        say("cli.nothing_trained")


@app.command()
def serve(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Figures and studies in it, and in its folders, are shown.")
    ] = Path("."),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the page is; 0: any that is free.")] = 8765,
    with_token: Annotated[
        bool,
        typer.Option(
            "--token/--no-token",
            help="Whether the link holds a token; without, all users of this computer may open the page.",
        ),
    ] = True,
) -> None:
    """Serve the live page to this machine alone: choose a machine, type a word, step, ablate heads, compare.

    Open the link that is printed: only who has its token is answered.

    What evolve, superposition and lineage left in the folder is drawn, and small functions are approximated. Notebooks
    have the same views: glassformer.ui.notebook.explore.
    """
    import secrets
    import socket

    from glassformer.ui.web.server import link
    from glassformer.ui.web.server import serve as run
    from glassformer.ui.web.workers import MEMORY_IS_BOUNDED

    if not folder.is_dir():
        raise InputError("cli.no_folder", folder=str(folder))
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            raise InputError("cli.port", port=port, why=error.strerror) from None
        port = tried.getsockname()[1]
    if not MEMORY_IS_BOUNDED:
        note("cli.memory_unbounded")
    token = secrets.token_urlsafe() if with_token else ""
    note("cli.serving", address=link(port, token))
    run(folder, port, token)
