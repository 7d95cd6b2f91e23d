"""A construction written down: registers, what fills them, blocks of heads and MLPs, and how the answer is read out.

`assemble` makes one `Transformer` of it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from glassformer.messages import Message
from glassformer.nn import BlockShape, Config, Transformer
from glassformer.operations.stream import NOTHING, Form, Head, Stream, Units, refuse_if_too_large


@dataclass(frozen=True)
class Answers:
    """What the stream holds at the end, where it is read, for each output that can occur."""

    outputs: Int[Tensor, " answer"]
    stream: Float[Tensor, "answer width"]


@dataclass
class Program:
    """Registers, what fills them, blocks of instructions, and how the answer is read out."""

    stream: Stream
    tokens: Float[Tensor, "vocab width"]
    positions: Float[Tensor, "context width"]
    read_out: Form
    answers: Answers
    tokens_hold: Message = NOTHING
    """What a token puts into the stream."""
    answer_is: Message = NOTHING
    """How the answer is read."""
    theorem: Message = NOTHING
    because: Message = NOTHING
    """Why one would build it so."""
    grows: dict[str, Message] = field(default_factory=dict)
    """What width and MLP grow with."""
    blocks: list[tuple[list[Head], Units | None]] = field(default_factory=list)

    def block(self, *heads: Head, mlp: Units | None = None) -> None:
        """One more layer: these heads, then this MLP."""
        self.blocks.append((list(heads), mlp))
        refuse_if_too_large(self.parameters())

    def answer_among(self, outputs: Integer[np.ndarray, " output"], count: int) -> None:
        """These outputs are of so many; the others never occur, and their logits never lead."""
        weight, constant = torch.zeros(self.stream.width, count).double(), torch.full((count,), -1.0).double()
        constant[outputs] = self.read_out.constant
        if len(outputs) > 1:  # else there is nothing to read
            weight[:, outputs] = self.read_out.weight
        self.read_out = Form(weight, constant)
        self.answers = replace(self.answers, outputs=torch.tensor(outputs)[self.answers.outputs])

    def parameters(self) -> int:
        """How many there are so far."""
        width = self.stream.width
        attention = sum(4 * len(heads) * max((h.width for h in heads), default=0) * width for heads, _ in self.blocks)
        mlps = (itertools.pairwise([width, *mlp.sizes, width]) for _, mlp in self.blocks if mlp)
        return attention + sum(a * b for layers in mlps for a, b in layers) + self.positions.numel()

    def config(self) -> Config:
        """The shape of the transformer that this program is."""
        shapes = tuple(
            BlockShape(
                heads=len(heads),
                head_width=max((head.width for head in heads), default=1),
                mlp=mlp.sizes if mlp else (),
            )
            for heads, mlp in self.blocks
        )
        return Config(
            vocab=self.tokens.shape[0],
            outputs=self.read_out.weight.shape[1],
            context=self.positions.shape[0],
            width=self.stream.width,
            blocks=shapes,
            scaled=False,
            positions="table",
        )

    def assemble(self, dtype: torch.dtype) -> Transformer:
        """The transformer, with every weight written."""
        config = self.config()
        weights = {
            "embed.W_E": self.tokens,
            "pos_embed.W_pos": self.positions,
            "unembed.W_U": self.read_out.weight,
            "unembed.b_U": self.read_out.constant,
        }
        for i, (heads, mlp) in enumerate(self.blocks):
            if heads:
                weights |= _attention_weights(f"blocks.{i}.attn.", heads, config.blocks[i].head_width)
            if mlp:
                names = ("W_in", "b_in", "W_out", "b_out")
                values = (mlp.read.weight, mlp.read.constant, mlp.write, mlp.constant)
                weights |= {f"blocks.{i}.mlp.{name}": value for name, value in zip(names, values, strict=True)}
                for j, form in enumerate(mlp.deeper):
                    weights |= {f"blocks.{i}.mlp.W_mid.{j}": form.weight, f"blocks.{i}.mlp.b_mid.{j}": form.constant}
        with torch.device("meta"):  # no memory and no random numbers for weights that are replaced at once
            model = Transformer(config)
        model.load_state_dict(
            {name: value.to(dtype, copy=True).contiguous() for name, value in weights.items()}, assign=True
        )
        return model.eval()


def _attention_weights(prefix: str, heads: list[Head], head_width: int) -> dict[str, Tensor]:
    def stacked(forms: list[Form]) -> tuple[Tensor, Tensor]:
        padded = [(_pad(form.weight, head_width), _pad(form.constant, head_width)) for form in forms]
        return torch.stack([weight for weight, _ in padded]), torch.stack([bias for _, bias in padded])

    weights = {}
    for name, part in (("Q", "query"), ("K", "key"), ("V", "value")):
        weights[f"{prefix}W_{name}"], weights[f"{prefix}b_{name}"] = stacked([getattr(head, part) for head in heads])
    weights[f"{prefix}W_O"] = torch.stack([_pad(head.output.T, head_width).T for head in heads])
    weights[f"{prefix}b_O"] = torch.zeros(heads[0].output.shape[1], dtype=torch.float64)
    return weights


def _pad(x: Tensor, size: int) -> Tensor:
    return torch.nn.functional.pad(x, (0, size - x.shape[-1]))
