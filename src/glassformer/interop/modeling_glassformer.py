"""A Glassformer for those who have transformers and torch alone: this file lies beside its weights.

    AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)

The weights have the names, and the logits the bits, of the model that was exported. The answer at a position is about
that position (the state after this letter, or the next token, as it was made), so labels are not shifted. `generate`
is for those that predict the next token.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

ACTIVATIONS: dict[str, Any] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


class GlassformerConfig(PretrainedConfig):
    """Sizes and choices; `blocks` has heads, head_width, groups and mlp (hidden layers) of each block.

    `next_token`: whether answers are tokens, each the one that comes next.
    """

    model_type = "glassformer"

    def __init__(
        self,
        vocab_size: int = 1,
        outputs: int = 1,
        context: int = 1,
        hidden_size: int = 1,
        blocks: Sequence[dict[str, Any]] = (),
        causal: bool = True,
        attention: str = "softmax",
        scaled: bool = True,
        norm: str = "none",
        norm_place: str = "pre",
        norm_eps: float = 1e-5,
        activation: str = "relu",
        next_token: bool = False,
        **rest: Any,
    ) -> None:
        self.vocab_size, self.outputs, self.context, self.hidden_size = vocab_size, outputs, context, hidden_size
        self.blocks, self.num_hidden_layers = [dict(block) for block in blocks], len(blocks)
        self.causal, self.attention, self.scaled = causal, attention, scaled
        self.norm, self.norm_place, self.norm_eps, self.activation = norm, norm_place, norm_eps, activation
        self.next_token, self.max_position_embeddings = next_token, context
        super().__init__(**{"tie_word_embeddings": False, **rest})


def affine(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x·W + b at every position."""
    return torch.addmm(bias, x.flatten(0, 1), weight).view(*x.shape[:2], weight.shape[1])


def empty(*shape: int) -> nn.Parameter:
    """A weight, to be filled by the file."""
    return nn.Parameter(torch.empty(*shape))


class Attention(nn.Module):
    """Heads of any width; groups of them may share keys and values."""

    def __init__(self, config: GlassformerConfig, shape: dict[str, Any]) -> None:
        super().__init__()
        self.config, self.heads, own, width = config, shape["heads"], shape["head_width"], config.hidden_size
        groups = shape.get("groups") or self.heads
        self.W_Q, self.b_Q = empty(self.heads, width, own), empty(self.heads, own)
        self.W_K, self.b_K = empty(groups, width, own), empty(groups, own)
        self.W_V, self.b_V = empty(groups, width, own), empty(groups, own)
        self.W_O, self.b_O = empty(self.heads, own, width), empty(width)
        self.scale = own**-0.5 if config.scaled else 1.0

    def forward(self, x: Tensor, seen: list[Tensor] | None) -> Tensor:
        """What each position reads; the pattern is kept only if it is asked for."""
        weights = torch.cat([self.W_Q, self.W_K, self.W_V]).permute(1, 0, 2).flatten(1)
        biases = torch.cat([self.b_Q, self.b_K, self.b_V]).flatten()
        qkv = torch.addmm(biases, x.flatten(0, 1), weights).view(*x.shape[:2], -1, self.W_Q.shape[2])
        q, k, v = (part.transpose(1, 2) for part in qkv.split([len(self.W_Q), len(self.W_K), len(self.W_V)], dim=2))
        k, v = (part.repeat_interleave(self.heads // part.shape[1], dim=1) for part in (k, v))
        if self.config.attention == "softmax" and seen is None:
            z = F.scaled_dot_product_attention(q, k, v, is_causal=self.config.causal, scale=self.scale)
        else:
            z = self.pattern(q, k, seen) @ v
        return affine(z.transpose(1, 2).flatten(2), self.W_O.flatten(0, 1), self.b_O)

    def pattern(self, q: Tensor, k: Tensor, seen: list[Tensor] | None) -> Tensor:
        """Softmax, or all weight on the largest score (shared in a tie)."""
        scores = (q * self.scale) @ k.transpose(-2, -1)
        if self.config.causal:
            future = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool, device=q.device).triu_(1)
            scores = scores.masked_fill(future, -torch.inf)
        if self.config.attention == "softmax":
            weights = scores.softmax(-1)
        else:
            largest = (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)
            weights = largest / largest.sum(-1, keepdim=True)
        if seen is not None:
            seen.append(weights)
        return weights


class MLP(nn.Module):
    """One or more hidden layers."""

    def __init__(self, config: GlassformerConfig, sizes: Sequence[int]) -> None:
        super().__init__()
        pairs = list(itertools.pairwise(sizes))
        self.W_in, self.b_in = empty(config.hidden_size, sizes[0]), empty(sizes[0])
        self.W_mid = nn.ParameterList(empty(a, b) for a, b in pairs)
        self.b_mid = nn.ParameterList(empty(b) for _, b in pairs)
        self.W_out, self.b_out = empty(sizes[-1], config.hidden_size), empty(config.hidden_size)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """Affine, activation, and so on, affine."""
        hidden = self.activation(affine(x, self.W_in, self.b_in))
        for weight, bias in zip(self.W_mid, self.b_mid, strict=True):
            hidden = self.activation(affine(hidden, weight, bias))
        return affine(hidden, self.W_out, self.b_out)


class Norm(nn.Module):
    """Layer norm, or RMS norm."""

    def __init__(self, config: GlassformerConfig) -> None:
        super().__init__()
        self.eps, self.w = config.norm_eps, empty(config.hidden_size)
        self.b = empty(config.hidden_size) if config.norm == "layer" else None

    def forward(self, x: Tensor) -> Tensor:
        """The vectors at unit scale."""
        if self.b is None:
            return F.rms_norm(x, self.w.shape, self.w, self.eps)
        return F.layer_norm(x, self.w.shape, self.w, self.b, self.eps)


class Block(nn.Module):
    """Attention, then an MLP, each added to the stream; either may be absent."""

    def __init__(self, config: GlassformerConfig, shape: dict[str, Any]) -> None:
        super().__init__()
        self.attn = Attention(config, shape) if shape["heads"] else None
        self.mlp = MLP(config, shape["mlp"]) if shape["mlp"] else None
        normed = config.norm != "none"
        self.ln1 = Norm(config) if self.attn and normed else None
        self.ln2 = Norm(config) if self.mlp and normed else None
        self.before = config.norm_place == "pre"

    def forward(self, x: Tensor, seen: list[Tensor] | None) -> Tensor:
        """Pre-norm: x + f(norm(x)). Post-norm: norm(x + f(x)). No norm: x + f(x)."""
        for part, norm, more in ((self.attn, self.ln1, (seen,)), (self.mlp, self.ln2, ())):
            if part is not None:
                x = x + part(norm(x) if norm and self.before else x, *more)
                x = norm(x) if norm and not self.before else x
        return x


class Embed(nn.Module):
    """A vector for each token."""

    def __init__(self, config: GlassformerConfig) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = config.vocab_size, config.hidden_size
        self.W_E = empty(config.vocab_size, config.hidden_size)

    @property
    def weight(self) -> Tensor:
        """By the name that others know."""
        return self.W_E

    def forward(self, input_ids: Tensor) -> Tensor:
        """Look the tokens up."""
        return F.embedding(input_ids, self.W_E)


class Unembed(nn.Module):
    """A logit for each answer."""

    def __init__(self, config: GlassformerConfig) -> None:
        super().__init__()
        self.in_features, self.out_features = config.hidden_size, config.outputs
        self.W_U, self.b_U = empty(config.hidden_size, config.outputs), empty(config.outputs)

    @property
    def weight(self) -> Tensor:
        """By the name, and in the order [answer, width], that others know."""
        return self.W_U.T

    @property
    def bias(self) -> Tensor:
        """By the name that others know."""
        return self.b_U

    def forward(self, x: Tensor) -> Tensor:
        """An affine map."""
        return affine(x, self.W_U, self.b_U)


class GlassformerForCausalLM(PreTrainedModel, GenerationMixin):
    """input_ids [batch, pos] → logits [batch, pos, output]."""

    config_class = GlassformerConfig

    def __init__(self, config: GlassformerConfig) -> None:
        super().__init__(config)
        self.embed = Embed(config)
        self.pos_embed = nn.ParameterDict({"W_pos": empty(config.context, config.hidden_size)})
        self.blocks = nn.ModuleList(Block(config, shape) for shape in config.blocks)
        self.ln_final = Norm(config) if config.norm != "none" and config.norm_place == "pre" else None
        self.unembed = Unembed(config)
        self.post_init()  # type: ignore[no-untyped-call]

    def get_input_embeddings(self) -> nn.Module:
        """What makes vectors of tokens."""
        return self.embed

    def get_output_embeddings(self) -> nn.Module:
        """What makes logits of vectors."""
        return self.unembed

    def generate(self, inputs: Any = None, *rest: Any, **given: Any) -> Any:
        """Go on with a text, up to the context if no length is given; every token is computed from all before."""
        if not self.config.next_token:
            raise ValueError(
                "this model answers about what it has read (a state, say), and not with the token that comes next, so "
                "there is nothing to generate: its answers are model(input_ids).logits.argmax(-1)"
            )
        if not rest and not given.keys() & {"max_length", "max_new_tokens", "generation_config"}:
            given["max_length"] = self.config.context
        return super().generate(inputs, *rest, **{**given, "use_cache": False})  # type: ignore[misc]

    def prepare_inputs_for_generation(self, input_ids: Any, *_: Any, **given: Any) -> dict[str, Any]:
        """All tokens so far."""
        return {"input_ids": input_ids, "attention_mask": given.get("attention_mask")}

    def _init_weights(self, module: nn.Module) -> None:
        """All weights come from the file."""

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
        return_dict: bool = True,
        **_: Any,
    ) -> Any:
        """The whole computation; words of a batch have one length, so that no mask is needed."""
        if attention_mask is not None and not bool(attention_mask.all()):
            raise ValueError("padding is not known here: give words of one length together")
        if input_ids.shape[1] > self.config.context:
            raise ValueError(f"{input_ids.shape[1]} tokens do not fit a context of {self.config.context}")
        x = self.embed(input_ids)
        x = x + self.pos_embed["W_pos"][: input_ids.shape[1]].expand(len(input_ids), -1, -1)
        seen: list[Any] | None = [] if output_attentions else None
        stream: list[Any] = [x]
        for block in self.blocks:
            x = block(x, seen)
            stream.append(x)
        x = self.ln_final(x) if self.ln_final is not None else x
        logits: Any = self.unembed(x)
        loss: Any = F.cross_entropy(logits.flatten(0, 1), labels.flatten()) if labels is not None else None
        output = CausalLMOutput(
            loss=loss,
            logits=logits,
            hidden_states=tuple(stream) if output_hidden_states else None,
            attentions=tuple(seen) if seen is not None else None,
        )
        return output if return_dict else output.to_tuple()
