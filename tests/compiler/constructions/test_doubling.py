"""Theorem 1: exact at every position, within the stated sizes, for every machine tried."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.automata import Machine, finite, machine, zoo
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler.built import Built
from glassformer.compiler.classification import classify
from glassformer.compiler.constructions.doubling.window import window
from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify
from glassformer.errors import InputError
from strategies import machines

by_doubling = partial(compile, method="log")


def assert_within_bounds(built: Built) -> None:
    n, t = len(built.machine.states), built.certificate.exact_length
    bits = math.ceil(math.log2(t + 1))
    assert built.certificate.layers == max(1, math.ceil(math.log2(max(1, window(finite(built.machine), t))))) <= bits
    assert built.certificate.heads <= 1
    assert built.certificate.width <= 2 * n + 4 * bits + 8
    assert built.certificate.mlp <= 4 * n * n + 4 * n


@pytest.mark.parametrize("spec", SPECIMENS)
@pytest.mark.usefixtures("types_unchecked")
def test_the_whole_zoo_is_exact_at_length_128(spec: str) -> None:
    built = by_doubling(spec, 128)
    assert_within_bounds(built)
    report = verify(built, words=64)
    assert report.wrong == 0, report.first_mistake
    assert report.longest == 128


def last_letters(count: int, length: int) -> Machine:
    """A machine whose state is its last letters."""
    states = list(itertools.product(range(count), repeat=length))
    delta = [[states.index((*state[1:], letter)) for state in states] for letter in range(count)]
    return Machine(tuple(map(str, states)), tuple("abc"[:count]), np.array(delta))


@pytest.mark.parametrize(("count", "memory", "layers"), [(3, 1, 1), (2, 2, 1), (3, 3, 2), (2, 4, 2), (2, 5, 3)])
def test_a_machine_that_forgets_needs_no_longer_window_than_it_remembers(count: int, memory: int, layers: int) -> None:
    made = last_letters(count, memory)
    assert [window(made, length) for length in (1, memory, memory + 1, 100)] == [1, memory, memory, memory]
    built = by_doubling(made, 100)
    assert built.certificate.layers == layers == classify(made, length=100).depth["log"]
    assert verify(built, words=30).wrong == 0
    assert compile(made, 100).certificate.layers == layers


@pytest.mark.parametrize("spec", ["regex:(aa)*", "regex:a{3}", "random(9, letters=1, seed=3)"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_where_all_letters_do_the_same_the_position_tells_the_state(spec: str, dtype: str) -> None:
    built = by_doubling(spec, 100, dtype=dtype)
    assert window(finite(built.machine), 100) == 0
    assert (built.certificate.layers, built.certificate.heads, built.certificate.mlp) == (1, 0, 0)
    assert verify(built, words=3).wrong == 0
    assert compile(spec, 100).certificate.layers == 1 == classify(finite(built.machine), length=100).depth["log"]


def test_positions_tell_only_of_states_that_words_of_the_length_reach() -> None:
    cycle = Machine(tuple(map(str, range(3000))), ("+",), np.roll(np.arange(3000), -1)[None])
    built = by_doubling(cycle, 10)
    assert built.certificate.width == 11
    assert verify(built).wrong == 0


def test_most_machines_remember_the_whole_word() -> None:
    for spec in ("parity", "flipflop", "gridworld(4)", "dyck(pairs=1, depth=2)", "symmetric(3)", "first_symbol(3)"):
        assert window(machine(spec), 100) == 100


@given(st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("types_unchecked")
def test_random_machines_are_exact(data: st.DataObject) -> None:
    made = data.draw(machines(min_states=2, max_states=12, max_letters=5))
    built = by_doubling(made, data.draw(st.integers(1, 8) | st.integers(17, 40)))
    assert_within_bounds(built)
    report = verify(built, words=12, seed=data.draw(st.integers(0, 9)))
    assert report.wrong == 0, report.first_mistake


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 8, 9, 10])
def test_every_single_word_is_right(length: int) -> None:
    report = verify(by_doubling(zoo.random(5, letters=2, seed=length), length), length=length)
    assert report.exhaustive
    assert report.words == 2**length
    assert report.wrong == 0


@pytest.mark.parametrize("spec", ["gridworld(20)", "random(20, letters=3)", "symmetric(5)", "cyclic(7)"])
@pytest.mark.usefixtures("types_unchecked")
def test_float32_is_exact_at_length_4096_up_to_20_states(spec: str) -> None:
    report = verify(by_doubling(spec, 4096), words=6)
    assert report.wrong == 0, report.first_mistake


@pytest.mark.parametrize("spec", ["random(8, letters=2)", "cyclic(8)", "flipflop", "symmetric(5)"])
def test_bfloat16_is_exact_at_length_1024_up_to_8_states(spec: str) -> None:
    report = verify(by_doubling(spec, 1024, dtype="bfloat16"), words=6)
    assert report.wrong == 0, report.first_mistake


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_number_formats_are_exact_too(dtype: str) -> None:
    report = verify(by_doubling("random(9, letters=3)", 100, dtype=dtype), words=20)
    assert report.wrong == 0, report.first_mistake


def test_unreachable_states_are_never_answered() -> None:
    made = Machine(("p", "q", "r"), ("a",), np.array([[2, 0, 0]]))
    built = by_doubling(made, 9)
    assert set(built.states(np.zeros(9, dtype=np.intp)).tolist()) == {0, 2}
    assert built.certificate.width < by_doubling("cyclic(3)", 9).certificate.width
    assert verify(built).wrong == 0


def test_one_state_and_one_letter_are_a_machine_too() -> None:
    assert verify(by_doubling(Machine(("q",), ("a",), np.array([[0]])), 5)).wrong == 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_what_a_layer_fetches_is_exact_to_the_last_bit(dtype: str) -> None:
    built = by_doubling("random(6, letters=3)", 200, dtype=dtype)
    words = np.random.default_rng(0).integers(0, 3, (2, 200))
    trace = built.model.trace(built.tokens(words))
    for layer in range(built.certificate.layers):
        pattern = trace[f"blocks.{layer}.attn.hook_pattern"]
        assert set(pattern.unique().tolist()) == {0.0, 1.0}
        target = (torch.arange(201) - 2**layer).clamp(min=0)
        assert torch.equal(pattern.argmax(-1), target.expand(2, 1, 201))
        now = trace[f"blocks.{layer}.hook_resid_post"][..., :6]
        assert torch.equal(now, now.round())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_the_certified_gap_holds_in_the_real_arithmetic(dtype: str) -> None:
    built = by_doubling("parity", 300, dtype=dtype)
    trace = built.model.trace(built.tokens(np.zeros((1, 300), dtype=np.intp)), lambda name: "scores" in name)
    for scores in trace.values():
        best = scores.double().topk(2, dim=-1).values[0, 0, 1:]  # the first query sees one key only
        assert (best[:, 0] - best[:, 1]).min() >= built.certificate.margins.logit_gap


@pytest.mark.parametrize(
    ("dtype", "spec", "message"),
    [
        ("bfloat16", "gridworld(20)", "reach 799, exact to 256; .*use dtype float16 or float32 or float64"),
        ("float16", "random(60)", "use dtype float64"),
        ("float32", "random(60)", "sums reach .*, exact to 16,777,216; use dtype float64"),
    ],
)
def test_a_number_format_whose_margins_do_not_hold_is_refused(dtype: str, spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        by_doubling(spec, 50, dtype=dtype)


def test_a_refused_number_format_really_fails() -> None:
    built = by_doubling("gridworld(20)", 60)
    rounded = Built(built.model.to(torch.bfloat16), built.certificate, built.machine)
    assert verify(rounded, words=20).wrong > 0


def test_casting_keeps_the_weights_or_is_refused() -> None:
    small, large = by_doubling("cyclic(5)", 60), by_doubling("gridworld(20)", 60)
    cast = small.cast("bfloat16")
    assert cast.model.dtype == torch.bfloat16
    assert cast.certificate.dtype == "bfloat16"
    assert small.model.dtype == torch.float32
    assert verify(cast, words=20).wrong == 0
    with pytest.raises(InputError, match="bfloat16 would not be exact"):
        large.cast("bfloat16")


def test_a_model_that_would_not_fit_is_refused_before_it_is_made() -> None:
    with pytest.raises(InputError, match=r"would have at least [\d,]+ parameters; the limit is 268,435,456"):
        by_doubling("cyclic(1000)", 100)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compile("parity", 0), "a whole number from 1 on, not 0"),
        (lambda: compile("parity", 10**400), r"some 2\^1329 parameters"),
        (
            lambda: compile("parity", 8, method="magic"),
            "method is one of auto, log, cascade, gridworld, dyck; not 'magic'",
        ),
        (lambda: compile("parity", 8, dtype="int8"), "bfloat16, float16, float32, float64; not 'int8'"),
    ],
)
def test_requests_that_make_no_sense_are_refused(call: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()  # type: ignore[operator]


def test_auto_says_what_it_chose_and_why() -> None:
    certificate = by_doubling(machine("parity"), 100).certificate
    assert certificate.method == "log"
    assert "7 layers" in str(certificate.why)


@pytest.mark.parametrize(
    "spec", ["regex:(a|b)*abb", "regex:(a|b)*abbab", "regex:(a|b)*abbaba", "regex:(a|b)*abbabbabb"]
)
def test_a_machine_that_forgets_fetches_no_more_letters_than_it_needs(spec: str) -> None:
    """Of 3, 5, 6 and 9 letters that tell the state, all but 2, 4, 4 and 8 come from a shorter window."""
    built = compile(spec, 40, "log")
    (kept,) = (register for register in built.certificate.registers if register.name == "kept")
    read = built.model.blocks[-1].attn.W_V[0].any(dim=1).nonzero().flatten().tolist()  # type: ignore[index, union-attr]
    assert set(read) <= set(range(kept.start, kept.start + kept.size))
    assert verify(built, words=60).wrong == 0
