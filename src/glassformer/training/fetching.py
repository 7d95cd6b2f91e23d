"""The parallel text of the documents' experiments, from Debian's packages; cached, with a checksum.

Packages are downloaded by apt-get and unpacked, never installed and never run. A corpus becomes one .tsv file in the
cache, `$XDG_CACHE_HOME/glassformer/corpora` or `~/.cache/glassformer/corpora`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from glassformer.atomic import write_atomically
from glassformer.errors import InputError
from glassformer.messages import Message

SECONDS: Final = 600
"""A download that takes longer has failed."""
TOOLS: Final = ("apt-get", "dpkg-deb")
OWN: Final = Message("fetching.own_text")


@dataclass(frozen=True)
class Source:
    """What a corpus is, and the packages that hold its pages, in the one language and in the other."""

    about: Message
    packages: tuple[str, str]


SOURCES: Final[Mapping[str, Source]] = {
    "help-en-de": Source(Message("fetching.help_en_de"), ("libreoffice-help-en-us", "libreoffice-help-de")),
}


def fetch(name: str, again: bool = False) -> dict[str, Any]:
    """Bring a corpus into the cache, if it is not there or is wanted again; what is known about it."""
    source = _source(name)
    if not again and about_of(name).exists() and place_of(name).exists():
        return check(name)
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        raise InputError("fetching.no_tool", name=name, tools=missing, own=OWN)
    with tempfile.TemporaryDirectory() as folder:
        _run(["apt-get", "download", *source.packages], Path(folder))
        for package in source.packages:
            (file,) = Path(folder).glob(f"{package}_*.deb")
            _run(["dpkg-deb", "-x", file.name, package], Path(folder))
        rows = list(dict.fromkeys(help_pairs(*(Path(folder, package) for package in source.packages))))
    if not rows:
        raise InputError("fetching.nothing", packages=source.packages, own=OWN)
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
        about: dict[str, Any] = json.loads(about_of(name).read_text(encoding="utf-8"))
        text = place_of(name).read_bytes()
    except FileNotFoundError:
        raise InputError("fetching.not_here", name=name) from None
    except (OSError, ValueError) as error:
        raise InputError("fetching.unreadable", path=about_of(name), why=str(error), name=name) from None
    known = isinstance(about, dict) and isinstance(about.get("sentences"), int)
    if not known or about.get("sha256") != _checksum(text):
        raise InputError("fetching.damaged", path=place_of(name), name=name)
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
        raise InputError("fetching.none", name=name, corpora=[*SOURCES])
    return SOURCES[name]


def _run(command: Sequence[str], folder: Path) -> None:
    """Run a tool in a folder; what it prints when it fails is part of the message."""
    line = " ".join(command)
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InputError("fetching.too_long", command=line, seconds=SECONDS, own=OWN) from None
    if done.returncode:
        printed = (done.stderr or done.stdout).strip().splitlines()
        why = printed[-1] if printed else Message("fetching.no_reason")
        raise InputError("fetching.failed", command=line, why=why, own=OWN)


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
    paragraphs: dict[tuple[str, str], str] = {}
    for path in sorted(folder.rglob("*.html")):
        page = Paragraphs()
        page.feed(path.read_text(encoding="utf-8"))
        page.close_block()
        name = path.as_posix().partition("/text/")[2]
        paragraphs |= {(name, id): text for id, text in page.found.items()}
    return paragraphs


def help_pairs(one: Path, other: Path) -> Iterator[tuple[str, str]]:
    """Paragraphs with the same id in both languages, if they have words and the translation is not the same."""
    translated = help_pages(other)
    for key, text in help_pages(one).items():
        if key in translated and translated[key] != text and sum(map(str.isalpha, text)) > len(text) / 2:
            yield text, translated[key]
