"""Attention as the one Transformer has it: q, k and v of every head, scores, a pattern, and what is read.

Scores are dot products, unless the config names another part of `nn.scores`.

Axes: batch, pos (position), width (residual stream), head, head_width, query and key (positions).
"""

from __future__ import annotations

import math
from typing import TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from glassformer.nn.config import BlockShape, Config
from glassformer.nn.scores import Environment, Scores, Sizes, alibi_slopes, for_all, part, turned
from glassformer.nn.trace import HookContext

Residual: TypeAlias = Float[Tensor, "batch pos width"]
PerHead: TypeAlias = Float[Tensor, "batch pos head head_width"]
HeadFirst: TypeAlias = Float[Tensor, "batch head pos head_width"]
PerHeadInput: TypeAlias = Float[Tensor, "batch pos head width"]
"""What a head's queries, keys or values are made of: the residual stream, unless a hook gives a head another."""
AttentionInput: TypeAlias = Residual | tuple[PerHeadInput, PerHeadInput, PerHeadInput]
Pattern: TypeAlias = Float[Tensor, "batch head query key"]


class Attention(nn.Module):
    """Every position asks (query), every position it may see answers (key) and is read (value)."""

    def __init__(self, config: Config, shape: BlockShape) -> None:
        super().__init__()
        self.config, self.shape = config, shape
        heads, width, head_width = shape.heads, config.width, shape.head_width
        groups = shape.groups or heads
        self.W_Q = nn.Parameter(torch.empty(heads, width, head_width))
        self.W_K = nn.Parameter(torch.empty(groups, width, head_width))
        self.W_V = nn.Parameter(torch.empty(groups, width, head_width))
        self.W_O = nn.Parameter(torch.empty(heads, head_width, width))
        self.b_Q = nn.Parameter(torch.empty(heads, head_width))
        self.b_K = nn.Parameter(torch.empty(groups, head_width))
        self.b_V = nn.Parameter(torch.empty(groups, head_width))
        self.b_O = nn.Parameter(torch.empty(width))
        self.scale = 1 / math.sqrt(head_width) if config.scaled else 1.0
        named = "scaled dot" if config.score == "dot" and config.scaled else config.score
        plain = config.score == "dot" and config.window == "global"
        self.score = None if plain else part(named, Sizes(heads, head_width, config.context), config.window)

    def forward(self, x: AttentionInput, hooks: HookContext) -> Residual:
        """What each position reads, summed over heads."""
        q, k, v = self.project(x) if isinstance(x, Tensor) else self.project_per_head(*x)
        q, k, v = hooks("hook_q", q), hooks("hook_k", k), hooks("hook_v", v)
        if self.config.positions == "rotary":
            places = torch.arange(q.shape[1], device=q.device)[:, None].to(q.dtype)
            how = (places, self.config.rotary_base, self.config.rotary_width)
            q, k = (turned(x.transpose(1, 2), *how).transpose(1, 2) for x in (q, k))
            q, k = hooks("hook_rot_q", q), hooks("hook_rot_k", k)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        env = self.environment(q)
        if self.config.attention == "hardmax" or hooks.wants("hook_attn_scores") or hooks.wants("hook_pattern"):
            z = self.materialised(q, k, v, env, hooks)
        else:
            z = self.score(q, k, v, env) if self.score else self.fused(q, k, v)
        z = hooks("hook_z", z.transpose(1, 2))
        if hooks.wants("hook_result"):
            return hooks("hook_result", torch.einsum("bphk,hkw->bphw", z, self.W_O)).sum(2) + self.b_O
        return affine(z.flatten(2), self.W_O.flatten(0, 1), self.b_O)

    def project(self, x: Residual) -> tuple[PerHead, PerHead, PerHead]:
        """Queries, keys and values of all heads in one matrix product."""
        weights = torch.cat([self.W_Q, self.W_K, self.W_V]).permute(1, 0, 2).flatten(1)
        biases = torch.cat([self.b_Q, self.b_K, self.b_V]).flatten()
        qkv = torch.addmm(biases, x.flatten(0, 1), weights).view(*x.shape[:2], -1, self.shape.head_width)
        q, k, v = qkv.split([len(self.W_Q), len(self.W_K), len(self.W_V)], dim=2)
        return q, self.of_all(k), self.of_all(v)

    def project_per_head(self, q: PerHeadInput, k: PerHeadInput, v: PerHeadInput) -> tuple[PerHead, PerHead, PerHead]:
        """The same where each head's query, key and value have an input of their own."""
        parts = ((q, self.W_Q, self.b_Q), (k, self.W_K, self.b_K), (v, self.W_V, self.b_V))
        each = self.shape.heads
        q, k, v = (
            torch.einsum("bphw,hwk->bphk", x, weight.repeat_interleave(each // len(weight), 0))
            + bias.repeat_interleave(each // len(bias), 0)
            for x, weight, bias in parts
        )
        return q, k, v

    def of_all(self, shared: Float[Tensor, "batch pos group head_width"]) -> PerHead:
        """Every head with the keys, or values, of its group."""
        if self.shape.groups is None:
            return shared
        return for_all(shared.transpose(1, 2), self.shape.heads).transpose(1, 2)

    def fused(self, q: HeadFirst, k: HeadFirst, v: HeadFirst) -> HeadFirst:
        """Fused attention: softmax of the scores times the values, and neither scores nor pattern are materialised."""
        bias = self.score_bias(q.shape[2], q)
        causal = self.config.causal and bias is None
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=causal, scale=self.scale)

    def materialised(self, q: HeadFirst, k: HeadFirst, v: HeadFirst, env: Environment, hooks: HookContext) -> HeadFirst:
        """Materialised attention: the same with scores and pattern as tensors, which hooks see and change."""
        scores = self.compare(q, k, env)
        bias = self.score_bias(q.shape[2], q)
        if bias is not None:
            scores += bias
        elif self.config.causal:
            scores = scores.masked_fill(future(q.shape[2], q.device), -torch.inf)
        scores = hooks("hook_attn_scores", scores)
        if self.score:
            return self.score.read(hooks("hook_pattern", self.score.normalise(scores, env)), v, env)
        return hooks("hook_pattern", self.normalise(scores)) @ v

    def compare(self, q: HeadFirst, k: HeadFirst, env: Environment) -> Scores:
        """The score of every query with every key, before any mask."""
        return self.score.score(q, k, env) if self.score else (q * self.scale) @ k.transpose(-2, -1)

    def normalise(self, scores: Scores) -> Pattern:
        """Scores to weights: softmax, or all weight on the largest score (shared in a tie)."""
        if self.config.attention == "softmax":
            return scores.softmax(-1)
        largest = (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)
        return largest / largest.sum(-1, keepdim=True)

    def score_bias(self, length: int, like: Tensor) -> Float[Tensor, "head query key"] | None:
        """What ALiBi adds to the scores, with the mask in it."""
        if self.config.positions != "alibi":
            return None
        away = (torch.arange(length)[:, None] - torch.arange(length)).abs()
        bias = (-alibi_slopes(self.shape.heads)[:, None, None] * away).to(like)
        return bias.masked_fill_(future(length, like.device), -torch.inf) if self.config.causal else bias

    def environment(self, q: HeadFirst) -> Environment:
        """What a score other than dot products must know."""
        seen = ~future(q.shape[2], q.device) if self.config.causal and self.score else None
        return Environment(seen, self.config.causal, reach="onward" if self.config.causal else "all")


def affine(x: Float[Tensor, "batch pos a"], weight: Float[Tensor, "a b"], bias: Float[Tensor, " b"]) -> Tensor:
    """x·W + b at every position."""
    return torch.addmm(bias, x.flatten(0, 1), weight).view(*x.shape[:2], weight.shape[1])


def future(length: int, device: torch.device) -> Bool[Tensor, "query key"]:
    """Which keys lie after the query: what a causal model may not see."""
    return torch.ones(length, length, dtype=torch.bool, device=device).triu_(1)
