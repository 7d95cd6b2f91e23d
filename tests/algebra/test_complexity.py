import numpy as np
import pytest
from hypothesis import given, settings

from glassformer.algebra.complexity import Complexity, complexity
from glassformer.algebra.groups import Group
from glassformer.algebra.images import images
from glassformer.algebra.limits import Limits, Watch
from glassformer.algebra.monoid import monoid
from glassformer.automata import Machine, machine
from oracle import ROWS, machine_of
from strategies import machines


def by_the_monoid(given_machine: Machine) -> Complexity:
    """The three properties by their definitions, from all elements."""
    whole = monoid(given_machine)
    rows, then = whole.elements, whole.products.then
    cyclic = {x: group for x in range(len(rows)) if len(group := powers(rows, whole, x)) > 1}
    aperiodic, quasi = not cyclic, True
    made_by_length, seen = frozenset(then[0].tolist()), set()
    while made_by_length not in seen:  # the elements that words of length 1, 2, 3, … make
        seen.add(made_by_length)
        quasi &= not any(x in made_by_length and group <= made_by_length for x, group in cyclic.items())
        made_by_length = frozenset(then[sorted(made_by_length)].ravel().tolist())
    solvable = all(maximal_group(whole, e).solvable for e in np.flatnonzero(whole.idempotents).tolist())
    return Complexity(aperiodic, quasi, solvable)


def powers(rows: np.ndarray, whole: object, x: int) -> frozenset[int]:
    """The cyclic group that x generates, or nothing if x is in no group."""
    power, found = rows[x], [tuple(rows[x].tolist())]
    while tuple((power := rows[x][power]).tolist()) not in found:
        found.append(tuple(power.tolist()))
    if tuple(power.tolist()) != found[0]:
        return frozenset()
    return frozenset(whole.products.number(np.array(found)).tolist())  # type: ignore[attr-defined]


def maximal_group(whole: object, e: int) -> Group:
    """The H-class of an idempotent, as permutations of its image."""
    rows, h = whole.elements, whole.green.h  # type: ignore[attr-defined]
    image = np.unique(rows[e])
    place = {int(q): i for i, q in enumerate(image)}
    return Group.of(len(image), {tuple(place[int(row[q])] for q in image) for row in rows[h == h[e]]})


@settings(max_examples=200)
@given(machines(max_states=5, max_letters=3))
def test_the_images_decide_what_the_monoid_decides(given_machine: Machine) -> None:
    assert complexity(given_machine, images(given_machine)) == by_the_monoid(given_machine)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_the_class_equals_the_oracle(row: dict[str, object]) -> None:
    made = machine_of(row)
    found = complexity(made, images(made))
    assert (found.aperiodic, found.quasi_aperiodic, found.solvable) == (row["aperiodic"], row["quasi"], row["solvable"])
    assert found.of_circuits is not None
    assert found.of_circuits.name == row["cls"]


@pytest.mark.parametrize("spec", ["regex:(aa)*", "regex:(abab)*", "tomita(3)"])
def test_counting_the_length_alone_is_in_ac0(spec: str) -> None:
    made = machine(spec)
    found = complexity(made, images(made))
    assert (found.aperiodic, found.quasi_aperiodic) == (False, True)


def test_a_search_that_stops_early_knows_only_what_fails() -> None:
    watch = Watch(Limits(images=300))
    found = complexity(hard := machine("transformations(12)"), images(hard, watch))
    assert found == Complexity(aperiodic=False, quasi_aperiodic=False, solvable=False)
    easy = machine("gridworld(64)")
    assert complexity(easy, images(easy, watch)) == Complexity(None, None, None)
    assert complexity(easy, images(easy, watch)).of_circuits is None
