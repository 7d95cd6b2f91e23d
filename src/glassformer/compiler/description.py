"""What each layer and head of a built model does, in words, with the registers it reads and writes.

The words come from the certificate; what is read and written is found in the weights themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from jaxtyping import Float
from torch import Tensor

from glassformer.compiler.certificate import Certificate
from glassformer.nn import Transformer

Named: TypeAlias = Callable[[Tensor], list[str]]
"""The registers that a matrix [width, anything] touches."""


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


@dataclass(frozen=True)
class Description:
    """A whole model: what tokens and positions write, the layers, and what the answer is read from."""

    tokens_write: list[str]
    positions_write: list[str]
    layers: list[BlockWords]
    answer_reads: list[str]

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


def describe(model: Transformer, certificate: Certificate) -> Description:
    """What every part of a built model does."""
    registers = [(r["name"], r["start"], r["start"] + r["size"]) for r in certificate.registers]

    def named(weights: Float[Tensor, "width other"]) -> list[str]:
        used = weights.any(dim=1)
        return [name for name, start, stop in registers if used[start:stop].any()]

    weights = model.state_dict()
    layers = [
        BlockWords(
            [_head(weights, f"blocks.{i}.attn.", h, does, named) for h, does in enumerate(words["heads"])],
            _mlp(weights, f"blocks.{i}.mlp.", words["mlp"], named) if words["mlp"] else None,
        )
        for i, words in enumerate(certificate.blocks)
    ]
    tokens, positions = named(weights["embed.W_E"].T), named(weights["pos_embed.W_pos"].T)
    return Description(tokens, positions, layers, named(weights["unembed.W_U"]))


def _head(weights: dict[str, Tensor], prefix: str, head: int, does: str, named: Named) -> HeadWords:
    query, key, value = (named(weights[f"{prefix}W_{name}"][head]) for name in "QKV")
    return HeadWords(does, query, key, value, named(weights[f"{prefix}W_O"][head].T))


def _mlp(weights: dict[str, Tensor], prefix: str, does: str, named: Named) -> MLPWords:
    reads, writes = weights[f"{prefix}W_in"], weights[f"{prefix}W_out"]
    units = reads.shape[1] + sum(bias.shape[0] for name, bias in weights.items() if name.startswith(f"{prefix}b_mid."))
    return MLPWords(does, units, named(reads), named(writes.T))
