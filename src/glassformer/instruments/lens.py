"""What would the model answer if it stopped here, and which parts made it answer so?

The logit lens reads every layer's stream as if it were the last. Direct logit attribution splits the logits into what
each writer of the stream put into them: the parts sum to the logits. Where there is a norm, its scale is *frozen*: it
is taken as it was in this run, and a norm with a given scale is linear, so that it acts on each part alone. What it
adds as a bias, and all other biases of attention and unembedding, are one part of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments.layers import layers_of
from glassformer.instruments.sites import within
from glassformer.nn import Transformer
from glassformer.nn.attention import Residual
from glassformer.nn.transformer import Block, Input, Norm, Unembed


@dataclass(frozen=True)
class Part:
    """What writes into the stream: the embedding, the positions, the biases, or a layer's MLP or one of its heads."""

    kind: str
    layer: int | None = None
    head: int | None = None

    @property
    def in_layer(self) -> str:
        """Its name among the parts of its layer."""
        return self.kind if self.head is None else f"{self.kind} {self.head}"

    @property
    def name(self) -> str:
        """Its name among all parts."""
        return self.in_layer if self.layer is None else f"layer {self.layer} {self.in_layer}"


EMBEDDING, POSITIONS, BIASES = Part("embedding"), Part("positions"), Part("biases")


@torch.no_grad()
def logit_lens(model: Transformer, tokens: Input) -> Float[Tensor, "layer batch pos output"]:
    """The logits of the embedding and of every layer, each read as the last one is: its norm, and the unembedding."""
    streams = layers_of(model).run(tokens)
    return torch.stack([model.unembed(model.finish(stream)) for stream in streams])


@dataclass(frozen=True)
class Guesses:
    """What one word's model would answer at each position if it stopped after a layer, and how probable that is."""

    layer: str
    outputs: list[int]
    probabilities: list[float]


def guesses(model: Transformer, tokens: Input) -> list[Guesses]:
    """The likeliest answers of the logit lens for the first word, of the embedding and of every layer."""
    most, which = logit_lens(model, tokens)[:, 0].softmax(-1).max(-1)
    names = ["embedding", *map(str, range(len(most) - 1))]
    return [Guesses(*each) for each in zip(names, which.tolist(), most.tolist(), strict=True)]


@dataclass(frozen=True)
class Parts:
    """What each part put into the vectors that the logits are read off."""

    parts: tuple[Part, ...]
    vectors: Float[Tensor, "part batch pos width"]
    unembed: Unembed

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts."""
        return tuple(part.name for part in self.parts)

    @torch.no_grad()
    def logits(self, outputs: Int[Tensor, " chosen"] | None = None) -> Float[Tensor, "part batch pos chosen"]:
        """What each put into the logits, or into some of them; the unembedding's bias is with the other biases."""
        chosen = slice(None) if outputs is None else outputs
        shares = self.vectors @ self.unembed.W_U[:, chosen]
        shares[self.parts.index(BIASES)] += self.unembed.b_U[chosen]
        return shares


@dataclass(frozen=True)
class Attribution:
    """One logit, and what each part put into it."""

    output: int
    logit: float
    parts: dict[Part, float]

    def by_name(self) -> dict[str, float]:
        """The same by the names of the parts."""
        return {part.name: share for part, share in self.parts.items()}

    def by_layer(self) -> list[dict[str, float]]:
        """The parts that belong to a layer, one object for each."""
        layers: dict[int, dict[str, float]] = {}
        for part, share in self.parts.items():
            if part.layer is not None:
                layers.setdefault(part.layer, {})[part.in_layer] = share
        return [{"layer": number, **layers[number]} for number in sorted(layers)]


@torch.no_grad()
def attribution(model: Transformer, tokens: Input, position: int = -1, output: int | None = None) -> Attribution:
    """A logit of the first word at a position, by its parts; of the answer that the model gives if none is named."""
    within(position, tokens.shape[1], "instruments.position")
    parts = attribute(model, tokens)
    total = model(tokens)[0, position]
    chosen = int(total.argmax()) if output is None else output
    shares = parts.logits()[:, 0, position, chosen]
    return Attribution(chosen, float(total[chosen]), dict(zip(parts.parts, shares.tolist(), strict=True)))


@torch.no_grad()
def attribute(model: Transformer, tokens: Input) -> Parts:
    """The logits of a run, by the embedding, the positions, every head and every MLP."""
    if model.config.skip != "residual" or model.config.mlm_head:
        raise InputError("instruments.no_sum_of_parts")
    hooks = [name for name in model.hook_names if name.endswith(("hook_embed", "hook_pos_embed", "hook_mlp_out"))]
    hooks += [name for name in model.hook_names if name.endswith("hook_scale")]
    hooks += [name for name in model.hooks_on_request if name.endswith("hook_result")]
    seen = model.trace(tokens, hooks)
    parts = {EMBEDDING: seen["hook_embed"]}
    if model.pos_embed:
        parts[POSITIONS] = seen["hook_pos_embed"]
    parts[BIASES] = torch.zeros_like(parts[EMBEDDING])
    if model.ln_embed:
        parts = frozen(model.ln_embed, seen["ln_embed.hook_scale"], parts)
    for i, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        if block.attn:
            results = seen[f"blocks.{i}.attn.hook_result"].unbind(2)
            parts |= {Part("head", i, h): result for h, result in enumerate(results)}
            parts[BIASES] = parts[BIASES] + block.attn.b_O
            if block.ln1 and block.post:
                parts = frozen(block.ln1, seen[f"blocks.{i}.ln1.hook_scale"], parts)
        if block.mlp:
            parts[Part("MLP", i)] = seen[f"blocks.{i}.hook_mlp_out"]
            if block.ln2 and block.post:
                parts = frozen(block.ln2, seen[f"blocks.{i}.ln2.hook_scale"], parts)
    if model.ln_final:
        parts = frozen(model.ln_final, seen["ln_final.hook_scale"], parts)
    return Parts(tuple(parts), torch.stack(list(parts.values())), model.unembed)


def frozen(norm: Norm, scale: Float[Tensor, "batch pos one"], parts: dict[Part, Residual]) -> dict[Part, Residual]:
    """A norm with the scale of this run, on each part alone; its bias goes to the biases."""
    through = {
        part: (written - written.mean(-1, keepdim=True) if norm.centred else written) / scale * norm.w
        for part, written in parts.items()
    }
    if norm.centred:
        through[BIASES] = through[BIASES] + norm.b
    return through
