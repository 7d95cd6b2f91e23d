"""How hard is a machine for circuits, and so for transformers? Decided from its images, without its monoid.

Going round strongly connected images permutes their points. From these permutations, and the lengths of the words that
make them, follow three properties, each stronger than the next:

    aperiodic          no permutation but the identity: no word counts anything
    quasi-aperiodic    words of one length make one permutation only: nothing is counted but the length
    solvable           the permutations make solvable groups only: all counting is modulo numbers
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from glassformer.algebra.groups import Group
from glassformer.algebra.images import Images, carry, points, turns
from glassformer.algebra.limits import Watch
from glassformer.algebra.permutations import Permutation, power, then
from glassformer.automata import Semiautomaton
from glassformer.messages import Message


@dataclass(frozen=True)
class Class:
    """A class of circuits, why a machine is in it and in no smaller one, and what that rests on."""

    name: str
    theorem: Message
    assumes: Message


AC0: Final = Class("AC0", Message("algebra.ac0"), Message("algebra.a_theorem"))
ACC0: Final = Class("ACC0", Message("algebra.acc0"), Message("algebra.two_theorems"))
NC1_COMPLETE: Final = Class("NC1-complete", Message("algebra.nc1"), Message("algebra.acc0_is_not_nc1"))


@dataclass(frozen=True)
class Complexity:
    """What is known of a machine; None where the search stopped before it was decided."""

    aperiodic: bool | None
    quasi_aperiodic: bool | None
    solvable: bool | None

    @property
    def of_circuits(self) -> Class | None:
        """The smallest class of circuits that it is known to be in."""
        if self.solvable is False:
            return NC1_COMPLETE
        if self.quasi_aperiodic is None or self.solvable is None:
            return None
        return AC0 if self.quasi_aperiodic else ACC0


def complexity(machine: Semiautomaton, sets: Images, watch: Watch | None = None) -> Complexity:
    """The three properties; one that fails among some of the images fails among all."""
    watch = watch or Watch()
    aperiodic = quasi_aperiodic = solvable = complete = True
    components = sorted(sets.connected(), key=lambda members: sets.masks[members[0]].bit_count())
    for done, members in enumerate(components):
        if not watch.still("algebra.components", done, len(components)):
            complete = False
            break
        carried = carry(members, points(sets.masks[members[0]]), sets.then, machine.delta.tolist())
        ways = {
            (turn, carried.steps[here] + 1 - carried.steps[there])
            for here, there, turn in turns(carried.frames, sets.then, machine.delta.tolist())
        }
        degree = len(carried.frames[members[0]])
        if all(turn == tuple(range(degree)) for turn, _ in ways):
            continue
        aperiodic = False
        quasi_aperiodic = quasi_aperiodic and _length_decides(degree, ways)
        if degree > 4 and solvable:
            if not watch.still("algebra.points", degree, watch.limits.points):
                complete = False
                continue
            solvable = Group.of(degree, {turn for turn, _ in ways}).solvable
    undecided = True if sets.complete and complete else None
    return Complexity(*(undecided if so_far else False for so_far in (aperiodic, quasi_aperiodic, solvable)))


def _length_decides(degree: int, ways: Iterable[tuple[Permutation, int]]) -> bool:
    """Is there one z such that a way of length ℓ is z^(ℓ/d), with d the greatest common divisor of all lengths?

    If there is, then z is the product of ways whose lengths add up to d.
    """
    from sympy.core.intfunc import igcdex

    ways = list(ways)
    z, d = tuple(range(degree)), 0
    for turn, length in ways:
        x, y, d = map(int, igcdex(d, length))
        z = then(power(z, x), power(turn, y))
    return all(turn == power(z, length // d) for turn, length in ways)
