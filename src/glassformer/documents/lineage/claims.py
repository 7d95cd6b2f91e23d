"""Claims S2.1 – S2.6: "Where the design choices of the Transformer come from", small enough to run anywhere.

Each function's docstring is the claim; it returns what was measured, and whether that agrees. The whole family side by
side is `glassformer lineage`.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean
from typing import Any, Final

import numpy as np
import torch

from glassformer.documents.verdict import Measured, numbered
from glassformer.messages import Message
from glassformer.nn.encoder_decoder import EncoderDecoder
from glassformer.nn.scores import Structured
from glassformer.training import Architecture, Settings, Trained, train
from glassformer.training.evaluation import accuracy_by_place
from glassformer.training.transductions import Transduction

LEARNED: Final = 0.95
"""The part of the answers that is right when so short a training counts as having worked."""
RECALL: Final = Transduction("recall", length=6, shortest=2, letters=12)
COPY: Final = Transduction("copy", length=8, shortest=4, letters=8)


def learned(
    task: Transduction,
    steps: int,
    kind: str = "rnn",
    width: int = 48,
    **parts: Any,
) -> Trained:
    """A small encoder–decoder, or Transformer, trained on a task."""
    settings = Settings(steps=steps, learning_rate=5e-3, evaluate_every=steps)
    return train(task, Architecture(kind=kind, width=width, **parts), settings)


def accuracy(task: Transduction, steps: int, **parts: Any) -> float:
    """How much of the answers is right afterwards."""
    return learned(task, steps, **parts).score.accuracy


def hard_attention() -> Measured:
    """Hard attention looks at one place at a time, drawn at random, and learns where by REINFORCE with a baseline."""
    task = Transduction("sort", length=8, shortest=4, letters=8)
    hard, none = (accuracy(task, 300, score=score) for score in ("hard", "none"))
    return Message("lineage.hard_attention", hard=hard, none=none), hard > none + 0.05


def additive_attention() -> Measured:
    """Additive soft attention: a small network with tanh scores every source word for every step of the decoder."""
    none, before, after = (
        accuracy(COPY, 250, score=score, place=place)
        for score, place in (("none", "after"), ("additive", "before"), ("additive", "after"))
    )
    seen = Message("lineage.additive_attention", none=none, before=before, after=after)
    return seen, min(before, after) >= LEARNED > none + 0.05


def scores_and_windows() -> Measured:
    """Dot, general and concat scores compare contents, location scores know places; local attention sees a window."""
    names = ("dot", "general", "concat", "location")
    recalled = {name: accuracy(RECALL, 300, score=name) for name in names}
    copied = {"location": accuracy(COPY, 250, score="location")}
    copied["local-m"] = accuracy(COPY, 250, score="general", window="local-m")
    recalled["local-m"] = accuracy(RECALL, 300, score="general", window="local-m")
    right = {"recalled": _numbers(recalled), "copied": _numbers(copied)}
    contents = min(recalled[name] for name in ("dot", "general", "concat"))
    others = max(recalled["location"], recalled["local-m"])
    return Message("lineage.scores", **right), contents >= LEARNED > others and min(copied.values()) >= LEARNED


def _numbers(right: Mapping[str, float]) -> list[str]:
    return [f"{name} {value:.3f}" for name, value in right.items()]


def distance() -> Measured:
    """The fixed-size state of an LSTM loses distant words; attention to all of its states repairs it."""
    task = Transduction("reverse", length=14, letters=12)
    rows = [right_by_place(task, 300, score=score, cell="lstm") for score in ("none", "dot")]
    (near, far), (near_with, far_with) = ((mean(right[:3]), mean(right[-3:])) for right in rows)
    seen = Message("lineage.lstm_distance", near=near, far=far, near_with=near_with, far_with=far_with)
    return seen, near - far > 0.2 and far_with >= LEARNED


def right_by_place(task: Transduction, steps: int, **parts: Any) -> list[float]:
    """What a trained encoder–decoder has right of the last letter, the one before it, …"""
    model = learned(task, steps, **parts).model
    return accuracy_by_place(model, task, task.batch(np.random.default_rng(1), 256))


def several_at_once() -> Measured:
    """Several attentions at once: hops that a penalty keeps apart, then many heads, which fetch several things."""
    fetch = Transduction("fetch", length=4)
    one, four = (accuracy(fetch, 300, score="scaled dot", heads=heads) for heads in (1, 4))
    kept_apart, left_alone = overlap(Structured.STRENGTH), overlap(0.0)
    seen = Message("lineage.several", one=one, four=four, penalty=kept_apart, without=left_alone)
    return seen, four > one + 0.1 and kept_apart < left_alone


def overlap(strength: float) -> float:
    """The mean of Σᵢ aᵢbᵢ over pairs of hops that learned to copy, with a penalty of this strength."""
    usual, Structured.STRENGTH = Structured.STRENGTH, strength
    try:
        task = Transduction("copy", length=6, letters=8)
        model = learned(task, 150, score="structured", heads=4).model
    finally:
        Structured.STRENGTH = usual
    assert isinstance(model, EncoderDecoder)
    a = model.alignment(task.batch(np.random.default_rng(0), 64).tokens)[:, :, 0]
    both = a @ a.transpose(1, 2)
    return float(both[:, ~torch.eye(4, dtype=torch.bool)].mean())


def skip_connections() -> Measured:
    """Skip connections let deep stacks train: without them eight layers learn little, with them everything."""
    task = Transduction("copy", length=6, letters=8)
    shared: dict[str, Any] = {
        "kind": "transformer",
        "layers": 8,
        "width": 32,
        "initialisation": "fan_in",
        "norm": "none",
    }
    deep = {skip: accuracy(task, 100, skip=skip, **shared) for skip in ("none", "highway", "residual")}
    return Message("lineage.deep", right=_numbers(deep)), min(deep["residual"], deep["highway"]) >= LEARNED > deep[
        "none"
    ] + 0.3


CLAIMS: Final = numbered(
    "S2",
    hard_attention, additive_attention, scores_and_windows, distance, several_at_once, skip_connections
)  # fmt: skip
