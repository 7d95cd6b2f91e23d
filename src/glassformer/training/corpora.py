"""Text to learn from and to measure on: sentences, or pairs of a sentence and its translation, from the usual files.

    .txt      a sentence a line
    .jsonl    an object a line: {"text": …}, {"source": …, "target": …} or {"translation": {"en": …, "de": …}}
    .tsv      a sentence, or a sentence and its translation, a line
    .po       what gettext translates
    a folder  a data set that Hugging Face `datasets` saved, with the columns of .jsonl
    a name    a corpus that `glassformer corpus fetch` brought

Files are read line by line; a corpus need not fit into memory to be measured on.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from glassformer.errors import InputError, optional
from glassformer.messages import Message
from glassformer.training import fetching

Pair: TypeAlias = tuple[str, str | None]
"""A sentence, and its translation if there is one."""


@dataclass(frozen=True)
class Corpus:
    """Sentences, each once, and their translations if it is a parallel corpus."""

    name: str
    sentences: tuple[str, ...]
    translations: tuple[str, ...] | None


def load(name: str | Path, parallel: bool = False) -> Corpus:
    """All different sentences (or pairs, if only a parallel corpus will do) of a file, a folder or a fetched corpus."""
    pairs = list(dict.fromkeys(read(name)))
    if parallel:
        pairs = [pair for pair in pairs if pair[1]]
    if not pairs:
        raise InputError("corpora.no_pairs" if parallel else "corpora.no_sentences", name=name)
    translations = tuple(translation for _, translation in pairs if translation)
    whole = len(translations) == len(pairs)
    return Corpus(str(name), tuple(sentence for sentence, _ in pairs), translations if whole else None)


def read(name: str | Path) -> Iterator[Pair]:
    """The sentences of a file, a folder or a fetched corpus, one after the other; empty ones are passed over."""
    if not str(name).strip():
        raise InputError("corpora.not_named", corpora=[*fetching.SOURCES])
    path = fetching.place_of(str(name)) if str(name) in fetching.SOURCES else Path(name)
    if str(name) in fetching.SOURCES:
        fetching.check(str(name))
    elif not path.exists():
        raise InputError("corpora.none", name=name, corpora=[*fetching.SOURCES])
    reader = from_dataset if path.is_dir() else READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError("corpora.format", path=path, formats=[*READERS])
    for sentence, translation in reader(path):
        if sentence.strip():
            yield " ".join(sentence.split()), " ".join(translation.split()) if translation else None


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from enumerate((line.rstrip("\r\n") for line in file), start=1)
    except UnicodeDecodeError as error:
        raise InputError("corpora.not_utf8", path=path, why=error.reason, byte=error.start) from None
    except OSError as error:
        raise InputError("folder.cannot_read", path=path, why=error.strerror) from None


def from_text(path: Path) -> Iterator[Pair]:
    """A sentence a line."""
    for _, line in lines(path):
        yield line, None


def from_tsv(path: Path) -> Iterator[Pair]:
    """One column or two."""
    for number, line in lines(path):
        columns = line.split("\t")
        if len(columns) > 2:
            raise InputError("corpora.columns", path=path, line=number, columns=len(columns))
        yield columns[0], columns[1] if len(columns) == 2 else None


def from_json_lines(path: Path) -> Iterator[Pair]:
    """An object a line."""
    for number, line in lines(path):
        if line.strip():
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError("corpora.not_json", path=path, line=number, why=error.msg) from None
            yield from_columns(value, Message("corpora.line", path=path, line=number))


def from_po(path: Path) -> Iterator[Pair]:
    """Messages and their translations; those without one, and old ones, are passed over."""
    import polib

    try:
        messages = polib.pofile(str(path), encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError("corpora.not_po", path=path, why=str(error)) from None
    for message in messages:
        if message.msgid and message.msgstr and not message.obsolete:
            yield message.msgid, message.msgstr


def from_dataset(path: Path) -> Iterator[Pair]:
    """A data set on disk; of several splits all, one after the other."""
    datasets = optional("datasets", "corpora.needs_datasets", path=path)
    try:
        found = datasets.load_from_disk(str(path))
    except (OSError, ValueError) as error:
        raise InputError("corpora.not_datasets", path=path, why=str(error)) from None
    splits = list(found.values()) if isinstance(found, datasets.DatasetDict) else [found]
    for number, row in enumerate(itertools.chain(*splits), start=1):
        yield from_columns(row, Message("corpora.row", path=path, row=number))


def from_columns(row: Any, where: Message) -> Pair:
    """A sentence and its translation from an object with the usual keys."""
    if isinstance(row, Mapping):
        translation = row.get("translation")
        if isinstance(translation, Mapping) and len(translation) >= 2:
            row, (first, second) = translation, list(translation)[:2]
        else:
            first, second = "text" if "text" in row else "source", "target"
        if first in row:
            sentence, other = row[first], row.get(second)
            if not isinstance(sentence, str) or not isinstance(other, str | None):
                key = first if not isinstance(sentence, str) else second
                raise InputError("corpora.no_string", where=where, key=key)
            return sentence, other
    keys = ", ".join(map(str, row)) if isinstance(row, Mapping) else type(row).__name__
    raise InputError("corpora.keys", where=where, keys=keys)


READERS: Final[dict[str, Callable[[Path], Iterator[Pair]]]] = {
    ".txt": from_text,
    ".jsonl": from_json_lines,
    ".tsv": from_tsv,
    ".po": from_po,
}
