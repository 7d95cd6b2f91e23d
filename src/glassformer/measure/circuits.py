"""Which wires does a model need? Cut each alone, or one after the other for good, and see whether the answers change.

The weights of a built model tell which wires there are: what one part writes, another reads. This is the known circuit,
and what an instrument finds can be set beside it, as precision and recall. A wire that is there may still be *idle*,
where words are shorter than those that a model is built for. Then what was found should suffice: all else is cut
together, and no answer changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from glassformer.errors import InputError
from glassformer.measure.patching import QUIET, Told, instead_of
from glassformer.measure.sites import Site
from glassformer.measure.wiring import Terms, Wire, Wiring
from glassformer.nn import Transformer
from glassformer.nn.transformer import Logits, Tokens


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
def suffices(model: Transformer, tokens: Tokens, wires: Iterable[Wire]) -> bool:
    """Whether these wires alone give the model's answers on these words: all others are cut together."""
    wiring, kept = Wiring(model), set(wires)
    cut = wiring.cut(wire for wire in wiring.wires if wire not in kept).expand(len(tokens), -1, -1)
    logits = wiring.run(tokens, cut, torch.zeros_like(wiring.terms(tokens)))
    return not changed(logits, model(tokens)).any()


def changed(logits: Logits, before: Logits) -> Bool[Tensor, "batch pos"]:
    """Where the answer is another one; and where it now leads no longer alone, which is no answer."""
    tied, were_tied = ((some == some.amax(-1, keepdim=True)).sum(-1) > 1 for some in (logits, before))
    return (logits.argmax(-1) != before.argmax(-1)) | (tied & ~were_tied)


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
    tell: Told = QUIET,
) -> dict[Wire, float]:
    """For each wire, or those among some, the part of the answers that change when it alone is cut; many at once."""
    wiring, words = Wiring(model), len(tokens)
    instead, before = _instead(wiring, tokens, kind, seed), model(tokens)
    wires, parts = wiring.wires if among is None else among, list[float]()
    at_once = max(1, wiring.rows_at_once(tokens.shape[1]) // words)
    for begin in range(0, len(wires), at_once):
        some = wires[begin : begin + at_once]
        cut = torch.stack([wiring.cut([wire]) for wire in some]).repeat_interleave(words, dim=0)
        logits = wiring.run(tokens.repeat(len(some), 1), cut, instead.repeat(1, len(some), 1, 1))
        differ = changed(logits, before.repeat(len(some), 1, 1)).view(len(some), -1)
        parts += differ.double().mean(dim=1).tolist()
        tell(min(begin + at_once, len(wires)), len(wires))
    return dict(zip(wires, parts, strict=True))


@torch.no_grad()
def prune(
    model: Transformer,
    tokens: Tokens,
    kind: str = "zero",
    tolerance: float = 0.0,
    seed: int = 0,
    among: Sequence[Wire] | None = None,
    tell: Told = QUIET,
) -> list[Wire]:
    """The wires that are left when, from the logits down, each is cut for good unless too many answers change.

    Where only those among some are in question, all others are cut to begin with.
    """
    wiring, words = Wiring(model), len(tokens)
    instead, before = _instead(wiring, tokens, kind, seed), model(tokens)
    wires, kept = wiring.wires if among is None else among, list[Wire]()
    cut = wiring.cut(set(wiring.wires) - set(wires))
    for number, wire in enumerate(reversed(wires), start=1):
        trial = cut | wiring.cut([wire])
        logits = wiring.run(tokens, trial.expand(words, -1, -1), instead)
        if changed(logits, before).double().mean() <= tolerance:
            cut = trial
        else:
            kept.append(wire)
        tell(number, len(wires))
    return kept[::-1]


def _instead(wiring: Wiring, tokens: Tokens, kind: str, seed: int) -> Terms:
    terms = wiring.terms(tokens)
    return instead_of(kind, terms.transpose(0, 1), seed).transpose(0, 1)
