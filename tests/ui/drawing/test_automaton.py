"""Machines drawn: everything has its place, and nothing that can be read lies on anything else."""

import itertools
import math
import re

import numpy as np
import pytest

from glassformer.automata import machine
from glassformer.automata.zoo import SPECIMENS
from glassformer.ui.drawing.automaton import LETTER_WIDTH, LINE_HEIGHT, MOST_STATES, RADIUS, draw_machine, layout


@pytest.mark.parametrize("spec", SPECIMENS)
def test_no_state_lies_on_another_and_no_label_on_a_state(spec: str) -> None:
    drawn, made = layout(machine(spec)), machine(spec)
    if drawn is None:
        assert len(made.states) > MOST_STATES
        assert draw_machine(made) is None
        return
    assert sum(len(arrow.letters) for arrow in drawn.arrows) == made.delta.size
    for (x, y), (a, b) in itertools.combinations(drawn.states, 2):
        assert math.hypot(x - a, y - b) > 2 * RADIUS
    for arrow, (x, y) in itertools.product(drawn.arrows, drawn.states):
        aside = max(abs(arrow.x - x) - LETTER_WIDTH * len(arrow.label) / 2, 0)
        above = max(abs(arrow.y - y) - LINE_HEIGHT / 2, 0)
        assert math.hypot(aside, above) > RADIUS - 4 or len(drawn.arrows) > 24, (arrow.label, x, y)


def test_labels_of_a_few_arrows_do_not_lie_on_each_other() -> None:
    for spec in ("regex:(ab)*", "parity", "dihedral(4)", "gridworld(9)", "cyclic(12)"):
        drawn = layout(machine(spec))
        assert drawn
        for one, other in itertools.combinations(drawn.arrows, 2):
            wide = LETTER_WIDTH * (len(one.label) + len(other.label)) / 2
            apart = abs(one.x - other.x) >= wide or abs(one.y - other.y) >= LINE_HEIGHT
            assert apart, (spec, one.label, other.label)


def test_everything_lies_within_the_drawing() -> None:
    for spec in ("flipflop", "dyck(pairs=2, depth=2)", "cyclic(1)"):
        drawn = layout(machine(spec))
        assert drawn
        places = np.array([*drawn.states, *((arrow.x, arrow.y) for arrow in drawn.arrows)])
        assert ((places > 0) & (places < drawn.size)).all()


def test_ways_bend_apart_and_are_straight_where_there_is_no_way_back() -> None:
    drawn = layout(machine("regex:(ab)*"))
    assert drawn
    bends = []
    for arrow in drawn.arrows:
        begin, one, _, end = np.array(re.findall(r"-?[\d.]+", arrow.path), dtype=float).reshape(4, 2)
        way, aside = end - begin, one - begin
        bends.append(abs(way[0] * aside[1] - way[1] * aside[0]) / np.hypot(*way))
    assert sum(bend < 2 for bend in bends) == 2  # those that lead to the error
    assert sum(bend > 4 for bend in bends) == 3  # there and back again, and the loop
