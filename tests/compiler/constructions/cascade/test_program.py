"""Theorem 2: exact at every position, as deep as the cascade and no deeper however long the word."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sympy.core import random

from glassformer.algebra import decompose
from glassformer.automata import Machine, machine
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler.description import describe
from glassformer.compiler.pipeline import compile
from glassformer.compiler.program import Answers, Program
from glassformer.compiler.verification import verify
from glassformer.errors import InputError
from glassformer.operations.attention import FlatSum, LatestMatch
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Stream
from oracle import ROWS, machine_of
from strategies import machines, machines_in_parts

SIZES = ("layers", "width", "mlp", "parameters")
SOLVABLE = [spec for spec in SPECIMENS if decompose(machine(spec)).solvable]


@pytest.mark.parametrize("spec", SOLVABLE)
def test_every_solvable_machine_of_the_zoo_is_exact(spec: str) -> None:
    built = compile(spec, 256, "cascade")
    assert built.certificate.layers == decompose(machine(spec)).height
    assert verify(built, words=6).wrong == 0


@pytest.mark.parametrize("row", [row for row in ROWS if row["solvable"]], ids=lambda row: row["name"])
def test_every_solvable_row_of_the_oracle_is_exact(row: dict[str, int]) -> None:
    built = compile(machine_of(row), 256, "cascade")
    assert built.certificate.layers <= row["depth_abelian"]
    assert verify(built, words=6).wrong == 0


@settings(max_examples=150, suppress_health_check=[HealthCheck.filter_too_much])
@given(machines(min_states=2, max_states=6, max_letters=3), st.integers(1, 70))
@pytest.mark.usefixtures("types_unchecked")
def test_random_solvable_machines_are_exact(made: Machine, length: int) -> None:
    assume(decompose(made).solvable)
    built = compile(made, length, "cascade")
    report = verify(built, words=6)
    assert report.wrong == 0, report.first_mistake


@settings(max_examples=60)
@given(machines_in_parts(back=True))
@pytest.mark.usefixtures("types_unchecked")
def test_machines_with_several_components_on_a_level_are_exact(made: Machine) -> None:
    report = verify(compile(made, 6, "cascade"), words=800)  # all words, as they have up to three letters
    assert report.wrong == 0, report.first_mistake


@pytest.mark.parametrize(
    "spec", ["permutation_reset(4)", "transformations(4)", "dyck(pairs=2, depth=3)", "divisible(7)"]
)
@pytest.mark.usefixtures("types_unchecked")
def test_the_depth_is_the_same_for_long_words(spec: str) -> None:
    short, long = compile(spec, 64, "cascade", "float64"), compile(spec, 2048, "cascade", "float64")
    assert short.certificate.layers == long.certificate.layers == decompose(machine(spec)).height
    assert verify(long, words=2).wrong == 0


@pytest.mark.parametrize(
    ("spec", "constant"),
    [("alternating(5)", 0), ("symmetric(5)", 1), ("permutation_reset(5)", 2), ("transformations(5)", 11)],
)
@pytest.mark.parametrize("length", [1, 2, 60])
@pytest.mark.usefixtures("types_unchecked")
def test_what_is_not_solvable_is_multiplied_by_doubling(spec: str, constant: int, length: int) -> None:
    built = compile(spec, length, "cascade")
    assert built.certificate.layers == constant + max(1, (length - 1).bit_length())
    assert "by doubling, all else in constant depth" in str(built.certificate.why)
    assert str(built.certificate.theorem).startswith("Theorems 1 and 2")
    assert verify(built, words=12).wrong == 0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.usefixtures("types_unchecked")
def test_random_machines_that_are_not_solvable_are_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 9))
    delta = np.array([rng.permutation(5), [1, 2, 3, 4, 0], [1, 2, 0, 3, 4]])
    delta = np.hstack([delta, rng.integers(0, n, (3, n - 5))])  # five points are permuted, the others lead anywhere
    delta = np.vstack([delta, rng.integers(0, n, (1, n))])
    made = Machine(tuple(map(str, range(n))), tuple("abcd"), delta, int(rng.integers(n)))
    assert not decompose(made.trim()).solvable
    built = compile(made, 40, "cascade")
    cascade = decompose(made.trim())
    by_doubling = 6 * sum(not level.solvable for level in cascade.levels)
    assert built.certificate.layers == cascade.height + by_doubling
    report = verify(built, words=12)
    assert report.wrong == 0, report.first_mistake


@pytest.mark.parametrize("spec", ["symmetric(4)", "permutation_reset(4)"])
def test_a_machine_has_one_model_whatever_random_numbers_were_drawn_before(spec: str) -> None:
    found = set()
    for seed in range(4):
        random.seed(seed)
        found.add(compile(spec, 8, "cascade").certificate.weights)
    assert len(found) == 1


def test_auto_takes_the_shallowest_that_is_exact() -> None:
    short = compile("permutation_reset(4)", 8)
    assert (short.certificate.method, short.certificate.layers) == ("log", 3)
    long = compile("permutation_reset(4)", 100)
    assert (long.certificate.method, long.certificate.layers) == ("cascade", 4)
    assert "log would take 7" in str(long.certificate.why)
    assert compile("alternating(5)", 64).certificate.method == "log"
    half = compile("parity", 100, dtype="bfloat16")  # a prefix sum is not exact there
    assert half.certificate.method == "log"
    assert "cascade was refused: bfloat16 would not be exact" in str(half.certificate.why)


def test_a_length_that_a_format_cannot_sum_is_refused_with_one_that_can() -> None:
    with pytest.raises(InputError, match=r"prefix sums may be off by .*; use dtype float64, or another method"):
        compile("cyclic(7)", 4096, "cascade")


@pytest.mark.parametrize(
    ("spec", "length", "method"),
    [
        ("threshold(3)", 10**6, "cascade"),
        ("gridworld(400)", 100, "gridworld"),
        ("dyck(pairs=2, depth=9)", 10**6, "dyck"),
        ("random(500)", 100, "log"),
    ],
)
def test_a_model_too_large_is_refused_with_its_size(spec: str, length: int, method: str) -> None:
    with pytest.raises(InputError, match=r"would have at least [0-9,]+ parameters; the limit is 268,435,456"):
        compile(spec, length, method)


def test_a_reset_counts_in_one_component_though_it_changes_nothing_if_another_has_reset_before() -> None:
    delta = [[3, 3, 0, 0, 2, 2], [1, 0, 3, 2, 3, 3], [0, 1, 3, 3, 5, 5], [0, 1, 0, 0, 4, 5]]
    built = compile(Machine(tuple("012345"), tuple("abcd"), np.array(delta), start=5), 6, "cascade")
    assert verify(built, words=4096).wrong == 0  # all words of 6 letters


@pytest.mark.parametrize("method", ["auto", "log", "cascade"])
@pytest.mark.parametrize("letters", [1, 2])
def test_a_machine_of_one_state_is_built_too(method: str, letters: int) -> None:
    made = Machine(("only",), tuple("ab"[:letters]), np.zeros((letters, 1), dtype=int))
    built = compile(made, 5, method)
    assert verify(built, words=6).wrong == 0
    assert not built.changed


def test_a_refusal_tells_the_reason_of_the_method_that_was_asked_for() -> None:
    counter = Machine(tuple(map(str, range(300))), ("0", "+"), np.stack([np.arange(300), np.roll(np.arange(300), -1)]))
    with pytest.raises(InputError, match=r"float16 would not be exact: .*; use dtype float32 or float64, or another"):
        compile(counter, 100, "cascade", "float16")


def test_many_resets_take_one_gate_each_and_not_one_for_each_state() -> None:
    n = 150
    memory = Machine(tuple(map(str, range(n))), tuple(map(str, range(n))), np.arange(n)[:, None].repeat(n, axis=1))
    built = compile(memory, 20, "cascade")
    assert built.certificate.mlp <= 10 * n
    assert verify(built, words=6).wrong == 0


def test_it_is_said_what_the_sizes_grow_with() -> None:
    for spec in ("parity", "permutation_reset(4)", "gridworld(4)", "dyck(pairs=2, depth=3)", "symmetric(5)"):
        assert set(compile(spec, 60).certificate.grows) == {"width", "mlp"}
    assert "groups and 6 cases; " in str(compile("permutation_reset(4)", 60, "cascade").certificate.grows["width"])


def test_the_sizes_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[4] / "docs" / "theorem-2.md").read_text()
    rows = re.findall(r"^\| `(.*?)` \| 64 / 1,024 \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) == 6
    for spec, row in rows:
        short, long = (compile(spec, length).certificate for length in (64, 1024))
        sizes = [{f"{getattr(made, size):,}": 0 for made in (short, long)} for size in SIZES]
        assert row == " | ".join(map(" / ".join, sizes)), spec


def test_the_parts_are_named() -> None:
    told = describe((built := compile("permutation_reset(4)", 20, "cascade")).model, built.certificate)
    assert told.layers[0].heads[0].operation == FlatSum()
    assert isinstance(told.layers[-1].heads[0].operation, LatestMatch)


@pytest.mark.parametrize(
    ("spec", "heads"),
    [
        ("flipflop", [["conditional reset: the last match"]]),
        ("regex:(a|b)*c(a|b)*", [["flat sum"], ["conditional reset: the last match"]]),  # one c, and no more
        ("last_symbol(3)", [[]]),
        ("resettable(3)", [["flat sum"], ["conditional reset: the last match"]]),
        ("tomita(4)", [["look 1 back"], ["look 1 back"], ["conditional reset: the last match"]]),
    ],
)
def test_a_level_remembers_no_more_than_it_must(spec: str, heads: list[list[str]]) -> None:
    told = describe((built := compile(spec, 20, "cascade")).model, built.certificate)
    assert [[str(head.operation.title) for head in layer.heads] for layer in told.layers] == heads
    assert verify(built, words=30).wrong == 0


@pytest.mark.parametrize("start", [0, 1])
def test_a_part_that_is_entered_once_at_one_place_needs_no_memory_of_it(start: int) -> None:
    """From 0 the first a leads to 1, and from then on b goes back and forth; from 1 there is nothing else."""
    delta = np.array([[1, 1, 2], [0, 2, 1]])
    built = compile(Machine(("0", "1", "2"), ("a", "b"), delta, start), 40, "cascade")
    assert built.certificate.layers == 2 - start
    assert verify(built, words=100).wrong == 0
    assert compile(Machine(("0", "1", "2"), ("a", "b"), delta, start), 40).certificate.method == "cascade"


@pytest.mark.parametrize(("spec", "rows"), [("divisible(5, base=10)", 0), ("dyck(pairs=2, depth=3)", 4 + 10 + 18 + 16)])
def test_situations_that_do_the_same_and_lead_to_the_same_are_one(spec: str, rows: int) -> None:
    """Brackets below an error. The last digit tells the remainder alone, and needs no row at all."""
    built = compile(spec, 20, "cascade")
    assert f"and {rows} cases; " in str(built.certificate.grows["width"])
    assert verify(built, words=30).wrong == 0


@pytest.mark.parametrize("context", [2, 3, 5, 17, 100, 1000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_last_match_before_this_position_is_found(context: int, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(context)
    matches = torch.tensor(rng.random(context) < 0.2)
    matches[0] = True
    stream = Stream()
    names = ("match", "source", "elsewhere", "nearby", "none")
    match, source, elsewhere, nearby, none = (stream.register(name, 1) for name in names)
    positions = Positions(stream, context, blocks=True)
    values = torch.randint(1, 100, (context, 1))
    tokens = stream.into({match: matches[:, None].double(), source: values.double()})
    program = Program(
        stream,
        tokens,
        positions.table(),
        stream.form({positions.first: [[0.0]]}),
        Answers(torch.tensor([0]), tokens[:1]),
    )
    is_match = stream.form({match: [[1.0]]})
    program.block(*LatestMatch().heads_before(positions, is_match, source, elsewhere, nearby, none))
    after = program.assemble(dtype).trace(torch.arange(context)[None])["blocks.0.hook_resid_post"][0]
    fetched = torch.where(after[:, none.columns] == 1, after[:, elsewhere.columns], after[:, nearby.columns])[:, 0]
    last = [max(s for s in range(t) if matches[s]) for t in range(1, context)]
    assert fetched[1:].tolist() == values[last][:, 0].tolist()
