"""Sequences and what becomes of them."""

import datetime

import numpy as np
import pytest

from glassformer.errors import InputError
from glassformer.training.architecture import Architecture
from glassformer.training.batch import IGNORE_INDEX
from glassformer.training.tasks import task_from_json, task_to_json
from glassformer.training.transductions import FORMATS, TRANSDUCTIONS, Transduction
from glassformer.training.trial import task_of


def drawn(task: Transduction, count: int = 200) -> list[tuple[list[str], list[str], list[str]]]:
    """Source, prompt and answer of each, in names."""
    batch = task.batch(np.random.default_rng(0), count)
    found = []
    for tokens, targets in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
        end = tokens.index(task.separator)
        asked = [place for place, target in enumerate(targets) if target != IGNORE_INDEX]
        assert asked == list(range(asked[0], len(tokens)))
        assert tokens[asked[0] + 1 :] == targets[asked[0] : -1]  # each answer is read before the next is asked for
        names = [task.names[token] for token in tokens]
        found.append(
            (names[:end], names[end + 1 : asked[0] + 1], [task.names[target] for target in targets[asked[0] :]])
        )
    return found


@pytest.mark.parametrize(
    ("way", "right"), [("copy", list), ("reverse", lambda s: s[::-1]), ("sort", lambda s: sorted(s, key=int))]
)
def test_sequences_become_what_the_task_is_named_after(way: str, right: object) -> None:
    assert callable(right)
    for source, prompt, answer in drawn(Transduction(way, 9, 3)):
        assert (prompt, answer) == (["start"], right(source))
        assert 3 <= len(source) <= 9


@pytest.mark.parametrize("distance", [None, 1, 3])
def test_recall_asks_for_what_stood_beside_a_key(distance: int | None) -> None:
    places = set()
    for source, prompt, answer in drawn(Transduction("recall", 5, distance=distance)):
        keys, values = source[::2], source[1::2]
        assert len(set(keys)) == 5
        assert answer == [values[keys.index(prompt[0])]]
        places.add(5 - keys.index(prompt[0]))
    assert places == ({1, 2, 3, 4, 5} if distance is None else {distance})


def test_fetch_asks_for_what_stood_beside_two_keys_in_their_order() -> None:
    for source, (first, second), (answer,) in drawn(Transduction("fetch", 4)):
        of = {key: int(value) - 8 for key, value in zip(source[::2], source[1::2], strict=True)}
        assert first != second
        assert int(answer) == 4 * of[first] + of[second]


def test_what_is_asked_for_may_stand_inside_the_source() -> None:
    for source, prompt, answer in drawn(Transduction("recall", 3, inside=True)):
        assert prompt == ["start"]
        assert answer == [source[source.index(source[-1]) + 1]]


def test_dates_are_written_in_all_ways_and_mean_the_same() -> None:
    seen = set()
    for source, _, answer in drawn(Transduction("dates"), 1000):
        day, written = datetime.date.fromisoformat("".join(answer)), "".join(source).strip()
        ways = {number for number, way in enumerate(FORMATS) if way(day) == written}
        assert ways
        seen |= ways
    assert seen == set(range(len(FORMATS)))


def test_a_task_is_written_in_plain_values_and_its_context_holds_the_longest() -> None:
    for name in TRANSDUCTIONS:
        task = task_of({"sequence": name, "length": 4, "shortest": 2})
        assert task_of(task_to_json(task)["transduction"]) == task
        assert max(task.batch(np.random.default_rng(seed), 1).tokens.shape[1] for seed in range(30)) == task.context
        assert task_from_json({"task": task_to_json(task)}, "this run") == task


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sequence": "shuffle"}, "copy, reverse, sort, recall, fetch, dates; not 'shuffle'"),
        ({"sequence": "copy", "length": 0}, "length of sources"),
        ({"sequence": "copy", "length": 4, "shortest": 5}, "longer than the longest"),
        ({"sequence": "copy", "distance": 1}, "a distance is for recall"),
        ({"sequence": "recall", "length": 9}, "2 to 8 pairs, not 9"),
        ({"sequence": "recall", "length": 4, "distance": 5}, "no distance of 5"),
        ({"sequence": "copy", "inside": True}, "only of recall and fetch"),
        ({"sequence": "copy", "wide": 1}, "knows no 'wide'"),
        ({"length": 4}, "a task needs a machine"),
        ({"sequence": "copy", "text": "a.txt"}, "one of text or sequence, not several"),
        ({"text": 5, "objective": "lm"}, "a text is a file or the name of a corpus, not 5"),
        ({"text": "a.txt", "objective": "lm", "length": 4}, "knows no 'length'"),
        ({"text": "a.txt"}, "lacks something"),
    ],
)
@pytest.mark.usefixtures("types_unchecked")
def test_tasks_that_cannot_be_are_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        task_of(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "lstm", "score": "additive"}, "of the kind lstm has no score to choose"),
        ({"kind": "rnn", "skip": "none"}, "of the kind rnn has no skip to choose"),
        ({"place": "before"}, "of the kind transformer has no place to choose"),
        ({"initialisation": "large"}, "initialised as gpt2 or fan_in; not 'large'"),
    ],
)
def test_parts_that_a_model_does_not_have_are_refused(values: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Architecture(**values)  # type: ignore[arg-type]
