"""Which nodes lead to each other and back?"""

from __future__ import annotations

import numpy as np
from jaxtyping import Integer


def strong_components(moves: Integer[np.ndarray, "node move"]) -> Integer[np.ndarray, " node"]:
    """The number of each node's strongly connected component; a move to −1 leads nowhere."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    origin, move = np.nonzero(moves >= 0)
    arrows = (np.ones(len(origin), dtype=np.int8), (origin, moves[origin, move]))
    graph = coo_array(arrows, shape=(len(moves), len(moves)))
    return np.asarray(connected_components(graph, directed=True, connection="strong")[1])
