"""What an experiment rests on: the sources of all modules of ours that it imports, directly or through others.

The page, the command line and the drawings (`glassformer.ui`) are left out, for they show what was measured and do not
measure. Sentences count in English, from the files whose ids the sources name: what was measured is put into words by
them. Imports are read, not run, wherever they stand in a module.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import glassformer

PACKAGE: Final = Path(glassformer.__file__).parent
ID: Final = re.compile(r"[\"']([a-z_]+)\.[a-z_0-9{]")


@cache
def digest(module: str, package: Path = PACKAGE) -> str:
    """A digest of a module and of all that it rests on; another one means that another thing would be measured."""
    found = hashlib.sha256()
    for place in sorted(rests_on(module, package)):
        name = place.relative_to(package).as_posix() if place.is_relative_to(package) else place.name
        found.update(f"{name}\0{place.read_text('utf-8')}\0".encode())
    return found.hexdigest()


def rests_on(module: str, package: Path = PACKAGE) -> set[Path]:
    """The file of a module, the files of all modules that it imports, and those of the sentences that they name."""
    left, found = [_place(module, package) or Path(sys.modules[module].__file__ or "")], set[Path]()
    while left:
        if (place := left.pop()) not in found:
            found.add(place)
            left += _named_in(place, package)
    return found


@cache
def _named_in(place: Path, package: Path) -> list[Path]:
    """The files that a file names: none, if it holds sentences."""
    if place.suffix != ".py":
        return []
    text = place.read_text("utf-8")
    sentences = {package / "messages" / "en" / f"{name}.toml" for name in ID.findall(text)}
    names = (_place(name, package) for name in _imported(text, package))
    return [*filter(Path.is_file, sentences), *filter(None, names)]


def _imported(text: str, package: Path) -> Iterator[str]:
    """The modules that a source imports; a name that `glassformer` itself gives is followed to its module."""
    for node in _statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if _place(inner, package) else _found_later(package).get(inner, node.module)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements: imports are among them, and expressions, which are many more, need not be looked at."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield node
            yield from _statements(node)


@cache
def _found_later(package: Path) -> dict[str, str]:
    """The module of each name that `glassformer` itself gives, as its imports for type checkers say."""
    tree = ast.parse((package / "__init__.py").read_text("utf-8"))
    imports = [node for node in _statements(tree) if isinstance(node, ast.ImportFrom)]
    return {f"glassformer.{alias.name}": str(node.module) for node in imports for alias in node.names}


def _place(module: str, package: Path) -> Path | None:
    """The file of a module, if it is one of ours and measures."""
    root, *parts = module.split(".")
    if root != "glassformer" or parts[:1] == ["ui"]:
        return None
    inner = package.joinpath(*parts)
    return next((place for place in (inner / "__init__.py", inner.with_suffix(".py")) if place.is_file()), None)
