"""Which edges does a model need? Cut each alone, or one after the other for good, and see whether the answers change.

The weights of a built model show which edges there are: what one part writes, another reads. This is the known circuit,
and what an instrument finds can be set beside it, as precision and recall. An edge that is there may still be *idle*,
where words are shorter than those that a model is built for. Then what was found should be sufficient: all else is cut
together, and no answer changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments.edges import Edge, Edges
from glassformer.instruments.patching import instead_of
from glassformer.instruments.sites import Site
from glassformer.nn import Transformer
from glassformer.nn.transformer import Logits, Tokens
from glassformer.progress import Progress, silent

Asked: TypeAlias = Bool[Tensor, "batch pos"]
"""Where an answer counts."""


@dataclass(frozen=True)
class Overlap:
    """How many edges were found, are known, and are both."""

    found: int
    known: int
    both: int

    @property
    def precision(self) -> float:
        """The part of what was found that is there."""
        return self.both / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The part of what is there that was found."""
        return self.both / self.known if self.known else 1.0


def score(found: Iterable[Edge], known: Iterable[Edge]) -> Overlap:
    """How far they agree."""
    found, known = set(found), set(known)
    return Overlap(len(found), len(known), len(found & known))


def edges_in_weights(model: Transformer) -> list[Edge]:
    """The edges that can carry something: the writer writes columns of the stream that the reader reads.

    In a trained model these are nearly always all; in a built one they are what the construction put there.
    """
    if model.config.norm != "none":
        raise InputError("instruments.norm_mixes")
    weights, graph = model.state_dict(), Edges(model)
    writes = {site: _written(weights, site) for site in graph.writers}
    reads = {site: _read(weights, site) for site in graph.readers}
    return [edge for edge in graph.edges if (writes[edge.writer] & reads[edge.reader]).any()]


@dataclass(frozen=True)
class Circuit:
    """The edges that a model needs on some words, beside those that its weights make, where these are known."""

    edges: list[Edge]
    changes: dict[Edge, float]
    """The part of the answers that each edge changes when it alone is cut; nothing after pruning."""
    is_sufficient: bool
    """Whether no answer changes when all other edges are cut together."""
    known: list[Edge] | None

    @property
    def overlap(self) -> Overlap:
        """The edges that were found, beside those that are known."""
        return score(self.edges, self.known or [])

    @property
    def missed(self) -> list[Edge]:
        """Known edges that were not found: idle on these words."""
        return [edge for edge in self.known or [] if edge not in self.edges]


def find_circuit(
    model: Transformer,
    tokens: Tokens,
    kind: str = "zero",
    tolerance: float = 0.0,
    seed: int = 0,
    asked: Asked | None = None,
    pruned: bool = False,
    known: list[Edge] | None = None,
    progress: Progress = silent,
) -> Circuit:
    """The edges that change more answers than are tolerated: each cut alone, or (pruned) for good.

    `kind` is what is read over a cut edge: nothing (zero), the writer's mean over words (mean), or what it writes on
    another word (resample). `tolerance` is the share of answers that may change; `asked` [word, pos] says where an
    answer counts, everywhere if not given; `known` are edges to score the circuit against, as of `edges_in_weights`.
    """
    changes: dict[Edge, float] = {}
    if pruned:
        edges = prune(model, tokens, kind, tolerance, seed, asked=asked, progress=progress)
    else:
        changes = effects(model, tokens, kind, seed, asked=asked, progress=progress)
        edges = [edge for edge, changed in changes.items() if changed > tolerance]
    return Circuit(edges, changes, is_sufficient(model, tokens, edges, kind, seed, asked), known)


def answers(logits: Logits) -> Int[Tensor, "batch pos"]:
    """The answer at every position; where no output leads alone there is none, and −1."""
    tied = (logits == logits.amax(-1, keepdim=True)).sum(-1) > 1
    return logits.argmax(-1).masked_fill(tied, -1)


def _written(weights: Mapping[str, Tensor], site: Site) -> Bool[Tensor, " width"]:
    if site.hook == "hook_embed":
        return weights["embed.W_E"].any(dim=0)
    if site.hook == "hook_pos_embed":
        return weights["pos_embed.W_pos"].any(dim=0)
    block = site.hook.rsplit(".", 1)[0]
    if site.head is not None:
        return weights[f"{block}.W_O"][site.head].any(dim=0)
    return weights[f"{block}.mlp.W_out"].any(dim=0) | weights[f"{block}.mlp.b_out"].bool()


def _read(weights: Mapping[str, Tensor], site: Site) -> Bool[Tensor, " width"]:
    block, hook = site.hook.rsplit(".", 1)
    if site.head is not None:
        of_groups = weights[f"{block}.attn.W_{hook.removeprefix('hook_')[0].upper()}"]
        heads = len(weights[f"{block}.attn.W_Q"])
        return of_groups[site.head * len(of_groups) // heads].any(dim=1)
    if hook == "hook_mlp_in":
        gate = weights.get(f"{block}.mlp.W_gate", torch.zeros(1, 1))
        return weights[f"{block}.mlp.W_in"].any(dim=1) | gate.any(dim=1)
    return weights["unembed.W_U"].any(dim=1)


class _Cutting:
    """What a model answers on some words while edges are cut, beside its answers while none is."""

    def __init__(self, model: Transformer, tokens: Tokens, kind: str, seed: int, asked: Asked | None) -> None:
        self.graph, self.tokens = Edges(model), tokens
        if kind == "zero":
            self.instead = self.graph.zeros(tokens)
        else:
            self.instead = instead_of(kind, self.graph.terms(tokens).transpose(0, 1), seed).transpose(0, 1)
        self.at_once = self.graph.rows_at_once(tokens.shape[1])
        before = torch.cat([answers(model(words)) for words in tokens.split(self.at_once)])
        self.before = before if asked is None else before.masked_fill(~asked, -1)

    def changed(self, cuts: Bool[Tensor, "cut writer reader"]) -> Float[Tensor, " cut"]:
        """For each cut, the part of the answers that changed; as many words at once as fit.

        Where there was no answer before, as at the start token of some built models, none can change.
        """
        at_once, count, number = max(1, self.at_once // len(cuts)), torch.zeros(len(cuts)).double(), len(cuts)
        parts = (self.tokens.split(at_once), self.instead.split(at_once, 1), self.before.split(at_once))
        for words, terms, before in zip(*parts, strict=True):
            rows = cuts.repeat_interleave(len(words), 0)
            now = answers(self.graph.run(words.repeat(number, 1), rows, terms.repeat(1, number, 1, 1)))
            count += ((now.view(number, -1) != before.flatten()) & (before.flatten() != -1)).sum(1)
        return count / (self.before != -1).sum().clamp_min(1)


@torch.no_grad()
def is_sufficient(
    model: Transformer,
    tokens: Tokens,
    edges: Iterable[Edge],
    kind: str = "zero",
    seed: int = 0,
    asked: Asked | None = None,
) -> bool:
    """Whether these edges alone give the model's answers on these words: all others are cut together."""
    cutting, kept = _Cutting(model, tokens, kind, seed, asked), set(edges)
    cut = cutting.graph.cut(edge for edge in cutting.graph.edges if edge not in kept)
    return not cutting.changed(cut[None]).any()


@torch.no_grad()
def effects(
    model: Transformer,
    tokens: Tokens,
    kind: str = "zero",
    seed: int = 0,
    among: Sequence[Edge] | None = None,
    asked: Asked | None = None,
    progress: Progress = silent,
) -> dict[Edge, float]:
    """For each edge, the part of the answers that change when it alone is cut; many at once.

    `among` are the edges to try, all if not given; `kind` and `asked` are those of `find_circuit`.
    """
    cutting = _Cutting(model, tokens, kind, seed, asked)
    edges, parts = cutting.graph.edges if among is None else among, list[float]()
    at_once = max(1, cutting.at_once // len(tokens))
    for some in (edges[begin : begin + at_once] for begin in range(0, len(edges), at_once)):
        parts += cutting.changed(torch.stack([cutting.graph.cut([edge]) for edge in some])).tolist()
        progress(len(parts), len(edges))
    return dict(zip(edges, parts, strict=True))


@torch.no_grad()
def prune(
    model: Transformer,
    tokens: Tokens,
    kind: str = "zero",
    tolerance: float = 0.0,
    seed: int = 0,
    among: Sequence[Edge] | None = None,
    asked: Asked | None = None,
    progress: Progress = silent,
) -> list[Edge]:
    """The edges that are left when, from the logits down, each is cut for good unless too many answers change.

    `among` are the edges to try, all if not given; the others are cut to begin with. `kind`, `tolerance` and `asked`
    are those of `find_circuit`.
    """
    cutting = _Cutting(model, tokens, kind, seed, asked)
    graph, kept = cutting.graph, list[Edge]()
    edges = graph.edges if among is None else among
    cut = graph.cut(set(graph.edges) - set(edges))
    for number, edge in enumerate(reversed(edges), start=1):
        trial = cut | graph.cut([edge])
        if cutting.changed(trial[None]) <= tolerance:
            cut = trial
        else:
            kept.append(edge)
        progress(number, len(edges))
    return kept[::-1]
