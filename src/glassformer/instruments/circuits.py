"""Which wires does a model need? Cut each alone, or one after the other for good, and see whether the answers change.

The weights of a built model show which wires there are: what one part writes, another reads. This is the known circuit,
and what an instrument finds can be set beside it, as precision and recall. A wire that is there may still be *idle*,
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
from glassformer.instruments.patching import instead_of
from glassformer.instruments.sites import Site
from glassformer.instruments.wiring import Wire, Wiring
from glassformer.nn import Transformer
from glassformer.nn.transformer import Logits, Tokens
from glassformer.progress import Progress, silent

Asked: TypeAlias = Bool[Tensor, "batch pos"]
"""Where an answer counts."""


@dataclass(frozen=True)
class Overlap:
    """How many wires were found, are known, and are both."""

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


def score(found: Iterable[Wire], known: Iterable[Wire]) -> Overlap:
    """How far they agree."""
    found, known = set(found), set(known)
    return Overlap(len(found), len(known), len(found & known))


def wires_in_weights(model: Transformer) -> list[Wire]:
    """The wires that can carry something: the writer writes columns of the stream that the reader reads.

    In a trained model these are nearly always all; in a built one they are what the construction put there.
    """
    if model.config.norm != "none":
        raise InputError("instruments.norm_mixes")
    weights, wiring = model.state_dict(), Wiring(model)
    writes = {site: _written(weights, site) for site in wiring.writers}
    reads = {site: _read(weights, site) for site in wiring.readers}
    return [wire for wire in wiring.wires if (writes[wire.writer] & reads[wire.reader]).any()]


@dataclass(frozen=True)
class Circuit:
    """The wires that a model needs on some words, beside those that its weights make, where these are known."""

    wires: list[Wire]
    changes: dict[Wire, float]
    """The part of the answers that each wire changes when it alone is cut; nothing after pruning."""
    is_sufficient: bool
    """Whether no answer changes when all other wires are cut together."""
    known: list[Wire] | None

    @property
    def overlap(self) -> Overlap:
        """The wires that were found, beside those that are known."""
        return score(self.wires, self.known or [])

    @property
    def missed(self) -> list[Wire]:
        """Known wires that were not found: idle on these words."""
        return [wire for wire in self.known or [] if wire not in self.wires]


def find_circuit(
    model: Transformer,
    tokens: Tokens,
    kind: str = "zero",
    tolerance: float = 0.0,
    seed: int = 0,
    asked: Asked | None = None,
    pruned: bool = False,
    known: list[Wire] | None = None,
    progress: Progress = silent,
) -> Circuit:
    """The wires that change more answers than are tolerated: each cut alone, or (pruned) for good."""
    changes: dict[Wire, float] = {}
    if pruned:
        wires = prune(model, tokens, kind, tolerance, seed, asked=asked, progress=progress)
    else:
        changes = effects(model, tokens, kind, seed, asked=asked, progress=progress)
        wires = [wire for wire, changed in changes.items() if changed > tolerance]
    return Circuit(wires, changes, is_sufficient(model, tokens, wires, kind, seed, asked), known)


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
    """What a model answers on some words while wires are cut, beside its answers while none is."""

    def __init__(self, model: Transformer, tokens: Tokens, kind: str, seed: int, asked: Asked | None) -> None:
        self.wiring, self.tokens = Wiring(model), tokens
        if kind == "zero":
            self.instead = self.wiring.zeros(tokens)
        else:
            self.instead = instead_of(kind, self.wiring.terms(tokens).transpose(0, 1), seed).transpose(0, 1)
        self.at_once = self.wiring.rows_at_once(tokens.shape[1])
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
            now = answers(self.wiring.run(words.repeat(number, 1), rows, terms.repeat(1, number, 1, 1)))
            count += ((now.view(number, -1) != before.flatten()) & (before.flatten() != -1)).sum(1)
        return count / (self.before != -1).sum().clamp_min(1)


@torch.no_grad()
def is_sufficient(
    model: Transformer,
    tokens: Tokens,
    wires: Iterable[Wire],
    kind: str = "zero",
    seed: int = 0,
    asked: Asked | None = None,
) -> bool:
    """Whether these wires alone give the model's answers on these words: all others are cut together."""
    cutting, kept = _Cutting(model, tokens, kind, seed, asked), set(wires)
    cut = cutting.wiring.cut(wire for wire in cutting.wiring.wires if wire not in kept)
    return not cutting.changed(cut[None]).any()


@torch.no_grad()
def effects(
    model: Transformer,
    tokens: Tokens,
    kind: str = "zero",
    seed: int = 0,
    among: Sequence[Wire] | None = None,
    asked: Asked | None = None,
    progress: Progress = silent,
) -> dict[Wire, float]:
    """For each wire, or those among some, the part of the answers that change when it alone is cut; many at once.

    All answers count, or those asked for.
    """
    cutting = _Cutting(model, tokens, kind, seed, asked)
    wires, parts = cutting.wiring.wires if among is None else among, list[float]()
    at_once = max(1, cutting.at_once // len(tokens))
    for some in (wires[begin : begin + at_once] for begin in range(0, len(wires), at_once)):
        parts += cutting.changed(torch.stack([cutting.wiring.cut([wire]) for wire in some])).tolist()
        progress(len(parts), len(wires))
    return dict(zip(wires, parts, strict=True))


@torch.no_grad()
def prune(
    model: Transformer,
    tokens: Tokens,
    kind: str = "zero",
    tolerance: float = 0.0,
    seed: int = 0,
    among: Sequence[Wire] | None = None,
    asked: Asked | None = None,
    progress: Progress = silent,
) -> list[Wire]:
    """The wires that are left when, from the logits down, each is cut for good unless too many answers change.

    Where only those among some are in question, all others are cut to begin with.
    """
    cutting = _Cutting(model, tokens, kind, seed, asked)
    wiring, kept = cutting.wiring, list[Wire]()
    wires = wiring.wires if among is None else among
    cut = wiring.cut(set(wiring.wires) - set(wires))
    for number, wire in enumerate(reversed(wires), start=1):
        trial = cut | wiring.cut([wire])
        if cutting.changed(trial[None]) <= tolerance:
            cut = trial
        else:
            kept.append(wire)
        progress(number, len(wires))
    return kept[::-1]
