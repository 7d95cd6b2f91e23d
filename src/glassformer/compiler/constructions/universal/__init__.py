"""Universal approximation: any continuous function of sequences, compiled to blocks (h, m, r) = (2, 1, 4)."""

from glassformer.compiler.constructions.universal.approximation import (
    Approximation,
    ApproximationCertificate,
    ApproximationPlan,
    approximate,
    plan,
    plan_for,
    plan_with,
)
from glassformer.compiler.constructions.universal.classical import Classical, one_hidden_layer
from glassformer.compiler.constructions.universal.compact import Compact, compact
from glassformer.compiler.constructions.universal.contextual import Collision, is_contextual
from glassformer.compiler.constructions.universal.functions import FUNCTIONS, Distance, distance, is_equivariant, run

__all__ = [
    "FUNCTIONS",
    "Approximation",
    "ApproximationCertificate",
    "ApproximationPlan",
    "Classical",
    "Collision",
    "Compact",
    "Distance",
    "approximate",
    "compact",
    "distance",
    "is_contextual",
    "is_equivariant",
    "one_hidden_layer",
    "plan",
    "plan_for",
    "plan_with",
    "run",
]
