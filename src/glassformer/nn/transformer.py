"""The one Transformer, top to bottom: embed, then blocks of attention and MLP around a residual stream, unembed.

A compiler may write its weights, an optimiser may find them, a file may hold them; nothing below can tell.
Weights and activations have TransformerLens's names and shapes. Every activation passes through
`hooks(name, value)`, which is how `trace`, `run_with_cache` and `run_with_hooks` see and change it.

Axes: batch, pos (position), width (residual stream), head, head_width, query and key (positions), output.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from glassformer.errors import InputError
from glassformer.nn import positions
from glassformer.nn.attention import Attention, AttentionInput, Residual, affine
from glassformer.nn.config import ADDED_POSITIONS, BlockShape, Config
from glassformer.nn.trace import (
    NO_HOOKS,
    Every,
    Hook,
    HookContext,
    NamesFilter,
    Trace,
    edits_by_name,
    refuse_if_too_large,
    select,
)
from glassformer.representation import HTMLRepresentation

Tokens: TypeAlias = Int[Tensor, "batch pos"]
Logits: TypeAlias = Float[Tensor, "batch pos output"]
Places: TypeAlias = Int[Tensor, " pos"]
Input: TypeAlias = Tokens | Residual
"""Tokens, or vectors that enter the residual stream as they are."""


class Embed(nn.Module):
    """A vector for each token."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.W_E = nn.Parameter(torch.empty(config.vocab, config.width))

    def forward(self, tokens: Tokens) -> Residual:
        """Look the tokens up."""
        return F.embedding(tokens, self.W_E)


class PosEmbed(nn.Module):
    """A vector for each position: learned, given as a table, or computed from a formula."""

    W_pos: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        if config.positions in ("learned", "table"):
            table = torch.empty(config.context, config.width)
            self.W_pos = nn.Parameter(table, requires_grad=config.positions == "learned")
        else:
            formula = {"sinusoidal": positions.sinusoidal_table, "dyadic": positions.dyadic_table}[config.positions]
            self.register_buffer("W_pos", formula(config.context, config.width).float(), persistent=False)

    def forward(self, tokens: Input, first: int | Places = 0) -> Residual:
        """The same vectors for every sequence of the batch, from position `first` on, or at given places."""
        where = first if isinstance(first, Tensor) else slice(first, first + tokens.shape[1])
        return self.W_pos[where].expand(tokens.shape[0], -1, -1)


class MLMHead(nn.Module):
    """BERT's hidden layer between the residual stream and the unembedding, with its norm."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.W_H = nn.Parameter(torch.empty(config.width, config.width))
        self.b_H = nn.Parameter(torch.empty(config.width))
        self.activation, self.ln = Activate(config), Norm(config)

    def forward(self, x: Residual, hooks: HookContext) -> Residual:
        """Affine, activation, norm."""
        normalized: Residual = self.ln(self.activation(affine(x, self.W_H, self.b_H)), hooks.inside("ln."))
        return normalized


class MLP(nn.Module):
    """One or more hidden layers, at each position alone."""

    def __init__(self, config: Config, shape: BlockShape) -> None:
        super().__init__()
        self.config, self.activate = config, Activate(config)
        first, last = shape.mlp[0], shape.mlp[-1]
        self.W_in = nn.Parameter(torch.empty(config.width, first))
        self.b_in = nn.Parameter(torch.empty(first))
        sizes = list(zip(shape.mlp[:-1], shape.mlp[1:], strict=True))
        self.W_mid = nn.ParameterList(nn.Parameter(torch.empty(a, b)) for a, b in sizes)
        self.b_mid = nn.ParameterList(nn.Parameter(torch.empty(b)) for _, b in sizes)
        self.W_out = nn.Parameter(torch.empty(last, config.width))
        self.b_out = nn.Parameter(torch.empty(config.width))
        if config.gated:
            self.W_gate = nn.Parameter(torch.empty(config.width, first))

    def forward(self, x: Residual, hooks: HookContext) -> Residual:
        """Affine, activation, affine (and again for further hidden layers: hook_pre_1, hook_post_1, …)."""
        if self.config.gated:
            pre, linear = hooks("hook_pre", x @ self.W_gate), hooks("hook_pre_linear", affine(x, self.W_in, self.b_in))
            hidden = hooks("hook_post", self.activate(pre) * linear)
        else:
            hidden = hooks("hook_post", self.activate(hooks("hook_pre", affine(x, self.W_in, self.b_in))))
        for i, (weight, bias) in enumerate(zip(self.W_mid, self.b_mid, strict=True), start=1):
            hidden = hooks(f"hook_post_{i}", self.activate(hooks(f"hook_pre_{i}", affine(hidden, weight, bias))))
        return affine(hidden, self.W_out, self.b_out)


class Activate(nn.Module):
    """The activation function of hidden units."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config

    def forward(self, x: Float[Tensor, "batch pos mlp"]) -> Float[Tensor, "batch pos mlp"]:
        """ReLU, GELU (exact, or by tanh as GPT-2's), SiLU, or the config's own piecewise-linear function."""
        if self.config.activation == "relu":
            return F.relu(x)
        if self.config.activation in ("gelu", "gelu_tanh"):
            return F.gelu(x, approximate="tanh" if self.config.activation == "gelu_tanh" else "none")
        if self.config.activation == "silu":
            return F.silu(x)
        pieces = self.config.pieces
        assert pieces is not None  # the config has checked it
        which = torch.bucketize(x, x.new_tensor(pieces.knots), right=True)
        return x.new_tensor(pieces.slopes)[which] * x + x.new_tensor(pieces.intercepts)[which]


class Norm(nn.Module):
    """Layer norm, or RMS norm (no mean, no bias)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.centred, self.eps = config.norm == "layer", config.norm_eps
        self.w = nn.Parameter(torch.empty(config.width))
        if self.centred:
            self.b = nn.Parameter(torch.empty(config.width))

    def forward(self, x: Float[Tensor, "*apart width"], hooks: HookContext) -> Float[Tensor, "*apart width"]:
        """The vectors at unit scale; computed by the definition only if a hook changes that scale."""
        if hooks.edited("hook_scale"):
            centred = x - x.mean(-1, keepdim=True) if self.centred else x
            scale = hooks("hook_scale", (centred.pow(2).mean(-1, keepdim=True) + self.eps).sqrt())
            return hooks("hook_normalized", centred / scale * self.w + (self.b if self.centred else 0))
        if self.centred:
            normalized, _, inverse = torch.native_layer_norm(x, self.w.shape, self.w, self.b, self.eps)
            if hooks.wants("hook_scale"):
                hooks("hook_scale", 1 / inverse)
        else:
            normalized = F.rms_norm(x, self.w.shape, self.w, self.eps)
            if hooks.wants("hook_scale"):
                hooks("hook_scale", (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt())
        return hooks("hook_normalized", normalized)


class Gate(nn.Module):
    """Highway (Srivastava et al. 2015): y = g ⊙ f(x) + (1 − g) ⊙ x, g = σ(x W + b); b begins at −3, nearly closed."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.W_G = nn.Parameter(torch.empty(config.width, config.width))
        self.b_G = nn.Parameter(torch.empty(config.width))

    def forward(self, x: Residual, added: Residual) -> Residual:
        """Somewhere between both."""
        return x + affine(x, self.W_G, self.b_G).sigmoid() * (added - x)


class Block(nn.Module):
    """Attention, then an MLP, each added to the residual stream, or joined to it otherwise; either may be absent."""

    def __init__(self, config: Config, shape: BlockShape) -> None:
        super().__init__()
        self.pre, self.post = (config.norm != "none" and config.norm_place == place for place in ("pre", "post"))
        self.attn = Attention(config, shape) if shape.heads else None
        self.mlp = MLP(config, shape) if shape.mlp else None
        self.ln1 = Norm(config) if self.attn and config.norm != "none" else None
        self.ln2 = Norm(config) if self.mlp and config.norm != "none" else None
        self.parallel = config.parallel
        gated, self.skips = config.skip == "highway", config.skip != "none"
        self.gate1, self.gate2 = (Gate(config) if half and gated else None for half in (self.attn, self.mlp))

    def forward(self, x: Residual, hooks: HookContext) -> Residual:
        """Pre-norm: x + f(norm(x)). Post-norm: norm(x + f(x)). No norm: x + f(x)."""
        entered = x = hooks("hook_resid_pre", x)
        if self.attn:
            read = self.read_by_heads(x, hooks)
            added = hooks("hook_attn_out", self.attn(read, hooks.inside("attn.")))
            x = self.joined(x, added, self.gate1)
            x = x if self.parallel else hooks("hook_resid_mid", x)
            x = self.ln1(x, hooks.inside("ln1.")) if self.ln1 and self.post else x
        if self.mlp:
            read = hooks("hook_mlp_in", entered if self.parallel else x)
            read = self.ln2(read, hooks.inside("ln2.")) if self.ln2 and self.pre else read
            x = self.joined(x, hooks("hook_mlp_out", self.mlp(read, hooks.inside("mlp."))), self.gate2)
        x = hooks("hook_resid_post", x)
        if self.ln2 and self.post:
            x = hooks("hook_normalized_resid_post", self.ln2(x, hooks.inside("ln2.")))
        return x

    def joined(self, x: Residual, added: Residual, gate: Gate | None) -> Residual:
        """The stream with what is added to it; without skip connections what is added replaces it."""
        if gate:
            mixed: Residual = gate(x, added)
            return mixed
        return x + added if self.skips else added

    def read_by_heads(self, x: Residual, hooks: HookContext) -> AttentionInput:
        """The stream as attention reads it: once for each head's query, key and value if a hook is there."""
        norm = self.ln1 if self.ln1 and self.pre else None
        names = [f"hook_{part}_input" for part in "qkv"]
        if self.attn is None or not any(map(hooks.wants, names)):
            return norm(x, hooks.inside("ln1.")) if norm else x
        repeated = x[:, :, None].expand(-1, -1, self.attn.shape.heads, -1)
        q, k, v = (hooks(name, repeated) for name in names)
        return (norm(q, NO_HOOKS), norm(k, NO_HOOKS), norm(v, NO_HOOKS)) if norm else (q, k, v)


class Unembed(nn.Module):
    """From the residual stream to one logit for each output."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.W_U = nn.Parameter(torch.empty(config.width, config.outputs))
        self.b_U = nn.Parameter(torch.empty(config.outputs))

    def forward(self, x: Residual) -> Logits:
        """An affine map."""
        return affine(x, self.W_U, self.b_U)


class Transformer(nn.Module, HTMLRepresentation):
    """tokens [batch, pos], or vectors [batch, pos, width] in their place → logits [batch, pos, output]."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embed = Embed(config)
        self.pos_embed = PosEmbed(config) if config.positions in ADDED_POSITIONS else None
        self.blocks = nn.ModuleList(Block(config, shape) for shape in config.blocks)
        self.ln_embed = Norm(config) if config.embed_norm else None
        self.ln_final = Norm(config) if config.norm != "none" and config.norm_place == "pre" else None
        self.head = MLMHead(config) if config.mlm_head else None
        self.unembed = Unembed(config)
        if not self.embed.W_E.is_meta:  # weights on the meta device have no values
            self.initialise()

    def forward(self, tokens: Input, hooks: HookContext = NO_HOOKS, first: int | Places = 0) -> Logits:
        """The whole computation; where positions are added, the first may be another than 0, or all may be given."""
        logits: Logits = self.unembed(self.read(tokens, hooks, first))
        return logits

    def read(self, tokens: Input, hooks: HookContext = NO_HOOKS, first: int | Places = 0) -> Residual:
        """All but the last step: the vectors that the logits are read off."""
        self.check_tokens(tokens, first)
        x = hooks("hook_embed", tokens if tokens.is_floating_point() else self.embed(tokens))
        if self.pos_embed:
            x = x + hooks("hook_pos_embed", self.pos_embed(tokens, first))
        x = self.ln_embed(x, hooks.inside("ln_embed.")) if self.ln_embed else x
        return self.go_on(x, hooks)

    def go_on(self, x: Residual, hooks: HookContext = NO_HOOKS, begin: int = 0) -> Residual:
        """From the stream that enters block `begin` to the vectors that the logits are read off."""
        for i, block in enumerate(self.blocks[begin:], start=begin):
            x = block(x, hooks.inside(f"blocks.{i}."))
        return self.finish(x, hooks)

    def finish(self, x: Residual, hooks: HookContext = NO_HOOKS) -> Residual:
        """From the stream behind the last block, or any, to the vectors that the logits are read off."""
        x = self.ln_final(x, hooks.inside("ln_final.")) if self.ln_final else x
        return self.head(x, hooks.inside("head.")) if self.head else x

    # -- looking inside --------------------------------------------------------------------------------

    @torch.no_grad()
    def trace(self, tokens: Input, names_filter: NamesFilter = None) -> Trace:
        """Every named activation of one run (or those that the filter names)."""
        logits, activations = self.run_with_cache(tokens, names_filter)
        return Trace(tokens, logits, activations)

    def run_with_cache(self, tokens: Input, names_filter: NamesFilter = None) -> tuple[Logits, dict[str, Tensor]]:
        """The logits, and the activations by name."""
        wanted = select(self.hook_names, names_filter, self.hooks_on_request)
        self.check_tokens(tokens)
        refuse_if_too_large(wanted, self.config, *tokens.shape[:2])
        hooks = HookContext(wanted)
        return self(tokens, hooks), hooks.cache

    def run_with_hooks(self, tokens: Input, fwd_hooks: Iterable[Hook] = (), begin: int = 0) -> Logits:
        """The logits when each hook may change its activation: `(name, f)` with `f(activation, hook)`.

        A run that begins at a later block takes the stream that enters it in the place of tokens.
        """
        hooks = HookContext(edits=edits_by_name(self.hook_names, fwd_hooks, self.hooks_on_request))
        logits: Logits = self.unembed(self.go_on(tokens, hooks, begin)) if begin else self(tokens, hooks)
        return logits

    @cached_property
    def hook_names(self) -> list[str]:
        """The names of all activations, in the order in which they are computed."""
        return self.recorded_names(on_request=False)

    @cached_property
    def hooks_on_request(self) -> list[str]:
        """Further activations, which are made only if they are named one by one: what heads, and MLPs, read and add."""
        return self.recorded_names(on_request=True)

    @torch.no_grad()
    def recorded_names(self, on_request: bool) -> list[str]:
        """The names that a run on one vector passes by."""
        hooks = HookContext(Every(on_request))
        self.read(self.unembed.W_U.new_zeros(1, 1, self.config.width), hooks)
        return list(hooks.cache)

    # -- the rest --------------------------------------------------------------------------------------

    @property
    def dtype(self) -> torch.dtype:
        """The number format of the weights."""
        return self.embed.W_E.dtype

    def parameter_count(self) -> int:
        """How many numbers the weights are (computed position tables not counted)."""
        return sum(parameter.numel() for parameter in self.parameters())

    def initialise(self, fan_in: bool = False) -> None:
        """As GPT-2: small normal weights, smaller where they add to the stream; gains 1, biases 0.

        With `fan_in` the standard deviation of weights is 1/√fan-in instead of 0.02, so that activations do not vanish
        in a deep stack without norms. Other scores than dot products have been initialised when they were made.
        """
        depth_scale = 1 / math.sqrt(max(1, 2 * len(self.blocks)))
        for name, parameter in self.named_parameters():
            kind = name.split(".")[-1] if "_mid" not in name else name.split(".")[-2]
            if ".score." in name:
                continue
            if kind == "b_G":
                nn.init.constant_(parameter, -3.0)
            elif kind == "w":
                nn.init.ones_(parameter)
            elif kind.startswith("b"):
                nn.init.zeros_(parameter)
            else:
                adds = kind in ("W_O", "W_out") and self.config.skip == "residual"
                std = fan_in_std(kind, parameter) if fan_in else 0.02
                nn.init.normal_(parameter, std=std * (depth_scale if adds else 1))

    def check_tokens(self, tokens: Input, first: int | Places = 0) -> None:
        """Refuse what cannot be embedded."""
        if not isinstance(tokens, Tensor):
            raise InputError("nn.tokens_type", type=type(tokens).__name__)
        is_vectors = tokens.dim() == 3 and tokens.is_floating_point()
        if is_vectors and (tokens.shape[2] != self.config.width or tokens.dtype != self.dtype):
            raise InputError(
                "nn.vectors",
                dtype=f"{self.dtype}",
                width=f"{self.config.width}",
                given=f"{tokens.dtype} {[*tokens.shape]}",
            )
        if not is_vectors and (tokens.dim() != 2 or tokens.dtype not in (torch.int64, torch.int32)):
            raise InputError("nn.tokens_dtype", dtype=f"{tokens.dtype}", shape=f"{[*tokens.shape]}")
        if not tokens.numel():
            raise InputError("nn.tokens_empty", shape=f"{[*tokens.shape]}")
        if isinstance(first, Tensor) and (len(first) != tokens.shape[1] or (len(first) and int(first.min()) < 0)):
            raise InputError("nn.tokens_places", count=tokens.shape[1], places=f"{first.tolist()}")
        end = int(first.max()) + 1 if isinstance(first, Tensor) else first + tokens.shape[1]
        if end > self.config.context:
            id = "nn.context" if end == tokens.shape[1] else "nn.context_up_to"
            raise InputError(id, count=tokens.shape[1], last=end - 1, context=self.config.context)
        if is_vectors or torch.compiler.is_compiling():  # a compiled graph cannot look at values
            return
        if tokens.numel() and not 0 <= int(tokens.min()) <= int(tokens.max()) < self.config.vocab:
            low, high = int(tokens.min()), int(tokens.max())
            raise InputError("nn.vocabulary", low=low, high=high, last=self.config.vocab - 1)


def fan_in_std(kind: str, weight: Tensor) -> float:
    """1/√fan-in, the number of inputs that are summed; 0.5 for embeddings."""
    if kind in ("W_E", "W_pos"):
        return 0.5
    return 1 / math.sqrt(weight.shape[0] * weight.shape[1] if kind == "W_O" else weight.shape[-2])
