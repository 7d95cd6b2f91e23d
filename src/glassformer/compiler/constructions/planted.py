"""Models that know a world of facts by construction, so that where each fact is, is known, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch

from glassformer.compiler.program import Answers, Program
from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.nn import Transformer
from glassformer.operations.attention import LookBack
from glassformer.operations.positions import Positions
from glassformer.operations.stream import Register, Stream
from glassformer.operations.units import table
from glassformer.training.facts import FIRST, LAST, OBJECTS, PROMPT, RELATIONS, World

SITES: Final = {"subject": (0, 2), "relation": (1, 3)}
"""Where facts may be planted: layer and position of the MLP that looks them up."""
SURE: Final = 20.0
"""The logit of the answer, above all others: its probability is 1 − 10⁻⁷."""


def planted(world: World, where: str) -> Transformer:
    """All facts in one MLP at a known place: at the subject's last name (layer 0), or at the relation (layer 1).

    At the subject: the last name looks one back for the first; the MLP looks the subject up, and writes its objects of
    all relations. The relation looks one back for them, and its own is kept. At the relation: it looks for both names,
    and the next layer's MLP looks the whole fact up.
    """
    if where not in SITES:
        raise InputError("planted.where", sites=tuple(SITES), where=where)
    stream = Stream()
    first = stream.register("first name", len(FIRST), Message("planted.which"))
    last = stream.register("last name", len(LAST), Message("planted.which"))
    relation = stream.register("relation", len(RELATIONS), Message("planted.which"))
    answer = stream.register("answer", len(OBJECTS), Message("planted.answer"))
    program = _at_subject if where == "subject" else _at_relation
    return program(world, stream, first, last, relation, answer).assemble(torch.float32)


def _at_subject(
    world: World, stream: Stream, first: Register, last: Register, relation: Register, answer: Register
) -> Program:
    before = stream.register("first before", len(FIRST), Message("planted.first_before", distance=1))
    objects = stream.register("objects", len(OBJECTS), Message("planted.objects"))
    fetched = stream.register("fetched", len(OBJECTS), Message("planted.fetched"))
    positions = Positions(stream, PROMPT, [1])
    about = [({before: f, last: n}, {objects: o}) for f, n, _, o in world.numbers]
    kinds = [kind for kind, names in enumerate(RELATIONS.values()) for _ in names]
    asked = [({fetched: o, relation: kind}, {answer: o}) for o, kind in enumerate(kinds)]
    program = _empty(world, stream, positions, answer, {first: FIRST, last: LAST, relation: tuple(RELATIONS)})
    program.block(LookBack(1).head(positions, first, before), mlp=table(stream, about, Message("planted.who")))
    program.block(LookBack(1).head(positions, objects, fetched), mlp=table(stream, asked, Message("planted.asked")))
    return program


def _at_relation(
    world: World, stream: Stream, first: Register, last: Register, relation: Register, answer: Register
) -> Program:
    one_back = stream.register("last before", len(LAST), Message("planted.last_before"))
    two_back = stream.register("first before", len(FIRST), Message("planted.first_before", distance=2))
    positions = Positions(stream, PROMPT, [1, 2])
    facts = [({two_back: f, one_back: n, relation: r}, {answer: o}) for f, n, r, o in world.numbers]
    program = _empty(world, stream, positions, answer, {first: FIRST, last: LAST, relation: tuple(RELATIONS)})
    program.block(LookBack(1).head(positions, last, one_back), LookBack(2).head(positions, first, two_back))
    program.block(mlp=table(stream, facts, Message("planted.look_up")))
    return program


def _empty(
    world: World, stream: Stream, positions: Positions, answer: Register, tokens: dict[Register, Sequence[str]]
) -> Program:
    """A program without blocks: names are one-hot in their registers, and the answer is read off its own."""
    held = {}
    for register, names in tokens.items():
        held[register] = np.zeros((len(world.names), register.size))
        held[register][[world.token(name) for name in names], range(register.size)] = 1
    return Program(
        stream,
        tokens=stream.into(held),
        positions=positions.table(),
        read_out=stream.form({answer: SURE * np.eye(answer.size, len(world.names))}),
        answers=Answers(torch.zeros(0, dtype=torch.int64), torch.zeros(0, stream.width, dtype=torch.float64)),
    )
