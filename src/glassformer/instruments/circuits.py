"""Which wires does a model need? Cut each alone, or one after the other for good, and see whether the answers change.

The weights of a built model tell which wires there are: what one part writes, another reads. This is the known circuit,
and what an instrument finds can be set beside it, as precision and recall. A wire that is there may still be *idle*,
where words are shorter than those that a model is built for. Then what was found should suffice: all else is cut
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
from glassformer.instruments.patching import QUIET, Told, instead_of
from glassformer.instruments.sites import Site
from glassformer.instruments.wiring import Terms, Wire, Wiring
from glassformer.nn import Transformer
from glassformer.nn.transformer import Logits, Tokens

Asked: TypeAlias = Bool[Tensor, "batch pos"]
"""Where an answer counts."""


@dataclass(frozen=True)
class Score:
    """What was found beside what is there."""

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


def score(found: Iterable[Wire], known: Iterable[Wire]) -> Score:
    """How far they agree."""
    found, known = set(found), set(known)
    return Score(len(found), len(known), len(found & known))


def wires_in_weights(model: Transformer) -> list[Wire]:
    """The wires over which something can be said: the writer writes columns of the stream that the reader reads.

    In a trained model these are nearly always all; in a built one they are what the construction put there.
    """
    if model.config.norm != "none":
        raise InputError("a norm mixes all columns of the stream: the weights do not tell which wires there are")
    weights, wiring = model.state_dict(), Wiring(model)
    writes = {site: _written(weights, site) for site in wiring.writers}
    reads = {site: _read(weights, site) for site in wiring.readers}
    return [wire for wire in wiring.wires if (writes[wire.writer] & reads[wire.reader]).any()]


@torch.no_grad()
def suffices(
    model: Transformer,
    tokens: Tokens,
    wires: Iterable[Wire],
    kind: str = "zero",
    seed: int = 0,
    asked: Asked | None = None,
) -> bool:
    """Whether these wires alone give the model's answers on these words: all others are cut together."""
    wiring, kept = Wiring(model), set(wires)
    cut = wiring.cut(wire for wire in wiring.wires if wire not in kept)
    instead, said = _instead(wiring, tokens, kind, seed), _said(wiring, tokens, asked)
    return not _changed(wiring, tokens, cut[None], instead, said).any()


def answers(logits: Logits) -> Int[Tensor, "batch pos"]:
    """What is said at every position; where no output leads alone that is no answer, and −1."""
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


@torch.no_grad()
def effects(
    model: Transformer,
    tokens: Tokens,
    kind: str = "zero",
    seed: int = 0,
    among: Sequence[Wire] | None = None,
    asked: Asked | None = None,
    tell: Told = QUIET,
) -> dict[Wire, float]:
    """For each wire, or those among some, the part of the answers that change when it alone is cut; many at once.

    All answers count, or those asked for.
    """
    wiring = Wiring(model)
    instead, said = _instead(wiring, tokens, kind, seed), _said(wiring, tokens, asked)
    wires, parts = wiring.wires if among is None else among, list[float]()
    at_once = max(1, wiring.rows_at_once(tokens.shape[1]) // len(tokens))
    for begin in range(0, len(wires), at_once):
        cuts = torch.stack([wiring.cut([wire]) for wire in wires[begin : begin + at_once]])
        parts += _changed(wiring, tokens, cuts, instead, said).tolist()
        tell(len(parts), len(wires))
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
    tell: Told = QUIET,
) -> list[Wire]:
    """The wires that are left when, from the logits down, each is cut for good unless too many answers change.

    Where only those among some are in question, all others are cut to begin with.
    """
    wiring = Wiring(model)
    instead, said = _instead(wiring, tokens, kind, seed), _said(wiring, tokens, asked)
    wires, kept = wiring.wires if among is None else among, list[Wire]()
    cut = wiring.cut(set(wiring.wires) - set(wires))
    for number, wire in enumerate(reversed(wires), start=1):
        trial = cut | wiring.cut([wire])
        if _changed(wiring, tokens, trial[None], instead, said) <= tolerance:
            cut = trial
        else:
            kept.append(wire)
        tell(number, len(wires))
    return kept[::-1]


def _changed(
    wiring: Wiring,
    tokens: Tokens,
    cuts: Bool[Tensor, "cut writer reader"],
    instead: Terms,
    said: Int[Tensor, "batch pos"],
) -> Float[Tensor, " cut"]:
    """For each cut, the part of the answers that changed; as many words at once as fit.

    Where nothing was said before, as the start token of some built models says nothing, nothing can change.
    """
    at_once, count = max(1, wiring.rows_at_once(tokens.shape[1]) // len(cuts)), torch.zeros(len(cuts)).double()
    for words, terms, before in zip(tokens.split(at_once), instead.split(at_once, 1), said.split(at_once), strict=True):
        rows, ways = cuts.repeat_interleave(len(words), 0), len(cuts)
        now = answers(wiring.run(words.repeat(ways, 1), rows, terms.repeat(1, ways, 1, 1)))
        count += ((now.view(ways, -1) != before.flatten()) & (before.flatten() != -1)).sum(1)
    return count / (said != -1).sum().clamp_min(1)


def _said(wiring: Wiring, tokens: Tokens, asked: Asked | None) -> Int[Tensor, "batch pos"]:
    """The answers while no wire is cut; −1 where none is asked for."""
    parts = tokens.split(wiring.rows_at_once(tokens.shape[1]))
    said = torch.cat([answers(wiring.model(words)) for words in parts])
    return said if asked is None else said.masked_fill(~asked, -1)


def _instead(wiring: Wiring, tokens: Tokens, kind: str, seed: int) -> Terms:
    if kind == "zero":
        return wiring.silence(tokens)
    return instead_of(kind, wiring.terms(tokens).transpose(0, 1), seed).transpose(0, 1)
