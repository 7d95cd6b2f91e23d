"""The command that compiles a continuous function of sequences."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.atomic import write_atomically
from glassformer.documents.verdict import yes_or_no
from glassformer.errors import InputError
from glassformer.messages import Message, verbatim
from glassformer.ui.cli.terminal import AsJson, Label, app, leave, print_facts, print_json, progress_bar

if TYPE_CHECKING:
    from glassformer.compiler.constructions.universal import Approximation, ApproximationPlan


@app.command()
def approximate(
    name: Annotated[str, typer.Argument(help="centre, mix, gate, sort, shift, prefix-sum or reverse.")],
    d: Annotated[int, typer.Option("--d", min=1, max=64, help="Rows of a column.")] = 1,
    n: Annotated[int, typer.Option("--n", min=1, max=64, help="Columns of a sequence.")] = 2,
    delta: Annotated[str | None, typer.Option(help="Side of a cell: 1/2, 1/4, 1/8, …; default: 1/4.")] = None,
    epsilon: Annotated[float | None, typer.Option(min=0, help="Choose δ so that f̄ is this close to f.")] = None,
    positions: Annotated[
        bool | None,
        typer.Option(help="Whether columns know where they stand; default: if that is nearer."),
    ] = None,
    p: Annotated[float, typer.Option("--p", min=1, max=16, help="The p of the distance d_p.")] = 2.0,
    samples: Annotated[int, typer.Option(min=2, max=1_000_000, help="Sequences to measure on.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of these sequences.")] = 0,
    most_blocks: Annotated[int, typer.Option(min=1, help="Refuse to build more blocks than this.")] = 200_000,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the stages and their errors along a line, as SVG.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Keep the model there (up to 1,000 blocks).")
    ] = None,
    only_plan: Annotated[bool, typer.Option("--plan", help="Only say what it would take.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build a transformer of blocks (2 heads of width 1, 4 ReLUs) that is close to a function of sequences."""
    from glassformer.compiler.constructions.universal import approximate as build
    from glassformer.compiler.constructions.universal import plan_for, plan_with
    from glassformer.compiler.constructions.universal.approximation import check_single

    if delta is not None and epsilon is not None:
        raise InputError("cli.delta_or_epsilon")
    if epsilon is not None:
        planned = plan_for(name, d, n, epsilon, positions, p, most_blocks)
    else:
        planned = plan_with(name, d, n, side("1/4" if delta is None else delta), positions, p, most_blocks)
    if only_plan:
        return print_json(planned) if as_json else print_plan(name, planned)
    if plot is not None and not plot.resolve().parent.is_dir():
        why = Message("cli.no_folder", folder=str(plot.resolve().parent))
        raise InputError("common.cannot_write", path=str(plot), why=why)
    if folder is not None and not planned.refusal:
        check_single(planned.blocks)
    with progress_bar("cli.running_blocks") as advance:
        placed = positions if epsilon is None else planned.positions
        built = build(name, d, n, planned.delta, placed, p, samples, seed, most_blocks, advance)
    found = built.certificate
    if plot is not None:
        from glassformer.documents.approximation.stages import draw

        write_atomically(plot, draw(built, name).encode())
    if folder is not None:
        built.save(folder)
    if as_json:
        print_json(found)
    else:
        print_approximation(name, built, samples)
    if not found.holds:
        leave(Message("cli.check_failed"), 1)
    return None


def print_plan(name: str, planned: ApproximationPlan) -> None:
    """What it would take, as a table."""
    values = asdict(planned).items()
    facts = ((verbatim(key), f"{value:,}" if type(value) is int else value) for key, value in values)
    print_facts(Message("cli.planned", name=name), facts)


def print_approximation(name: str, built: Approximation, samples: int) -> None:
    """What was built, part by part, and how near it is."""
    from glassformer.compiler.constructions.universal.proof import part_title

    found = built.certificate
    tried, there = found.grid_tried, found.grid_sequences
    where = Message("cli.on_all_sequences" if tried == there else "cli.on_sequences", tried=tried, there=there)
    positions = yes_or_no(found.positions)
    if not found.positions and found.n > 1:
        positions = Message("cli.no_positions")
    if other := found.without_positions:
        positions = Message("cli.nearer_with_positions", p=found.p, blocks=other.blocks, distance=other.distance)
    contextual = Message("cli.contextual" if found.contextual else "cli.not_contextual", bits=found.bits)
    errors = {"error": found.grid_error, "hardmax": found.modified_grid_error}
    distance = {"p": found.p, "distance": found.distance, "error": found.distance_error, "sequences": samples}
    facts: list[tuple[Label, object]] = [
        ("blocks", Message("cli.blocks", blocks=found.blocks, formula=found.formula_blocks)),
        *((verbatim(f"  {part_title(part)}"), f"{len(layers):,}") for part, layers in built.proof.parts.items()),
        ("parameters", f"{found.parameters:,}"),
        ("positions", positions),
        ("contextual", contextual),
        ("on_the_grid", Message("cli.on_the_grid", **errors, where=where)),
        ("distance", Message("cli.distance", **distance)),
        ("of_it", Message("cli.of_the_distance", p=found.p, distance=found.constant_distance, tail=found.tail)),
    ]
    print_facts(f"{name}, d = {found.d}, n = {found.n}, δ = {Fraction(found.delta)}", facts)


def side(text: str) -> float:
    """A fraction as 1/4 or 0.25."""
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InputError("cli.delta", value=text) from None
