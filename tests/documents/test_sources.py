"""A kept outcome counts as long as nothing has changed that its claim rests on, and no longer."""

import re
import shutil
import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest

from glassformer.documents import sources
from glassformer.documents.ledger import CLAIMS, Claim, Kept, run
from glassformer.documents.sources import PACKAGE, digest, rests_on

THEOREMS = "glassformer.documents.shortcuts.theorems"
MODULES = sorted({claim.measure.__module__ for claim in CLAIMS})


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the package, which may be changed."""
    yield Path(shutil.copytree(PACKAGE, tmp_path_factory.mktemp("copy") / "glassformer"))
    forget()


def forget() -> None:
    for cached in (sources.digest, sources._named_in, sources._found_later):
        cached.cache_clear()


def digest_after(package: Path, changed: str, module: str = THEOREMS) -> str:
    """The digest with one line more in a file, which imports nothing more."""
    sources.digest.cache_clear()
    file = package / changed
    before = file.read_bytes()
    file.write_bytes(before + b"\n# another line\n")
    try:
        return digest(module, package)
    finally:
        file.write_bytes(before)
        sources.digest.cache_clear()


@pytest.mark.parametrize(
    "changed",
    [
        "documents/shortcuts/theorems.py",
        "compiler/pipeline.py",
        "compiler/constructions/doubling/program.py",
        "algebra/permutations.py",
        "automata/zoo.py",
        "nn/transformer.py",
        "operations/stream.py",
        "messages/en/compiler.toml",
    ],
)
def test_a_change_of_what_a_claim_rests_on_is_another_experiment(package: Path, changed: str) -> None:
    before = digest(THEOREMS, package)
    assert digest_after(package, changed) != before == digest(THEOREMS)


@pytest.mark.parametrize(
    "changed",
    [
        "ui/web/server.py",
        "ui/looking.py",
        "ui/drawing/cascade.py",
        "ui/web/views/live.js",
        "messages/ko/compiler.toml",
        "messages/en/lineage.toml",
        "documents/ledger.py",
        "documents/lineage/family.py",
        "training/trainer.py",
    ],
)
def test_a_change_elsewhere_is_not(package: Path, changed: str) -> None:
    assert digest_after(package, changed) == digest(THEOREMS)


def test_trained_models_are_kept_as_long_as_training_is_the_same(package: Path) -> None:
    module = "glassformer.documents.evolution.training"
    assert digest_after(package, "training/trainer.py", module) != digest(module)
    assert digest_after(package, "documents/evolution/verdicts.py", module) == digest(module)


@pytest.mark.parametrize(
    ("source", "rests"),
    [
        ("from glassformer import compile", "compiler/pipeline.py"),
        ("import glassformer", "compiler/pipeline.py"),
        ("import glassformer.algebra.holonomy", "algebra/holonomy.py"),
        ("from glassformer.automata import zoo", "automata/zoo.py"),
        ("def late():\n    from glassformer.nn import Config", "nn/config.py"),
        ("WORDS = 'common.and_more'", "messages/en/common.toml"),
    ],
)
def test_imports_are_found_wherever_they_stand(package: Path, source: str, rests: str) -> None:
    (package / "documents" / "tiny.py").write_text(source)
    sources._named_in.cache_clear()
    assert package / rests in rests_on("glassformer.documents.tiny", package)


def test_a_name_of_the_package_is_followed_to_its_module_alone(package: Path) -> None:
    (package / "documents" / "tiny.py").write_text("from glassformer import InputError")
    sources._named_in.cache_clear()
    found = {path.relative_to(package).as_posix() for path in rests_on("glassformer.documents.tiny", package)}
    assert found == {"documents/tiny.py", "errors.py", "messages/__init__.py", "messages/en/common.toml"}


def test_no_module_imports_by_a_relative_name_which_would_not_be_found() -> None:
    relative = re.compile(r"^\s*from \.", re.MULTILINE)
    assert not [path for path in PACKAGE.rglob("*.py") if relative.search(path.read_text("utf-8"))]


def test_each_source_is_read_once_for_all_digests_together() -> None:
    forget()
    assert len({digest(module) for module in MODULES}) == len(MODULES) == 6
    files = set().union(*(rests_on(module) for module in MODULES))
    assert sources._named_in.cache_info().misses == len(files)


def test_a_claim_that_was_measured_by_another_source_is_run_again(tmp_path: Path) -> None:
    source, kept = "def measure():\n    return 'seen', True\n", Kept(tmp_path / "kept.json")
    list(run([imported(tmp_path, source)], kept))
    assert kept.of(imported(tmp_path, source)) is not None
    assert kept.of(imported(tmp_path, source.replace("True", "False"))) is None
    sys.modules.pop("tiny_experiment")


def imported(folder: Path, source: str) -> Claim:
    """A claim of a module of somebody's own, with this source."""
    path = folder / "tiny_experiment.py"
    path.write_text(source)
    forget()
    spec = util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = sys.modules[path.stem] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Claim("S9.1", "Same words.", module.measure)
