"""One way to name a machine, wherever one is asked for: `machine(spec)`.

    parity   cyclic(5)   dyck(pairs=2, depth=3)   C2^3      a call from the zoo
    regex:(ab)*                                             the words that match, completed and minimised
    path/to/machine.json   .dot   .hoa   .att               a file

What names nothing is refused, with advice.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import os
import re
from pathlib import Path

from glassformer.automata import formats
from glassformer.automata.regex import regex
from glassformer.automata.semiautomaton import Machine
from glassformer.automata.zoo import ZOO, parities
from glassformer.errors import InputError


def machine(spec: str | os.PathLike[str]) -> Machine:
    """The machine that a spec names."""
    if isinstance(spec, os.PathLike):
        return formats.read(Path(spec))
    if not isinstance(spec, str):
        raise InputError(f"a machine is named by a text or a path, not by {spec!r}")
    if spec.lstrip().startswith("regex:"):
        return regex(spec.lstrip().removeprefix("regex:"))  # blanks in it, or at its end, are letters
    spec = spec.strip()
    if power := re.fullmatch(r"C2\^(\d{1,9})", spec):
        return parities(int(power[1]))
    if Path(spec).suffix.lower() in formats.SUFFIXES:
        return formats.read(Path(spec))
    return _zoo_call(spec)


def _zoo_call(spec: str) -> Machine:
    name, positional, named = _parse_call(spec)
    if name not in ZOO:
        near = difflib.get_close_matches(name.lower(), ZOO, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}? " if near else ""
        raise InputError(
            f"there is no machine {name!r} in the zoo: {hint}`glassformer zoo` lists them; "
            f"a regular expression is written regex:…, a file ends in {', '.join(sorted(formats.SUFFIXES))}"
        )
    make = ZOO[name]
    try:
        inspect.signature(make).bind(*positional, **named)
    except TypeError as error:
        raise InputError(f"{spec!r} does not fit {name}{signature(name)}: {error}") from None
    return make(*positional, **named)


def signature(name: str) -> str:
    """The parameters of a zoo machine as one would write them: (pairs=2, depth=3)."""
    parameters = inspect.signature(ZOO[name]).parameters.values()
    return f"({', '.join(f'{p.name}={p.default}' for p in parameters)})" if parameters else ""


def _parse_call(spec: str) -> tuple[str, list[int], dict[str, int]]:
    """`name`, `name(1, 2)` or `name(1, key=2)` with whole numbers; nothing is ever executed."""
    form = (
        "a machine is written like parity, cyclic(5) or dyck(pairs=2, depth=3), a regular expression like regex:(ab)*, "
        f"and a file ends in {', '.join(sorted(formats.SUFFIXES))}"
    )
    try:
        tree = ast.parse(spec, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" at column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        raise InputError(f"cannot read the machine {spec[:80]!r}{where}: {form}") from None
    if isinstance(tree, ast.Name):
        return tree.id, [], {}
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise InputError(f"cannot read the machine {spec[:80]!r}: {form}")
    named = {keyword.arg: _number(keyword.value, spec) for keyword in tree.keywords if keyword.arg}
    if len(named) < len(tree.keywords):
        raise InputError(f"cannot read the machine {spec[:80]!r}: {form}")
    return tree.func.id, [_number(argument, spec) for argument in tree.args], named


def _number(node: ast.expr, spec: str) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value < 10**9:
        return node.value
    where = f"column {node.col_offset + 1} of {spec[:80]!r}"
    raise InputError(f"the parameters of a zoo machine are whole numbers from 0 to 10⁹; see {where}")
