"""Every sentence that a person reads, by id and in every language: `Message("common.and_more", names="0, 1", more=3)`.

The sentences stand in `en/*.toml` and `ko/*.toml`; the id is the file's name and the key in it. A sentence has the
names of its values in braces:

    {name}                     text as it is; whole numbers as 1,024; a list with commas; another message in its
                               language; a list of messages with semicolons
    {name!r}  {name:.2g}       as in Python's format strings
    {count:letter|letters}     1 letter, 1,024 letters
    {names:or}                 a or b or c; in Korean with commas

Korean particles are written in both forms, as in 을(를); the right one is chosen by the sound before it.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

LANGUAGES: Final = ("en", "ko")


@cache
def sentences(language: str) -> Mapping[str, str]:
    """All sentences of a language by their ids."""
    files = sorted((Path(__file__).parent / language).glob("*.toml"))
    return {
        f"{file.stem}.{key}": text for file in files for key, text in tomllib.loads(file.read_text("utf-8")).items()
    }


class Message:
    """A sentence by its id, and the values in it. As text it is English."""

    __slots__ = ("id", "values")

    def __init__(self, id: str, /, **values: Any) -> None:
        self.id, self.values = id, values

    def __str__(self) -> str:
        return self.in_language("en")

    def __repr__(self) -> str:
        return f"Message({', '.join([repr(self.id), *(f'{name}={value!r}' for name, value in self.values.items())])})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.id, self.values) == (other.id, other.values)

    def __hash__(self) -> int:
        return hash(self.id)

    def in_language(self, language: str) -> str:
        """The sentence in one of the languages."""
        text = _Sentence(language).vformat(sentences(language)[self.id], (), self.values)
        return with_particles(text) if language == "ko" else text

    def to_json(self) -> dict[str, Any]:
        """Id and values, which `from_json` reads, and the English text for whoever has no sentences."""
        return {**_plain(self), "text": str(self)}

    @classmethod
    def from_json(cls, value: Any) -> Message:
        """What `to_json` wrote, or text; ValueError for anything else. A sentence of another version is its text."""
        match value:
            case str(text):
                return verbatim(text)
            case {"id": str(id), "values": dict(values), **others} if others.keys() <= {"text"}:
                message = cls(id, **{name: _from_plain(part) for name, part in values.items()})
            case _:
                raise ValueError(f"not a message: {value!r}")
        try:
            str(message)
        except (KeyError, ValueError, TypeError):
            return verbatim(str(others.get("text", id)))
        return message

    def in_all_languages(self) -> dict[str, str]:
        """The id, and the sentence in every language: what a page needs to let its reader choose."""
        return {"id": self.id, **{language: self.in_language(language) for language in LANGUAGES}}


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return {"id": value.id, "values": {name: _plain(part) for name, part in value.values.items()}}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _from_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return Message.from_json(value)
    return [_from_plain(part) for part in value] if isinstance(value, list) else value


def verbatim(text: str) -> Message:
    """Text that is the same in every language: a name, a number, what another library says."""
    return Message("common.verbatim", text=text)


def listed(names: Sequence[object], most: int = 12) -> Message:
    """'a', 'b', 'c', … and 7 more."""
    shown = ", ".join(map(repr, names[:most]))
    more = len(names) - most
    return Message("common.and_more", names=shown, more=more) if more > 0 else verbatim(shown)


class _Sentence(string.Formatter):
    """Python's format strings, with numbers, lists, plurals and messages as a person reads them."""

    def __init__(self, language: str) -> None:
        self.language = language

    def format_field(self, value: Any, format_spec: str) -> str:
        if "|" in format_spec:
            one, many = format_spec.split("|")
            return f"{self.format_field(value, '')} {one if value == 1 else many}"
        if isinstance(value, Message):
            return value.in_language(self.language)
        if format_spec == "or":
            return (" or " if self.language == "en" else ", ").join(map(str, value))
        if isinstance(value, list | tuple):
            separator = "; " if any(isinstance(part, Message) for part in value) else ", "
            return separator.join(self.format_field(part, format_spec) for part in value)
        if isinstance(value, int) and not isinstance(value, bool) and not format_spec:
            return f"{value:,}"
        return format(value, format_spec)


PARTICLES: Final = {
    "을(를)": ("을", "를"),
    "이(가)": ("이", "가"),
    "은(는)": ("은", "는"),
    "과(와)": ("과", "와"),
    "(으)로": ("으로", "로"),
}
"""After a closed syllable, and after an open one."""
CLOSED_DIGITS, L_DIGITS = "013678", "178"


def with_particles(text: str) -> str:
    """Korean with the particles that the sounds before them ask for; after a foreign word both forms stay."""
    both = "|".join(map(re.escape, PARTICLES))

    def chosen(match: re.Match[str]) -> str:
        sound, particle = match.groups()
        syllable = "가" <= sound <= "힣"
        last = (ord(sound) - ord("가")) % 28 if syllable else 8 * (sound in L_DIGITS) or int(sound in CLOSED_DIGITS)
        closed = last != 0 and not (particle == "(으)로" and last == 8)
        return sound + PARTICLES[particle][0 if closed else 1]

    return re.sub(rf"([가-힣\d%])({both})", chosen, text)
