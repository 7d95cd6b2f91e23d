import operator

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from glassformer.automata import Machine, Semiautomaton, simulate, zoo
from glassformer.errors import InputError
from strategies import machines, words

EVEN = Machine(("even", "odd"), ("0", "1"), np.array([[0, 1], [1, 0]]))


def one_by_one(machine: Machine, word: np.ndarray, start: int) -> list[int]:
    """The definition: apply the letters one after the other."""
    states = []
    for letter in word:
        start = int(machine.delta[letter, start])
        states.append(start)
    return states


@given(st.data())
def test_run_and_scan_give_the_state_after_every_prefix(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(words(machine, max_length=150))
    start = data.draw(st.integers(0, len(machine.states) - 1))
    expected = one_by_one(machine, word, start)
    assert machine.run(word, start).tolist() == expected
    assert machine.scan(word, start).tolist() == expected


@pytest.mark.parametrize("length", [1, 31, 32, 33, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 3)])
def test_scan_equals_run_at_block_boundaries_and_for_batches(length: int, batch: tuple[int, ...]) -> None:
    machine = zoo.random(5, letters=3, seed=length)
    word = np.random.default_rng(length).integers(0, 3, (*batch, length))
    stepped = machine.delta.take(simulate.walk_by_steps(machine.delta, word, np.intp(machine.start)))
    assert stepped.shape == word.shape
    assert (machine.scan(word) == stepped).all()
    assert (machine.run(word) == stepped).all()


@pytest.mark.parametrize("states", [1, 2, 16, 120, 600])
def test_run_is_right_whichever_way_it_chooses(states: int) -> None:
    machine = zoo.random(states, letters=2, seed=1)
    word = np.random.default_rng(0).integers(0, 2, 3000)
    assert machine.run(word).tolist() == one_by_one(machine, word, machine.start)


def test_a_scan_takes_logarithmically_many_vector_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    rows = simulate._rows

    def counted(table: np.ndarray, word: np.ndarray) -> np.ndarray:
        steps.append(word.shape[-1])
        return rows(table, word)

    monkeypatch.setattr(simulate, "_rows", counted)
    taken = []
    for length in (2**10, 2**15, 2**20):
        steps.clear()
        zoo.parity().scan(np.zeros(length, dtype=np.intp))
        taken.append(sum(steps))
    assert taken[2] - taken[1] == taken[1] - taken[0] <= 4 * simulate.BLOCK  # 32 times longer: a constant more


def test_an_empty_word_has_no_prefixes() -> None:
    assert EVEN.run("").tolist() == EVEN.scan("").tolist() == []
    assert not zoo.abab().accepts("b")
    assert zoo.abab().accepts("")


@given(st.data())
def test_a_power_reads_blocks_of_letters_as_one(data: st.DataObject) -> None:
    machine, k = data.draw(machines(max_states=6, max_letters=3)), data.draw(st.integers(1, 4))
    word = data.draw(words(machine, max_length=12))
    word = word[: len(word) // k * k]
    blocks = [machine.join(block) for block in word.reshape(-1, k)]
    power = machine.power(k)
    assert power.run(blocks).tolist() == machine.run(word)[k - 1 :: k].tolist()
    assert isinstance(power, Machine)
    assert power.outputs == machine.outputs


@given(st.data())
def test_the_minimal_machine_has_the_same_labels_and_no_two_states_alike(data: st.DataObject) -> None:
    machine = data.draw(machines(language=data.draw(st.booleans())))
    small = machine.minimal()
    for _ in range(5):
        word = data.draw(words(machine))
        assert small.labels(word) == machine.labels(word)
    assert small.minimal() == small
    tried = np.random.default_rng(0).integers(0, len(machine.symbols), (200, 20))
    labels = {label: i for i, label in enumerate(dict.fromkeys(small.outputs))}
    by_state = [
        np.array([labels[small.outputs[q]] for q in (start, *small.run(tried, start).ravel())]).tobytes()
        for start in range(len(small.states))
    ]
    assert len(set(by_state)) == len(small.states)


@given(st.data())
def test_a_product_runs_both_machines_at_once(data: st.DataObject) -> None:
    a = data.draw(machines(max_letters=2, language=True))
    b = zoo.random(3, letters=len(a.symbols), seed=1)
    b = Machine(b.states, b.symbols, b.delta, outputs=(True, False, True))
    word = data.draw(words(a))
    both = a.product(b, operator.and_)
    assert isinstance(both, Machine)
    assert both.labels(word) == [p and q for p, q in zip(a.labels(word), b.labels(word), strict=True)]


def test_a_product_with_a_bare_semiautomaton_has_no_labels() -> None:
    bare = Semiautomaton(EVEN.states, EVEN.symbols, EVEN.delta)
    assert type(EVEN.product(bare)) is Semiautomaton
    assert bare.product(bare).run("11", 0).tolist() == [3, 0]


@pytest.mark.usefixtures("types_unchecked")
def test_words_may_be_integers_of_any_kind() -> None:
    for kind in ("u1", "i1", ">i4", "<u8", "i8"):
        assert EVEN.run(np.array([1, 0, 1]).astype(kind)).tolist() == [1, 1, 0]
    assert EVEN.run(np.array([[1, 0], [0, 1]])[:, ::-1]).tolist() == [[0, 1], [1, 1]]
    assert EVEN.run([1, 0, 1]).tolist() == EVEN.run((1, 0, 1)).tolist() == EVEN.run(["1", "0", "1"]).tolist()
    assert EVEN.run(torch.tensor([[1, 0, 1]])).tolist() == [[1, 1, 0]]  # type: ignore[arg-type]
    assert zoo.random(3, letters=1).power(70).run([]).tolist() == []


@pytest.mark.usefixtures("types_unchecked")
def test_numpy_booleans_are_a_language_too() -> None:
    assert Machine(("p",), ("a",), np.array([[0]]), outputs=(np.True_,)).is_language  # type: ignore[arg-type]


def test_machines_are_frozen_values() -> None:
    twin = Machine(EVEN.states, EVEN.symbols, EVEN.delta.copy())
    assert twin == EVEN
    assert hash(twin) == hash(EVEN)
    assert Machine(EVEN.states, EVEN.symbols, EVEN.delta, start=1) != EVEN
    with pytest.raises(ValueError, match="read-only"):
        EVEN.delta[0, 0] = 1


@given(st.lists(st.text(max_size=4), min_size=1, max_size=4, unique=True), st.data())
def test_a_word_that_is_joined_is_read_back_whatever_its_letters_are_called(
    names: list[str], data: st.DataObject
) -> None:
    try:
        made = Semiautomaton(("only",), tuple(names), np.zeros((len(names), 1), dtype=int))
    except InputError:
        assume(False)
    word = np.array(data.draw(st.lists(st.integers(0, len(names) - 1), max_size=6)), dtype=np.intp)
    assert made.encode(made.join(word)).tolist() == word.tolist()


def test_words_of_letters_with_long_names_are_split_at_blanks() -> None:
    machine = Machine(("p", "q"), ("stay", "go"), np.array([[0, 1], [1, 0]]))
    assert machine.run("go stay  go").tolist() == [1, 1, 0]
    assert machine.join(machine.encode(["go", "stay"])) == "go stay"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EVEN.run("01x1"), "letter 'x' at position 3 .* alphabet '0', '1'"),
        (lambda: EVEN.run(np.array([0, 2])), "letter number 2 at position 2"),
        (lambda: EVEN.run(np.array([[0, 1], [1, -1]])), r"letter number -1 at position 2 .*word \(1,\)"),
        (lambda: EVEN.run(np.array([0.5])), "a word is a string, .* not float64"),
        (lambda: EVEN.run(["0", 1]), "a word is a string"),  # type: ignore[arg-type]
        (lambda: EVEN.run([["0"], ["1"]]), "a word is a string"),  # type: ignore[arg-type]
        (lambda: EVEN.run([[0], [1, 1]]), "a word is a string"),  # type: ignore[arg-type]
        (lambda: EVEN.run(None), "a word is a string"),  # type: ignore[arg-type]
        (lambda: EVEN.labels(np.array([[0, 1]])), r"one word, not a batch of shape \(1, 2\)"),
        (lambda: zoo.abab().accepts(np.zeros((0, 3), int)), "one word, not a batch"),
        (lambda: Machine(("p", "q"), ("a",), np.zeros((1, 2, 2), int)), "a row of state numbers for each letter"),
        (lambda: Machine(("p", "q"), ("a",), 3), "a row of state numbers for each letter"),  # type: ignore[arg-type]
        (lambda: Machine(("p", "q"), ("a",), [["p", "q"]]), "the numbers of states"),  # type: ignore[arg-type]
        (lambda: Machine(("\ud800",), ("a",), np.array([[0]])), "half a character"),
        (lambda: EVEN.run("0", start="odds"), "no state 'odds'; the states are 'even', 'odd'"),
        (lambda: EVEN.run("0", start=2), "state 2 is out of range"),
        (lambda: Machine(("q",), (), np.zeros((0, 1), int)), "the alphabet is empty"),
        (lambda: Machine((), ("a",), np.zeros((1, 0), int)), "there are no states"),
        (lambda: Machine(("p", "q"), ("a",), np.array([[0]])), "partial: letter 'a' .* 1 of 2 states"),
        (lambda: Machine(("p", "q"), ("a", "b"), np.array([[0, 1]])), "1 row for 2 letters"),
        (lambda: Machine(("p", "q"), ("a",), np.array([[0, 2]])), "'a' leads from state 'q' to state number 2"),
        (lambda: Machine(("p", "p"), ("a",), np.array([[0, 1]])), "state 'p' is named twice"),
        (lambda: Machine(("p",), ("",), np.array([[0]])), "name of a letter is a non-empty text"),
        (lambda: Machine(("p", "q"), ("a",), np.array([[0, 1]]), outputs=("x",)), "one output for each state: 1 for 2"),
        (lambda: Machine(("p", "q"), ("a",), np.array([[0, 1]]), outputs=("x", True)), "either all true or false"),
        (lambda: EVEN.run("0", start=0.5), "by its name or its number"),  # type: ignore[arg-type]
        (lambda: Machine(("p",), ("a",), np.array([[0]]), outputs=(3,)), "all true or false"),  # type: ignore[arg-type]
        (lambda: EVEN.power(0), "a whole number from 1 on, not 0"),
        (lambda: EVEN.power(2.5), "a whole number, not 2.5"),  # type: ignore[arg-type]
        (lambda: EVEN.run(np.array([0], "m8[s]")), "a word is a string"),
        (lambda: EVEN.power(60), "the limit"),
        (lambda: EVEN.power(10**9), "the limit"),
        (lambda: zoo.random(3, letters=1).power(10**9), "the limit"),
        (lambda: EVEN.product(zoo.gridworld(3)), "a product needs one alphabet"),
        (lambda: EVEN.accepts("1"), "not accepting states"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("types_unchecked")
def test_bad_input_is_refused_by_name(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]
