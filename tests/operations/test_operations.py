"""Each instruction alone: a tiny program whose one block holds it, run as a real transformer."""

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.compiler.program import Answers, Program
from glassformer.messages import verbatim
from glassformer.operations.attention import FlatSum, LatestMatch, LookBack
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Form, Head, Register, Stream, Units
from glassformer.operations.units import Knots, clear, ramp, step, table, tent, units

DOUBLE = verbatim("double")


def stream_after(
    stream: Stream, positions: Positions, filled: dict[Register, Tensor], *heads: Head, mlp: Units | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:  # fmt: skip
    """The residual stream after one block; position p starts with row p of `filled`."""
    context = positions.context
    tokens = stream.into({register: rows.double() for register, rows in filled.items()})
    nothing = stream.form({positions.first: [[0.0]]})
    program = Program(stream, tokens, positions.table(), nothing, Answers(torch.tensor([0]), tokens[:1]))
    program.block(*heads, mlp=mlp)
    model = program.assemble(dtype)
    return model.trace(torch.arange(context)[None])["blocks.0.hook_resid_post"][0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("distance", [1, 2, 3, 8, 13, 32, 64])
def test_attend_back_fetches_from_exactly_that_far_or_from_the_start(distance: int, dtype: torch.dtype) -> None:
    context = 65
    stream = Stream()
    source = stream.register("source", 3)
    target = stream.register("target", 3)
    positions = Positions(stream, context, [1, 2, 3, 8, 13, 32, 64])
    values = torch.randint(0, 100, (context, 3))
    after = stream_after(
        stream, positions, {source: values}, LookBack(distance).head(positions, source, target), dtype=dtype
    )
    expected = values[(torch.arange(context) - distance).clamp(min=0)]
    assert torch.equal(after[:, target.columns], expected.to(dtype))


@pytest.mark.parametrize("context", [2, 3, 4, 5, 100, 1000])
def test_attend_last_fetches_from_the_last_match(context: int) -> None:
    rng = np.random.default_rng(context)
    matches = torch.tensor(rng.random(context) < 0.1)
    matches[0] = True
    stream = Stream()
    match, source, target = (stream.register(name, 1) for name in ("match", "source", "target"))
    positions = Positions(stream, context, place=True)
    values = torch.randint(0, 100, (context, 1))
    head = LatestMatch().head(positions, stream.form({match: [[1.0]]}), {target: source})
    after = stream_after(stream, positions, {match: matches[:, None].double(), source: values}, head)
    last = [max(s for s in range(t + 1) if matches[s]) for t in range(context)]
    assert torch.equal(after[:, target.columns], values[last].float())


@pytest.mark.parametrize("context", [2, 17, 257, 1025])
def test_flat_sum_is_the_prefix_sum(context: int) -> None:
    stream = Stream()
    source, target = stream.register("source", 2), stream.register("target", 2)
    positions = Positions(stream, context, share=True)
    values = torch.randint(0, 2, (context, 2))
    values[0] = 0
    after = stream_after(stream, positions, {source: values}, FlatSum().head(positions, source, target))
    # the sum is rounded like `context` additions of 1/context: under ¼ it can be told from its neighbours
    assert (after[:, target.columns] - values.cumsum(0)).abs().max() < 0.25 * context / 1025 + 1e-3


def applied(knots: Knots, x: Tensor) -> Tensor:
    """What units make of a number."""
    stream = Stream()
    source, target = stream.register("source", 1), stream.register("target", 1)
    positions = Positions(stream, len(x))
    made = units(stream.form({source: [[1.0]]}), knots, stream.into({target: [[1.0]]}))
    after = stream_after(stream, positions, {source: x[:, None]}, mlp=made, dtype=torch.float64)
    return after[:, target.columns][:, 0]


def test_a_ramp_keeps_what_is_positive() -> None:
    x = torch.arange(-3, 4)
    assert torch.equal(applied(ramp(), x), x.clamp(min=0).double())


@pytest.mark.parametrize("noise", [0.0, 0.24, -0.24])
def test_a_step_tells_integers_apart_up_to_a_quarter(noise: float) -> None:
    x = torch.arange(-5, 9)
    torch.testing.assert_close(applied(step(3), x + noise), (x >= 3).double())


@pytest.mark.parametrize("top", [1, 4, 9])
def test_a_tent_is_the_identity_up_to_its_top_and_zero_elsewhere(top: int) -> None:
    x = torch.arange(-20, 30)
    expected = torch.where((x >= 0) & (x <= top), x, 0).double()
    assert torch.equal(applied(tent(top), x), expected)


def test_clear_empties_a_register_and_no_other() -> None:
    stream = Stream()
    first, second = stream.register("first", 2), stream.register("second", 2)
    positions = Positions(stream, 4)
    rows = torch.arange(8).view(4, 2)
    after = stream_after(stream, positions, {first: rows, second: rows}, mlp=clear(stream, first))
    assert torch.equal(after[:, first.columns], torch.zeros(4, 2))
    assert torch.equal(after[:, second.columns], rows.float())


def test_a_table_looks_rows_up() -> None:
    stream = Stream()
    a, b, out = stream.register("a", 3), stream.register("b", 2), stream.register("out", 5)
    positions = Positions(stream, 6)
    pairs = [(i, j) for i in range(3) for j in range(2)]
    made = table(stream, [({a: i, b: j}, {out: (2 * i + j) % 5}) for i, j in pairs], verbatim("2a + b mod 5"))
    filled = {a: torch.eye(3)[[i for i, _ in pairs]], b: torch.eye(2)[[j for _, j in pairs]]}
    after = stream_after(stream, positions, filled, mlp=made)
    assert after[:, out.columns].argmax(1).tolist() == [(2 * i + j) % 5 for i, j in pairs]
    assert after[:, out.columns].sum(1).tolist() == [1.0] * 6


def test_units_side_by_side_do_both() -> None:
    stream = Stream()
    x, y = stream.register("x", 1), stream.register("y", 1)
    positions = Positions(stream, 4)
    form = stream.form({x: [[1.0]]})
    both = units(form, ramp(), stream.into({y: [[2.0]]}), DOUBLE) + units(form, step(2), stream.into({y: [[10.0]]}))
    after = stream_after(stream, positions, {x: torch.arange(4)[:, None]}, mlp=both)
    assert after[:, y.columns][:, 0].tolist() == [0, 2, 14, 16]
    assert both.does == (DOUBLE,)


def test_a_register_after_the_first_instruction_is_an_error() -> None:
    stream = Stream()
    stream.form({stream.register("x", 1): [[1.0]]})
    with pytest.raises(RuntimeError, match="'late' comes after the first instruction"):
        stream.register("late", 1)


def test_a_block_may_hold_heads_of_different_widths() -> None:
    stream = Stream()
    one, two = stream.register("one", 1), stream.register("two", 4)
    to_one, to_two = stream.register("to_one", 1), stream.register("to_two", 4)
    positions = Positions(stream, 8, [1], place=True)
    match: Form = stream.form({positions.first: [[0.0]]}, 1.0)
    heads = LookBack(1).head(positions, two, to_two), LatestMatch().head(positions, match, {to_one: one})
    filled = {one: torch.arange(8)[:, None], two: torch.arange(32).view(8, 4)}
    after = stream_after(stream, positions, filled, *heads)
    assert after[:, to_one.columns][:, 0].tolist() == list(range(8))
    assert after[1:, to_two.columns].tolist() == torch.arange(28).view(7, 4).tolist()
