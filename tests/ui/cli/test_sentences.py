"""What commands print goes by id: no sentence is put together in Python, and every label is there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassformer import __main__
from glassformer.messages import sentences
from glassformer.ui import cli

MODULES = [Path(__main__.__file__), *sorted(Path(cli.__file__).parent.glob("*.py"))]
HELP = {"Argument", "Option", "Typer"}
WORDS = re.compile(r"[^\W\d_]{2,}[,;:.]? +[^\W\d_]{2}")
BESIDE_A_VALUE = re.compile(r"[a-z]{2,}[,;:]? | [a-z]{2,}\b(?!=)")
LABELLED = {"label", "print_facts", "print_table", "table_of"}


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def printed(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one, but for docstrings and the texts of --help, which are English in the source."""
    for child in ast.iter_child_nodes(node):
        alone = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if not alone and not (isinstance(child, ast.Call) and name_of(child) in HELP):
            yield child
            yield from printed(child)


def is_a_sentence(node: ast.AST) -> bool:
    """Words with a blank between them, or beside a value."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
        return any(BESIDE_A_VALUE.search(str(part)) for part in parts)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(WORDS.search(node.value))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_no_sentence_is_put_together_in_python(module: Path) -> None:
    found = [node for node in printed(ast.parse(module.read_text())) if is_a_sentence(node)]
    assert [f"{module.name}:{node.lineno}" for node in found if isinstance(node, ast.expr)] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_every_label_that_a_command_prints_is_there(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Call) and name_of(node) in LABELLED:
            columns = [
                each for first in node.args for each in (first.elts if isinstance(first, ast.Tuple) else [first])
            ]
            keys = {f"labels.{each.value!s}" for each in columns if isinstance(each, ast.Constant)}
            assert keys <= sentences("en").keys(), f"{module.name}:{node.lineno}"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_every_sentence_that_a_command_names_is_there(module: Path) -> None:
    ids = set(re.findall(r'"((?:cli|common|labels|measure)\.\w+)"', module.read_text()))
    assert ids <= sentences("en").keys()


def test_a_sentence_in_python_would_be_seen() -> None:
    for text in (
        'say(f"{n} words")',
        'print_table(("what it does",), rows)',
        'title = f"layer {i}"',
        'leave("not saved: give it")',
    ):
        assert any(map(is_a_sentence, printed(ast.parse(text)))), text
    for text in (
        'f"{name}.svg"',
        'f"blocks.{i}.hook"',
        'f"d = {d}, n = {n}"',
        'Option(help="Of the words.")',
        '"heads=4, x"',
    ):
        assert not any(map(is_a_sentence, printed(ast.parse(f"y = {text}")))), text
