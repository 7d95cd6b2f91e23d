"""`compile`: a machine and a length in, a transformer with a certificate out."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
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

Planned: TypeAlias = tuple[Construction[Any], Any, int]
"""A construction, its plan, and how many layers that takes."""


def compile(
    machine: AnyMachine | str | os.PathLike[str], length: int, method: str = AUTO, dtype: str = "float32"
) -> Built:
    """A transformer that follows the machine (or the one a spec names) exactly, on words of up to `length` letters.

    Of all constructions that know the machine, `auto` takes the shallowest that is exact in this number format. The
    certificate states how long it really is exact, which may be longer: doubling covers 2, 4, 8, … letters.
    """
    machine, length = _checked(machine, length, method, dtype)
    plans, refused = _plans(machine, length, method)
    for construction, plan, _ in plans:
        try:
            program = construction.lower(plan, length)
            held = _margins_that_hold(program, machine, length, construction, dtype)
        except InputError as error:
            if method != AUTO:
                raise
            refused.append(Message("compiler.refused", method=construction.name, why=error.message))
            continue
        model = program.assemble(torch_dtype(dtype))
        certificate = Certificate.of(program, model, construction.name, dtype, held)
        return Built(model, _with_reasons(certificate, plans, refused), machine)
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


def _plans(machine: AnyMachine, length: int, method: str) -> tuple[list[Planned], list[Message]]:
    """The plans of all constructions that know the machine, or of the one that is named, the shallowest first."""
    if method != AUTO:
        construction = BY_NAME[method]
        plan = construction.plan(Analysis(machine))
        if plan is None:
            raise InputError("compiler.not_for_this_machine", method=method, theorem=construction.theorem)
        return [(construction, plan, 0)], []
    refused: list[Message] = []
    plans = list(_all_plans(Analysis(machine, Watch(SEARCHED)), length, refused))
    return sorted(plans, key=lambda planned: planned[2]), refused


def _all_plans(analysis: Analysis, length: int, refused: list[Message]) -> Iterator[Planned]:
    for construction in CONSTRUCTIONS:
        try:
            plan = construction.plan(analysis)
        except TooLargeError as error:
            refused.append(Message("compiler.not_tried", method=construction.name, why=error.message))
            continue
        except InfiniteError:  # it is for machines with finitely many states alone
            continue
        if plan is not None:
            layers = construction.layers(plan, length)
            assert layers is not None  # words of one length take a number of layers
            yield construction, plan, layers


def _margins_that_hold(
    program: Program, machine: AnyMachine, length: int, construction: Construction[Any], dtype: str
) -> Margins:
    """The margins in a number format; if they do not hold, the error names a format or a method that would do."""
    checked = margins(program, PRECISIONS[dtype])
    failures = checked.failures()
    if not failures:
        return checked
    enough = [name for name, precision in PRECISIONS.items() if not margins(program, precision).failures()]
    doubling = CONSTRUCTIONS[0]
    log = construction is not doubling and _would_hold(doubling, machine, length, dtype)
    advice = {
        (True, True): Message("compiler.use_dtype_or_log", dtypes=enough),
        (True, False): Message("compiler.use_dtype", dtypes=enough),
        (False, True): Message("compiler.use_log"),
        (False, False): Message("compiler.no_dtype"),
    }[bool(enough), log]
    raise InputError("compiler.not_exact", dtype=dtype, failures=failures, advice=advice)


def _would_hold(construction: Construction[Any], machine: AnyMachine, length: int, dtype: str) -> bool:
    try:
        program = construction.lower(construction.plan(Analysis(machine)), length)
    except InputError:
        return False
    return not margins(program, PRECISIONS[dtype]).failures()


def _with_reasons(certificate: Certificate, plans: list[Planned], refused: list[Message]) -> Certificate:
    """Why it is this construction and no other."""
    layers = {construction.name: layers for construction, _, layers in plans}
    others = [
        Message("compiler.would_take", method=name, layers=other)
        for name, other in layers.items()
        if other >= layers[certificate.method] and name != certificate.method
    ]
    return replace(certificate, why=Message("compiler.reasons", reasons=[certificate.why, *others, *refused]))
