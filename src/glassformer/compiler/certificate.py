"""What a built model promises: what was built, by which theorem, how long it is exact, and the margins behind that."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields
from typing import Any

from glassformer.automata import AnyMachine, formats
from glassformer.compiler.margins import Margins
from glassformer.compiler.program import Program
from glassformer.errors import InputError, whole_number
from glassformer.messages import Message
from glassformer.nn import Transformer, files
from glassformer.operations.attention import Operation, operation_from_json
from glassformer.operations.stream import Register


@dataclass(frozen=True)
class Layer:
    """What the heads of a layer do, and what its MLP does, if it has one."""

    heads: tuple[Operation, ...]
    mlp: tuple[Message, ...] | None

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        mlp = None if self.mlp is None else [does.to_json() for does in self.mlp]
        return {"heads": [head.to_json() for head in self.heads], "mlp": mlp}

    @classmethod
    def from_json(cls, values: Any) -> Layer:
        """What `to_json` wrote, or the sentences of earlier versions."""
        mlp = [values["mlp"]] if isinstance(values["mlp"], str) else values["mlp"]
        heads = tuple(operation_from_json(head) for head in values["heads"])
        return cls(heads, None if mlp is None else tuple(Message.from_json(does) for does in mlp))


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What was built, by which theorem, and how long it is exact."""

    theorem: Message
    method: str
    why: Message
    layers: int
    heads: int
    """The most in one layer."""
    width: int
    mlp: int
    """The most hidden units in one layer."""
    parameters: int
    grows: dict[str, Message]
    """What width and MLP grow with."""
    dtype: str
    exact_length: int
    """Words of up to so many letters are exact."""
    weights: str
    """The checksum of the weights that all this is true of; and those of the config and of the machine."""
    config: str = ""
    machine: str = ""
    """Both are empty in certificates of version 0.1."""
    margins: Margins
    registers: tuple[Register, ...]
    tokens: Message
    """What a token puts into the stream."""
    answer: Message
    """How the answer is read."""
    blocks: tuple[Layer, ...]

    @classmethod
    def of(
        cls, program: Program, model: Transformer, machine: AnyMachine, method: str, dtype: str, margins: Margins
    ) -> Certificate:
        """The certificate of the model that a program for a machine was assembled to."""
        shapes = model.config.blocks
        return cls(
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
            config=files.digest_of_config(model.config),
            machine=digest_of_machine(machine),
            margins=margins,
            registers=tuple(program.stream.registers),
            tokens=program.tokens_hold,
            answer=program.answer_is,
            blocks=tuple(
                Layer(tuple(head.operation for head in heads), mlp.does if mlp else None)
                for heads, mlp in program.blocks
            ),
        )

    def changed(self, model: Transformer, machine: AnyMachine) -> list[str]:
        """Which of weights, config and machine are not those that it was made for."""
        found = {"weights": files.digest(model), "config": files.digest_of_config(model.config)}
        found["machine"] = digest_of_machine(machine)
        return [part for part, digest in found.items() if getattr(self, part) not in ("", digest)]

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        values: dict[str, Any] = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return values | {"margins": asdict(self.margins)}

    def summary(self) -> dict[str, Any]:
        """All but registers and layers, with sentences in English: what scripts read."""
        values = {name: value for name, value in vars(self).items() if name not in ("registers", "blocks")}
        grows = {name: str(message) for name, message in self.grows.items()}
        plain = {name: str(value) if isinstance(value, Message) else value for name, value in values.items()}
        return plain | {"grows": grows, "margins": asdict(self.margins)}

    @classmethod
    def from_json(cls, values: Any) -> Certificate:
        """The certificate that `to_json` wrote."""
        try:
            for name in ("layers", "heads", "width", "mlp", "parameters", "exact_length"):
                whole_number(values[name], name, least=0)
            messages = {name: Message.from_json(values[name]) for name in ("theorem", "why", "tokens", "answer")}
            return cls(
                **values
                | messages
                | {
                    "grows": {name: Message.from_json(message) for name, message in values["grows"].items()},
                    "margins": Margins(**values["margins"]),
                    "registers": tuple(Register.from_json(register) for register in values["registers"]),
                    "blocks": tuple(Layer.from_json(layer) for layer in values["blocks"]),
                }
            )
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            why = error.message if isinstance(error, InputError) else str(error)
            raise InputError("compiler.not_a_certificate", why=why) from None


def digest_of_machine(machine: AnyMachine) -> str:
    """A checksum of the machine as it is saved."""
    return hashlib.sha256(formats.dumps(machine, "json").encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Message | Register | Layer):
        return value.to_json()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
