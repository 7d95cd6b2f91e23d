"""Tasks ask the right questions, and the same ones for the same seed."""

import json

import numpy as np
import pytest
import torch

from glassformer.automata import Machine, any_machine, machine, zoo
from glassformer.compiler.pipeline import compile
from glassformer.errors import InputError
from glassformer.training import FlipFlopLanguage, StateTracking, train
from glassformer.training.batch import IGNORE_INDEX
from glassformer.training.tasks import Task, task_from_json, task_to_json


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("spec", ["parity", "gridworld(4)", "dyck(pairs=2, depth=3)", "random(7, letters=3, seed=1)"])
def test_the_answers_are_the_states_after_every_letter(spec: str) -> None:
    made = machine(spec)
    batch = StateTracking(made, 20).batch(rng(), 8)
    assert (batch.tokens[:, 0] == len(made.symbols)).all()
    assert batch.answers[:, 0].tolist() == [IGNORE_INDEX] * 8
    assert batch.answers[:, 1:].tolist() == made.run(batch.tokens[:, 1:].numpy()).tolist()
    assert torch.equal(batch.targets, batch.answers)


def test_a_built_model_is_right_on_every_answer() -> None:
    built = compile("gridworld(4)", 20)
    batch = StateTracking(built.machine, 20).batch(rng(), 16)
    logits = built.model(batch.tokens)
    assert torch.equal(logits.argmax(-1)[:, 1:], batch.answers[:, 1:])


def test_labels_are_asked_for_instead_of_states() -> None:
    made = machine("regex:(ab)*")
    task = StateTracking(made, 12, predict="output")
    assert sorted(task.answers) == ["False", "True"]
    batch = task.batch(rng(), 4)
    accepted = np.array(made.outputs)[made.run(batch.tokens[:, 1:].numpy())]
    assert ([task.answers[i] == "True" for i in batch.answers[:, 1:].flatten()] == accepted.flatten()).all()


@pytest.mark.parametrize(
    ("spec", "question", "answers"),
    [
        ("dyck(2, 3)", "top", {"empty": "empty", "(": "(", "([": "[", "[[(": "("}),
        ("gridworld(9)", "boundary", {"0": "True", "1": "False", "7": "False", "8": "True"}),
        ("symmetric(5)", "first", {"01234": "0", "12340": "1", "40123": "4"}),
        ("cyclic(4)", "start", {"0": "True", "1": "False", "2": "False", "3": "False"}),
        ("dihedral(4)", "first", {"0123": "0", "0321": "0", "3210": "3"}),
    ],
)
def test_something_about_the_state_is_asked_for(spec: str, question: str, answers: dict[str, str]) -> None:
    task = StateTracking(machine(spec), 6, predict=question)
    found = dict(zip(task.machine.states, (task.answers[i] for i in task.answer_of), strict=True))
    assert {state: found[state] for state in answers} == answers


@pytest.mark.parametrize(
    "task",
    [
        StateTracking(zoo.dyck(2, 3), 9, predict="top", letters=(0.4, 0.2, 0.2, 0.2)),
        StateTracking(zoo.parity(), 5, reveal=0.5),
        StateTracking(zoo.cyclic(4), 5, scratchpad=True),
        FlipFlopLanguage(20, 0.3),
    ],
)
def test_a_task_survives_as_plain_values(task: Task) -> None:
    assert task_from_json(json.loads(json.dumps({"task": task_to_json(task)})), "here") == task


@pytest.mark.parametrize("damaged", [None, {}, {"task": {}}, {"task": {"machine": 3}}, {"task": 5}])
def test_plain_values_of_no_task_are_refused_by_name(damaged: object) -> None:
    with pytest.raises(InputError, match="here"):
        task_from_json(damaged, "here")


def test_letters_come_as_often_as_asked() -> None:
    batch = StateTracking(zoo.parity(), 500, letters=(0.9, 0.1)).batch(rng(), 100)
    assert abs(float((batch.tokens[:, 1:] == 1).double().mean()) - 0.1) < 0.01  # three standard errors are 0.004


def test_only_a_part_of_the_answers_is_revealed_and_all_count() -> None:
    batch = StateTracking(zoo.parity(), 500, reveal=0.25).batch(rng(), 100)
    assert abs(float((batch.targets[:, 1:] != IGNORE_INDEX).double().mean()) - 0.25) < 0.02
    assert (batch.answers[:, 1:] != IGNORE_INDEX).all()


def test_a_scratchpad_holds_each_state_after_its_letter() -> None:
    made = zoo.cyclic(3)
    batch = StateTracking(made, 10, scratchpad=True).batch(rng(), 4)
    letters, states = batch.tokens[:, 1::2].numpy(), batch.tokens[:, 2::2].numpy()
    assert (states - len(made.symbols) - 1 == made.run(letters)).all()
    assert (batch.answers[:, 1::2].numpy() == made.run(letters)).all()
    assert (batch.answers[:, ::2] == IGNORE_INDEX).all()


def test_flip_flop_words_read_what_was_written_last() -> None:
    language = FlipFlopLanguage(64, 0.8)
    batch = language.batch(rng(), 50)
    ignored = 0
    for tokens, targets, answers in zip(batch.tokens, batch.targets, batch.answers, strict=True):
        word = [language.names[i] for i in [*tokens.tolist(), int(targets[-1])]]
        assert word[0] == "w"
        assert word[-2] == "r"
        memory = ""
        for at in range(0, 64, 2):
            if word[at] == "w":
                memory = word[at + 1]
            if word[at] == "r":
                assert word[at + 1] == memory == language.names[answers[at]]
            else:
                assert answers[at] == IGNORE_INDEX
            ignored += word[at] == "i"
    assert abs(ignored / (50 * 30) - 0.8) < 0.04


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StateTracking(zoo.parity(), 0), "the length of words"),
        (lambda: StateTracking(zoo.parity(), 5, letters=(1.0,)), "2 letters .0 1., and 1 probabilities"),
        (lambda: StateTracking(zoo.parity(), 5, letters=(0.5, 0.6)), "sum to 1, not 1.1"),
        (lambda: StateTracking(zoo.parity(), 5, reveal=0.0), "above 0"),
        (lambda: StateTracking(zoo.parity(), 5, reveal=0.5, scratchpad=True), "a scratchpad holds the states"),
        (lambda: FlipFlopLanguage(7), "even length"),
        (lambda: FlipFlopLanguage(8, 1.5), "between 0 and 1"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("question", ["first", "top"])
def test_characters_of_names_are_not_asked_for_where_names_are_those_of_classes(question: str) -> None:
    task = StateTracking(any_machine("brackets(2)"), 5, predict=question)  # as earlier versions kept it
    with pytest.raises(InputError, match=f"infinitely many states.*'{question}' cannot be asked"):
        train(task)


def test_the_same_task_on_longer_words_and_with_other_letters() -> None:
    task = StateTracking(zoo.parity(), 5).but(length=9, letters=(0.2, 0.8))
    assert isinstance(task.machine, Machine)
    assert (task.length, task.letters) == (9, (0.2, 0.8))
