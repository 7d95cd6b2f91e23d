"""Corpora by the names of packages, with registries of our own: tools on the path that find packages on this disk."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from glassformer.errors import InputError
from glassformer.training import corpora, fetching
from shell import Shell

PAGE = '<html><p id="par_1" class="x">{0} <b>is</b> here.<p id="par_2">{1}</p><h1 id="hd_3">{2}</h1><p>x</p></html>'
needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb makes the packages of this test")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of our own, and a folder of tools that come first on the path."""
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / "tools" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def package(folder: Path, name: str, pages: list[str]) -> None:
    root = folder / name
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN" / "control").write_text(
        f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: pages\n"
    )
    language = "de" if name.endswith("-de") else "en-US"
    text = root / "usr" / "help" / language / "text"
    text.mkdir(parents=True)
    for i, page in enumerate(pages):
        (text / f"{i}.html").write_text(page, encoding="utf-8")
    subprocess.run(["dpkg-deb", "-b", str(root), str(folder / f"{name}_1_all.deb")], check=True, capture_output=True)


def debian(folder: Path, *texts: tuple[str, str, str]) -> None:
    """Both packages of the corpus, with one page for each triple of paragraphs, and an apt-get that has them."""
    pages = [PAGE.format(*text) for text in texts]
    package(folder, "libreoffice-help-en-us", pages)
    package(folder, "libreoffice-help-de", [page.replace("The", "Das") for page in pages])
    tool(folder, "apt-get", f"cp {folder}/*.deb . && echo used >> {folder}/log")


@needs_dpkg
def test_paragraphs_with_the_same_id_become_pairs_and_are_kept(elsewhere: Path) -> None:
    debian(elsewhere, ("The file", "Same", "= The + 3 × 4 − 5 × 6"))
    about = fetching.fetch("help-en-de")
    assert about["sentences"] == 1
    assert list(corpora.read("help-en-de")) == [("The file is here.", "Das file is here.")]
    assert fetching.fetch("help-en-de") == about
    assert (elsewhere / "log").read_text() == "used\n"
    fetching.fetch("help-en-de", again=True)
    assert (elsewhere / "log").read_text() == "used\n" * 2


@needs_dpkg
def test_a_damaged_cache_is_noticed(elsewhere: Path) -> None:
    debian(elsewhere, ("The file", "Same", "Same"))
    fetching.fetch("help-en-de")
    fetching.place_of("help-en-de").write_text("Two.\n")
    with pytest.raises(InputError, match=r"not what was fetched.*--again"):
        corpora.load("help-en-de")
    fetching.about_of("help-en-de").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        corpora.load("help-en-de")


@needs_dpkg
def test_a_corpus_whose_file_is_gone_is_fetched_again(elsewhere: Path) -> None:
    debian(elsewhere, ("The file", "Same", "Same"))
    about = fetching.fetch("help-en-de")
    fetching.place_of("help-en-de").unlink()
    assert fetching.fetch("help-en-de") == about
    assert corpora.load("help-en-de").sentences == ("The file is here.",)


@needs_dpkg
def test_only_whole_corpora_are_listed_as_here_with_their_sentences(elsewhere: Path, shell: Shell) -> None:
    debian(elsewhere, *((f"The file {i}", "Same", "Same") for i in range(1234)))
    fetching.fetch("help-en-de")
    row = shell.json("corpus", "list")["help-en-de"]
    assert (row["here"], row["sentences"]) == (True, 1234)
    assert "1,234" in shell("corpus", "list")[0]
    fetching.place_of("help-en-de").write_text("Two.\n")
    row = shell.json("corpus", "list")["help-en-de"]
    assert (row["here"], row["sentences"]) == (False, None)
    fetching.place_of("help-en-de").unlink()
    assert shell.json("corpus", "list")["help-en-de"]["here"] is False
    assert "yes" not in shell("corpus", "list")[0]


@needs_dpkg
def test_a_registry_out_of_reach_is_named_with_what_to_do(elsewhere: Path) -> None:
    tool(elsewhere, "apt-get", "echo 'E: network' >&2; exit 1")
    with pytest.raises(InputError, match=r"failed: E: network; bring your own text"):
        fetching.fetch("help-en-de")
    assert not fetching.place_of("help-en-de").exists()


def test_a_missing_tool_is_named(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(elsewhere / "tools"))
    with pytest.raises(InputError, match=r"comes by apt-get, dpkg-deb, .* does not have; bring your own"):
        fetching.fetch("help-en-de")


@needs_dpkg
def test_packages_that_hold_nothing_are_named(elsewhere: Path) -> None:
    debian(elsewhere)
    with pytest.raises(InputError, match="hold no sentences where they used to"):
        fetching.fetch("help-en-de")


def test_what_was_not_fetched_says_how() -> None:
    with pytest.raises(InputError, match="`glassformer corpus fetch help-en-de` brings it"):
        list(corpora.read("help-en-de"))
    with pytest.raises(InputError, match="no corpus 'x' to fetch; there is help-en-de"):
        fetching.fetch("x")
