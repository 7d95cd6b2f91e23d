"""Circuits alone: what they make of registers, run as the MLP of a real transformer."""

import itertools

import pytest
import torch
from torch import Tensor

from glassformer.compiler.circuit import Circuit, Signal
from glassformer.compiler.program import Answers, Program
from glassformer.messages import verbatim
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Register, Stream


def run(
    stream: Stream, positions: Positions, filled: dict[Register, Tensor], circuit: Circuit, dtype: torch.dtype
) -> Tensor:
    """The stream after the circuit; position p starts with row p of `filled`."""
    tokens = stream.into({register: rows.double() for register, rows in filled.items()})
    nothing = stream.form({positions.first: [[0.0]]})
    program = Program(stream, tokens, positions.table(), nothing, Answers(torch.tensor([0]), tokens[:1]))
    program.block(mlp=circuit.units(verbatim("under test")))
    return program.assemble(dtype).trace(torch.arange(len(tokens))[None])["blocks.0.hook_resid_post"][0]


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("modulus", [2, 3, 7])
@pytest.mark.parametrize("noise", [0.0, 0.24, -0.24])
def test_the_remainder_is_an_exact_one_hot_of_an_inexact_number(noise: float, modulus: int, stages: int) -> None:
    largest = 200
    stream = Stream()
    number, out = stream.register("number", 1, high=largest), stream.register("out", modulus)
    positions = Positions(stream, largest + 1)
    circuit = Circuit(stream)
    circuit.write(out, circuit.remainder(circuit.read(number)[0], largest, modulus, stages))
    numbers = torch.arange(largest + 1)
    after = run(stream, positions, {number: numbers[:, None] + noise}, circuit, torch.float32)
    expected = torch.nn.functional.one_hot(numbers % modulus, modulus).float()
    assert torch.equal(after[:, out.columns], expected)


@pytest.mark.parametrize("count", [1, 2, 4, 7])
@pytest.mark.parametrize("noise", [0.0, 0.24, -0.24])
def test_the_bits_of_an_inexact_number_are_exact(noise: float, count: int) -> None:
    largest = 150
    stream = Stream()
    number, out = stream.register("number", 1, high=largest), stream.register("out", count)
    positions = Positions(stream, largest + 1)
    circuit = Circuit(stream)
    circuit.write(out, circuit.bits(circuit.read(number)[0], count, largest))
    numbers = torch.arange(largest + 1)
    after = run(stream, positions, {number: numbers[:, None] + noise}, circuit, torch.float32)
    expected = numbers.clamp_max(2**count - 1)[:, None] >> torch.arange(count) & 1
    assert torch.equal(after[:, out.columns], expected.float())
    assert len(circuit.layers) <= 6


def test_two_stages_take_fewer_units() -> None:
    sizes = []
    for stages in (1, 2):
        stream = Stream()
        number, out = stream.register("number", 1, high=10_000), stream.register("out", 3)
        circuit = Circuit(stream)
        circuit.write(out, circuit.remainder(circuit.read(number)[0], 10_000, 3, stages))
        sizes.append(sum(circuit.units().sizes))
    assert sizes[1] < sizes[0] / 10


def test_a_table_is_looked_up_and_what_is_not_in_it_gives_nothing() -> None:
    stream = Stream()
    a, b, out = stream.register("a", 3), stream.register("b", 2), stream.register("out", 4)
    positions = Positions(stream, 6)
    pairs = list(itertools.product(range(3), range(2)))
    rows = {(i, j): (i + j) % 4 for i, j in pairs if (i, j) != (2, 1)}
    circuit = Circuit(stream)
    circuit.write(out, circuit.look_up(rows, [circuit.read(a), circuit.read(b)], 4))
    filled = {a: torch.eye(3)[[i for i, _ in pairs]], b: torch.eye(2)[[j for _, j in pairs]]}
    after = run(stream, positions, filled, circuit, torch.bfloat16)
    expected = torch.stack([torch.eye(4)[rows[pair]] if pair in rows else torch.zeros(4) for pair in pairs])
    assert torch.equal(after[:, out.columns].float(), expected)


def test_bits_are_carried_to_where_they_are_needed() -> None:
    stream = Stream()
    x, out = stream.register("x", 2), stream.register("out", 1)
    positions = Positions(stream, 4)
    circuit = Circuit(stream)
    first, second = circuit.read(x)
    high = circuit.relu(circuit.relu(circuit.relu(first, 1.0), 1.0), 1.0)  # three layers up
    circuit.write(out, [circuit.all_of([high, second]) + Signal(constant=5.0) - first * 2.0])
    bits = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])
    after = run(stream, positions, {x: bits}, circuit, torch.float32)
    assert after[:, out.columns][:, 0].tolist() == [5, 5, 3, 4]
