"""The plan of a cascade from one start: it leads to the machine's states, and tells apart no more than it must."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glassformer.algebra import decompose
from glassformer.automata import Machine, machine
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler.constructions.cascade.plan import CascadePlan, LookUp, plan_levels
from strategies import machines, machines_in_parts


def planned(made: Machine, merge: bool = True) -> CascadePlan:
    return plan_levels(made, decompose(made.trim(), merge))


def followed(plan: CascadePlan, word: np.ndarray) -> list[int]:
    """The state after every prefix, by nothing but the plan: a level has one memory, as in the model.

    A reset writes where the tile was before all permutations so far, and what is read is permuted by all of them.
    """
    found = []
    memories = [level.start_tile for level in plan.levels]
    products = [{i: list(range(group.degree)) for i, group in level.groups.items()} for level in plan.levels]
    for letter in word.tolist():
        number = plan.entered[letter]
        for k, (level, product) in enumerate(zip(plan.levels, products, strict=True)):
            case = level.cases[number]
            tile = 0
            if case.depends_on_tile:
                assert case.component is not None
                tile = product[case.component][memories[k]]
            number = case.successors[tile]
            if permutation := level.permutation(case):
                i, moves = permutation
                product[i] = [moves[there] for there in product[i]]
            if reset := level.reset(case):
                memories[k] = product[reset[0]].index(reset[1])
        found.append(plan.final_states[number])
    return found


@pytest.mark.parametrize("spec", SPECIMENS)
def test_the_plan_leads_to_the_states_of_every_zoo_machine(spec: str) -> None:
    made = machine(spec).trim()
    word = np.random.default_rng(0).integers(0, len(made.symbols), 60)
    assert followed(planned(made), word) == made.run(word).tolist()


@pytest.mark.usefixtures("types_unchecked")
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    given_machine=machines() | machines_in_parts() | machines_in_parts(back=True),
    seed=st.integers(0, 10**6),
    merge=st.booleans(),
)
def test_the_plan_leads_to_the_states_of_random_machines_and_is_never_deeper_than_the_cascade(
    given_machine: Machine, seed: int, merge: bool
) -> None:
    made = given_machine.trim()
    plan = planned(made, merge)
    for word in np.random.default_rng(seed).integers(0, len(made.symbols), (4, 24)):
        assert followed(plan, word) == made.run(word).tolist()
    by_doubling = 5 * sum(not level.solvable for level in plan.cascade.levels)
    assert plan.layers(24) <= max(1, plan.cascade.height + by_doubling)


def test_a_reset_that_a_permutation_can_do_as_well_needs_no_memory() -> None:
    """`c` is allowed in state 0 alone, where it changes nothing: elsewhere it leads to the dead end, as `a` does."""
    made = Machine(("0", "1", "dead"), ("a", "b", "c"), np.array([[2, 2, 2], [1, 0, 2], [0, 2, 2]]))
    assert decompose(made, merge=False).height == 3
    assert decompose(made).height == 2
    first = decompose(made).levels[0]
    assert first.components[0].group.name == "C2"
    assert not first.ever_resets


def test_situations_that_differ_only_in_what_cannot_occur_are_one() -> None:
    """From the start, `c` leads to a reset, later to none: but the first comes where the coordinate is known."""
    made = Machine(("0", "1", "2"), ("a", "b", "c"), np.array([[1, 1, 1], [0, 2, 1], [1, 1, 2]]))
    first, second = planned(made).levels
    assert first.cases[2].successors == (3, 3)
    assert first.look_up == LookUp.LATEST_RESET
    assert {situation.letter for situation in second.cases[3].situations} == {2}
    assert len(second.cases[3].situations) == 2


def test_what_is_told_apart_in_vain_costs_no_layer() -> None:
    """Both letters take 0 where they take 1: no layer remembers that the word has begun."""
    made = Machine(("0", "1", "2"), ("a", "b"), np.array([[2, 2, 1], [1, 1, 1]]))
    assert decompose(made).height == 3
    assert planned(made).layers(100) == 2


def test_resets_that_are_left_and_change_nothing_need_no_memory() -> None:
    """`b` and `c` leave 0 for ever, for 1 or 2, and change between them then: permutations from 1 tell which."""
    made = Machine(("0", "1", "2"), ("a", "b", "c"), np.array([[0, 1, 2], [1, 2, 1], [2, 2, 1]]))
    assert [level.look_up for level in planned(made).levels] == [LookUp.FIRST_RESET, LookUp.NO_RESET]


def test_levels_whose_tile_makes_no_difference_are_skipped() -> None:
    last = machine("last_symbol(3)").trim()
    assert len(decompose(last).levels) == 1
    assert planned(last).levels == []
