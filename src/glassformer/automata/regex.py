r"""Regular expressions: from a pattern such as `(a|b)*abb` to the smallest machine of its language.

What can be written, from what binds tightest:

- `a`: the letter itself. A blank is a letter too; other white space is `\t`, `\n`, `\r`, `\v`, `\f`.
- `\*`: the letter `*`, and likewise for every other special character.
- `.`: any letter of the alphabet. `[ab]`, `[a-f]`: one of these. `[^ab]`: any letter of the alphabet but these.
- `\d`, `\s`, `\w`: an ASCII digit, white space, an ASCII letter or digit or `_`. `\D`, `\S`, `\W`: any other letter.
- `()`: the empty word. `(x)`: x.
- `x*`, `x+`, `x?`, `x{3}`, `x{2,}`, `x{,4}`, `x{2,4}`: repetitions. To repeat a repetition takes parentheses.
- `xy`: x, then y.
- `x|y`, `x&y`, `x^y`: either; both at once; the two interleaved in any way. To mix them takes parentheses.

A word is matched as a whole, so there are no anchors. The alphabet is the one given, or else the letters that the
pattern names: those written (also in ranges and after `[^`) and all that a `\d`, `\s` or `\w` stands for (but not
after `[^`). With a given alphabet every letter written must be in it, and `\d`, `\s` and `\w` are cut down to it.

automata-lib builds the NFA. `pattern.read` stands before it because, at 9.2, automata-lib reports mistakes without
their place, takes `a{0}` for `a?` and `a|b&c` for `(a|b)&c`, counts the 2 of `a{2}`, the - of `[a-c]` and any
backslash among the letters (so that `.` matches them), refuses a blank, and starts to build NFAs of any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from glassformer.automata import pattern as patterns
from glassformer.automata.semiautomaton import LARGEST_TABLE, Machine
from glassformer.errors import InputError

MAX_STATES = 10_000  # states of the deterministic machine, before it is made minimal
MAX_STEPS = 4_000_000  # states of the NFA that may be looked at on the way: a few seconds

Subset: TypeAlias = frozenset[int]
Edges: TypeAlias = Mapping[int, Mapping[str, AbstractSet[int]]]


def regex(pattern: str, alphabet: Iterable[str] | None = None, limit: int = MAX_STATES) -> Machine:
    """The minimal complete machine of a regular expression; its states are "0", "1", … in breadth-first order.

    The letters are sorted. Mistakes in the pattern, letters outside the alphabet, patterns too large to build and
    machines that would pass `limit` states raise `InputError`.
    """
    from automata.fa.nfa import NFA  # here, because it brings networkx, which is slow to import

    if limit < 1:
        raise InputError("pattern.least_limit", limit=limit)
    letters, text = patterns.read(pattern, None if alphabet is None else list(alphabet))
    codes = [patterns.code(i) for i in range(len(letters))]
    nfa = NFA.from_regex(text, input_symbols=set(codes))
    subsets = _Subsets(nfa.transitions, nfa.final_states, codes)
    machine = subsets.machine(nfa.initial_state, letters, min(limit, LARGEST_TABLE // len(letters))).minimal()
    return replace(machine, states=tuple(map(str, range(len(machine.states)))))


class _Subsets:
    """The subset construction: a state of the machine is the set of NFA states that a word may lead to."""

    def __init__(self, edges: Edges, final: AbstractSet[int], codes: list[str]) -> None:
        self.edges, self.final, self.codes = edges, final, codes
        self.lasting = {state for state, moves in edges.items() if state in final or any(moves)}  # "" is false
        self.closures: dict[Subset, Subset] = {frozenset(): frozenset()}
        self.steps = 0

    def machine(self, start: int, letters: tuple[str, ...], limit: int) -> Machine:
        subsets = [self.closure(frozenset([start]))]
        number = {subsets[0]: 0}
        rows = []
        for subset in subsets:  # it grows while we walk along it: breadth first
            row = self.moves(subset)
            for target in row:
                if target not in number:
                    number[target] = len(subsets)
                    subsets.append(target)
            rows.append([number[target] for target in row])
            if len(subsets) > limit:
                raise InputError("pattern.too_many_states", limit=limit)
        return Machine(
            states=tuple(map(str, range(len(subsets)))),
            symbols=letters,
            delta=np.array(rows).T,
            outputs=tuple(not self.final.isdisjoint(subset) for subset in subsets),
        )

    def moves(self, subset: Subset) -> list[Subset]:
        """Where each letter leads."""
        self.count(len(subset))
        reached: dict[str, set[int]] = {}
        for state in subset:
            for symbol, targets in self.edges.get(state, {}).items():
                reached.setdefault(symbol, set()).update(targets)
        return [self.closure(frozenset(reached.get(symbol, ()))) for symbol in self.codes]

    def closure(self, subset: Subset) -> Subset:
        """The subset and all that empty moves reach, less the states that only pass on empty moves."""
        if subset not in self.closures:
            seen = set(subset)
            waiting = list(subset)
            while waiting:
                new = self.edges.get(waiting.pop(), {}).get("", set()) - seen
                seen |= new
                waiting += new
            self.count(len(seen))
            self.closures[subset] = frozenset(seen & self.lasting)
        return self.closures[subset]

    def count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise InputError("pattern.too_many_steps", limit=MAX_STEPS)
