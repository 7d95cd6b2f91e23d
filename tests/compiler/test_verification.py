from typing import Any

import numpy as np
import pytest
import torch

from glassformer.automata import Machine, machine, zoo
from glassformer.automata.words import chosen_words, every_word, separating_words
from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify
from glassformer.errors import InputError


def test_one_wrong_weight_is_found_and_described() -> None:
    built = compile("gridworld(4)", 64, "log")
    with torch.no_grad():
        built.model.blocks[3].mlp.W_out[0, 0] += 1  # type: ignore[union-attr,operator,index]
    report = verify(built, words=50)
    assert report.wrong > 0
    assert report.first_mistake is not None
    assert "the model says" in str(report.first_mistake)


def test_all_words_are_tried_when_they_are_few() -> None:
    report = verify(compile("parity", 16))
    assert report.exhaustive
    assert (report.words, report.positions, report.longest, report.wrong) == (2**16, 16 * 2**16, 16, 0)
    assert not verify(compile("parity", 17), words=10).exhaustive


def test_every_word_is_there_once() -> None:
    words = every_word(zoo.gridworld(3), 4)
    assert len({tuple(word) for word in words}) == len(words) == 81


def test_chosen_words_hold_the_ones_that_break_things() -> None:
    made = machine("gridworld(9)")
    words = chosen_words(made, 50, 60, seed=0)
    assert words.shape == (60, 50)
    texts = [made.join(word) for word in words]
    assert {"L" * 50, "R" * 50, "S" * 50, "LR" * 25, "L" * 25 + "R" * 25} <= set(texts)
    assert any(text.count("R") == 49 and text.count("L") == 1 for text in texts)
    assert set(np.unique(made.run(words[0]))) == set(range(9))  # the longest walk sees every cell
    assert len(set(texts)) > 55


def test_even_a_few_words_hold_one_of_each_kind() -> None:
    made = machine("gridworld(9)")
    walk, *texts = (made.join(word) for word in chosen_words(made, 30, 5, seed=0))
    assert {"L", "R"} <= set(walk)
    assert texts[:2] == ["L" * 30, "LR" * 15]
    assert sorted(texts[2]) == sorted(texts[3]) == ["L"] * 29 + ["R"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"length": 0}, "the length of words is a whole number from 1 on, not 0"),
        ({"words": 0}, "a number of words is a whole number from 1 on"),
        ({"words": 2.5}, "a number of words is a whole number, not 2.5"),
        ({"seed": -1}, "a seed is a whole number from 0 on"),
        ({"words": 10**20}, "too many at once"),
    ],
)
@pytest.mark.usefixtures("types_unchecked")
def test_requests_that_make_no_sense_are_refused(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        verify(compile("parity", 9), **request_)


def test_progress_is_reported_to_the_end() -> None:
    calls: list[tuple[int, int]] = []
    verify(compile("parity", 40), words=600, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (600, 600)
    assert len(calls) > 1


def test_some_words_keep_states_apart_for_as_long_as_letters_can() -> None:
    """In three cells any first step forgets one: then left and right in turn forget nothing."""
    walk = Machine(("0", "1", "2"), ("a", "b"), np.array([[0, 0, 1], [1, 2, 2]]))
    words = separating_words(walk, 16, 40, np.random.default_rng(0))
    assert len(np.unique(words, axis=0)) > 20
    ends = np.stack([walk.run(words[:, 8:], start)[:, -1] for start in range(3)])
    assert {len(set(each)) for each in ends.T.tolist()} == {2}
