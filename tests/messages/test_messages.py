"""No sentence is missing in any language, none is left over, and every value that a sentence names is given to it."""

import ast
import pickle
import re
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import glassformer
from glassformer.errors import InputError
from glassformer.messages import LANGUAGES, Message, listed, sentences, verbatim, with_particles

SOURCE = Path(glassformer.__file__).parent
ERRORS = {"InputError", "TooLargeError", "DivergedError", "NotFiniteError"}
TAKES_AN_ID = {"Message", "say", "note", "progress_bar", "mistake", "wrong", *ERRORS}
GIVEN_ELSEWHERE = {"waiting", "explained", "active", "dead"}
"""Labels that commands find in what they print: the status of a trial, and the measures of a dictionary."""


def names_in(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@cache
def nodes() -> list[tuple[Path, ast.AST]]:
    """All of the source, as Python's own parser sees it."""
    return [(path, node) for path in SOURCE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))]


def named_calls(names: set[str]) -> Iterator[tuple[Path, ast.Call]]:
    """Every call of a function or method with one of these names."""
    for path, node in nodes():
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in names:
                yield path, node


def calls() -> Iterator[tuple[Path, ast.Call, str]]:
    """Every call that makes a message, and its id where it stands in the call."""
    for path, call in named_calls(TAKES_AN_ID):
        id = call.args[0] if call.args else None
        for each in (id.body, id.orelse) if isinstance(id, ast.IfExp) else (id,):
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield path, call, each.value


def test_every_sentence_is_there_in_every_language_with_the_same_values() -> None:
    for language in LANGUAGES:
        assert sentences(language).keys() == sentences("en").keys(), language
        for id, text in sentences(language).items():
            assert names_in(text) == names_in(sentences("en")[id]), (language, id)


def test_every_call_gives_its_sentence_the_values_that_it_names() -> None:
    for path, call, id in calls():
        if id in sentences("en") and all(keyword.arg for keyword in call.keywords):
            given = {keyword.arg for keyword in call.keywords}
            needed = names_in(sentences("en")[id])
            one_of_two = isinstance(call.args[0], ast.IfExp)  # what is given is for both
            assert given >= needed if one_of_two else given == needed, f"{path}:{call.lineno} {id}"


def pattern_of(text: ast.JoinedStr) -> str:
    """An expression that matches what a formatted string may become."""
    return "".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else "[a-z_0-9]+" for p in text.values)


def names_beside(module: Path) -> set[str]:
    """All names that stand in quotation marks in the modules of a folder."""
    beside = (node for path, node in nodes() if path.parent == module.parent and isinstance(node, ast.Constant))
    return {node.value for node in beside if isinstance(node.value, str) and node.value.isidentifier()}


def composed_ids() -> Iterator[str]:
    """Ids that are put together, as expressions that match them: f"margins.{name}_name".

    Where nothing but a file is named, as in f"margins.{name}", the names are those that stand beside it.
    """
    for path, node in nodes():
        if isinstance(node, ast.JoinedStr) and re.match(r"[a-z_]+\\\.[a-z_]*\[", pattern := pattern_of(node)):
            file, _, key = pattern.partition("\\.")
            names = "|".join(names_beside(path) | GIVEN_ELSEWHERE) if key == "[a-z_0-9]+" else ""
            yield f"{file}\\.({names})" if names else pattern


def test_no_error_is_a_sentence() -> None:
    for path, call in named_calls(ERRORS):
        if call.args:
            id = call.args[0]
            if isinstance(id, ast.Constant):
                assert id.value in sentences("en"), f"{path}:{call.lineno}"
            if isinstance(id, ast.JoinedStr):
                pattern = pattern_of(id)
                assert any(re.fullmatch(pattern, known) for known in sentences("en")), f"{path}:{call.lineno}"


def test_no_sentence_is_left_over() -> None:
    sources = "".join(path.read_text() for path in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.js")])
    quoted = set(re.findall(r"[\"']([a-z_0-9]+\.[a-z_0-9]+)[\"']", sources))
    left_over = sentences("en").keys() - quoted
    composed = list(composed_ids())
    assert {id for id in left_over if not any(re.fullmatch(each, id) for each in composed)} == set()


def test_numbers_lists_plurals_and_messages_are_written_as_a_person_reads_them() -> None:
    assert str(Message("common.and_more", names="'a'", more=1024)) == "'a', … and 1,024 more"
    assert str(listed("ab")) == "'a', 'b'"
    assert str(listed("abc", most=1)) == "'a', … and 2 more"
    assert str(Message("common.verbatim", text=["a", "b"])) == "a, b"
    assert "dtype a or b" in str(Message("compiler.use_dtype", dtypes=["a", "b"]))
    assert str(Message("common.verbatim", text=[verbatim("a"), verbatim("b")])) == "a; b"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("상태을(를)", "상태를"),
        ("층을(를)", "층을"),
        ("7(으)로", "7로"),
        ("3(으)로", "3으로"),
        ("6이(가)", "6이"),
        ("x이(가)", "x이(가)"),
    ],
)
def test_korean_particles_follow_the_sound_before_them(written: str, read: str) -> None:
    assert with_particles(written) == read


def test_an_error_goes_from_one_process_to_another_in_every_language() -> None:
    error = InputError("common.not_whole", what=verbatim("n"), value=0.5)
    assert pickle.loads(pickle.dumps(error)).message == error.message  # noqa: S301  (our own, made here)


def test_a_message_goes_through_a_file_and_what_is_none_is_refused() -> None:
    message = Message("common.whole_number", what=listed("ab"), least=1, value=[verbatim("x"), 2])
    assert Message.from_json(message.to_json()) == message
    assert Message.from_json("as it was") == verbatim("as it was")
    for wrong in (3, {"id": "common.none"}, {"id": 3, "values": {}}, {"id": "common.none", "values": {}, "more": 1}):
        with pytest.raises(ValueError, match="not a message"):
            Message.from_json(wrong)


def test_a_sentence_of_another_version_is_shown_as_it_was() -> None:
    """So that a file opens after a sentence was renamed, or has other values."""
    assert str(Message.from_json({"id": "cascade.gone", "values": {"level": 3}, "text": "as it was"})) == "as it was"
    assert str(Message.from_json({"id": "common.not_whole", "values": {"what": "n"}})) == "common.not_whole"
