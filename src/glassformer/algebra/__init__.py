"""What a machine is made of: its monoid, its groups, its cascade, and how hard it is. NumPy, scipy and sympy only."""

from glassformer.algebra.cascade import Cascade, decompose
from glassformer.algebra.limits import Limits
from glassformer.algebra.monoid import Monoid, monoid

__all__ = ["Cascade", "Limits", "Monoid", "decompose", "monoid"]
