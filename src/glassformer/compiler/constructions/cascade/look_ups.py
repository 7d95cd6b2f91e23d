"""How a letter finds the tile that the resets before it have left: one class for each kind of look-up.

Each owns its registers, says what they hold when its level is entered, writes a reset, fetches it with its heads, and
tells the tile. Where groups permute tiles, what is written is the tile with the product so far undone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Float

from glassformer.compiler.circuit import Circuit, OneHot, Signal
from glassformer.compiler.constructions.cascade.plan import LevelPlan, LookUp
from glassformer.messages import Message
from glassformer.operations.attention import FlatSum, LatestMatch, LookBack
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Head, Register, Stream

Entry: TypeAlias = dict[Register, Float[np.ndarray, "case column"]]
"""What registers hold when a level is entered: a row for each case, and at last one for the start token."""
LATEST: Final = LatestMatch(Message("operations.last_match"))


class ResetLookUp(ABC):
    """What a level needs to find the tile that resets have left."""

    def __init__(self, stream: Stream, plan: LevelPlan, number: int, length: int) -> None:
        self.stream, self.plan, self.number, self.length = stream, plan, number, length

    def on_entry(self, resets: Float[np.ndarray, "case 1"], tiles: Float[np.ndarray, "case tile"]) -> Entry:
        """What registers hold at once, where nothing permutes: whether each case resets, and to which tile."""
        return {}

    def write(self, circuit: Circuit, resets: Signal, tile: OneHot) -> None:
        """Write a reset when it is known what was permuted before."""
        raise AssertionError(f"nothing is written for {type(self).__name__} where groups permute")

    @abstractmethod
    def heads(self, positions: Positions) -> Sequence[Head]:
        """The heads that fetch what was written."""

    @abstractmethod
    def tile(self, circuit: Circuit) -> OneHot:
        """The tile that the resets before this letter have left."""

    def _register(self, name: str, size: int, about: str, high: float = 1.0) -> Register:
        return self.stream.register(f"{name} {self.number}", size, Message(about), high=high)


class NoReset(ResetLookUp):
    """No reset changes anything: it is the tile before the first letter."""

    def heads(self, positions: Positions) -> Sequence[Head]:
        """No heads."""
        return []

    def tile(self, circuit: Circuit) -> OneHot:
        """The tile before the first letter."""
        return [Signal(constant=float(tile == self.plan.start_tile)) for tile in range(self.plan.tiles)]


class PreviousLetter(ResetLookUp):
    """Where the tile makes a difference, the letter before has reset: look one back."""

    def __init__(self, stream: Stream, plan: LevelPlan, number: int, length: int) -> None:
        super().__init__(stream, plan, number, length)
        self.to = self._register("to", plan.tiles, "cascade.to")
        self.found = self._register("found", plan.tiles, "cascade.found_previous")

    def on_entry(self, resets: Float[np.ndarray, "case 1"], tiles: Float[np.ndarray, "case tile"]) -> Entry:
        """The tile that the case resets to."""
        return {self.to: tiles}

    def write(self, circuit: Circuit, resets: Signal, tile: OneHot) -> None:
        """The tile that the letter resets to."""
        circuit.write(self.to, tile)

    def heads(self, positions: Positions) -> Sequence[Head]:
        """One `LookBack`."""
        return [LookBack(1).head(positions, self.to, self.found)]

    def tile(self, circuit: Circuit) -> OneHot:
        """What was fetched."""
        return circuit.read(self.found)


class WithMark(ResetLookUp):
    """A mark tells the positions that reset from those that do not."""

    def __init__(self, stream: Stream, plan: LevelPlan, number: int, length: int) -> None:
        super().__init__(stream, plan, number, length)
        self.to = self._register("to", plan.tiles, "cascade.to")
        self.reset = self._register("reset", 1, "cascade.reset")

    def on_entry(self, resets: Float[np.ndarray, "case 1"], tiles: Float[np.ndarray, "case tile"]) -> Entry:
        """Mark and tile."""
        return {self.reset: resets, self.to: tiles}

    def write(self, circuit: Circuit, resets: Signal, tile: OneHot) -> None:
        """Mark and tile."""
        circuit.write(self.reset, [resets])
        circuit.write(self.to, tile)


class LatestReset(WithMark):
    """Where a letter resets, the tile makes no difference: it may find itself as the latest reset."""

    def __init__(self, stream: Stream, plan: LevelPlan, number: int, length: int) -> None:
        super().__init__(stream, plan, number, length)
        self.found = self._register("found", plan.tiles, "cascade.found_latest")

    def heads(self, positions: Positions) -> Sequence[Head]:
        """One `LatestMatch`."""
        return [LATEST.head(positions, self.stream.form({self.reset: [[1.0]]}), {self.found: self.to})]

    def tile(self, circuit: Circuit) -> OneHot:
        """What was fetched."""
        return circuit.read(self.found)


class LatestResetBefore(WithMark):
    """A letter that resets asks for the tile, too: one head looks in earlier blocks of positions, one in this block."""

    def __init__(self, stream: Stream, plan: LevelPlan, number: int, length: int) -> None:
        super().__init__(stream, plan, number, length)
        self.earlier = self._register("earlier", plan.tiles, "cascade.earlier")
        self.nearby = self._register("nearby", plan.tiles, "cascade.nearby")
        self.none = self._register("none", 1, "cascade.none")

    def heads(self, positions: Positions) -> Sequence[Head]:
        """Two of `LatestMatch`: one for earlier blocks, one for this block."""
        resets = self.stream.form({self.reset: [[1.0]]})
        return LatestMatch.heads_before(positions, resets, self.to, self.earlier, self.nearby, self.none)

    def tile(self, circuit: Circuit) -> OneHot:
        """What was fetched from this block, if there was anything; else from an earlier one."""
        (none,) = circuit.read(self.none)
        some = Signal(constant=1.0) - none
        pairs = zip(circuit.read(self.earlier), circuit.read(self.nearby), strict=True)
        return [circuit.all_of([far, none]) + circuit.all_of([near, some]) for far, near in pairs]


class FirstReset(ResetLookUp):
    """All resets lead to one tile, which nothing leaves: count them, and take this letter's own off."""

    def __init__(self, stream: Stream, plan: LevelPlan, number: int, length: int) -> None:
        super().__init__(stream, plan, number, length)
        self.reset = self._register("reset", 1, "cascade.reset")
        self.resets = self._register("resets", 1, "cascade.resets", high=length)
        self.target = next(reset[1] for reset in plan.resets if reset)

    def on_entry(self, resets: Float[np.ndarray, "case 1"], tiles: Float[np.ndarray, "case tile"]) -> Entry:
        """The mark, which is 0 at the start token."""
        return {self.reset: np.vstack([resets[:-1], [[0.0]]])}

    def heads(self, positions: Positions) -> Sequence[Head]:
        """One `FlatSum`: a reset before this letter's own makes 2, and more tell nothing else."""
        return [FlatSum().head(positions, self.reset, self.resets, counts_up_to=2.0)]

    def tile(self, circuit: Circuit) -> OneHot:
        """That of the resets, if there was one before this letter; else that of the start."""
        (so_far,), (own,) = circuit.read(self.resets), circuit.read(self.reset)
        none = circuit.below(so_far - own, 1, self.length)
        bits = {self.plan.start_tile: none, self.target: Signal(constant=1.0) - none}
        return [bits.get(tile, Signal()) for tile in range(self.plan.tiles)]


LOOK_UPS: Final[Mapping[LookUp, type[ResetLookUp]]] = {
    LookUp.NO_RESET: NoReset,
    LookUp.PREVIOUS_LETTER: PreviousLetter,
    LookUp.LATEST_RESET: LatestReset,
    LookUp.FIRST_RESET: FirstReset,
    LookUp.LATEST_RESET_BEFORE: LatestResetBefore,
}
