"""What a step learns from: tokens, and what is asked at each position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jaxtyping import Int
from torch import Tensor

IGNORE_INDEX: Final = -100
"""The target where nothing is asked; torch's cross-entropy passes it over."""


@dataclass(frozen=True)
class Batch:
    """Tokens, what is to be predicted at each position, and the right answers wherever they count for accuracy."""

    tokens: Int[Tensor, "word pos"]
    targets: Int[Tensor, "word pos"]
    answers: Int[Tensor, "word pos"]
