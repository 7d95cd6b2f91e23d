"""A function becomes a transformer: exact on the grid, contextual, as many blocks as the formula says, as near as δ."""

import itertools
import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.compiler.constructions.universal import (
    FUNCTIONS,
    Collision,
    approximate,
    distance,
    is_contextual,
    is_equivariant,
    plan,
    plan_for,
    plan_with,
    run,
)
from glassformer.compiler.constructions.universal.functions import checked
from glassformer.compiler.constructions.universal.grid import Grid
from glassformer.compiler.constructions.universal.layers import Layers, attended, relus, soften
from glassformer.compiler.constructions.universal.proof import RAMP, blocks_needed, contexts, nothing, prove
from glassformer.errors import InputError
from glassformer.nn.files import load_transformer

SMALL = [(d, n, cells) for d in (1, 2, 3) for n in (1, 2, 3) for cells in (2, 4, 8) if cells ** (d * n) <= 512]
SAME_ORDER = ("centre", "mix", "gate")


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize(("d", "n", "cells"), SMALL)
def test_both_transformers_are_exact_on_the_whole_grid(d: int, n: int, cells: int, positions: bool) -> None:
    if not positions and cells**d < n:
        pytest.skip("there are fewer columns than places")
    name = "prefix-sum" if positions else "mix"
    built = approximate(name, d, n, 1 / cells, positions, samples=600)
    certificate = built.certificate
    assert certificate.blocks == certificate.formula_blocks == len(built.blocks)
    assert certificate.contextual
    last_place = 2.0 ** (certificate.bits - 53) / cells  # of the largest id, whose place a value takes
    assert max(certificate.grid_error, certificate.modified_grid_error) <= last_place < 1e-6
    assert certificate.distance == pytest.approx(certificate.constant_distance, abs=d * n * last_place)
    x = np.random.default_rng(3).random((100, d, n))
    assert np.abs(built.stages.modified(x) - built.stages.constant(x)).max() <= last_place
    assert np.array_equal(built(x), built.stages.modified(x))


@pytest.mark.parametrize(("d", "n", "cells"), SMALL)
@pytest.mark.parametrize("positions", [False, True])
def test_the_ids_are_what_the_recurrence_says_and_all_different(d: int, n: int, cells: int, positions: bool) -> None:
    grid = Grid(d, n, cells, positions)
    if not positions and grid.columns < n:
        pytest.skip("there are fewer columns than places")
    known = contexts(grid)
    proof = prove(known, np.zeros((grid.sequence_count, d, n)))
    ids = proof.ids_of(grid.corners)
    assert is_contextual(ids) == (True, None)
    steps = np.diff(np.sort(ids, axis=None)) / grid.delta
    assert (steps >= 1).all()
    shifted = np.rint(ids / grid.delta).astype(np.int64) - known.ids
    assert len(np.unique(shifted)) == 1  # all are raised by the same


@pytest.mark.parametrize(
    ("d", "n", "cells", "positions", "blocks"),
    [(2, 2, 8, False, 4119), (2, 3, 4, True, 12_363), (2, 3, 8, False, 125_079), (1, 2, 4, True, 50)],
)
def test_the_formula_counts_blocks(d: int, n: int, cells: int, positions: bool, blocks: int) -> None:
    assert blocks_needed(Grid(d, n, cells, positions)) == blocks == plan(d, n, 1 / cells, positions).blocks


@pytest.mark.usefixtures("types_unchecked")
def test_a_large_construction_is_right_too() -> None:
    built = approximate("reverse", 2, 3, 1 / 4, samples=40)
    assert (built.certificate.blocks, built.certificate.contextual) == (12_363, True)
    assert built.certificate.grid_error < 1e-9


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_distance_falls_with_the_cells(name: str) -> None:
    apart = [approximate(name, 1, 2, 1 / cells, positions=True, samples=2000).certificate for cells in (2, 4, 8)]
    for coarse, fine in itertools.pairwise(apart):
        assert fine.distance + fine.distance_error < coarse.distance - coarse.distance_error
    assert all(certificate.tail < 1e-5 for certificate in apart)


@pytest.mark.parametrize(("name", "d", "n", "cells"), [("mix", 2, 2, 4), ("sort", 1, 2, 8), ("shift", 1, 3, 4)])
def test_the_one_transformer_agrees_bit_for_bit(name: str, d: int, n: int, cells: int) -> None:
    built = approximate(name, d, n, 1 / cells, positions=name != "mix", samples=10)
    model = built.transformer()
    assert {(block.heads, block.head_width, block.mlp) for block in model.config.blocks} == {(2, 1, (4,))}
    x = np.random.default_rng(0).random((200, d, n))
    columns = torch.from_numpy(np.ascontiguousarray(x.transpose(0, 2, 1)))
    with torch.no_grad():
        assert np.array_equal(model(columns).numpy().transpose(0, 2, 1), built(x))
    trace = model.trace(columns[:2])
    assert trace["blocks.0.hook_resid_post"].shape == (2, n, d)


def test_a_saved_approximation_is_the_same_to_the_bit(tmp_path: Path) -> None:
    built = approximate("reverse", 1, 2, 1 / 4, samples=20)
    built.save(tmp_path / "reverse")
    model, documents = load_transformer(tmp_path / "reverse")
    x = np.random.default_rng(0).random((50, 1, 2))
    assert (run(model, x) == built(x)).all()
    assert json.loads(documents["approximation.json"]) == asdict(built.certificate)


def test_too_many_blocks_for_single_objects_are_refused() -> None:
    with pytest.raises(InputError, match="too many to be single objects"):
        approximate("shift", 1, 3, 1 / 8, samples=10).transformer()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_softened_functions_equal_the_jumping_ones_off_their_ramps(seed: int, from_the_middle: bool) -> None:
    rng = np.random.default_rng(seed)
    grid = Grid(1, 2, 4, positions=True)
    layers = prove(contexts(grid), rng.random((16, 1, 2))).parts["quantise"]
    layer = Layers(**{name: values[:1] for name, values in vars(layers).items()})
    knots = np.sort(rng.integers(-8, 9, 2)) / 4 + np.array([0, 0.25])
    slopes, intercepts = rng.integers(-3, 4, 3).astype(float), rng.integers(-3, 4, 3).astype(float)
    quiet = 1 if from_the_middle else 0
    slopes[quiet] = intercepts[quiet] = 0
    if from_the_middle and slopes[0] == 0 and intercepts[0] == 0:
        intercepts[0] = 1
    layer = type(layer)(
        **layer.__dict__
        | {"knots": knots[None], "slopes": slopes[None], "intercepts": intercepts[None], "ramp": np.array([2.0**-10])}
    )
    signs, at, rises = relus(layer)
    t = np.linspace(-4, 4, 801)
    t = t[(np.abs(t[:, None] - knots) > 2.0**-9).all(axis=1)]
    piece = np.searchsorted(knots, t, side="right")
    want = slopes[piece] * t + intercepts[piece]
    got = (rises[0] * np.maximum(signs[0] * (t[:, None] - at[0]), 0)).sum(axis=1)
    assert np.abs(got - want).max() < 1e-8  # rises are up to 2^12 times the slopes


@pytest.mark.parametrize("n", [1, 2, 3])
def test_columns_outside_the_range_or_twice_make_the_sequence_zero(n: int) -> None:
    built = approximate("mix", 1, n, 1 / 4, positions=False, samples=10)
    rng = np.random.default_rng(0)
    x = rng.random((300, 1, n))
    x[np.arange(300), 0, rng.integers(0, n, 300)] = rng.choice([-0.3, -5.0, 1.0, 1.2, 7.5], 300)
    for stage in (built.stages.constant, built.stages.modified, built):
        assert np.abs(stage(x)).max() == 0
    if n > 1:
        twice = np.repeat(rng.random((50, 1, 1)), n, axis=2)
        assert np.abs(built(twice)).max() == np.abs(built.stages.modified(twice)).max() == 0


def test_without_positions_the_order_of_columns_makes_no_difference() -> None:
    built = approximate("gate", 2, 2, 1 / 4, positions=False, samples=10)
    x = np.random.default_rng(0).random((100, 2, 2))
    assert np.array_equal(built(x[:, :, ::-1])[:, :, ::-1], built(x))


def test_attention_finds_the_largest_the_smallest_or_the_mean() -> None:
    ids = np.array([[3.0, 1.0, 2.0]])
    assert attended(ids, 2.0).tolist() == [[3.0, 1.0, 2.0]]
    assert attended(ids, 0.5).tolist() == [[3.0, 3.0, 3.0]]


def test_softmax_is_hardmax_to_the_last_bit() -> None:
    grid = Grid(2, 2, 4, positions=True)
    layers = prove(contexts(grid), np.zeros((grid.sequence_count, 2, 2))).parts["selective shift"]
    columns = np.ascontiguousarray(grid.corners.transpose(0, 2, 1))
    soft = soften(layers, grid.weights, grid.delta).run(torch.from_numpy(columns)).numpy()
    assert np.array_equal(soft, layers.run(columns, grid.weights))


# -- what users give -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x**2,
        lambda x: np.array([[value**2 for value in row] for row in x]) if x.ndim == 2 else np.stack([y**2 for y in x]),
        lambda x: np.diag(np.diag(x)) + x * 0 if x.ndim == 2 else 1 / 0,
        lambda x: x.mean(axis=-1, keepdims=True) + 0 * x,
        lambda x: x[:, ::-1] if x.ndim == 2 else 1 / 0,
    ],
)
def test_functions_of_one_sequence_or_of_many_are_taken(f: object) -> None:
    g = checked(f, 2, 2)  # type: ignore[arg-type]
    x = np.random.default_rng(1).random((5, 2, 2))
    assert np.allclose(g(x), np.stack([f(each) for each in x]))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: x[..., :1], r"it gives the shape"),
        (lambda x: undefined, "NameError"),  # type: ignore[name-defined]
        (lambda x: x / 0 * np.nan, "must be finite"),
        (lambda x: np.log(x - 0.01), "must be finite"),
        (lambda x: x + 1j, "of complex128"),
        (lambda x: x - x.mean(axis=0) if x.ndim == 3 else 1 / 0, "depends on the others of the batch"),
        ("sine", "there is no function 'sine'; those with names are centre"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.filterwarnings("ignore:invalid value")
def test_functions_that_are_none_are_refused(f: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        approximate(f, 1, 2, 1 / 4)  # type: ignore[arg-type]


def test_a_function_that_means_two_things_is_refused() -> None:
    with pytest.raises(InputError, match=r"another for \[2, 2\].*axes from the end"):
        approximate(lambda x: x[:, ::-1], 2, 2, 1 / 4)


def test_a_function_that_works_in_place_is_measured_right() -> None:
    def halve(x: np.ndarray) -> np.ndarray:
        x *= 0.5
        return x

    certificate = approximate(halve, 1, 2, 1 / 8, positions=True).certificate
    assert certificate.distance == approximate(lambda x: x * 0.5, 1, 2, 1 / 8, positions=True).certificate.distance
    assert certificate.function == "halve"


@pytest.mark.parametrize("scale", [3e15, -3e15, 1e20])
def test_values_that_float64_does_not_hold_beside_ids_are_refused(scale: float) -> None:
    with pytest.raises(InputError, match="too large to be distinguished from ids"):
        approximate(lambda x: scale * np.sqrt(x), 2, 2, 1 / 4, positions=True)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, -1e6])
def test_values_of_any_reasonable_size_are_exact(scale: float) -> None:
    certificate = approximate(lambda x: scale * np.sqrt(x), 1, 2, 1 / 4, positions=True, samples=100).certificate
    assert certificate.holds
    assert certificate.grid_error <= 1e-6


@pytest.mark.parametrize("delta", [0.3, 1.0, 0.0, -0.5, math.nan, 1 / 3])
def test_a_cell_is_a_power_of_two(delta: float) -> None:
    with pytest.raises(InputError, match="δ is 1/2, 1/4"):
        plan(1, 2, delta, positions=True)


def test_what_takes_too_many_blocks_or_bits_is_refused_with_the_count() -> None:
    many = plan(3, 3, 1 / 8, positions=True)
    assert many.blocks == 3 * 3 * 8 + 3 * 512 + 1 + 3 * 512**3 + 3
    assert many.refusal is not None
    assert f"{many.blocks:,} blocks" in str(many.refusal)
    with pytest.raises(InputError, match="402,654,796 blocks"):
        approximate("sort", 3, 3, 1 / 8)
    for cells in (2**10, 2**20):
        deep = plan(1, 3, 1 / cells, positions=True, most_blocks=2**80)
        assert "too many, or so large" in str(deep.refusal)


def test_order_that_matters_in_one_cell_is_seen_on_the_grid() -> None:
    def narrow(x: np.ndarray) -> np.ndarray:
        """Order matters only where the first entry is near 0.875, which few random sequences are."""
        return x + np.maximum(0, 1 - 2e4 * np.abs(x[..., :1, :1] - 0.875))

    assert is_equivariant(narrow, 1, 2)[0]
    built = approximate(narrow, 1, 2, 1 / 4)
    assert built.certificate.positions
    assert built.certificate.holds
    x = np.array([[[0.8, 0.1]], [[0.1, 0.8]]])
    assert np.abs(built(x) - built.stages.constant(x)).max() < 1e-9
    with pytest.raises(InputError, match=r"with the columns of .*0\.875.* in the order"):
        approximate(narrow, 1, 2, 1 / 4, positions=False)


def test_a_certificate_compares_every_order() -> None:
    certificate = approximate("mix", 1, 3, 1 / 4, positions=False).certificate
    assert certificate.grid_tried == certificate.grid_sequences == math.comb(4, 3) * 6
    some = approximate("mix", 1, 3, 1 / 8, positions=False, samples=50).certificate
    assert (some.grid_tried, some.grid_sequences) == (50, math.comb(8, 3) * 6)


def test_positions_are_taken_where_they_bring_it_nearer_and_what_it_costs_is_told() -> None:
    near, far = (
        approximate("mix", 1, 2, 1 / 8).certificate,
        approximate("mix", 1, 2, 1 / 8, positions=False).certificate,
    )
    assert (near.positions, near.blocks, far.blocks) == (True, 162, 76)
    assert near.without_positions is not None
    assert near.without_positions.blocks == far.blocks
    assert near.without_positions.distance == pytest.approx(far.distance, rel=0.1)
    assert near.distance < far.distance / 4
    assert approximate("centre", 1, 2, 1 / 8).certificate.positions is False  # f̄ is 0 there anyway
    assert approximate("mix", 1, 2, 1 / 8, most_blocks=100).certificate.positions is False


def test_fewer_columns_than_places_are_refused() -> None:
    with pytest.raises(InputError, match="2 different columns are fewer than n = 3"):
        approximate("centre", 1, 3, 1 / 2, positions=False)
    assert approximate("centre", 1, 3, 1 / 2, positions=True, samples=10).certificate.contextual


@pytest.mark.parametrize("x", [np.zeros((4, 3, 2)), np.full((1, 1, 2), np.nan), np.full((1, 1, 2), np.inf)])
def test_what_is_no_sequence_is_refused(x: np.ndarray) -> None:
    built = approximate("centre", 1, 2, 1 / 4, samples=10)
    for stage in (built, built.stages.modified):
        with pytest.raises(InputError, match=r"sequences are finite numbers \[batch, 1, 2\]"):
            stage(x)


def test_a_plan_takes_the_largest_cell_that_is_near_enough() -> None:
    found = plan_for("sort", 1, 2, 0.06)
    assert (found.delta, found.refusal) == (1 / 8, None)
    assert approximate("sort", 1, 2, found.delta).certificate.distance < 0.06
    assert plan_for("sort", 1, 3, 1e-3).refusal is not None


def test_a_plan_takes_the_error_of_its_estimate_into_account() -> None:
    grid = Grid(1, 2, 4, positions=True)
    near = distance("sort", grid.constant(FUNCTIONS["sort"]), 1, 2)
    assert plan_for("sort", 1, 2, near.value + near.error * 1.01).delta == 1 / 4
    assert plan_for("sort", 1, 2, near.value + near.error / 2).delta == 1 / 8


def test_a_plan_uses_positions_where_they_are_cheaper_and_finer_cells_where_there_are_too_few() -> None:
    assert (plan_for("mix", 1, 2, 0.05).positions, plan_for("mix", 1, 2, 0.05).blocks) == (True, 162)
    assert plan_for("centre", 1, 3, 0.3).refusal is None
    refused = plan_for("mix", 1, 2, 0.05, positions=False).refusal
    assert refused is not None
    assert str(refused).startswith("f̄ does not come within 0.05 of f before")
    for epsilon in (0.0, -1.0, math.nan):
        with pytest.raises(InputError, match="ε"):
            plan_for("mix", 1, 2, epsilon)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"d": 0}, "d is a whole number"),
        ({"n": 0}, "n is a whole number"),
        ({"seed": -1}, "seed"),
        ({"samples": 2.5}, "samples"),
        ({"p": 0.5}, "p is a number"),
        ({"p": 100.0}, "from 1 to 16"),
        ({"most_blocks": 0}, "most blocks"),
        ({"delta": 1e-320}, "down to 2⁻²⁰"),
    ],
)
def test_wrong_arguments_are_named(changed: dict[str, object], message: str) -> None:
    with pytest.raises((InputError, TypeError), match=message):
        approximate("sort", **({"d": 1, "n": 2, "delta": 1 / 4} | changed))  # type: ignore[arg-type]


def test_a_grid_of_any_size_is_planned() -> None:
    assert plan_with("sort", 9, 9, 1 / 1024).refusal is not None
    assert plan_with("mix", 9, 9, 1 / 1024).refusal is not None


def test_a_number_of_blocks_that_nobody_can_read_is_given_by_its_size() -> None:
    assert "about 10^4" in str(plan(64, 64, 1 / 16, positions=True).refusal)


@pytest.mark.parametrize("name", ["mix", "sort"])
def test_on_a_ramp_nothing_leaves_the_box_of_the_values_and_the_tail_bounds_what_it_costs(name: str) -> None:
    built = approximate(name, 1, 2, 1 / 4, samples=50)
    grid, (low, high) = built.grid, built.proof.box
    rng = np.random.default_rng(0)
    x = rng.random((4000, 1, 2))
    x[:, 0, 0] = (rng.integers(1, 5, 4000) - rng.random(4000) * RAMP) / 4
    value = built(x)
    rounding = 2.0 ** (built.certificate.bits - 53)
    assert (value >= low[:, None] - rounding).all()
    assert (value <= high[:, None] + rounding).all()
    off = np.abs(value - built.stages.constant(x))
    assert off.max() > 0.05  # ramps are there, and they do harm
    in_a_ramp = 1 - (1 - RAMP) ** (grid.d * grid.n)
    harm = (in_a_ramp * (off**2).sum(axis=(1, 2)).max()) ** 0.5
    assert harm <= built.certificate.tail * (1 + 1e-9)  # it may be as large as the bound, but for rounding


def test_a_mapping_that_is_not_contextual_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.compiler.constructions.universal.proof.selective_shifts", nothing)
    certificate = approximate("sort", 1, 2, 1 / 4, samples=10).certificate
    assert not certificate.contextual
    assert not certificate.holds


def test_entries_far_outside_are_refused() -> None:
    built = approximate("mix", 1, 2, 1 / 4, samples=10)
    for far in (1e6, 1e200):
        with pytest.raises(InputError, match="beyond"):
            built(np.array([[[far, 0.3]]]))


def test_the_order_of_columns_is_found_to_matter_or_not() -> None:
    for name, f in FUNCTIONS.items():
        same, found = is_equivariant(f, 2, 3)
        assert same == (name in SAME_ORDER)
        if found is not None:
            x, order = found.x[None], list(found.order)
            assert np.abs(f(x[:, :, order]) - f(x)[:, :, order]).max() > 1e-9
    with pytest.raises(InputError, match="order matters"):
        approximate("sort", 1, 2, 1 / 4, positions=False)


def test_a_collision_is_shown() -> None:
    assert is_contextual(np.array([[1, 2], [3, 4]])) == (True, None)
    assert is_contextual(np.array([[1, 2], [3, 1]])) == (False, Collision((0, 0), (1, 1), 1.0))
    assert is_contextual(np.array([[5.0, 5.0]])) == (False, Collision((0, 0), (0, 1), 5.0))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5])
def test_the_distance_of_known_functions_lies_in_its_interval(p: float) -> None:
    apart = [distance(lambda x: x, lambda x: 0 * x, 2, 3, p, 4000, seed) for seed in range(20)]
    known = (6 / (p + 1)) ** (1 / p)
    inside = sum(abs(found.value - known) <= found.error for found in apart)
    assert inside >= 16  # 19 of 20 are expected, 15 or fewer come once in 390 times
    assert distance(lambda x: x, lambda x: x, 2, 3).value == 0
    with pytest.raises(InputError, match="p is a number from 1 on"):
        distance(lambda x: x, lambda x: x, 2, 3, 0.5)
