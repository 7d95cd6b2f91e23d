"""The Korean README shows the same commands, snippets, links and tables as the English one."""

import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENGLISH, KOREAN = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.ko.md"))
IGNORED = {tokenize.COMMENT, tokenize.NL}


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def prose(page: str) -> str:
    return re.sub(r"^```\w*\n.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)


def inline_commands(page: str) -> list[str]:
    return sorted(re.findall(r"`(make \w+|python benchmarks/[^`]+|glassformer [^`]+)`", prose(page)))


def headings(page: str) -> list[int]:
    return [len(marks) for marks in re.findall(r"^(#+) ", prose(page), re.MULTILINE)]


def links(page: str) -> list[str]:
    """Where the page leads, but for the links from one language to the other."""
    return sorted(to for to in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if to not in {"README.md", "README.ko.md"})


def rows(page: str) -> list[int]:
    """How many lines each table has, one after another."""
    return [table.count("\n") for table in re.findall(r"(?:^\|.*\n)+", prose(page), re.MULTILINE)]


def code(snippet: str) -> list[tuple[int, str]]:
    """The snippet without its comments."""
    tokens = tokenize.generate_tokens(io.StringIO(snippet).readline)
    return [(token.type, token.string) for token in tokens if token.type not in IGNORED]


def test_the_shell_commands_are_the_same() -> None:
    assert blocks(KOREAN, "sh") == blocks(ENGLISH, "sh") != []


def test_the_snippets_differ_in_comments_only() -> None:
    assert [*map(code, blocks(KOREAN, "python"))] == [*map(code, blocks(ENGLISH, "python"))] != []


@pytest.mark.parametrize("part", [inline_commands, links])
def test_the_commands_in_sentences_and_the_links_are_the_same(part: Callable[[str], list[str]]) -> None:
    assert part(KOREAN) == part(ENGLISH) != []


def test_every_level_has_as_many_headings() -> None:
    assert Counter(headings(KOREAN)) == Counter(headings(ENGLISH)) != Counter()


def test_the_tables_have_as_many_rows() -> None:
    assert rows(KOREAN) == rows(ENGLISH) != []


def test_the_english_page_is_the_first_link() -> None:
    assert KOREAN.splitlines()[:3] == ["# Glassformer", "", "English: [README.md](README.md)"]
