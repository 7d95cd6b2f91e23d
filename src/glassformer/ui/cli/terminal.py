"""The terminal: the application that commands are added to, what they print with, and how they may end badly."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn, Protocol

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from typer.core import TyperGroup

from glassformer.errors import InputError


class Commands(TyperGroup):
    """The commands, and how each may end badly: in one line on standard error, with its exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except InputError as error:
            leave(str(error), 2)
        except BrokenPipeError:  # whoever read our output has had enough
            drop_output()
            raise typer.Exit(141) from None
        except ConnectionError:
            leave("a process that took part in this was ended from outside; the same command goes on where it can", 1)
        except OSError as error:
            drop_output()
            leave(f"cannot write the output: {error.strerror}", 2)


def leave(message: str, code: int) -> NoReturn:
    """Say why, and exit."""
    print(f"glassformer: {message}", file=sys.stderr)
    raise typer.Exit(code) from None


def drop_output() -> None:
    """Standard output takes no more; what is still in its buffer goes nowhere, instead of failing once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Transformers of glass: build one from an automaton, check it, and look inside.

    A machine SPEC is a zoo call such as parity, cyclic(5) or "dyck(pairs=2, depth=3)"; a regular expression,
    "regex:(ab)*"; or a .json, .dot (.gv) or .att file.

    Start with: glassformer compile "regex:(ab)*" --length 100 --out demo, then verify, run and show demo.""",
)


class Output(Console):
    """Prints text as it is; a closed pipe is for `Commands` to handle."""

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled."""
        raise


out = Output(markup=False, highlight=False)
err = Output(stderr=True, markup=False, highlight=False)

Spec = Annotated[str, typer.Argument(metavar="SPEC", help="A machine: zoo call, regex:…, or file.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder made by compile.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of a table.")]


def table_of(*columns: str, **style: Any) -> Table:
    """An empty table that breaks long words in a narrow terminal, and never drops a part of them."""
    return Table(*(Column(header, overflow="fold") for header in columns), **style)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], **style: Any) -> None:
    """A table on standard output."""
    table = table_of(*columns, **style)
    for row in rows:
        table.add_row(*map(str, row))
    out.print(table)


def print_facts(title: str, facts: Iterable[tuple[str, object]]) -> None:
    """Names with their values, one below the other."""
    print_table((), facts, title=title, show_header=False, box=box.SIMPLE)


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    print(json.dumps(value, ensure_ascii=False))


class Advance(Protocol):
    """Moves a bar, and writes some words beside it."""

    def __call__(self, done: int, total: int, words: str = "") -> None:
        """So many of so many."""


@contextmanager
def progress_bar(what: str) -> Iterator[Advance]:
    """A bar on standard error; where nobody watches, a line every ten seconds."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    if err.is_terminal:
        with Progress(*columns, console=err, transient=True) as progress:
            task = progress.add_task(what, total=None)
            yield lambda done, total, words="": progress.update(
                task, completed=done, total=total, description=what + words
            )
        return
    printed = time.monotonic()

    def show(done: int, total: int, words: str = "") -> None:
        nonlocal printed
        if time.monotonic() > printed + 10:
            printed = time.monotonic()
            err.print(f"{what}{words}: {done:,} of {total:,}")

    yield show
