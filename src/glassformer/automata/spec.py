"""One way to name a machine, wherever one is asked for: `machine(spec)`.

    parity   cyclic(5)   dyck(pairs=2, depth=3)   C2^3      a call from the zoo
    regex:(ab)*                                             the words that match, completed and minimised
    path/to/machine.json   .dot   .att                      a file

What names nothing is refused, with advice.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from glassformer.automata import formats
from glassformer.automata.infinite import INFINITE, AnyMachine, finite
from glassformer.automata.regex import regex
from glassformer.automata.semiautomaton import Machine
from glassformer.automata.zoo import ZOO, parities
from glassformer.errors import InputError
from glassformer.messages import Message

CALLS: Final[dict[str, Callable[..., AnyMachine]]] = {**ZOO, **INFINITE}
"""What may be called in a spec."""


def machine(spec: str | os.PathLike[str]) -> Machine:
    """The machine that a spec names; one with infinitely many states is refused."""
    return finite(any_machine(spec))


def any_machine(spec: str | os.PathLike[str]) -> AnyMachine:
    """The machine that a spec names, which may have infinitely many states."""
    if isinstance(spec, os.PathLike):
        return formats.read_any(Path(spec))
    if not isinstance(spec, str):
        raise InputError("automata.spec_kind", spec=spec)
    if spec.lstrip().startswith("regex:"):
        return regex(spec.lstrip().removeprefix("regex:"))  # blanks in it, or at its end, are letters
    spec = spec.strip()
    if power := re.fullmatch(r"C2\^(\d{1,9})", spec):
        return parities(int(power[1]))
    if Path(spec).suffix.lower() in (*formats.SUFFIXES, ".hoa"):
        return formats.read_any(Path(spec))
    return _zoo_call(spec)


def _zoo_call(spec: str) -> AnyMachine:
    name, positional, named = _parse_call(spec)
    if name not in CALLS:
        near = difflib.get_close_matches(name.lower(), CALLS, n=3, cutoff=0.4)
        where = Message("automata.where_to_look", suffixes=sorted(formats.SUFFIXES))
        if near:
            raise InputError("automata.did_you_mean", name=name, near=near, where=where)
        raise InputError("automata.not_in_zoo", name=name, where=where)
    make = CALLS[name]
    try:
        inspect.signature(make).bind(*positional, **named)
    except TypeError as error:
        raise InputError("automata.does_not_fit", spec=spec, call=f"{name}{signature(name)}", why=str(error)) from None
    return make(*positional, **named)


def signature(name: str) -> str:
    """The parameters of a zoo machine as one would write them: (pairs=2, depth=3)."""
    parameters = inspect.signature(CALLS[name]).parameters.values()
    return f"({', '.join(f'{p.name}={p.default}' for p in parameters)})" if parameters else ""


def _parse_call(spec: str) -> tuple[str, list[int], dict[str, int]]:
    """`name`, `name(1, 2)` or `name(1, key=2)` with whole numbers; nothing is ever executed."""
    form = Message("automata.spec_form", suffixes=sorted(formats.SUFFIXES))
    unreadable = Message("automata.unreadable", spec=spec[:80], form=form)
    try:
        tree = ast.parse(spec, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, SyntaxError) and error.offset:
            raise InputError("automata.unreadable_at", spec=spec[:80], column=error.offset, form=form) from None
        raise InputError(unreadable) from None
    if isinstance(tree, ast.Name):
        return tree.id, [], {}
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise InputError(unreadable)
    named = {keyword.arg: _number(keyword.value, spec) for keyword in tree.keywords if keyword.arg}
    if len(named) < len(tree.keywords):
        raise InputError(unreadable)
    return tree.func.id, [_number(argument, spec) for argument in tree.args], named


def _number(node: ast.expr, spec: str) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value < 10**9:
        return node.value
    raise InputError("automata.zoo_parameter", column=node.col_offset + 1, spec=spec[:80])
