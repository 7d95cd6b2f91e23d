"""What the study of superposition finds: parts of a dimension, a phase diagram, and the scores of dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Final

from glassformer.messages import Message

PUBLISHED: Final = {
    "tetrahedron": (3, 4),
    "triangle": (2, 3),
    "two_opposite": (1, 2),
    "pentagon": (2, 5),
    "square_antiprism": (3, 8),
}
"""Geometries in which features were seen to share dimensions (Elhage et al. 2022): so many dimensions for so many."""
SHARES: Final = {name: dimensions / features for name, (dimensions, features) in PUBLISHED.items()}
"""The part of a dimension that each feature of a geometry has."""
PHASES: Final = ("left_out", "shared", "alone")
"""What becomes of the second of two features in one dimension."""
FORMER: Final = {
    "tetrahedron, 3/4": "tetrahedron",
    "triangle, 2/3": "triangle",
    "two opposite, 1/2": "two_opposite",
    "pentagon, 2/5": "pentagon",
    "square antiprism, 3/8": "square_antiprism",
    "left out": "left_out",
}
"""What files of earlier versions call geometries and phases."""
NEAR: Final = 0.005
"""How near a feature must be to a geometry's part of a dimension to count for it."""


def titles() -> dict[str, Message]:
    """The titles of the figures, of geometries and of phases, by id."""
    found = {
        name: Message(f"inside.shape_{name}", dimensions=dimensions, features=features)
        for name, (dimensions, features) in PUBLISHED.items()
    }
    found |= {phase: Message(f"inside.phase_{phase}") for phase in PHASES}
    figures = {"dots": Message("inside.dots"), "phases": Message("inside.phases")}
    return found | figures | {"inverse_density": Message("inside.inverse_density")}


@dataclass(frozen=True)
class Dots:
    """All features that toys of one sparsity keep, and the part of a dimension that each has."""

    rarity: float
    """The inverse density 1 / (1 − S): one in so many samples has a feature."""
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
    """For each published geometry, the largest part of the kept features, over sparsities, that have its share."""
    importances: list[float]
    rarities: list[float]
    """Inverse densities."""
    phases: list[list[str]]
    """By importance of the second feature, and sparsity: one of the phases."""
    dictionaries: list[Dictionaries]
    shares: dict[str, float] = field(init=False, default_factory=lambda: SHARES)
    """The part of a dimension that each feature of a published geometry has."""
    names: dict[str, Any] = field(
        init=False, default_factory=lambda: {name: title.to_json() for name, title in titles().items()}
    )
    """The titles of figures, geometries and phases, by id."""


def plateaus(dots: Sequence[Dots]) -> dict[str, float]:
    """The largest part of the features of one sparsity that lie at each published share."""
    return {
        name: max(
            fmean(abs(part - share) < NEAR for part in each.dimensionality) if each.dimensionality else 0.0
            for each in dots
        )
        for name, share in SHARES.items()
    }
