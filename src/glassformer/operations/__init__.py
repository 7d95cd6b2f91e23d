"""What one head or one MLP does, as types: compilers write them, certificates keep them, instruments look for them."""

from glassformer.operations.attention import AnyMatch, FlatSum, LatestMatch, LookBack
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Stream
from glassformer.operations.units import table, units

__all__ = ["AnyMatch", "FlatSum", "LatestMatch", "LookBack", "Positions", "Stream", "table", "units"]
