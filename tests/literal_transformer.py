"""A transformer written out literally from its formulas, slowly, as the standard to test the real one against.

It shares no code with the library: loops over heads, explicit sums, and TransformerLens's hook names.
"""

import math
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from glassformer.nn import Config, Transformer

Edit = Callable[[Tensor], Tensor]


class Literal:
    """One run: `seen` holds every activation by name; `edits` change them on the way."""

    def __init__(self, model: Transformer, edits: Mapping[str, Edit] | None = None) -> None:
        self.config: Config = model.config
        self.weights = dict(model.named_parameters()) | dict(model.named_buffers())
        self.edits, self.seen = dict(edits or {}), dict[str, Tensor]()

    def at(self, name: str, value: Tensor) -> Tensor:
        if name in self.edits:
            value = self.edits[name](value)
        self.seen[name] = value
        return value

    def run(self, tokens: Tensor) -> Tensor:
        x = self.at("hook_embed", torch.stack([self.weights["embed.W_E"][row] for row in tokens]))
        if "pos_embed.W_pos" in self.weights:
            table = self.weights["pos_embed.W_pos"][: tokens.shape[1]]
            x = x + self.at("hook_pos_embed", torch.stack([table] * len(tokens)))
        x = self.norm(x, "ln_embed.") if self.config.embed_norm else x
        for i in range(len(self.config.blocks)):
            x = self.block(x, i)
        if self.config.norm != "none" and self.config.norm_place == "pre":
            x = self.norm(x, "ln_final.")
        if self.config.mlm_head:
            x = self.norm(self.activate(x @ self.weights["head.W_H"] + self.weights["head.b_H"]), "head.ln.")
        return torch.einsum("bpw,wo->bpo", x, self.weights["unembed.W_U"]) + self.weights["unembed.b_U"]

    def block(self, x: Tensor, i: int) -> Tensor:
        shape, name = self.config.blocks[i], f"blocks.{i}."
        pre = self.config.norm != "none" and self.config.norm_place == "pre"
        post = self.config.norm != "none" and self.config.norm_place == "post"
        entered = x = self.at(name + "hook_resid_pre", x)
        if shape.heads:
            inside = self.norm(x, name + "ln1.") if pre else x
            x = self.joined(x, self.at(name + "hook_attn_out", self.attention(inside, i)), name + "gate1.")
            x = x if self.config.parallel else self.at(name + "hook_resid_mid", x)
            x = self.norm(x, name + "ln1.") if post else x
        if shape.mlp:
            inside = entered if self.config.parallel else x
            inside = self.norm(inside, name + "ln2.") if pre else inside
            x = self.joined(x, self.at(name + "hook_mlp_out", self.mlp(inside, i)), name + "gate2.")
        x = self.at(name + "hook_resid_post", x)
        if post and shape.mlp:
            x = self.at(name + "hook_normalized_resid_post", self.norm(x, name + "ln2."))
        return x

    def joined(self, x: Tensor, added: Tensor, gate: str) -> Tensor:
        if self.config.skip == "none":
            return added
        if self.config.skip == "residual":
            return x + added
        carried = 1 / (1 + torch.exp(x @ self.weights[gate + "W_G"] + self.weights[gate + "b_G"]))
        return carried * x + (1 - carried) * added

    def norm(self, x: Tensor, name: str) -> Tensor:
        if self.config.norm == "layer":
            x = x - x.sum(-1, keepdim=True) / x.shape[-1]
        scale = self.at(name + "hook_scale", ((x**2).sum(-1, keepdim=True) / x.shape[-1] + self.config.norm_eps) ** 0.5)
        bias = self.weights[name + "b"] if self.config.norm == "layer" else 0
        return self.at(name + "hook_normalized", x / scale * self.weights[name + "w"] + bias)

    def attention(self, x: Tensor, i: int) -> Tensor:
        shape, name = self.config.blocks[i], f"blocks.{i}.attn."
        project = {}
        for part in "QKV":
            each = len(self.weights[name + "W_Q"]) // len(self.weights[name + "W_" + part])
            per_head = [
                x @ self.weights[name + "W_" + part][h // each] + self.weights[name + "b_" + part][h // each]
                for h in range(shape.heads)
            ]
            project[part] = self.at(name + "hook_" + part.lower(), torch.stack(per_head, dim=2))
        if self.config.positions == "rotary":
            how = self.config.rotary_width or shape.head_width, self.config.rotary_base
            project["Q"] = self.at(name + "hook_rot_q", rotated(project["Q"], *how))
            project["K"] = self.at(name + "hook_rot_k", rotated(project["K"], *how))
        if self.config.score == "additive":
            w, u, v = (self.weights[f"{name}score.{part}"] for part in "WUv")
            asks, answers = (torch.einsum("bphd,hde->bhpe", project[p], m) for p, m in (("Q", w), ("K", u)))
            scores = ((asks[:, :, :, None] + answers[:, :, None]).tanh() * v[:, None, None]).sum(-1)
        else:
            scores = torch.einsum("bqhd,bkhd->bhqk", project["Q"], project["K"])
            scores = scores / math.sqrt(shape.head_width) if self.config.scaled else scores
        length = x.shape[1]
        for q in range(length):
            for k in range(length):
                if self.config.positions == "alibi":
                    for h in range(shape.heads):
                        scores[:, h, q, k] -= abs(q - k) * 2 ** (-8 * (h + 1) / shape.heads)
                if self.config.causal and k > q:
                    scores[:, :, q, k] = -torch.inf
        scores = self.at(name + "hook_attn_scores", scores)
        if self.config.attention == "softmax":
            powers = (scores - scores.max(-1, keepdim=True).values).exp()
            weights = powers / powers.sum(-1, keepdim=True)
        else:
            best = (scores == scores.max(-1, keepdim=True).values).double()
            weights = best / best.sum(-1, keepdim=True)
        pattern = self.at(name + "hook_pattern", weights)
        z = self.at(name + "hook_z", torch.einsum("bhqk,bkhd->bqhd", pattern, project["V"]))
        return torch.einsum("bqhd,hdw->bqw", z, self.weights[name + "W_O"]) + self.weights[name + "b_O"]

    def mlp(self, x: Tensor, i: int) -> Tensor:
        name = f"blocks.{i}.mlp."
        layers = [("W_in", "b_in", "")] + [
            (f"W_mid.{j}", f"b_mid.{j}", f"_{j + 1}") for j in range(len(self.config.blocks[i].mlp) - 1)
        ]
        for weight, bias, suffix in layers:
            said = x @ self.weights[name + weight] + self.weights[name + bias]
            if self.config.gated and not suffix:
                before = self.at(name + "hook_pre", x @ self.weights[name + "W_gate"])
                x = self.at(name + "hook_post", self.activate(before) * self.at(name + "hook_pre_linear", said))
            else:
                x = self.at(f"{name}hook_post{suffix}", self.activate(self.at(f"{name}hook_pre{suffix}", said)))
        return x @ self.weights[name + "W_out"] + self.weights[name + "b_out"]

    def activate(self, x: Tensor) -> Tensor:
        if self.config.activation == "relu":
            return x * (x > 0)
        if self.config.activation == "gelu":
            return x * (1 + torch.erf(x / math.sqrt(2))) / 2
        if self.config.activation == "gelu_tanh":
            return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
        if self.config.activation == "silu":
            return x / (1 + torch.exp(-x))
        pieces = self.config.pieces
        assert pieces is not None
        knots = [-math.inf, *pieces.knots, math.inf]
        result = torch.zeros_like(x)
        for low, high, slope, intercept in zip(knots[:-1], knots[1:], pieces.slopes, pieces.intercepts, strict=True):
            result += ((low <= x) & (x < high)) * (slope * x + intercept)
        return result


def rotated(x: Tensor, width: int, base: float) -> Tensor:
    """Pairs (i, i + half) of the first numbers as complex numbers, turned by position · base^(−2i/width)."""
    half = width // 2
    numbers = torch.complex(x[..., :half], x[..., half:width])
    angles = torch.arange(x.shape[1])[:, None] * base ** (-2 * torch.arange(half).double() / width)
    turned = numbers * torch.exp(1j * angles)[:, None]
    return torch.cat([turned.real, turned.imag, x[..., width:]], dim=-1)
