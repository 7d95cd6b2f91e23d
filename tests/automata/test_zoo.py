import itertools
import re
from collections.abc import Callable, Iterator
from math import factorial

import numpy as np
import pytest

from glassformer.automata import Machine, machine, zoo
from glassformer.automata.zoo import SPECIMENS, ZOO
from glassformer.errors import InputError


def states_after_every_word(walked: Machine, letters: str, longest: int) -> Iterator[tuple[str, int]]:
    """All words up to this length, each with the state that it leads to."""
    for length in range(1, longest + 1):
        words = list(itertools.product(letters, repeat=length))
        ends = walked.run(np.array([[walked.symbols.index(letter) for letter in word] for word in words]))[:, -1]
        yield from zip(map("".join, words), ends.tolist(), strict=True)


def tomita_3(word: str) -> bool:
    return not any(
        len(ones) % 2 and len(zeros) % 2 for ones, zeros in re.findall("(1+)(0+)", word)
    )  # runs are maximal because the pattern is greedy


def brackets_close(word: str, depth: int) -> bool:
    stack: list[str] = []
    for sign in word:
        if sign in "([":
            stack.append(")" if sign == "(" else "]")
            if len(stack) > depth:
                return False
        elif not stack or stack.pop() != sign:
            return False
    return not stack


LANGUAGES: dict[str, tuple[str, Callable[[str], bool]]] = {
    "abab": ("ab", lambda w: re.fullmatch("(abab)*", w) is not None),
    "divisible(3)": ("01", lambda w: int(w, 2) % 3 == 0),
    "divisible(7)": ("01", lambda w: int(w, 2) % 7 == 0),
    "divisible(4, base=3)": ("012", lambda w: int(w, 3) % 4 == 0),
    "threshold(3)": ("01", lambda w: w.count("1") >= 3),
    "tomita(1)": ("01", lambda w: "0" not in w),
    "tomita(2)": ("01", lambda w: re.fullmatch("(10)*", w) is not None),
    "tomita(3)": ("01", tomita_3),
    "tomita(4)": ("01", lambda w: "000" not in w),
    "tomita(5)": ("01", lambda w: w.count("0") % 2 == w.count("1") % 2 == 0),
    "tomita(6)": ("01", lambda w: (w.count("0") - w.count("1")) % 3 == 0),
    "tomita(7)": ("01", lambda w: re.fullmatch("0*1*0*1*", w) is not None),
    "dyck(pairs=1, depth=3)": ("()", lambda w: brackets_close(w, 3)),
    "dyck(pairs=2, depth=2)": ("()[]", lambda w: brackets_close(w, 2)),
}


@pytest.mark.parametrize("spec", LANGUAGES)
def test_a_language_contains_what_its_docstring_says(spec: str) -> None:
    letters, belongs = LANGUAGES[spec]
    language = machine(spec)
    for word, state in states_after_every_word(language, letters, 9 if len(letters) == 2 else 6):
        assert language.outputs[state] == belongs(word), word
    assert [language.accepts(letter) for letter in letters] == [*map(belongs, letters)]


COUNTERS: dict[str, tuple[str, Callable[[str], str]]] = {
    "parity": ("01", lambda w: ("even", "odd")[w.count("1") % 2]),
    "cyclic(5)": ("01", lambda w: str(w.count("1") % 5)),
    "C2^3": ("0123", lambda w: "".join(str(w.count(bit) % 2) for bit in "123")),
    "flipflop": ("r01", lambda w: (w.replace("r", "") or "0")[-1]),
    "memory(3)": ("r012", lambda w: (w.replace("r", "") or "0")[-1]),
    "first_symbol(3)": ("abc", lambda w: w[0]),
    "last_symbol(3)": ("abc", lambda w: w[-1]),
}


@pytest.mark.parametrize("spec", COUNTERS)
def test_a_state_is_what_its_docstring_says(spec: str) -> None:
    letters, state = COUNTERS[spec]
    counter = machine(spec)
    for word, reached in states_after_every_word(counter, letters, 8 if len(letters) == 2 else 5):
        assert counter.states[reached] == state(word), word


def test_the_gridworld_walker_stops_at_the_walls() -> None:
    assert [int(q) for q in zoo.gridworld(3).run("LRRRSLLLR")] == [0, 1, 2, 2, 2, 1, 0, 0, 1]


def test_the_adder_adds() -> None:
    rng = np.random.default_rng(0)
    for a, b in rng.integers(0, 2**12, (50, 2)):
        ones = "".join(str((a >> i & 1) + (b >> i & 1)) for i in range(14))
        assert sum(int(str(bit)) << i for i, bit in enumerate(zoo.adder().labels(ones))) == a + b


@pytest.mark.parametrize(
    ("spec", "order"),
    [("dihedral(4)", 8), ("dihedral(12)", 24), ("quaternion", 8), ("alternating(3)", 3), ("alternating(4)", 12)]
    + [("alternating(5)", 60), ("alternating(6)", 360)]
    + [(f"symmetric({n})", factorial(n)) for n in range(2, 7)]
    + [(f"cyclic({n})", n) for n in range(1, 9)],
)  # fmt: skip
def test_a_group_machine_multiplies_a_group_of_the_right_order(spec: str, order: int) -> None:
    group = machine(spec)
    assert len(group.states) == order
    assert all(sorted(row) == list(range(order)) for row in group.delta)
    assert len(group.reachable()) == order


def test_quaternions_multiply_as_hamilton_said() -> None:
    q = zoo.quaternion()
    assert [q.states[q.run(word)[-1]] for word in ("ii", "jj", "ij", "ji", "ijij")] == ["-1", "-1", "k", "-k", "-1"]


def test_transformations_make_every_map() -> None:
    maps = {tuple(range(3))}
    for made in (queue := list(maps)):
        for row in zoo.transformations(3).delta:
            product = tuple(int(row[q]) for q in made)
            if product not in maps:
                maps.add(product)
                queue.append(product)
    assert len(maps) == 27


def test_a_permutation_reset_machine_jumps_where_the_digit_says() -> None:
    m = zoo.permutation_reset(4)
    assert m.run("2ccs31s").tolist() == [2, 3, 0, 1, 3, 1, 0]


def test_a_random_machine_is_the_same_for_the_same_seed() -> None:
    assert zoo.random(5, letters=3, seed=4) == machine("random(5, 3, 4)")
    assert zoo.random(5, letters=3, seed=4) != zoo.random(5, letters=3, seed=5)


def test_every_zoo_machine_says_in_one_line_what_it_computes() -> None:
    for make in ZOO.values():
        assert make.__doc__
        assert "\n" not in make.__doc__
        assert isinstance(make(), Machine)


@pytest.mark.parametrize("spec", SPECIMENS)
def test_every_specimen_can_be_made(spec: str) -> None:
    assert machine(spec).states


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("paritty", "did you mean parity"),
        ("Gridworlds(4)", "did you mean gridworld"),
        ("qqqqq", "`glassformer zoo` lists them"),
        ("cyclic(five)", "whole numbers from 0 to 10⁹; see column 8"),
        ("cyclic(" + "9" * 5000 + ")", "cannot read|whole numbers from 0"),
        ("cyclic(0x" + "f" * 5000 + ")", "whole numbers from 0"),
        ("C2^" + "9" * 5000, "cannot read|C2"),
        ("cyclic(2.5)", "whole numbers"),
        ("cyclic(True)", "whole numbers"),
        ("cyclic(-1)", "whole numbers"),
        ("cyclic(0)", "between 1 and 1000, not 0"),
        ("cyclic(1, 2)", r"does not fit cyclic\(n=3\): too many positional arguments"),
        ("dyck(pair=2)", r"does not fit dyck\(pairs=2, depth=3\)"),
        ("dyck(pairs=4, depth=12)", "more than 5,000 states"),
        ("tomita(8)", "between 1 and 7"),
        ("cyclic(", "cannot read the machine"),
        ("cyclic(3) + 1", "is written like parity"),
        ("__import__('os').system('true')", "is written like parity"),
        ("cyclic(**{})", "is written like parity"),
        ("", "cannot read the machine"),
        ("(" * 5000, "cannot read the machine"),
        ("missing.json", "missing.json"),
    ],
)
def test_a_spec_that_names_nothing_is_refused_with_advice(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        machine(spec)
