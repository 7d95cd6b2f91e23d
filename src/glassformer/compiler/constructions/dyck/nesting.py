"""What letters do that are brackets: of any depth, or of a stack of bounded depth, under whatever names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Integer

from glassformer.automata import Machine
from glassformer.automata.infinite import Brackets

Table: TypeAlias = Integer[np.ndarray, "symbol state"]
Bracket: TypeAlias = tuple[int, int]
"""What a letter does: +1 opens, −1 closes, 0 does nothing; and which kind of bracket."""


@dataclass(frozen=True, kw_only=True)
class Nesting:
    """What the letters do, with brackets of so many kinds."""

    brackets: list[Bracket]
    pairs: int
    begun: tuple[int, ...] = ()
    """The kinds of the brackets that are open at the start, the innermost last."""
    lost: bool = False
    """Whether all is wrong from the start on."""


@dataclass(frozen=True, kw_only=True)
class Stack(Nesting):
    """The open brackets that each state stands for, and the state of all that went wrong."""

    open_in: dict[int, tuple[int, ...]]
    """For each state but the error, the kinds of the open brackets, the innermost last."""
    error: int

    @property
    def depth(self) -> int:
        """How many brackets may be open."""
        return max(map(len, self.open_in.values()))

    def table(self) -> Table:
        """What such a stack does: one bracket too many, or the wrong one, is an error for ever."""
        state = {brackets: q for q, brackets in self.open_in.items()}
        made = np.full((len(self.brackets), len(self.open_in) + 1), self.error)
        for letter, (step, kind) in enumerate(self.brackets):
            for q, stack in self.open_in.items():
                if step == 0:
                    made[letter, q] = q
                elif step > 0:
                    made[letter, q] = state.get((*stack, kind), self.error)
                elif stack[-1:] == (kind,):
                    made[letter, q] = state[stack[:-1]]
        return made


def nesting_of(brackets: Brackets) -> Nesting:
    """Each kind of bracket opens and closes."""
    each = [(step, kind) for kind in range(brackets.pairs) for step in (1, -1)]
    return Nesting(brackets=each, pairs=brackets.pairs)


def stack_of(machine: Machine) -> Stack | None:
    """The machine as a stack, if it is one."""
    delta, states = machine.delta, range(len(machine.states))
    errors = [q for q in states if (delta[:, q] == q).all()]
    if len(errors) != 1:
        return None
    found = (_stack_from(delta, empty, errors[0], machine.start) for empty in states if empty != errors[0])
    return next((stack for stack in found if stack), None)


def _stack_from(delta: Table, empty: int, error: int, start: int) -> Stack | None:
    """The stack whose empty state this is."""
    brackets = _brackets(delta, empty, error)
    if brackets is None:
        return None
    openers = [brackets.index((1, kind)) for kind in range(1 + max(kind for _, kind in brackets))]
    open_in: dict[int, tuple[int, ...]] = {empty: ()}
    for q in (queue := [empty]):
        for kind, letter in enumerate(openers):
            inner = int(delta[letter, q])
            if inner in open_in:
                return None
            if inner != error:
                open_in[inner] = (*open_in[q], kind)
                queue.append(inner)
    stack = Stack(
        brackets=brackets,
        pairs=len(openers),
        begun=open_in.get(start, ()),
        lost=start == error,
        open_in=open_in,
        error=error,
    )
    complete = len(open_in) == sum(stack.pairs**deep for deep in range(stack.depth + 1))
    everything = complete and len(open_in) + 1 == delta.shape[1]
    return stack if everything and (stack.table() == delta).all() else None


def _brackets(delta: Table, empty: int, error: int) -> list[Bracket] | None:
    """What each letter does, told by what it does around the empty stack."""
    inner = sorted(set(delta[:, empty].tolist()) - {empty, error})
    brackets = []
    for letter in delta:
        there = int(letter[empty])
        if there == error:
            closed = [kind for kind, q in enumerate(inner) if letter[q] == empty]
            if len(closed) != 1:
                return None
            brackets.append((-1, closed[0]))
        else:
            brackets.append((0, 0) if there == empty else (1, inner.index(there)))
    return brackets if inner else None
