"""All constructions, the plainest first: of two that are equally shallow, the first is taken."""

from typing import Any, Final

from glassformer.compiler.construction import Construction
from glassformer.compiler.constructions.cascade import ByCascade
from glassformer.compiler.constructions.doubling import Doubling
from glassformer.compiler.constructions.dyck import Dyck
from glassformer.compiler.constructions.gridworld import Gridworld

CONSTRUCTIONS: Final[tuple[Construction[Any], ...]] = (Doubling(), ByCascade(), Gridworld(), Dyck())
BY_NAME: Final = {construction.name: construction for construction in CONSTRUCTIONS}
