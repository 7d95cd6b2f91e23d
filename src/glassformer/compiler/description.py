"""What each layer and head of a built model does, with the registers that it reads and writes.

What it does stands in the certificate; what it reads and writes is computed from the weights themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from jaxtyping import Float
from torch import Tensor

from glassformer.compiler.certificate import Certificate
from glassformer.messages import Message
from glassformer.nn import Transformer
from glassformer.operations.attention import Operation
from glassformer.operations.stream import Register

Named: TypeAlias = Callable[[Tensor], list[str]]
"""The registers that a matrix [width, anything] touches."""


@dataclass(frozen=True)
class HeadParts:
    """One head: what it does, where query and key come from, what it fetches, and where it puts it."""

    operation: Operation
    query: list[str]
    key: list[str]
    value: list[str]
    writes: list[str]

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return vars(self) | {"operation": self.operation.to_json(), "does": str(self.operation.title)}


@dataclass(frozen=True)
class MLPParts:
    """One MLP: what it does, how many units it has, what they read and write."""

    does: tuple[Message, ...]
    units: int
    reads: list[str]
    writes: list[str]

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return vars(self) | {"does": "; ".join(map(str, self.does))}


@dataclass(frozen=True)
class LayerParts:
    """One layer."""

    heads: list[HeadParts]
    mlp: MLPParts | None


@dataclass(frozen=True)
class Description:
    """A whole model: what tokens and positions write, the layers, and what the answer is read from."""

    registers: tuple[Register, ...]
    tokens_write: list[str]
    positions_write: list[str]
    layers: list[LayerParts]
    answer_reads: list[str]

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        layers = [
            {"heads": [head.to_json() for head in layer.heads], "mlp": layer.mlp and layer.mlp.to_json()}
            for layer in self.layers
        ]
        registers = [vars(register) | {"about": str(register.about)} for register in self.registers]
        return vars(self) | {"registers": registers, "layers": layers}


def describe(model: Transformer, certificate: Certificate) -> Description:
    """What every part of a built model does."""
    registers = certificate.registers

    def named(weights: Float[Tensor, "width other"]) -> list[str]:
        used = weights.any(dim=1)
        return [register.name for register in registers if used[register.columns].any()]

    weights = model.state_dict()
    layers = [
        LayerParts(
            [_head(weights, f"blocks.{i}.attn.", h, operation, named) for h, operation in enumerate(layer.heads)],
            _mlp(weights, f"blocks.{i}.mlp.", layer.mlp, named) if layer.mlp else None,
        )
        for i, layer in enumerate(certificate.blocks)
    ]
    tokens, positions = named(weights["embed.W_E"].T), named(weights["pos_embed.W_pos"].T)
    return Description(registers, tokens, positions, layers, named(weights["unembed.W_U"]))


def _head(weights: dict[str, Tensor], prefix: str, head: int, operation: Operation, named: Named) -> HeadParts:
    query, key, value = (named(weights[f"{prefix}W_{name}"][head]) for name in "QKV")
    return HeadParts(operation, query, key, value, named(weights[f"{prefix}W_O"][head].T))


def _mlp(weights: dict[str, Tensor], prefix: str, does: tuple[Message, ...], named: Named) -> MLPParts:
    reads, writes = weights[f"{prefix}W_in"], weights[f"{prefix}W_out"]
    units = reads.shape[1] + sum(bias.shape[0] for name, bias in weights.items() if name.startswith(f"{prefix}b_mid."))
    return MLPParts(does, units, named(reads), named(writes.T))
