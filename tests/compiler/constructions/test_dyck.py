"""Brackets, of any depth and of a bounded one: exact in three layers, or two if of one kind."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.automata import Machine, any_machine, zoo
from glassformer.automata.infinite import Brackets
from glassformer.automata.words import chosen_words
from glassformer.compiler.built import Built
from glassformer.compiler.classification import classify
from glassformer.compiler.constructions.dyck.nesting import stack_of
from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify
from glassformer.errors import InputError
from glassformer.instruments import score_heads
from glassformer.instruments.circuits import edges_in_weights, effects
from glassformer.operations.attention import FlatSum, LatestMatch
from shell import Shell

EMPTY, OPEN, ERROR = range(3)


def pushed_and_popped(word: list[int]) -> list[int]:
    """The answers of brackets, with a list for a stack."""
    stack, wrong, answers = list[int](), False, []
    for letter in word:
        if letter % 2 == 0:
            stack.append(letter // 2)
        else:
            wrong |= not stack or stack.pop() != letter // 2
        answers.append(ERROR if wrong else OPEN if stack else EMPTY)
    return answers


def there_and_back(pairs: int, length: int, words: int) -> np.ndarray:
    """Half of the length opens brackets, the other half closes all of them."""
    opens = 2 * np.random.default_rng(1).integers(0, pairs, (words, length // 2))
    return np.hstack([opens, opens[:, ::-1] + 1])


BUILT = {pairs: compile(f"brackets({pairs})", 40) for pairs in (1, 2, 3, 8)}


@given(st.sampled_from([1, 2, 3, 8]), st.data())
def test_brackets_are_those_that_a_stack_tells_and_the_model_too(pairs: int, data: st.DataObject) -> None:
    """Words that close what is open, or any bracket now and then."""
    word, stack = list[int](), list[int]()
    for choice in data.draw(st.lists(st.integers(0, 2 * pairs + 3), min_size=1, max_size=40)):
        if choice < 2 * pairs:
            word.append(choice)
        else:
            word.append(2 * stack.pop() + 1 if stack else 2 * data.draw(st.integers(0, pairs - 1)))
        stack += [word[-1] // 2] * (word[-1] % 2 == 0)
    expected = pushed_and_popped(word)
    assert BUILT[pairs].machine.run(word).tolist() == expected
    assert BUILT[pairs].states(np.array(word)).tolist() == expected


@pytest.mark.parametrize(("pairs", "length"), [(1, 1), (1, 12), (2, 3), (2, 7), (3, 5)])
@pytest.mark.usefixtures("types_unchecked")
def test_every_short_word_is_answered_right(pairs: int, length: int) -> None:
    built = compile(Brackets(pairs), length)
    report = verify(built, length=length)
    assert (report.exhaustive, report.wrong) == (True, 0)


@pytest.mark.parametrize(("pairs", "layers"), [(1, 2), (2, 3), (8, 3)])
@pytest.mark.usefixtures("types_unchecked")
def test_4096_letters_and_2048_levels_are_exact_in_two_or_three_layers(pairs: int, layers: int) -> None:
    length = 4096
    machine = Brackets(pairs)
    built = compile(machine, length, dtype="float64")
    promised = built.certificate
    assert (promised.layers, promised.heads, promised.exact_length) == (layers, 1, length)
    deep = there_and_back(pairs, length, 3)
    deep[1, 3000] ^= 1  # opens instead of closing: only the last letters will tell
    deep[2, 2500] = (deep[2, 2500] + 2) % (2 * pairs)  # closes another kind, if there is one
    words = np.vstack([deep, machine.words(length, 6, np.random.default_rng(0))])
    answers = built.states(words)
    assert (answers == built.machine.run(words)).all()
    assert answers[0].tolist() == [OPEN] * (length - 1) + [EMPTY]
    assert int(np.argmax(answers[2] == ERROR)) == (2500 if pairs > 1 else 0)


def test_float32_is_promised_as_far_as_its_sums_are_sure() -> None:
    assert compile("brackets(2)", 1000).certificate.dtype == "float32"
    with pytest.raises(InputError, match=r"prefix sums may be off by 2.*use dtype float64"):
        compile("brackets(2)", 4096)


def test_a_model_of_brackets_is_saved_and_loaded(tmp_path: Path) -> None:
    BUILT[2].save(tmp_path / "model")
    loaded = Built.load(tmp_path / "model")
    assert (loaded.machine, loaded.certificate, loaded.changed) == (Brackets(2), BUILT[2].certificate, [])
    assert verify(loaded, words=20).wrong == 0
    assert loaded.cast("float64").run("([)") == (["open", "open", "error"], [False, False, False])
    assert any_machine(str(tmp_path / "model" / "machine.json")) == Brackets(2)


@pytest.mark.parametrize(("made", "length"), [("brackets(1)", 4), ("brackets(2)", 4), ("brackets(2)", 12)])
@pytest.mark.usefixtures("types_unchecked")
def test_no_wire_is_idle(made: str, length: int) -> None:
    built = compile(made, length)
    words = built.tokens(chosen_words(built.machine, length, 512, seed=0))
    changed = effects(built.model, words, among=edges_in_weights(built.model))
    assert changed
    assert all(part > 0 for part in changed.values())


@pytest.mark.parametrize("pairs", [1, 2, 8])
def test_the_instrument_names_the_heads(pairs: int) -> None:
    built = BUILT[pairs]
    words = built.tokens(chosen_words(built.machine, 40, 64, seed=0))
    partner = [LatestMatch()] * (pairs > 1)
    assert [score.operation for score in score_heads(built.model, words)] == [FlatSum(), *partner, FlatSum()]


def test_the_sizes_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "brackets.md").read_text()
    for pairs, length, dtype in (
        (1, 1024, "float32"),
        (2, 1024, "float32"),
        (2, 4096, "float64"),
        (8, 4096, "float64"),
    ):
        made = compile(f"brackets({pairs})", length, dtype=dtype).certificate
        row = (
            f"| {pairs} | {length:,} | {made.layers} / 1 | {made.width} | {made.mlp} | {made.parameters:,} | {dtype} |"
        )
        assert row in page


@pytest.mark.usefixtures("types_unchecked")
def test_every_command_takes_brackets_or_says_why_not(shell: Shell) -> None:
    assert shell.json("compile", "brackets(2)", "--length", "12", "--out", "b")["exact_length"] == 12
    assert shell.json("verify", "b", "--words", "20")["wrong"] == 0
    assert shell.json("run", "b", "()[")["states"] == ["open", "empty", "open"]
    for arguments in (("show",), ("measure", "heads"), ("measure", "ablate"), ("measure", "circuit")):
        shell(*arguments, "b")
    shell("export", "b", "--to", "hf", "--out", "exported")
    shell("train", "brackets(2)", "--steps", "2", "--length", "8", "--out", "run")
    shell("measure", "heads", "run")
    shell("dataset", "brackets(2)", "--words", "4", "--length", "4", "--out", "words.parquet")
    assert {row["name"]: row["states"] for row in shell.json("zoo")}["brackets"] is None
    for refused in (
        ("classify", "brackets(2)"),
        ("explain", "brackets(2)"),
        ("zoo", "brackets(2)"),
        ("convert", "brackets(2)", "brackets.dot"),
        ("compile", "brackets(2)", "--method", "log"),
        ("compile", "brackets(2)", "--method", "cascade"),
        ("compile", "brackets(2)", "--method", "gridworld"),
    ):
        assert "has infinitely many states (all brackets that are open must be remembered" in shell(*refused, code=2)[1]


@pytest.mark.parametrize(("pairs", "depth"), [(1, 1), (1, 4), (2, 1), (2, 3), (3, 3), (2, 6)])
@pytest.mark.parametrize("length", [1, 9, 100, 256])
@pytest.mark.usefixtures("types_unchecked")
def test_brackets_are_exact_in_three_layers_or_two_from_every_start(pairs: int, depth: int, length: int) -> None:
    made = zoo.dyck(pairs=pairs, depth=depth)
    for start in {0, 1, len(made.states) // 2, len(made.states) - 2, len(made.states) - 1}:
        built = compile(replace(made, start=start), length, "dyck")
        assert built.certificate.layers == (3 if pairs > 1 else 2)
        assert verify(built, words=20).wrong == 0


def balanced(made: Machine, length: int, words: int, errors: float) -> np.ndarray:
    """Words that stay within bounds for long: random letters that are no error, but for a few."""
    rng, error = np.random.default_rng(0), len(made.states) - 1
    drawn = np.empty((words, length), dtype=np.int64)
    for row in drawn:
        state = made.start
        for t in range(length):
            fine = np.flatnonzero(made.delta[:, state] != error)
            row[t] = rng.choice(fine) if len(fine) and rng.random() > errors else rng.integers(len(made.symbols))
            state = made.delta[row[t], state]
    return drawn


@pytest.mark.parametrize("errors", [0.0, 0.01])
@pytest.mark.usefixtures("types_unchecked")
def test_words_without_an_error_and_with_a_late_one_are_followed(errors: float) -> None:
    made = zoo.dyck(pairs=2, depth=3)
    for length, dtype in ((256, "float32"), (2048, "float64")):
        words = balanced(made, length, 8, errors)
        built = compile(made, length, "dyck", dtype)
        assert (built.states(words) == made.run(words)).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_stack_is_known_by_what_it_does_and_not_by_its_name(seed: int) -> None:
    rng, made = np.random.default_rng(seed), zoo.dyck(pairs=2, depth=3)
    delta = np.vstack([made.delta, np.arange(len(made.states))])  # and a letter that does nothing
    order, letters = rng.permutation(len(made.states)), rng.permutation([0, 1, 2, 3, 4, 0, 3])
    shuffled = np.argsort(order)[delta[letters][:, order]]
    renamed = Machine(
        tuple(f"s{i}" for i in range(len(order))), tuple("tuvwxyz"), shuffled, int(np.argsort(order)[made.start])
    )
    built = compile(renamed, 100)
    assert (built.certificate.method, built.certificate.layers) == ("dyck", 3)
    assert verify(built, words=20).wrong == 0


def test_other_machines_are_no_stacks() -> None:
    dyck = zoo.dyck(pairs=2, depth=3)
    forgiving = dyck.delta.copy()
    forgiving[1, -2] = 0  # a closing bracket that closes everything
    changed = replace(dyck, delta=forgiving)
    for made in (zoo.cyclic(5), zoo.memory(3), zoo.gridworld(4), zoo.random(5), zoo.cyclic(1), zoo.abab(), changed):
        assert stack_of(made) is None
    with pytest.raises(InputError, match=r"not for method dyck .Brackets of any depth"):
        compile("cyclic(5)", 20, "dyck")


def test_classify_announces_the_three_layers() -> None:
    assert classify("dyck(pairs=2, depth=3)", length=100).depth == {"log": 7, "cascade": 4, "dyck": 3}
    assert classify("dyck(pairs=1, depth=3)", length=100).depth["dyck"] == 2
    assert "dyck" not in classify("gridworld(4)").depth
