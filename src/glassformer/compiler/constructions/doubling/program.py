"""The program of Theorem 1.

Below layer l the stream at position t holds the map of the last 2^l letters: where they lead from each point.
One head looks 2^l back and fetches the map of the 2^l letters before; the MLP composes the two. The start token
holds the identity, and everything before the start is the start token, so after ⌈log₂ T⌉ layers every position
knows the map of its whole prefix; the same model is exact for words of up to 2^⌈log₂ T⌉ letters. If the last k letters
tell the state (a definite machine), ⌈log₂ k⌉ layers do, for words of any length; the last layer then fetches only the
part of the window that is still missing, from a map that an earlier one kept. Where all letters do the same, the window
is empty, and positions know the state.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from glassformer.automata import Machine
from glassformer.compiler.constructions.doubling.window import doublings, window
from glassformer.compiler.constructions.points import fewest_points
from glassformer.compiler.program import Answers, Program
from glassformer.messages import Message
from glassformer.operations.attention import LookBack
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Form, Register, Stream, Units, refuse_if_too_large
from glassformer.operations.units import clear, tent, units

THEOREM = Message("doubling.theorem")


def parameters_at_least(points: int, length: int, layers: int) -> int:
    """The weights of all MLPs and of the position table, which are nearly all there are."""
    width = 2 * points + 3 * layers
    return width * (layers * 2 * (3 * points**2 + 2 * points) + length + 1)


def log_depth(machine: Machine, length: int) -> Program:
    """The program for words of up to `length` letters, or more. The last token is the start token."""
    letters = window(machine, length)
    if not letters:
        return by_position(machine, length)
    points = fewest_points(machine)
    n = points.moves.shape[1]
    distances = [2**layer for layer in range(doublings(letters))]
    length = max(length, 2 ** len(distances))
    letters = window(machine, length)
    refuse_if_too_large(parameters_at_least(n, length, len(distances)))

    stream = Stream()
    now = stream.register("now", n, Message("doubling.now"), high=n - 1)
    past = stream.register("past", n, Message("doubling.past"), high=n - 1)
    known, kept = [[now] for _ in range(len(distances) + 1)], now  # the registers that hold what a layer knows
    if distances and (enough := doublings(letters - distances[-1])) < len(distances) - 1:
        kept = stream.register("kept", n, Message("doubling.kept", letters=2**enough), high=n - 1)
        known[enough].append(kept)
    positions = Positions(stream, length + 1, distances)

    moves = np.vstack([points.moves, np.arange(n)])
    program = Program(
        stream,
        tokens=stream.into(dict.fromkeys(known[0], moves)),
        tokens_hold=Message("doubling.tokens"),
        positions=positions.table(),
        read_out=nearest(stream, now, points.coordinates, points.states, points.places, len(machine.states)),
        answer_is=Message("doubling.answer"),
        theorem=THEOREM,
        because=because(letters, length, len(distances)),
        grows={
            "width": Message("doubling.width", maps=2 if kept is now else 3, points=n),
            "mlp": Message("doubling.mlp"),
        },
        answers=Answers(torch.tensor(points.states), stream.into({now: _spread(points.places, points.coordinates, n)})),
    )
    for layer, distance in enumerate(distances, start=1):
        fetched = now if layer < len(distances) else kept
        look = LookBack(distance).head(positions, fetched, past)
        program.block(look, mlp=compose(stream, now, past, known[layer]))
    if not distances:
        program.block()  # one letter tells everything: there is nothing to compose
    return program


def by_position(machine: Machine, length: int) -> Program:
    """The program for a machine whose letters all do the same: the state after p letters stands at position p."""
    passed = np.append(machine.start, machine.run(np.zeros(length, dtype=np.int64)))
    reached = np.unique(passed)
    refuse_if_too_large((length + 1 + len(machine.states)) * len(reached))
    stream, each = Stream(), np.eye(len(reached))
    state = stream.register("state", len(reached), Message("doubling.state"))
    program = Program(
        stream,
        tokens=torch.zeros(len(machine.symbols) + 1, stream.width).double(),
        tokens_hold=Message("doubling.no_tokens"),
        positions=stream.into({state: each[np.searchsorted(reached, passed)]}),
        read_out=stream.form({state: each}),
        answers=Answers(torch.arange(len(reached)), stream.into({state: each})),
        answer_is=Message("compiler.the_state"),
        theorem=THEOREM,
        because=Message("doubling.because_of_position"),
        grows={"width": Message("doubling.width_by_position", states=len(reached)), "mlp": Message("doubling.no_mlp")},
    )
    program.answer_among(reached, len(machine.states))
    program.block()  # there is nothing to read
    return program


def because(letters: int, length: int, layers: int) -> Message:
    """Why it has so many layers."""
    if letters == length:
        return Message("doubling.because", letters=length, layers=layers)
    if letters > 1:
        return Message("doubling.because_it_forgets", letters=letters, layers=layers)
    return Message("doubling.because_of_the_last_letter")


def compose(stream: Stream, now: Register, past: Register, known: Sequence[Register] | None = None) -> Units:
    """now_i ← now[past_i], and past ← 0. Empty registers may be given beside `now` that hold the same afterwards.

    The number s = n·past_i + now_j − n·j lies in 0 … n − 1 exactly when past_i = j, and then it is now_j; otherwise
    it is below 0 or at least n. So a tent over s is now_j if past_i = j and 0 if not; its sum over j is now[past_i].
    """
    n = now.size
    i, j = (index.reshape(-1) for index in np.indices((n, n)))
    pick = np.eye(n)
    shifted = stream.form({past: n * pick[:, i], now: pick[:, j]}, torch.tensor(-float(n) * j))
    into = stream.into(dict.fromkeys(known or [now], pick[i]))
    look_up = units(shifted, tent(n - 1), into, Message("doubling.compose"))
    return look_up + clear(stream, now) + clear(stream, past)


def nearest(
    stream: Stream,
    register: Register,
    coordinates: np.ndarray,
    outputs: np.ndarray,
    places: np.ndarray,
    count: int,
) -> Form:
    """One logit for each of `count` outputs, largest where the register is at that output's place.

    −|x − v|² + |x|² = 2v·x − |v|² is linear in x; the two best differ by at least 1 on integers. Everything is
    counted from the middle, which keeps the numbers small. Outputs without a place get −1.
    """
    middle = (register.size - 1) // 2
    v = places - middle
    weight = np.zeros((register.size, count))
    weight[np.ix_(coordinates, outputs)] = 2 * v.T
    bias = np.full(count, -1.0)  # the right logit is |v|², never below 0
    bias[outputs] = -(v**2).sum(axis=1) - 2 * middle * v.sum(axis=1)
    return stream.form({register: weight}, torch.tensor(bias))


def _spread(places: np.ndarray, coordinates: np.ndarray, size: int) -> np.ndarray:
    """Places as full rows, zero in the coordinates that nobody reads."""
    rows = np.zeros((len(places), size))
    rows[:, coordinates] = places
    return rows
