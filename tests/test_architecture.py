"""The arrows of ARCHITECTURE.md are the only imports."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import glassformer

ROOT = Path(glassformer.__file__).parent
BELOW = {"automata", "algebra", "nn", "operations", "compiler", "training", "instruments", "interop", "opening"}
SHARED = {"errors", "messages", "atomic", "progress", "wording", "representation"}
MAY_IMPORT = {
    "automata": {"automata"},
    "algebra": {"automata", "algebra"},
    "nn": {"nn"},
    "operations": {"nn", "operations"},
    "compiler": {"automata", "algebra", "nn", "operations", "compiler", "training"},
    "training": {"automata", "nn", "training"},
    "instruments": {"nn", "operations", "instruments"},
    "interop": {"automata", "nn", "instruments", "interop", "training", "opening"},
    "opening": {"automata", "compiler", "nn", "training", "instruments", "interop", "opening"},
    "documents": BELOW | {"documents", "drawing"},
    "ui/drawing": {"automata", "algebra", "drawing"},
    "ui": BELOW | {"documents", "ui", "drawing"},
}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def part_of(name: str) -> str:
    """The package that a module is in; drawing, which others than ui may use, counts as one of its own."""
    parts = name.split(".")
    return "drawing" if parts[1:3] == ["ui", "drawing"] else parts[1]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_along_the_arrows(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        ours = {part_of(name) for name in imported(path) if name.startswith("glassformer.")}
        assert ours - SHARED <= MAY_IMPORT[package], path


def test_machines_load_and_are_shown_without_torch() -> None:
    uses = "glassformer.classify('parity'); glassformer.machine('parity')._repr_html_()"
    code = f"import sys, glassformer, glassformer.ui.cli; {uses}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_module_says_in_its_first_lines_what_it_is_for() -> None:
    for path in ROOT.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_nothing_is_ever_unpickled() -> None:
    for path in ROOT.rglob("*.py"):
        assert not {"pickle", "dill", "joblib"} & imported(path), path
        assert not re.search(r"(?<!safetensors\.)torch\.load\(", path.read_text()), path
