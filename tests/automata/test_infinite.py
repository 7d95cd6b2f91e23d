"""Machines with infinitely many states: named, kept in files, and refused where a table is needed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glassformer
from glassformer.automata import any_machine, finite, formats, machine, zoo
from glassformer.automata.infinite import Brackets, InfiniteError
from glassformer.automata.words import chosen_words
from glassformer.errors import InputError
from glassformer.training.tasks import StateTracking, task_from_json, task_to_json
from glassformer.ui.drawing.automaton import draw_machine


def test_a_spec_and_a_file_name_the_same_machine(tmp_path: Path) -> None:
    file = tmp_path / "brackets.json"
    file.write_text(formats.dumps(Brackets(3), "json"))
    assert any_machine("brackets(3)") == any_machine("brackets(pairs=3)") == any_machine(file) == Brackets(3)
    assert any_machine("parity") == machine("parity") == finite(zoo.parity())


def test_letters_have_names_for_any_number_of_kinds() -> None:
    assert Brackets(2).symbols == ("(", ")", "[", "]")
    many = Brackets(6)
    assert many.join(many.encode("(5 (6 )6 )5")) == "(5 (6 )6 )5"
    assert many.run("(5 (6 )6 )5 )1").tolist() == [1, 1, 1, 0, 2]


def test_words_come_in_batches_of_any_shape() -> None:
    words = Brackets(2).words(10, 24, np.random.default_rng(0)).reshape(2, 3, 4, 10)
    answers = Brackets(2).run(words)
    assert answers.shape == words.shape
    assert (answers[1, 2, 3] == Brackets(2).run(words[1, 2, 3])).all()
    assert Brackets(2).run("").shape == (0,)


@pytest.mark.parametrize("count", [1, 2, 7, 60])
def test_half_of_the_words_are_right_to_the_end_and_some_go_deep(count: int) -> None:
    words = chosen_words(Brackets(2), 100, count, seed=0)
    wrong = (Brackets(2).run(words) == 2).any(axis=1)
    assert words.shape == (count, 100)
    assert (~wrong).sum() >= count // 2
    assert np.cumsum(1 - 2 * (words[0] % 2))[49] == 50


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"kind": "counter"}', "there is no kind of machine 'counter'; the kinds are brackets"),
        ('{"kind": ["brackets"]}', "there is no kind of machine"),
        ('{"kind": "brackets"}', "has the whole numbers pairs, and nothing else"),
        ('{"kind": "brackets", "pairs": true}', "has the whole numbers pairs"),
        ('{"kind": "brackets", "pairs": 2, "depth": 3}', "has the whole numbers pairs"),
        ('{"kind": "brackets", "pairs": 0}', "there are 1 to 1,000 kinds of brackets, not 0"),
    ],
)
def test_a_file_that_describes_none_is_refused_by_name(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "machine.json"
    file.write_text(text)
    with pytest.raises(InputError, match=why) as refused:
        any_machine(file)
    assert str(file) in str(refused.value)


@pytest.mark.usefixtures("types_unchecked")
def test_what_needs_a_table_says_why_there_is_none(tmp_path: Path) -> None:
    made = Brackets(2)
    table: Any = made  # a type checker knows that it has none
    (tmp_path / "brackets.json").write_text(formats.dumps(made, "json"))
    for needs_a_table in (
        lambda: machine("brackets"),
        lambda: machine(tmp_path / "brackets.json"),
        lambda: formats.loads(json.dumps(made.to_json()), "json"),
        lambda: formats.dumps(made, "dot"),
        lambda: glassformer.classify("brackets(2)"),
        lambda: glassformer.classify(table),
        lambda: glassformer.decompose(table),
        lambda: glassformer.recurrent_network(table),
        lambda: draw_machine(table),
    ):
        with pytest.raises(InfiniteError, match=r"brackets.pairs=2. has infinitely many states"):
            needs_a_table()


def test_a_task_goes_through_json() -> None:
    task = StateTracking(Brackets(2), 12)
    assert task_from_json({"task": task_to_json(task)}, "here") == task
    words = task.words(np.random.default_rng(0), 60)
    assert ((Brackets(2).run(words) == 2).any(axis=1)).mean() <= 0.5
