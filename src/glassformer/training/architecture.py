"""Which model is trained: a Transformer, an LSTM, or a recurrent encoder and decoder; of what size, with what parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, get_args

import torch

from glassformer.errors import InputError, whole_number
from glassformer.nn import LSTM, Config, LSTMConfig, Transformer
from glassformer.nn.config import NormPlace
from glassformer.nn.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from glassformer.nn.files import Model
from glassformer.nn.translator import Translator, TranslatorConfig
from glassformer.training.objectives import END, TextTask
from glassformer.training.tasks import Task
from glassformer.training.transductions import Transduction

KINDS: Final = ("transformer", "lstm", "rnn")
LSTM_EMBEDDING: Final = 64
USUAL_HEADS: Final = 4
INITIALISATIONS: Final = ("gpt2", "fan_in")
RECURRENT: Final = ("cell", "place", "feeding", "intra")
FOREIGN: Final = {
    "transformer": RECURRENT,
    "lstm": (*RECURRENT, "score", "window", "groups", "skip", "initialisation"),
    "rnn": ("norm", "norm_place", "skip", "initialisation"),
}
"""Parts that models of a kind do not have."""
LARGEST: Final = {"layers": 1000, "width": 2**16, "heads": 2**16, "mlp": 2**20, "context": 2**24}
"""The sizes of models, and how large they may be: more is a mistake."""


@dataclass(frozen=True)
class Architecture:
    """A model's sizes and parts. An LSTM, and an encoder and decoder (rnn), has hidden vectors of this width.

    A Transformer has GELU and layer norms, by default before attention and MLP, as GPT-2. `context` leaves room for
    words longer than those of the task. Scores, windows, and groups of heads that share keys are those of
    `nn.scores`; what only a Transformer has, or only an rnn, is overlooked by the other.
    """

    kind: str = "transformer"
    layers: int = 2
    width: int = 64
    heads: int | None = None
    """If not given, 4 of a Transformer, 1 of an rnn."""
    mlp: int | None = None
    positions: str = "learned"
    norm: str = "layer"
    norm_place: str = "pre"
    context: int | None = None
    score: str | None = None
    """If not given, scaled dot products of a Transformer, additive of an rnn."""
    window: str = "global"
    groups: int | None = None
    skip: str = "residual"
    initialisation: str = "gpt2"
    """Of a Transformer's weights: as GPT-2's, with standard deviation 0.02, or with 1/√fan-in (fan_in)."""
    cell: str = "gru"
    place: str = "after"
    feeding: bool = False
    intra: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError("training.kind", kinds=KINDS, kind=self.kind)
        for name, most in LARGEST.items():
            value = getattr(self, name)
            optional = name in ("heads", "mlp", "context")
            if not (optional and value is None) and whole_number(value, name, least=1) > most:
                raise InputError("training.at_most", name=name, most=most, value=value)
        for name in FOREIGN[self.kind]:
            if getattr(self, name) != Architecture.__dataclass_fields__[name].default:
                raise InputError("training.foreign", kind=self.kind, name=name.replace("_", " "))
        if self.initialisation not in INITIALISATIONS:
            raise InputError("training.initialisation", kinds=INITIALISATIONS, kind=self.initialisation)
        if self.norm_place not in get_args(NormPlace):
            raise InputError("training.norm_place", places=get_args(NormPlace), place=self.norm_place)
        if self.kind == "transformer" and self.width % (self.heads or USUAL_HEADS):
            raise InputError("nn.width_by_heads", width=self.width, heads=self.heads or USUAL_HEADS)

    def model(self, task: Task, seed: int) -> Model:
        """A fresh model for a task; the same seed gives the same weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            if self.kind == "lstm":
                return LSTM(LSTMConfig(task.vocab, task.outputs, LSTM_EMBEDDING, self.width, self.layers))
            if self.kind == "rnn":
                return EncoderDecoder(self.encoder_decoder(task))
            translates = isinstance(task, TextTask) and task.objective == "mt"
            made = Translator(self.translator(task)) if translates else Transformer(self.config(task))  # type: ignore[arg-type]
            if self.initialisation == "fan_in":
                for part in (made.encoder, made.decoder) if isinstance(made, Translator) else (made,):
                    part.initialise(fan_in=True)
            return made

    def sizes(self, task: Task) -> dict[str, Any]:
        """Vocabulary, outputs and context for a task, which every model needs."""
        return {"vocab": task.vocab, "outputs": task.outputs, "context": max(task.context, self.context or 0)}

    def config(self, task: Task) -> Config:
        """The shape of a Transformer for a task."""
        same = ("layers", "width", "groups", "mlp", "positions", "norm", "norm_place", "skip", "window")
        scaled = self.score in (None, "scaled dot")
        return Config.uniform(
            **self.sizes(task),
            **{name: getattr(self, name) for name in same},
            heads=self.heads or USUAL_HEADS,
            causal=not isinstance(task, TextTask) or task.causal,
            activation="gelu",
            score="dot" if scaled else self.score,
            scaled=scaled,
        )

    def encoder_decoder(self, task: Task) -> EncoderDecoderConfig:
        """The shape of an encoder and decoder for a task."""
        translates = isinstance(task, TextTask) and task.objective == "mt"
        if not isinstance(task, Transduction) and not translates:
            raise InputError("training.no_sequence_task")
        return EncoderDecoderConfig(
            **self.sizes(task),
            **{name: getattr(self, name) for name in ("width", "window", "groups", *RECURRENT)},
            separator=task.separator if isinstance(task, Transduction) else END,
            score=self.score or "additive",
            heads=self.heads or 1,
        )

    def translator(self, task: TextTask) -> TranslatorConfig:
        """The shape of an encoder like the Transformers of other objectives, and a decoder like it, but causal."""
        usual = self.config(task)
        sentence, _ = task.text.longest
        encoder = replace(usual, outputs=self.width, context=max(sentence, usual.context - task.context + sentence))
        return TranslatorConfig(encoder, replace(usual, causal=True), END)

    def to_json(self) -> dict[str, Any]:
        """The same as plain values, with the number of heads that is meant."""
        return {**asdict(self), "heads": self.heads or (1 if self.kind == "rnn" else USUAL_HEADS)}


def with_new_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a model by the names that they have now: `initialisation` was `start`, small or kept."""
    new = dict(values)
    if "start" in new:
        start = new.pop("start")
        new["initialisation"] = {"small": "gpt2", "kept": "fan_in"}.get(str(start), start)
    return new
