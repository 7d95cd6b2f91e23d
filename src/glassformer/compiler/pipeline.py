"""`compile`: a machine and a length in, a transformer with a certificate out."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any, Final, TypeAlias

from glassformer.algebra import Limits
from glassformer.algebra.analysis import Analysis
from glassformer.algebra.limits import TooLargeError, Watch
from glassformer.automata import AnyMachine, InfiniteMachine, Machine, any_machine
from glassformer.automata.infinite import InfiniteError
from glassformer.compiler.built import Built
from glassformer.compiler.certificate import Certificate
from glassformer.compiler.construction import Construction
from glassformer.compiler.constructions import BY_NAME, CONSTRUCTIONS
from glassformer.compiler.margins import PRECISIONS, Margins, margins, torch_dtype
from glassformer.compiler.program import Program
from glassformer.errors import InputError, whole_number
from glassformer.messages import Message
from glassformer.operations.stream import refuse_if_too_large

AUTO: Final = "auto"
SEARCHED: Final = Limits(images=2_000, rows=20_000, seconds=math.inf)
"""How far `auto` looks for a cascade; larger ones are too large to build. No clock decides: a machine has one model."""

Planned: TypeAlias = tuple[Construction[Any], Any]
"""A construction, and its plan for a machine."""


def compile(
    machine: AnyMachine | str | os.PathLike[str], length: int, method: str = AUTO, dtype: str = "float32"
) -> Built:
    """A transformer that follows the machine (or the one a spec names) exactly, on words of up to `length` letters.

    `length` counts letters, without the start token; `method` is `auto` or the name of a construction (`log`,
    `cascade`, `gridworld`, `dyck`); `dtype` is float32, float64, float16 or bfloat16. Of all constructions that know
    the machine, `auto` takes the shallowest that is exact in this number format. The certificate states how long it
    really is exact, which may be longer: doubling covers 2, 4, 8, … letters.
    """
    machine, length = _checked(machine, length, method, dtype)
    plans, refused = _plans(machine, method)
    layers = {construction.name: construction.layers(plan, length) for construction, plan in plans}
    for construction, plan in sorted(plans, key=lambda planned: layers[planned[0].name]):
        try:
            program = construction.lower(plan, length)
            held = _margins_that_hold(program, dtype)
        except InputError as error:
            if method != AUTO:
                raise
            refused.append(Message("compiler.refused", method=construction.name, why=error.message))
            continue
        model = program.assemble(torch_dtype(dtype))
        certificate = Certificate.of(program, model, machine, construction.name, dtype, held)
        return Built(model, replace(certificate, why=_why(certificate, layers, refused)), machine)
    raise InputError(Message("compiler.reasons", reasons=refused))


def _checked(
    machine: AnyMachine | str | os.PathLike[str], length: int, method: str, dtype: str
) -> tuple[AnyMachine, int]:
    machine = any_machine(machine) if isinstance(machine, str | os.PathLike) else machine
    if not isinstance(machine, Machine | InfiniteMachine):
        raise InputError("compiler.no_start")
    length = whole_number(length, "compiler.length", least=1)
    refuse_if_too_large(length)  # one parameter for each position at the very least
    refuse_unknown_method(method)
    torch_dtype(dtype)
    return machine, length


def refuse_unknown_method(method: str) -> None:
    """Say which methods there are, if this is none."""
    if method not in (AUTO, *BY_NAME):
        raise InputError("compiler.method", methods=(AUTO, *BY_NAME), method=method)


def _plans(machine: AnyMachine, method: str) -> tuple[list[Planned], list[Message]]:
    """The plans of all constructions that know the machine, or of the one that is named; and why others were not made.

    A construction that is named looks as far as it must.
    """
    if method != AUTO:
        construction = BY_NAME[method]
        plan = construction.plan(Analysis(machine))
        if plan is None:
            raise InputError("compiler.not_for_this_machine", method=method, theorem=construction.theorem)
        return [(construction, plan)], []
    plans: list[Planned] = []
    refused: list[Message] = []
    analysis = Analysis(machine, Watch(SEARCHED))
    for construction in CONSTRUCTIONS:
        try:
            plan = construction.plan(analysis)
        except TooLargeError as error:
            refused.append(Message("compiler.not_tried", method=construction.name, why=error.message))
        except InfiniteError:
            pass  # it is for machines with finitely many states alone
        else:
            plans += [(construction, plan)] if plan is not None else []
    return plans, refused


def _margins_that_hold(program: Program, dtype: str) -> Margins:
    """The margins in a number format; if they do not hold, the error names a format in which they do."""
    checked = margins(program, PRECISIONS[dtype])
    if failures := checked.failures():
        enough = [name for name, precision in PRECISIONS.items() if not margins(program, precision).failures()]
        advice = Message("compiler.use_dtype", dtypes=enough) if enough else Message("compiler.no_dtype")
        raise InputError("compiler.not_exact", dtype=dtype, failures=failures, advice=advice)
    return checked


def _why(chosen: Certificate, layers: dict[str, int], refused: list[Message]) -> Message:
    """Why it is this construction and no other."""
    deeper = [
        Message("compiler.would_take", method=name, layers=count)
        for name, count in layers.items()
        if name != chosen.method and count >= layers[chosen.method]
    ]
    return Message("compiler.reasons", reasons=[chosen.why, *deeper, *refused])
