import numpy as np
import pytest

from glassformer.automata import machine
from glassformer.compiler.constructions.points import fewest_points


@pytest.mark.parametrize(
    ("spec", "points"),
    [
        *(("symmetric(5)", 5), ("symmetric(4)", 4), ("symmetric(3)", 3), ("alternating(5)", 5), ("alternating(4)", 4)),
        *(
            ("dihedral(4)", 4),
            ("dihedral(5)", 5),
            ("quaternion", 8),
            ("cyclic(7)", 7),
            ("symmetric(6)", 6),
            ("dihedral(100)", 100),
        ),
        *(("cyclic(900)", 900), ("gridworld(9)", 9), ("flipflop", 2), ("dyck(pairs=2, depth=3)", 16)),
    ],
)
def test_a_group_is_followed_on_few_points(spec: str, points: int) -> None:
    assert fewest_points(machine(spec)).moves.shape[1] == points


@pytest.mark.parametrize(
    "spec", ["symmetric(4)", "alternating(5)", "dihedral(6)", "quaternion", "C2^3", "gridworld(5)"]
)
def test_where_the_points_are_tells_the_state(spec: str) -> None:
    made = machine(spec)
    points = fewest_points(made)
    rng = np.random.default_rng(0)
    assert len(np.unique(points.places, axis=0)) == len(made.states)
    for _ in range(30):
        word = rng.integers(0, len(made.symbols), rng.integers(1, 30))
        where = np.arange(points.moves.shape[1])
        for letter in word:
            where = points.moves[letter][where]
        state = made.run(word)[-1]
        assert where[points.coordinates].tolist() == points.places[points.states.tolist().index(state)].tolist()
