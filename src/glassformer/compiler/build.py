"""`compile`: a machine and a length in, a transformer with a certificate out."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Int, Integer

from glassformer.algebra import Limits, decompose
from glassformer.algebra.depth import doubling, window
from glassformer.algebra.limits import TooLargeError, Watch
from glassformer.algebra.stack import stack_of
from glassformer.algebra.walk import walk_of
from glassformer.algebra.way import way_down
from glassformer.automata import Label, Machine, formats
from glassformer.automata import machine as machine_of
from glassformer.automata.semiautomaton import Word
from glassformer.compiler.cascade import cascade_program
from glassformer.compiler.certificate import PRECISIONS, Certificate, Margins, margins, torch_dtype
from glassformer.compiler.constructions.doubling import log_depth
from glassformer.compiler.constructions.dyck import dyck_program
from glassformer.compiler.constructions.gridworld import gridworld_program
from glassformer.compiler.stream import Program, Register, refuse_if_too_large
from glassformer.errors import InputError, whole_number
from glassformer.nn import Transformer, files
from glassformer.shown import Shown
from glassformer.wording import counted

NUMBERS_AT_ONCE: Final = 2**25
"""Largest activation of one forward pass, in numbers: 128 MiB in float32."""
SEARCHED: Final = Limits(images=2_000, rows=20_000, seconds=math.inf)
"""How far `auto` looks for a cascade; larger ones are too large to build. No clock decides: a machine has one model."""


METHODS: Final[dict[str, Callable[[Machine, int], Program]]] = {
    "log": log_depth,
    "cascade": cascade_program,
    "gridworld": gridworld_program,
    "dyck": dyck_program,
}
"""The ways to build: from a machine and a length to a program."""


@dataclass(frozen=True)
class Built(Shown):
    """A transformer made by a theorem, the machine it follows, and what it promises."""

    model: Transformer
    certificate: Certificate
    machine: Machine

    def states(self, words: Word) -> Integer[np.ndarray, "*batch length"]:
        """The state after every prefix, as the transformer sees it (words along all axes but the last)."""
        letters = self.machine.encode(words)
        *batch, length = letters.shape
        if length > self.certificate.exact_length:
            raise InputError(
                f"the word has {counted(length, 'letter')}, but this model is exact up to "
                f"{self.certificate.exact_length}: build it again for length {length}"
            )
        rows = letters.reshape(math.prod(batch), length)
        at_once = self.words_at_once(length)
        parts = [self._answers(rows[begin : begin + at_once]) for begin in range(0, len(rows), at_once)]
        return np.concatenate(parts).reshape(letters.shape) if parts else np.empty(letters.shape, dtype=np.int64)

    def _answers(self, rows: Integer[np.ndarray, "batch length"]) -> Integer[np.ndarray, "batch length"]:
        """One forward pass. Autocast would round what the certificate takes for exact."""
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            answers: np.ndarray = self.model(self.tokens(rows)).argmax(-1)[:, 1:].numpy()
        return answers

    def words_at_once(self, length: int) -> int:
        """How many words of a length go through the model together, so that memory stays small."""
        return max(1, NUMBERS_AT_ONCE // ((length + 1) * max(self.certificate.mlp, self.certificate.width)))

    def run(self, word: Word) -> tuple[list[str], list[Label]]:
        """The names of the states after every prefix of one word, and their labels."""
        states = self.states(self.machine.one_word(word))
        return [self.machine.states[q] for q in states], [self.machine.outputs[q] for q in states]

    def tokens(self, letters: Integer[np.ndarray, "batch length"]) -> Int[torch.Tensor, "batch pos"]:
        """The model's input: the start token, then the letters."""
        return torch.nn.functional.pad(
            torch.from_numpy(letters.astype(np.int64)), (1, 0), value=len(self.machine.symbols)
        )

    def cast(self, dtype: str) -> Built:
        """The same model in another number format, if the margins hold there too."""
        if self.changed:
            raise InputError("the weights were changed after the model was built: its certificate no longer holds")
        return compile(self.machine, self.certificate.exact_length, self.certificate.method, dtype)

    @property
    def changed(self) -> bool:
        """Whether the weights are other ones than the certificate was made for."""
        return files.digest(self.model) != self.certificate.weights

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write config.json, model.safetensors, certificate.json and machine.json, all or nothing."""
        certificate, machine = files.to_json(self.certificate.to_json()), formats.dumps(self.machine, "json")
        files.save(Path(folder), self.model, {"certificate.json": certificate, "machine.json": machine})

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Built:
        """Read what `save` wrote."""
        model, documents = files.load_transformer(Path(folder))
        for name in ("certificate.json", "machine.json"):
            if name not in documents:
                raise InputError(f"{folder} holds a model without {name}: it was not built by `compile`")
        machine = formats.loads(documents["machine.json"], "json", f"{folder}/machine.json")
        certificate = Certificate.from_json(
            files.parse_json(documents["certificate.json"], f"{folder}/certificate.json")
        )
        if (model.config.vocab, model.config.outputs) != (len(machine.symbols) + 1, len(machine.states)):
            raise InputError(f"{folder}: the model and machine.json have different numbers of letters or states")
        return cls(model.eval(), certificate, machine)


def compile(
    machine: Machine | str | os.PathLike[str], length: int, method: str = "auto", dtype: str = "float32"
) -> Built:
    """A transformer that follows the machine (or the one a spec names) exactly, on words of up to `length` letters.

    The certificate says how long it really is exact, which may be longer: doubling covers 2, 4, 8, … letters.
    """
    machine = machine_of(machine) if isinstance(machine, str | os.PathLike) else machine
    if not isinstance(machine, Machine):
        raise InputError("a model needs to know where to start: give a Machine, or the spec of one")
    length = whole_number(length, "the length that a model is built for", least=1)
    refuse_if_too_large(length)  # one parameter for each position at the very least
    if method not in ("auto", *METHODS):
        raise InputError(f"method is one of auto, {', '.join(METHODS)}; not {method!r}")
    torch_dtype(dtype)
    if method == "auto":
        return _shallowest(machine, length, dtype)
    return _built(METHODS[method](machine, length), machine, length, method, dtype)


def _built(program: Program, machine: Machine, length: int, method: str, dtype: str) -> Built:
    """The model that a program is, if it is exact."""
    checked = _checked_margins(program, machine, length, method, dtype)
    model = program.assemble(torch_dtype(dtype))
    return Built(model, _certificate(program, model, method, dtype, checked), machine)


def _shallowest(machine: Machine, length: int, dtype: str) -> Built:
    """The shallowest model that is exact for this length in this number format, and why it is that one."""
    depths, programs, refused = {"log": doubling(window(machine, length))}, dict(METHODS), []
    if walk := walk_of(machine):
        depths["gridworld"] = walk.layers
    if stack := stack_of(machine):
        depths["dyck"] = stack.layers
    try:
        cascade = decompose(machine.trim(), watch=Watch(SEARCHED))
        depths["cascade"] = way_down(cascade, machine.trim().start).layers(length)
        programs["cascade"] = lambda machine, length: cascade_program(machine, length, cascade)
    except TooLargeError as error:
        refused.append(f"cascade was not tried: {error}")
    for method in sorted(depths, key=lambda name: (depths[name], list(METHODS).index(name))):
        try:
            built = _built(programs[method](machine, length), machine, length, method, dtype)
        except InputError as error:
            refused.append(f"{method} was refused: {error}")
            continue
        deeper = [name for name in depths if depths[name] >= depths[method] and name != method]
        others = [f"{name} would take {depths[name]}" for name in deeper]
        why = "; ".join([built.certificate.why, *others, *refused])
        return replace(built, certificate=replace(built.certificate, why=why))
    raise InputError("; ".join(refused))


def _checked_margins(program: Program, machine: Machine, length: int, method: str, dtype: str) -> Margins:
    """The margins in a number format; if they do not hold, say which format or method would do."""
    checked = margins(program, PRECISIONS[dtype])
    if failures := checked.failures():
        enough = [name for name, precision in PRECISIONS.items() if not margins(program, precision).failures()]
        ways = [f"dtype {' or '.join(enough)}"] * bool(enough)
        if method != "log" and _would_do(log_depth, machine, length, dtype):
            ways.append("method log")
        advice = f"use {', or '.join(ways)}" if ways else "no number format here is precise enough"
        raise InputError(f"{dtype} would not be exact: {'; '.join(failures)}; {advice}")
    return checked


def _would_do(method: Callable[[Machine, int], Program], machine: Machine, length: int, dtype: str) -> bool:
    try:
        return not margins(method(machine, length), PRECISIONS[dtype]).failures()
    except InputError:
        return False


def _certificate(program: Program, model: Transformer, method: str, dtype: str, checked: Margins) -> Certificate:
    shapes = model.config.blocks
    return Certificate(
        theorem=program.theorem,
        method=method,
        why=program.because,
        layers=len(shapes),
        heads=max((shape.heads for shape in shapes), default=0),
        width=model.config.width,
        mlp=max((sum(shape.mlp) for shape in shapes), default=0),
        parameters=model.parameter_count(),
        grows=program.grows,
        dtype=dtype,
        exact_length=model.config.context - 1,
        weights=files.digest(model),
        margins=checked,
        registers=[_register_json(register) for register in program.stream.registers],
        tokens=program.tokens_hold,
        answer=program.answer_is,
        blocks=[
            {"heads": [head.does for head in heads], "mlp": mlp.does if mlp else None} for heads, mlp in program.blocks
        ],
    )


def _register_json(register: Register) -> dict[str, Any]:
    return {"name": register.name, "start": register.start, "size": register.size, "about": register.about}
