"""`compile`: a machine and a length in, a transformer with a certificate out."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Int

from glassformer.automata import Label, Machine, formats
from glassformer.automata import machine as machine_of
from glassformer.automata.semiautomaton import Word
from glassformer.compiler.certificate import PRECISIONS, Certificate, Margins, margins, torch_dtype
from glassformer.compiler.log_depth import layers_needed, log_depth
from glassformer.compiler.stream import Program, Register
from glassformer.errors import InputError
from glassformer.nn import Transformer, files


@dataclass(frozen=True)
class Method:
    """A way to build: its theorem, and the function from machine and length to a program."""

    theorem: str
    program: Callable[[Machine, int], Program]
    why: Callable[[int], str]


METHODS: Final = {
    "log": Method(
        "Theorem 1: every semiautomaton, in logarithmic depth",
        log_depth,
        lambda length: f"works for every machine; {layers_needed(length)} layers double the window from 1 to {length}",
    ),
}


@dataclass(frozen=True)
class Built:
    """A transformer made by a theorem, the machine it follows, and what it promises."""

    model: Transformer
    certificate: Certificate
    machine: Machine

    def states(self, words: Word) -> Int[np.ndarray, "*batch length"]:
        """The state after every prefix, as the transformer sees it (a batch of words along the first axis)."""
        letters = self.machine.encode(words)
        batch = letters.reshape(math.prod(letters.shape[:-1]), letters.shape[-1])
        if batch.shape[1] > self.certificate.exact_length:
            raise InputError(
                f"the word has {batch.shape[1]} letters, but this model is exact up to "
                f"{self.certificate.exact_length}: build it again with --length {batch.shape[1]}"
            )
        with torch.no_grad():
            answers: np.ndarray = self.model(self.tokens(batch)).argmax(-1)[:, 1:].numpy()
        return answers.reshape(letters.shape)

    def run(self, word: Word) -> tuple[list[str], list[Label]]:
        """The names of the states after every prefix of one word, and their labels."""
        states = self.states(word)
        return [self.machine.states[q] for q in states], [self.machine.outputs[q] for q in states]

    def tokens(self, letters: Int[np.ndarray, "batch length"]) -> Int[torch.Tensor, "batch pos"]:
        """The model's input: the start token, then the letters."""
        return torch.nn.functional.pad(
            torch.from_numpy(letters.astype(np.int64)), (1, 0), value=len(self.machine.symbols)
        )

    def cast(self, dtype: str) -> Built:
        """The same weights in another number format, if the margins hold there too."""
        program = METHODS[self.certificate.method].program(self.machine, self.certificate.exact_length)
        checked = _checked_margins(program, dtype)
        model = Transformer(self.model.config).to(torch_dtype(dtype))
        model.load_state_dict(self.model.state_dict())
        return replace(self, model=model.eval(), certificate=replace(self.certificate, dtype=dtype, margins=checked))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write config.json, model.safetensors, certificate.json and machine.json, all or nothing."""
        certificate, machine = files.to_json(self.certificate.to_json()), formats.dumps(self.machine, "json")
        files.save(Path(folder), self.model, {"certificate.json": certificate, "machine.json": machine})

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Built:
        """Read what `save` wrote."""
        folder = Path(folder)
        model = files.load(folder)
        for name in ("certificate.json", "machine.json"):
            if not (folder / name).exists():
                raise InputError(f"{folder} holds a model without {name}: it was not built by `compile`")
        certificate = Certificate.from_json(files.read_json(folder / "certificate.json"))
        machine = formats.read(folder / "machine.json")
        _check_belongs(model, certificate, machine, folder)
        return cls(model.eval(), certificate, machine)


def compile(machine: Machine | str, length: int, method: str = "auto", dtype: str = "float32") -> Built:
    """A transformer that follows the machine (or the one a spec names) exactly, on words of up to `length` letters."""
    machine = machine_of(machine) if isinstance(machine, str) else machine
    if length < 1:
        raise InputError(f"a model is built for words of at least one letter, not {length}")
    if method not in ("auto", *METHODS):
        raise InputError(f"method is one of auto, {', '.join(METHODS)}; not {method!r}")
    torch_dtype(dtype)
    chosen = "log" if method == "auto" else method
    program = METHODS[chosen].program(machine, length)
    checked = _checked_margins(program, dtype)
    model = program.assemble(torch_dtype(dtype))
    return Built(model, _certificate(program, model, chosen, length, dtype, checked), machine)


def _checked_margins(program: Program, dtype: str) -> Margins:
    """The margins in a number format; if they do not hold, say which format would do."""
    checked = margins(program, PRECISIONS[dtype])
    if failures := checked.failures():
        enough = [name for name, precision in PRECISIONS.items() if not margins(program, precision).failures()]
        advice = f"use dtype {' or '.join(enough)}" if enough else "no number format here is precise enough"
        raise InputError(f"{dtype} would not be exact: {'; '.join(failures)}; {advice}")
    return checked


def _certificate(
    program: Program, model: Transformer, method: str, length: int, dtype: str, checked: Margins
) -> Certificate:
    shapes = model.config.blocks
    return Certificate(
        theorem=METHODS[method].theorem,
        method=method,
        why=METHODS[method].why(length),
        layers=len(shapes),
        heads=max(shape.heads for shape in shapes),
        width=model.config.width,
        mlp=max(sum(shape.mlp) for shape in shapes),
        parameters=model.parameter_count(),
        dtype=dtype,
        exact_length=length,
        margins=checked,
        registers=[_register_json(register) for register in program.stream.registers],
        blocks=[
            {"heads": [head.does for head in heads], "mlp": mlp.does if mlp else None} for heads, mlp in program.blocks
        ],
    )


def _register_json(register: Register) -> dict[str, Any]:
    return {"name": register.name, "start": register.start, "size": register.size, "about": register.about}


def _check_belongs(model: Transformer, certificate: Certificate, machine: Machine, folder: object) -> None:
    """A certificate speaks of one model and one machine; refuse a mixture."""
    pairs: Sequence[tuple[str, object, object]] = (
        ("layers", len(model.config.blocks), certificate.layers),
        ("width", model.config.width, certificate.width),
        ("parameters", model.parameter_count(), certificate.parameters),
        ("dtype", str(model.dtype).removeprefix("torch."), certificate.dtype),
        ("context", model.config.context, certificate.exact_length + 1),
        ("letters", model.config.vocab, len(machine.symbols) + 1),
        ("states", model.config.outputs, len(machine.states)),
    )
    for what, has, should in pairs:
        if has != should:
            raise InputError(f"{folder} mixes parts that do not belong together: {what} is {has}, not {should}")
