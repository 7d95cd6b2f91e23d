"""What would the model say if it stopped here, and who made it say so?

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
from glassformer.nn import Transformer
from glassformer.nn.attention import Residual
from glassformer.nn.transformer import Block, Input, Norm, Unembed

BIASES = "biases"


@torch.no_grad()
def logit_lens(model: Transformer, tokens: Input) -> Float[Tensor, "layer batch pos output"]:
    """The logits of the embedding and of every layer, each read as the last one is: its norm, and the unembedding."""
    streams = layers_of(model).run(tokens)
    return torch.stack([model.unembed(model.finish(stream)) for stream in streams])


@dataclass(frozen=True)
class Parts:
    """What each writer put into the vectors that the logits are read off."""

    names: tuple[str, ...]
    vectors: Float[Tensor, "part batch pos width"]
    unembed: Unembed

    @torch.no_grad()
    def logits(self, outputs: Int[Tensor, " chosen"] | None = None) -> Float[Tensor, "part batch pos chosen"]:
        """What each put into the logits, or into some of them; the unembedding's bias is with the other biases."""
        chosen = slice(None) if outputs is None else outputs
        shares = self.vectors @ self.unembed.W_U[:, chosen]
        shares[self.names.index(BIASES)] += self.unembed.b_U[chosen]
        return shares


@torch.no_grad()
def attribute(model: Transformer, tokens: Input) -> Parts:
    """The logits of a run, by the embedding, the positions, every head and every MLP."""
    if model.config.skip != "residual" or model.config.head:
        raise InputError(
            "without residual connections, or behind a hidden layer, logits are no sum of what parts put in"
        )
    hooks = [name for name in model.hook_names if name.endswith(("hook_embed", "hook_pos_embed", "hook_mlp_out"))]
    hooks += [name for name in model.hook_names if name.endswith("hook_scale")]
    hooks += [name for name in model.hooks_on_request if name.endswith("hook_result")]
    seen = model.trace(tokens, hooks)
    parts = {"embedding": seen["hook_embed"]}
    if model.pos_embed:
        parts["positions"] = seen["hook_pos_embed"]
    parts[BIASES] = torch.zeros_like(parts["embedding"])
    if model.ln_embed:
        parts = frozen(model.ln_embed, seen["ln_embed.hook_scale"], parts)
    for i, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        if block.attn:
            results = seen[f"blocks.{i}.attn.hook_result"].unbind(2)
            parts |= {head_name(i, h): result for h, result in enumerate(results)}
            parts[BIASES] = parts[BIASES] + block.attn.b_O
            if block.ln1 and block.post:
                parts = frozen(block.ln1, seen[f"blocks.{i}.ln1.hook_scale"], parts)
        if block.mlp:
            parts[mlp_name(i)] = seen[f"blocks.{i}.hook_mlp_out"]
            if block.ln2 and block.post:
                parts = frozen(block.ln2, seen[f"blocks.{i}.ln2.hook_scale"], parts)
    if model.ln_final:
        parts = frozen(model.ln_final, seen["ln_final.hook_scale"], parts)
    return Parts(tuple(parts), torch.stack(list(parts.values())), model.unembed)


def frozen(norm: Norm, scale: Float[Tensor, "batch pos one"], parts: dict[str, Residual]) -> dict[str, Residual]:
    """A norm with the scale of this run, on each part alone; its bias goes to the biases."""
    through = {
        name: (part - part.mean(-1, keepdim=True) if norm.centred else part) / scale * norm.w
        for name, part in parts.items()
    }
    if norm.centred:
        through[BIASES] = through[BIASES] + norm.b
    return through


def head_name(layer: int, head: int) -> str:
    """As in tables."""
    return f"layer {layer} head {head}"


def mlp_name(layer: int) -> str:
    """As in tables."""
    return f"layer {layer} MLP"
