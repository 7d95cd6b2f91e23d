"""The margins themselves, on programs made by hand so that each of them can fail alone."""

from dataclasses import replace

import pytest
import torch

from glassformer.automata import zoo
from glassformer.compiler.constructions.doubling.program import log_depth
from glassformer.compiler.margins import PRECISIONS, margins
from glassformer.compiler.program import Answers, Program
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Form, Stream
from glassformer.operations.units import step, units

FLOAT32, BFLOAT16 = PRECISIONS["float32"], PRECISIONS["bfloat16"]


def program_with(**head_changes: float) -> Program:
    """Theorem 1 for a small counter, with its first head changed."""
    program = log_depth(zoo.cyclic(3), 20)
    (head,), mlp = program.blocks[0]
    program.blocks[0] = ([replace(head, **head_changes)], mlp)  # type: ignore[arg-type]
    return program


def failures(program: Program, dtype: str = "float32") -> str:
    return "; ".join(map(str, margins(program, PRECISIONS[dtype]).failures()))


def test_a_sound_program_has_no_failures() -> None:
    assert all(not margins(program_with(), precision).failures() for precision in PRECISIONS.values())


def test_too_small_a_gap_is_a_failure() -> None:
    assert "the right key leads by" in failures(program_with(gap=100.0))


def test_rounding_eats_into_the_gap() -> None:
    assert failures(program_with(inexact_terms=10**6), "bfloat16")
    assert not failures(program_with(inexact_terms=0), "bfloat16")


def test_scores_past_the_largest_number_are_a_failure() -> None:
    assert "scores reach 70,000" in failures(program_with(largest_score=70000.0, gap=1e9), "float16")


def test_answers_that_rounding_can_swap_are_a_failure() -> None:
    program = program_with()
    close = program.answers.stream.clone()
    program.answers = Answers(program.answers.outputs, close * 0 + close.mean(dim=0))
    assert "the right answer leads by" in failures(program)


def test_weights_that_the_format_cannot_hold_are_a_failure() -> None:
    stream = Stream()
    x, y = stream.register("x", 1, high=200), stream.register("y", 1)
    positions = Positions(stream, 4)
    form = stream.form({x: [[1.0]]})
    nothing = Form(torch.zeros(stream.width, 1).double(), torch.zeros(1).double())
    answers = Answers(torch.tensor([0]), torch.zeros(1, stream.width).double())
    program = Program(stream, torch.zeros(4, stream.width).double(), positions.table(), nothing, answers)
    program.block(mlp=units(form, step(100), stream.into({y: [[1.0]]})))
    assert not failures(program)
    assert "2 weights that must be exact would be rounded" in failures(program, "bfloat16")


@pytest.mark.parametrize("precision", PRECISIONS.values(), ids=lambda precision: precision.name)
def test_a_format_is_described_as_torch_has_it(precision: object) -> None:
    from glassformer.compiler.margins import Precision, torch_dtype

    assert isinstance(precision, Precision)
    info = torch.finfo(torch_dtype(precision.name))
    assert precision.rounding == info.eps / 2
    assert precision.largest <= info.max
    summed_in = torch.float64 if precision.name == "float64" else torch.float32
    assert torch.exp(torch.tensor(-precision.exp_underflow, dtype=summed_in)) == 0
