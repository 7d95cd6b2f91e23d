"""What each layer and head of a built model does, in words, with the registers it reads and writes.

The words come from the certificate; what is read and written is found in the weights themselves.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor

from glassformer.compiler.certificate import Certificate
from glassformer.nn import Transformer


@dataclass(frozen=True)
class HeadWords:
    """One head: what it does, where query and key come from, what it fetches, and where it puts it."""

    does: str
    query: list[str]
    key: list[str]
    value: list[str]
    writes: list[str]


@dataclass(frozen=True)
class MLPWords:
    """One MLP: what it does, how many units it has, what they read and write."""

    does: str
    units: int
    reads: list[str]
    writes: list[str]


@dataclass(frozen=True)
class BlockWords:
    """One layer."""

    heads: list[HeadWords]
    mlp: MLPWords | None

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


def describe(model: Transformer, certificate: Certificate) -> list[BlockWords]:
    """Every layer of a built model."""
    registers = [(r["name"], r["start"], r["start"] + r["size"]) for r in certificate.registers]

    def named(weights: Float[Tensor, "width other"]) -> list[str]:
        used = weights.any(dim=1)
        return [name for name, start, stop in registers if used[start:stop].any()]

    weights = model.state_dict()
    return [
        BlockWords(
            [_head(weights, f"blocks.{i}.attn.", h, does, named) for h, does in enumerate(words["heads"])],
            _mlp(weights, f"blocks.{i}.mlp.", words["mlp"], named) if words["mlp"] else None,
        )
        for i, words in enumerate(certificate.blocks)
    ]


def _head(weights: dict[str, Tensor], prefix: str, head: int, does: str, named: Any) -> HeadWords:
    query, key, value = (named(weights[f"{prefix}W_{name}"][head]) for name in "QKV")
    return HeadWords(does, query, key, value, named(weights[f"{prefix}W_O"][head].T))


def _mlp(weights: dict[str, Tensor], prefix: str, does: str, named: Any) -> MLPWords:
    reads, writes = weights[f"{prefix}W_in"], weights[f"{prefix}W_out"]
    return MLPWords(does, reads.shape[1], named(reads), named(writes.T))
