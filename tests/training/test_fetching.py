"""Corpora by the names of packages, with registries of our own: tools on the path that find packages on this disk."""

import json
import os
import shutil
import subprocess
import tarfile
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


def package(folder: Path, name: str, words: tuple[str, str, str]) -> None:
    root = folder / name
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN" / "control").write_text(
        f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: pages\n"
    )
    language = "de" if name.endswith("-de") else "en-US"
    page = root / "usr" / "help" / language / "text" / "a" / "b.html"
    page.parent.mkdir(parents=True)
    page.write_text(PAGE.format(*words), encoding="utf-8")
    subprocess.run(["dpkg-deb", "-b", str(root), str(folder / f"{name}_1_all.deb")], check=True, capture_output=True)


@needs_dpkg
def test_paragraphs_with_the_same_id_become_pairs_and_are_kept(elsewhere: Path) -> None:
    package(elsewhere, "libreoffice-help-en-us", ("The file", "Same", "= A1 + 3 × 4"))
    package(elsewhere, "libreoffice-help-de", ("Die Datei", "Same", "= A1 + 3 · 4"))
    tool(elsewhere, "apt-get", f"cp {elsewhere}/*.deb . && echo used >> {elsewhere}/log")
    about = fetching.fetch("help-en-de")
    assert about["sentences"] == 1
    assert list(corpora.read("help-en-de")) == [("The file is here.", "Die Datei is here.")]
    assert fetching.fetch("help-en-de") == about
    assert (elsewhere / "log").read_text() == "used\n"
    fetching.fetch("help-en-de", again=True)
    assert (elsewhere / "log").read_text() == "used\n" * 2


def npm_with(folder: Path, sentences: list[str]) -> None:
    builds = folder / "package" / "builds"
    builds.mkdir(parents=True)
    (builds / "doc-0.json").write_text(json.dumps(sentences))
    with tarfile.open(folder / "nlp-corpus-1.tgz", "w:gz") as file:
        file.add(folder / "package", "package")
    tool(folder, "npm", f'test "$1 $2 $3" = "pack --ignore-scripts nlp-corpus" && cp {folder}/nlp-corpus-1.tgz .')


def test_sentences_come_from_npm(elsewhere: Path) -> None:
    npm_with(elsewhere, ["One  sentence.", "Another.", "Another."])
    assert fetching.fetch("nlp-corpus")["sentences"] == 2
    assert corpora.load("nlp-corpus").sentences == ("One sentence.", "Another.")


def test_a_damaged_cache_is_noticed(elsewhere: Path) -> None:
    npm_with(elsewhere, ["One."])
    fetching.fetch("nlp-corpus")
    fetching.place_of("nlp-corpus").write_text("Two.\n")
    with pytest.raises(InputError, match=r"not what was fetched.*--again"):
        corpora.load("nlp-corpus")
    fetching.about_of("nlp-corpus").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        corpora.load("nlp-corpus")


def test_a_corpus_whose_file_is_gone_is_fetched_again(elsewhere: Path) -> None:
    npm_with(elsewhere, ["One."])
    about = fetching.fetch("nlp-corpus")
    fetching.place_of("nlp-corpus").unlink()
    assert fetching.fetch("nlp-corpus") == about
    assert corpora.load("nlp-corpus").sentences == ("One.",)


def test_only_whole_corpora_are_listed_as_here_with_their_sentences(elsewhere: Path, shell: Shell) -> None:
    npm_with(elsewhere, ["One sentence."] + [f"Sentence {i}." for i in range(1233)])
    fetching.fetch("nlp-corpus")
    told = shell.json("corpus", "list")["nlp-corpus"]
    assert (told["here"], told["sentences"]) == (True, 1234)
    assert "1,234" in shell("corpus", "list")[0]
    fetching.place_of("nlp-corpus").write_text("Two.\n")
    told = shell.json("corpus", "list")["nlp-corpus"]
    assert (told["here"], told["sentences"]) == (False, None)
    fetching.place_of("nlp-corpus").unlink()
    assert shell.json("corpus", "list")["nlp-corpus"]["here"] is False
    assert "yes" not in shell("corpus", "list")[0]


def test_a_registry_out_of_reach_is_told_with_what_to_do(elsewhere: Path) -> None:
    tool(elsewhere, "npm", "echo 'npm error network' >&2; exit 1")
    with pytest.raises(InputError, match=r"failed: npm error network; bring your own text"):
        fetching.fetch("nlp-corpus")
    assert not fetching.place_of("nlp-corpus").exists()


def test_a_missing_tool_is_named(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(elsewhere / "tools"))
    with pytest.raises(InputError, match=r"comes by npm, which this machine does not have; bring your own"):
        fetching.fetch("nlp-corpus")


def test_packages_that_hold_nothing_are_told(elsewhere: Path) -> None:
    npm_with(elsewhere, [])
    with pytest.raises(InputError, match="hold no sentences where they used to"):
        fetching.fetch("nlp-corpus")


def test_what_was_not_fetched_says_how() -> None:
    with pytest.raises(InputError, match="`glassformer corpus fetch help-en-de` brings it"):
        list(corpora.read("help-en-de"))
    with pytest.raises(InputError, match="no corpus 'x' to fetch; there are help-en-de, nlp-corpus"):
        fetching.fetch("x")
