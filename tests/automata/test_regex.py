"""Regular expressions become the right machines, and mistakes in them are shown where they are."""

from __future__ import annotations

import contextlib
import itertools
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.automata import Machine, machine
from glassformer.automata.pattern import MAX_LENGTH
from glassformer.automata.regex import regex
from glassformer.errors import InputError

WORDS = ["".join(word) for length in range(7) for word in itertools.product("ab", repeat=length)]


def accepts(machine: Machine, word: str) -> bool:
    """Whether a word leads to an accepting state, read letter by letter from the table."""
    state = machine.start
    for letter in word:
        state = machine.delta[machine.symbols.index(letter), state]
    return bool(machine.outputs[state])


def language(machine: Machine, length: int = 3) -> set[str]:
    """The accepted words up to a length."""
    words = itertools.chain.from_iterable(itertools.product(machine.symbols, repeat=n) for n in range(length + 1))
    return {"".join(word) for word in words if accepts(machine, "".join(word))}


def shuffles(left: str, right: str) -> set[str]:
    """All ways to interleave two words."""
    if not left or not right:
        return {left + right}
    return {left[0] + rest for rest in shuffles(left[1:], right)} | {
        right[0] + rest for rest in shuffles(left, right[1:])
    }


ATOMS = ["a", "b", ".", "[ab]", "[a-b]", "[^a]", "()", "a*", "b+", "a?", "b{2}", "\\w", "a{,2}"]
BOUNDS = ["", "*", "+", "?", "{0}", "{2}", "{0,}", "{2,}", "{,2}", "{0,1}", "{1,3}"]


def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A repeated choice of sequences of parts."""
    sequences = st.lists(parts, min_size=1, max_size=3).map("".join)
    choices = st.lists(sequences, min_size=1, max_size=2).map("|".join)
    return st.builds("({}){}".format, choices, st.sampled_from(BOUNDS))


def both_dialects() -> st.SearchStrategy[str]:
    """Patterns over a and b that mean the same here and in Python; not too deep, or Python would take for ever."""
    atoms = st.sampled_from(ATOMS)
    return combined(st.one_of(atoms, combined(atoms)))


@settings(max_examples=300)
@given(both_dialects())
def test_patterns_agree_with_python_on_all_short_words(pattern: str) -> None:
    machine, peer = regex(pattern, "ab"), re.compile(pattern)
    assert language(machine, length=6) == {word for word in WORDS if peer.fullmatch(word)}


@settings(max_examples=60)
@given(combined(st.sampled_from(ATOMS)), combined(st.sampled_from(ATOMS)))
def test_intersection_and_shuffle_agree_with_their_definition(left: str, right: str) -> None:
    a, b = language(regex(left, "ab")), language(regex(right, "ab"))
    shuffled = {word for x in a for y in b for word in shuffles(x, y) if len(word) <= 3}
    assert language(regex(f"({left})&({right})", "ab")) == a & b
    assert language(regex(f"({left})^({right})", "ab")) == shuffled


@settings(max_examples=300)
@given(st.text(alphabet="ab|&^*+?.{}[]()\\-,012 $^dn", max_size=12))
def test_any_text_is_a_machine_or_an_input_error(pattern: str) -> None:
    with contextlib.suppress(InputError):
        regex(pattern, limit=200)


@settings(max_examples=100)
@given(st.text(max_size=8))
def test_any_unicode_text_is_a_machine_or_an_input_error(pattern: str) -> None:
    with contextlib.suppress(InputError):
        regex(pattern, limit=200)


def test_machine_is_minimal_and_named_in_breadth_first_order() -> None:
    machine = regex("(a|b)*abb")
    assert machine.symbols == ("a", "b")
    assert machine.states == ("0", "1", "2", "3")
    assert machine.start == 0
    assert machine.outputs == (False, False, False, True)
    assert machine.delta.tolist() == [[1, 1, 1, 1], [0, 2, 3, 0]]


def test_a_sink_completes_the_machine() -> None:
    machine = regex("ab")
    assert machine.states == ("0", "1", "2", "3")
    assert machine.outputs == (False, False, False, True)
    assert machine.delta.tolist() == [[1, 2, 2, 2], [2, 3, 2, 2]]


@pytest.mark.parametrize(
    ("pattern", "alphabet", "words"),
    [
        ("a{0}", None, {""}),
        ("(ab){0}a", None, {"a"}),
        ("a.", None, {"aa"}),
        ("a{2}.", None, {"aaa"}),
        ("[a-b].", None, {"aa", "ab", "ba", "bb"}),
        ("\\.", None, {"."}),
        ("\\.|.", "a.", {"a", "."}),
        ("a b", None, {"a b"}),
        ("\\t\\\\", None, {"\t\\"}),
        ("[\\]a-]", None, {"]", "a", "-"}),
        ("[*.]", None, {"*", "."}),
        ("[a^]", None, {"a", "^"}),
        ("[^a]", "abc", {"b", "c"}),
        ("[^a]|b", None, {"b"}),
        ("\\d", "01a", {"0", "1"}),
        ("\\D", "01a", {"a"}),
        ("[\\da]", "01a", {"0", "1", "a"}),
        ("[^\\d]", "01a", {"a"}),
        ("", "ab", {""}),
        ("()", "a", {""}),
        ("a&b", None, set()),
        ("a^b", None, {"ab", "ba"}),
        ("(a|b)&b", None, {"b"}),
        ("é|ß", None, {"é", "ß"}),
    ],
)
def test_syntax_means_what_the_module_says(pattern: str, alphabet: str | None, words: set[str]) -> None:
    assert language(regex(pattern, alphabet)) == words


def test_shorthands_name_their_letters_unless_an_alphabet_is_given() -> None:
    assert regex("\\d").symbols == tuple("0123456789")
    assert len(regex("\\w").symbols) == 63
    assert regex("a\\D").symbols == ("a",)


@pytest.mark.parametrize(
    ("pattern", "column", "part"),
    [
        ("a)", 2, "closes nothing"),
        (")", 1, "closes nothing"),
        ("b(a", 2, "never closed"),
        ("(", 1, "never closed"),
        ("a[b", 2, "never closed"),
        ("a[]", 2, "empty"),
        ("a[^]", 2, "empty"),
        ("[b-a]", 2, "backwards"),
        ("a]", 2, "closes nothing"),
        ("a}", 2, "closes nothing"),
        ("a{", 2, "a repetition is"),
        ("a{}", 2, "a repetition is"),
        ("a{-1}", 2, "a repetition is"),
        ("a{3,2}", 2, "ends before it begins"),
        ("a|*", 3, "repetition"),
        ("*a", 1, "repetition"),
        ("a**", 3, "follows a repetition"),
        ("a|", 3, "breaks off"),
        ("a(b|)", 5, "breaks off"),
        ("a||b", 3, "before '|'"),
        ("^a", 1, "before '^'"),
        ("a|b&c", 4, "parentheses must say"),
        ("a$", 2, "whole word"),
        ("ab\\", 3, "backslash"),
        ("a\\q", 2, "'\\q' is unknown"),
        ("a\tb", 2, "white space"),
        ("a[^a]", 2, "no letter of the alphabet"),
    ],
)
def test_mistake_is_shown_at_its_column(pattern: str, column: int, part: str) -> None:
    with pytest.raises(InputError, match=re.escape(part)) as caught:
        regex(pattern)
    message, shown, caret = str(caught.value).split("\n")
    assert message.startswith(f"pattern, line 1, column {column}:")
    assert shown == "  " + pattern.replace("\t", "·")
    assert caret == " " * (column + 1) + "^"


def test_letter_outside_the_alphabet_is_named_with_its_column() -> None:
    with pytest.raises(InputError, match="line 1, column 3: letter 'c' is not in the alphabet 'a', 'b'"):
        regex("abc", "ab")
    with pytest.raises(InputError, match="line 1, column 2: letter 'c'"):
        regex("[a-c]", "ab")


@pytest.mark.parametrize("pattern", ["", "()", ".", "()*"])
def test_empty_alphabet_is_refused_with_advice(pattern: str) -> None:
    with pytest.raises(InputError, match="name its letters in the pattern"):
        regex(pattern)


@pytest.mark.parametrize("alphabet", ["", ["ab"], [""]])
def test_alphabet_must_be_of_single_characters(alphabet: list[str]) -> None:
    with pytest.raises(InputError, match="letter"):
        regex("a", alphabet)


@pytest.mark.parametrize(
    "pattern",
    [
        "a{1000000000}",
        "a{99999999999999999999}",
        "((a{1000}){1000}){1000}",
        "(a{100})^(b{100})^(c{100})",
        "(.{300})&(.{300})&(a{300})",
        "(a?){20000}",
        "(" * 400 + "a{40}" + ")*" * 400,
        "[\u0000-\U0010ffff]",
        "a" * (MAX_LENGTH + 1),
        "(a|b)*a(a|b){30}",
    ],
)
def test_patterns_too_large_are_refused_quickly(pattern: str) -> None:
    began = time.perf_counter()
    with pytest.raises(InputError, match="limit"):
        regex(pattern)
    assert time.perf_counter() - began < 10


def test_parentheses_may_nest_to_any_depth() -> None:
    assert regex("(" * 4999 + "a" + ")" * 4999) == regex("a")


def test_limit_of_steps_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.automata.regex.MAX_STEPS", 10_000)
    with pytest.raises(InputError, match="more than 10,000 steps"):
        regex("(a?){100}")


def test_limit_of_states_is_named() -> None:
    assert len(regex("(a|b)*a(a|b){5}").states) == 64
    with pytest.raises(InputError, match="more than 50 states"):
        regex("(a|b)*a(a|b){5}", limit=50)
    with pytest.raises(InputError, match="at least one state"):
        regex("a", limit=0)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(InputError, match="half a character"):
        regex("a\udcff")


def test_blanks_in_a_spec_are_letters_of_the_pattern() -> None:
    assert machine("regex:a ").accepts("a ")
    assert machine(r"regex:a\ ").accepts("a ")
    assert machine("  regex: a").accepts(" a")


def test_shorthands_that_brackets_cannot_hold_are_named() -> None:
    with pytest.raises(InputError, match=r"cannot stand in brackets"):
        regex(r"[\D]")
