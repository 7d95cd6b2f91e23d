"""What a model learns from: words, and what is asked after every prefix, drawn fresh for every step.

A batch has a number, and batch k of a seed is the same batch for ever: a run that was interrupted goes on with the
data that it would have seen. Token 0 … are the letters; the start token comes after them, as in built models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import torch
from jaxtyping import Integer

from glassformer.automata import AnyMachine, InfiniteMachine, formats
from glassformer.errors import InputError, finite_number, whole_number
from glassformer.nn.config import check_flags
from glassformer.training.batch import IGNORE_INDEX, Batch
from glassformer.training.objectives import TextTask
from glassformer.training.transductions import Transduction

LONGEST: Final = 2**20
Words: TypeAlias = Integer[np.ndarray, "word length"]

QUESTIONS: Final[dict[str, Callable[[AnyMachine, int], str]]] = {
    "state": lambda machine, state: machine.states[state],
    "output": lambda machine, state: str(machine.outputs[state]),
    "start": lambda machine, state: str(state == machine.start),
    "boundary": lambda machine, state: str(state in (0, len(machine.states) - 1)),
    "first": lambda machine, state: machine.states[state][0],
    "top": lambda machine, state: _top(machine.states[state], machine.symbols),
}
"""What may be asked of a state: which it is, or something about it (indirect supervision).

Its label; whether it is the start (of a counter: 0 modulo n); whether it is the first or the last (of a gridworld:
the wall); the first character of its name (of a group: where the first point went); the last one, if the name is made
of letters (of brackets: the top of the stack).
"""


def _top(name: str, letters: tuple[str, ...]) -> str:
    return name[-1] if set(name) <= set(letters) else name


@dataclass(frozen=True)
class StateTracking:
    """State tracking: the state of a machine, or something about it, after every letter.

    `predict` is what is asked after each letter: state, output, start, boundary, first or top (QUESTIONS). `letters`
    are the probabilities of the letters (uniform if not given). An answer is revealed with probability `reveal`;
    accuracy counts all of them. With a `scratchpad` the states stand in the word, each after its letter, and the model
    writes them itself when it is tested.
    """

    machine: AnyMachine
    length: int
    predict: str = "state"
    letters: tuple[float, ...] | None = None
    reveal: float = 1.0
    scratchpad: bool = False

    def __post_init__(self) -> None:
        if whole_number(self.length, "tasks.length", least=1) > LONGEST:
            raise InputError("tasks.longest", longest=LONGEST, length=self.length)
        if self.predict not in QUESTIONS:
            raise InputError("tasks.question", questions=[*QUESTIONS], question=self.predict)
        if not 0 < finite_number(self.reveal, "tasks.reveal", least=0) <= 1:
            raise InputError("tasks.reveal_range", value=self.reveal)
        check_flags(self, "scratchpad")
        if self.scratchpad and (self.predict != "state" or self.reveal < 1):
            raise InputError("tasks.scratchpad")
        if self.letters is not None:
            _check_probabilities(self.letters, self.machine.symbols)
        if len(self.machine.states) > 1 and len(self.answers) == 1:
            raise InputError("tasks.one_answer", question=self.predict)

    def check_names(self) -> None:
        """Infinitely many states are named by classes, whose characters say nothing of a state."""
        if self.predict in ("first", "top") and isinstance(self.machine, InfiniteMachine):
            raise InputError("tasks.no_names", question=self.predict, machine=str(self.machine))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tokens: the letters and the start; with a scratchpad the states too."""
        return (*self.machine.symbols, "start", *(self.machine.states if self.scratchpad else ()))

    @property
    def vocab(self) -> int:
        """How many tokens there are."""
        return len(self.names)

    @property
    def outputs(self) -> int:
        """The answers that occur."""
        return len(self.answers)

    @property
    def context(self) -> int:
        """The start token and the word."""
        return 1 + self.length * (2 if self.scratchpad else 1)

    @cached_property
    def answers(self) -> list[str]:
        """The names of the answers."""
        return list(dict.fromkeys(self._answers))

    @cached_property
    def answer_of(self) -> Integer[np.ndarray, " state"]:
        """The number of the answer for each state."""
        number = {answer: i for i, answer in enumerate(self.answers)}
        return np.array([number[answer] for answer in self._answers])

    @cached_property
    def _answers(self) -> list[str]:
        return [QUESTIONS[self.predict](self.machine, state) for state in range(len(self.machine.states))]

    def words(self, rng: np.random.Generator, count: int) -> Words:
        """Random words."""
        if self.letters is None:
            if isinstance(self.machine, InfiniteMachine):
                return self.machine.words(self.length, count, rng)
            return rng.integers(0, len(self.machine.symbols), (count, self.length))
        edges = np.cumsum(self.letters)
        drawn: Words = np.searchsorted(edges, rng.random((count, self.length)) * edges[-1], side="right")
        return drawn

    def batch(self, rng: np.random.Generator, words: int) -> Batch:
        """Random words with their answers."""
        return self.answered(self.words(rng, words), rng)

    def answered(self, words: Words, rng: np.random.Generator | None = None) -> Batch:
        """These words with their answers, of which a random part is withheld if there is a source of randomness."""
        states = self.machine.run(words)
        start, step = len(self.machine.symbols), 2 if self.scratchpad else 1
        tokens = np.full((len(words), 1 + step * words.shape[1]), start, dtype=np.int64)
        answers = np.full(tokens.shape, IGNORE_INDEX, dtype=np.int64)
        tokens[:, 1::step], answers[:, 1::step] = words, self.answer_of[states]
        if self.scratchpad:
            tokens[:, 2::2] = start + 1 + states
        targets = answers.copy()
        if rng is not None and self.reveal < 1:
            targets[rng.random(targets.shape) >= self.reveal] = IGNORE_INDEX
        return Batch(torch.from_numpy(tokens), torch.from_numpy(targets), torch.from_numpy(answers))

    def but(self, length: int | None = None, letters: tuple[float, ...] | None = None) -> StateTracking:
        """The same task on longer words, or with letters of other frequencies."""
        return replace(
            self,
            length=self.length if length is None else length,
            letters=self.letters if letters is None else letters,
        )


def _check_probabilities(letters: tuple[float, ...], symbols: tuple[str, ...]) -> None:
    for p in letters:
        finite_number(p, "tasks.letter_probability", least=0)
    if len(letters) != len(symbols):
        raise InputError("tasks.letter_count", count=len(symbols), letters=" ".join(symbols), given=len(letters))
    if not abs(sum(letters) - 1) < 1e-6:  # decimal fractions do not sum exactly
        raise InputError("tasks.letter_sum", sum=sum(letters))


@dataclass(frozen=True)
class FlipFlopLanguage:
    """Flip-flop language modelling, FFL(p): predict the next token of w 0 i 1 i 0 r 0 …

    Instructions w (write), i (ignore) and r (read) each come with a bit; after r it is the bit last written. The first
    instruction is w, the last r; the others are i with probability p, else w or r with equal probability. All tokens
    are to be predicted, but only the bits that are read can be; they alone count for accuracy.
    """

    length: int = 512
    ignore: float = 0.8

    vocab: ClassVar[int] = 5
    outputs: ClassVar[int] = 5
    names: ClassVar[tuple[str, ...]] = tuple("wir01")

    def __post_init__(self) -> None:
        if whole_number(self.length, "tasks.length", least=4) > LONGEST:
            raise InputError("tasks.longest", longest=LONGEST, length=self.length)
        if self.length % 2:
            raise InputError("tasks.even_length")
        if finite_number(self.ignore, "tasks.ignore", least=0) > 1:
            raise InputError("tasks.ignore_range", value=self.ignore)

    @property
    def context(self) -> int:
        """All tokens but the last, which is only predicted."""
        return self.length - 1

    def batch(self, rng: np.random.Generator, words: int) -> Batch:
        """Random words of instructions and bits."""
        shape = (words, self.length // 2)
        write, read = 0, 2  # and 1 is to ignore
        other = (1 - self.ignore) / 2
        instructions = rng.choice(3, shape, p=[other, self.ignore, other])
        instructions[:, 0], instructions[:, -1] = write, read
        bits = rng.integers(0, 2, shape)
        written = np.maximum.accumulate(np.where(instructions == write, np.arange(shape[1]), 0), axis=1)
        bits = np.where(instructions == read, np.take_along_axis(bits, written, axis=1), bits)
        tokens = np.stack([instructions, 3 + bits], axis=2).reshape(words, self.length).astype(np.int64)
        targets = tokens[:, 1:]
        answers = np.full(targets.shape, IGNORE_INDEX)
        answers[:, ::2] = np.where(instructions == read, targets[:, ::2], IGNORE_INDEX)
        return Batch(*(torch.from_numpy(part.copy()) for part in (tokens[:, :-1], targets, answers)))


WordTask: TypeAlias = StateTracking | FlipFlopLanguage
Task: TypeAlias = WordTask | Transduction | TextTask
"""Anything that can be learned: it has sizes (`vocab`, `outputs`, `context`), and gives batches."""


def task_to_json(task: Task) -> dict[str, Any]:
    """A task as plain values."""
    if isinstance(task, FlipFlopLanguage):
        return {"flip_flop_language": asdict(task)}
    if isinstance(task, TextTask):
        return {"reading": task.to_json()}
    if isinstance(task, Transduction):
        return {"transduction": asdict(task)}
    machine = json.loads(formats.dumps(task.machine, "json"))
    rest = {name: getattr(task, name) for name in ("length", "predict", "letters", "reveal", "scratchpad")}
    return {"machine": machine, **rest, "letters": list(task.letters) if task.letters else None}


def reads_text(run: Any) -> bool:
    """Whether a run was begun with a text."""
    return isinstance(run, dict) and isinstance(task := run.get("task"), dict) and "reading" in task


def task_from_json(run: Any, source: str) -> WordTask | Transduction:
    """The task on words, or sequences, that a run was begun with; the source is named if it has none."""
    try:
        values = run["task"]
        if reads_text(run):
            raise InputError("tasks.of_text", source=source)
        if "transduction" in values:
            return Transduction(**values["transduction"])
        if "flip_flop_language" in values:
            return FlipFlopLanguage(**values["flip_flop_language"])
        rest: Mapping[str, Any] = {name: value for name, value in values.items() if name not in ("machine", "letters")}
        letters = tuple(values["letters"]) if values["letters"] else None
        return StateTracking(formats.loads_any(json.dumps(values["machine"]), "json", source), letters=letters, **rest)
    except (TypeError, KeyError) as error:
        raise InputError("tasks.none", source=source, why=str(error)) from None
