"""The terminal: the application that commands are added to, what they print with, and how they may end badly."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, NoReturn, Protocol, TypeAlias

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from typer.core import TyperGroup

from glassformer.errors import InputError
from glassformer.messages import Message


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
            leave(error.message, 2)
        except BrokenPipeError:  # whoever read our output has had enough
            drop_output()
            raise typer.Exit(141) from None
        except ConnectionError:
            leave(Message("cli.process_ended"), 1)
        except OSError as error:
            drop_output()
            leave(Message("cli.cannot_write_output", why=error.strerror), 2)


def leave(why: Message, code: int) -> NoReturn:
    """Say why, and exit."""
    print(Message("cli.ended", why=why), file=sys.stderr)
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


def say(id: str, **values: Any) -> None:
    """A sentence on standard output."""
    out.print(str(Message(id, **values)))


def note(id: str, **values: Any) -> None:
    """A sentence on standard error, beside what the command prints."""
    err.print(str(Message(id, **values)), soft_wrap=True)


Label: TypeAlias = str | Message
"""A heading or a name: its key in `labels.toml`, or a message with values, `verbatim` for what is given."""


def label(name: Label) -> str:
    """As it is printed."""
    return str(Message(f"labels.{name}") if isinstance(name, str) else name)


def table_of(*columns: Label, title: object = None, **style: Any) -> Table:
    """An empty table that breaks long words in a narrow terminal, and never drops a part of them."""
    headings = (Column(label(column), overflow="fold") for column in columns)
    return Table(*headings, title=None if title is None else str(title), **style)


def print_table(columns: Sequence[Label], rows: Iterable[Sequence[object]], **style: Any) -> None:
    """A table on standard output."""
    table = table_of(*columns, **style)
    for row in rows:
        table.add_row(*map(str, row))
    out.print(table)


def print_facts(title: object, facts: Iterable[tuple[Label, object]]) -> None:
    """Names with their values, one below the other."""
    named = ((label(name), value) for name, value in facts)
    print_table((), named, title=title, show_header=False, box=box.SIMPLE)


def print_result(
    value: Any, as_json: bool, columns: Sequence[Label], rows: Iterable[Sequence[object]], **style: Any
) -> None:
    """What a command found: one JSON value, or a table."""
    print_json(value) if as_json else print_table(columns, rows, **style)


def print_json(value: Any) -> None:
    """One JSON value on standard output."""
    print(json.dumps(value, ensure_ascii=False, default=plain))


def plain(value: Any) -> Any:
    """What JSON does not know: a message as its English sentence, a dataclass as its fields."""
    return (
        str(value) if isinstance(value, Message) else {each.name: getattr(value, each.name) for each in fields(value)}
    )


class Advance(Protocol):
    """Moves a bar, and says what is done now."""

    def __call__(self, done: int, total: int, now: Message | None = None) -> None:
        """So many of so many."""


@contextmanager
def progress_bar(id: str, **values: Any) -> Iterator[Advance]:
    """A bar on standard error; where nobody watches, a line every ten seconds."""
    what = Message(id, **values)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    if err.is_terminal:
        with Progress(*columns, console=err, transient=True) as progress:
            task = progress.add_task(str(what), total=None)
            yield lambda done, total, now=None: progress.update(
                task, completed=done, total=total, description=str(now or what)
            )
        return
    printed = time.monotonic()

    def show(done: int, total: int, now: Message | None = None) -> None:
        nonlocal printed
        if time.monotonic() > printed + 10:
            printed = time.monotonic()
            note("cli.progress", what=now or what, done=done, total=total)

    yield show
