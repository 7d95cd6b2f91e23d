"""What the study of superposition finds: parts of a dimension, a phase diagram, and the scores of dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any, Final

from glassformer.messages import Message

PUBLISHED: Final = {
    "tetrahedron, 3/4": 3 / 4,
    "triangle, 2/3": 2 / 3,
    "two opposite, 1/2": 1 / 2,
    "pentagon, 2/5": 2 / 5,
    "square antiprism, 3/8": 3 / 8,
}
"""Shapes in which features were seen to share dimensions (Elhage et al. 2022), and the part that each feature has."""
PHASES: Final = ("left out", "shared", "alone")
"""What becomes of the second of two features in one dimension."""
NEAR: Final = 0.005
"""How near a feature must be to a shape's part of a dimension to count for it."""


def shown_names() -> dict[str, Message]:
    """The names of shapes and phases."""
    shapes = {name: name.split(", ") for name in PUBLISHED}
    found = {
        name: Message(f"inside.shape_{shape.replace(' ', '_')}", share=share) for name, (shape, share) in shapes.items()
    }
    return found | {phase: Message(f"inside.phase_{phase.replace(' ', '_')}") for phase in PHASES}


@dataclass(frozen=True)
class Dots:
    """All features that toys of one sparsity keep, and the part of a dimension that each has."""

    rarity: float
    """1 / (1 − S): one in so many samples has a feature."""
    dimensionality: list[float]


@dataclass(frozen=True)
class Dictionaries:
    """One kind of dictionary on features that are known."""

    kind: str
    explained: float
    active: float
    mean_max_cosine: float
    recovered: float


@dataclass(frozen=True)
class Superposition:
    """What the three looks at toy models show."""

    pentagons: float
    """The part of 5-in-2 toys whose features all have 2/5 of a dimension."""
    dots: list[Dots]
    plateaus: dict[str, float]
    """For each published shape, the largest part of the kept features, over sparsities, that have its share."""
    importances: list[float]
    rarities: list[float]
    phases: list[list[str]]
    """By importance of the second feature, and sparsity: one of the phases."""
    dictionaries: list[Dictionaries]
    names: dict[str, Any] = field(default_factory=lambda: {name: m.to_json() for name, m in shown_names().items()})
    """What shapes and phases are called, by id."""

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)


def plateaus(dots: Sequence[Dots]) -> dict[str, float]:
    """The largest part of the features of one sparsity that lie at each published share."""
    return {
        name: max(
            fmean(abs(part - share) < NEAR for part in each.dimensionality) if each.dimensionality else 0.0
            for each in dots
        )
        for name, share in PUBLISHED.items()
    }
