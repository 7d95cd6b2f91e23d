"""Change one activation of a run, and see what becomes of the answer.

*Ablation* takes a head's or an MLP's output away: by zero, by its mean over words (at each position), or by what it
was on another word (resample). *Patching* puts what a place held in one run (clean) into another run (corrupted): where
that brings the clean answer back, the place holds what makes the difference. *Path patching* does so for what one part
reads from another, and for no other reader.

All runs of a grid of places go through the model together, in batches that fit in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments.edges import Edge, Edges
from glassformer.instruments.sites import Site, check, rows_at_once
from glassformer.nn import Transformer
from glassformer.nn.trace import Hook, HookPoint, refuse_if_too_large
from glassformer.nn.transformer import Logits
from glassformer.progress import Progress, silent

KINDS: Final = ("zero", "mean", "resample")

Metric: TypeAlias = Callable[[Float[Tensor, "*cell word pos output"]], Float[Tensor, "*cell word"]]
"""From the logits of words to one number for each."""
Words: TypeAlias = Int[Tensor, "_ _"] | Float[Tensor, "_ _ _"]
"""Tokens, or vectors in their place."""


# -- ablation ------------------------------------------------------------------------------------------


def instead_of(kind: str, activation: Tensor, seed: int = 0) -> Tensor:
    """What stands in the place of an activation [word, …] that is taken away."""
    if kind not in KINDS:
        raise InputError("instruments.ablation_kind", kinds=KINDS, kind=kind)
    if kind == "zero":
        return activation.new_zeros(()).expand_as(activation)
    if kind == "mean":
        return activation.mean(dim=0, keepdim=True).expand_as(activation)
    return activation[others(len(activation), seed)]


def others(count: int, seed: int = 0) -> Int[Tensor, " word"]:
    """For each word another one, at random; each is the other of one word."""
    if count < 2:
        raise InputError("instruments.resample_two")
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    return order[(order.argsort() + 1) % count]


@torch.no_grad()
def ablate(model: Transformer, tokens: Words, sites: Sequence[Site], kind: str = "mean", seed: int = 0) -> Logits:
    """The logits without what these sites hold, all of them together.

    `kind` is what takes its place: zero, the mean over words at each position (mean), or what was there on another word
    (resample), both from runs in which nothing is ablated.
    """
    _, held = _whole(model, tokens, sites)
    return torch.cat([*without(model, tokens, held, kind, seed)])


@torch.no_grad()
def changed_without(
    model: Transformer,
    batches: Sequence[Words],
    site: Site,
    kind: str = "mean",
    seed: int = 0,
    asked: Sequence[Bool[Tensor, "_ _"]] | None = None,
) -> float:
    """The part of all answers, or of those asked for, that change without what a site holds.

    Each batch is ablated within itself.
    """
    changed = []
    for i, tokens in enumerate(batches):
        before, held = _whole(model, tokens, [site])
        after = torch.cat([logits.argmax(-1) for logits in without(model, tokens, held, kind, seed)])
        changed.append((after != before)[asked[i] if asked is not None else ...].flatten())
    return float(torch.cat(changed).double().mean())


def _whole(
    model: Transformer, tokens: Words, sites: Sequence[Site]
) -> tuple[Int[Tensor, "word pos"], dict[Site, Tensor]]:
    """The answers of runs that lack nothing, and what the sites hold in them."""
    hooks = sorted({check(model, site).hook for site in sites})
    refuse_if_too_large(hooks, model.config, *tokens.shape[:2])
    answers, held = list[Tensor](), {site: list[Tensor]() for site in sites}
    for words in torch.split(tokens, rows_at_once(model, tokens.shape[1])):
        trace = model.trace(words, hooks)
        answers.append(trace.logits.argmax(-1))
        for site, parts in held.items():
            parts.append(site.of(trace[site.hook]))
    return torch.cat(answers), {site: torch.cat(parts) for site, parts in held.items()}


@torch.no_grad()
def without(
    model: Transformer, tokens: Words, held: Mapping[Site, Tensor], kind: str, seed: int = 0
) -> Iterator[Logits]:
    """The logits without what these sites hold on all words, of as many words at once as fit."""
    at_once = rows_at_once(model, tokens.shape[1])
    instead = [instead_of(kind, all_words, seed).split(at_once) for all_words in held.values()]
    for words, *parts in zip(torch.split(tokens, at_once), *instead, strict=True):
        there = dict(zip(held, parts, strict=True))

        def take_away(activation: Tensor, hook: HookPoint, there: Mapping[Site, Tensor] = there) -> None:
            for site in (site for site in there if site.hook == hook.name):
                site.of(activation).copy_(there[site])

        yield model.run_with_hooks(words, [(name, take_away) for name in {site.hook for site in held}])


def outputs_of(model: Transformer) -> list[Site]:
    """What every head reads, and the output of every MLP: the parts that one ablates."""
    sites = []
    for i, shape in enumerate(model.config.blocks):
        sites += [Site(f"blocks.{i}.attn.hook_z", head) for head in range(shape.heads)]
        sites += [Site(f"blocks.{i}.hook_mlp_out")] * bool(shape.mlp)
    return sites


@dataclass(frozen=True)
class Ablated:
    """The part of the answers that change without each head of a layer, and without its MLP, if it has one."""

    layer: int
    heads: list[float]
    mlp: float | None


def ablations(
    model: Transformer,
    batches: Sequence[Words],
    kind: str = "mean",
    seed: int = 0,
    asked: Sequence[Bool[Tensor, "_ _"]] | None = None,
    progress: Progress = silent,
) -> list[Ablated]:
    """The share of answers that change without each head and each MLP in turn.

    Each batch is ablated within itself, as `ablate` does; `asked` says for each one [word, pos] where an answer counts.
    """
    parts, changed = outputs_of(model), dict[Site, float]()
    for number, site in enumerate(parts, start=1):
        changed[site] = changed_without(model, batches, site, kind, seed, asked)
        progress(number, len(parts))
    return [
        Ablated(
            layer=i,
            heads=[changed[Site(f"blocks.{i}.attn.hook_z", head)] for head in range(shape.heads)],
            mlp=changed.get(Site(f"blocks.{i}.hook_mlp_out")),
        )
        for i, shape in enumerate(model.config.blocks)
    ]


# -- patching ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A site at one position."""

    site: Site
    position: int


@torch.no_grad()
def patch(
    model: Transformer,
    corrupted: Words,
    clean: Words,
    cells: Sequence[Sequence[Place]],
    metric: Metric,
    progress: Progress = silent,
) -> Float[Tensor, "cell word"]:
    """The metric of corrupted runs in which the places of one cell hold what they hold in the clean run.

    Each of the `cells` is a set of places that are patched together, and gives one result. A `metric` makes of logits
    [word, pos, output] one number for each word, as `logit_difference` does.
    """
    _refuse_unlike(corrupted, clean)
    words, length = clean.shape[:2]
    sites = {check(model, place.site) for cell in cells for place in cell}
    for place in (place for cell in cells for place in cell):
        if not 0 <= place.position < length:
            raise InputError("instruments.no_position", position=place.position, last=length - 1)
    there = model.trace(clean, sorted({site.hook for site in sites}))
    entering = model.trace(corrupted, lambda name: name.endswith("hook_resid_pre"))
    at_once, measured = max(1, rows_at_once(model, length) // words), dict[int, Tensor]()
    for begin, numbers in _by_first_block(cells).items():
        stream = entering[f"blocks.{begin}.hook_resid_pre"] if begin else corrupted
        for some in (numbers[i : i + at_once] for i in range(0, len(numbers), at_once)):
            hooks = list(_placed([cells[c] for c in some], there, words))
            logits = model.run_with_hooks(_tiled(stream, len(some)), hooks, begin)
            measured |= zip(some, _measured(metric, logits.view(len(some), words, *logits.shape[1:])), strict=True)
            progress(len(measured), len(cells))
    return torch.stack([measured[c] for c in range(len(cells))]) if cells else torch.zeros(0, words)


def _refuse_unlike(corrupted: Words, clean: Words) -> None:
    if corrupted.shape[:2] != clean.shape[:2]:
        shapes = {"corrupted": str(list(corrupted.shape[:2])), "clean": str(list(clean.shape[:2]))}
        raise InputError("instruments.unlike_words", **shapes)


def _measured(metric: Metric, logits: Float[Tensor, "cell word pos output"]) -> Float[Tensor, "cell word"]:
    """The numbers of a metric, which must be one for each word."""
    try:
        numbers = metric(logits)
    except (RuntimeError, IndexError) as error:
        raise InputError("instruments.metric_fails", logits=str(list(logits.shape)), why=str(error)) from None
    if numbers.shape != logits.shape[:2]:
        given = {"numbers": str(list(numbers.shape)), "logits": str(list(logits.shape))}
        raise InputError("instruments.metric_shape", **given)
    return numbers


def _by_first_block(cells: Sequence[Sequence[Place]]) -> dict[int, list[int]]:
    """The numbers of the cells that change nothing before a block: until there, all runs are the corrupted one."""
    groups: dict[int, list[int]] = {}
    for c, cell in enumerate(cells):
        blocks = [int(name[1]) if name[0] == "blocks" else 0 for name in (place.site.hook.split(".") for place in cell)]
        groups.setdefault(min(blocks, default=0), []).append(c)
    return groups


def _tiled(words: Words, times: int) -> Words:
    tiled: Tensor = words.expand(times, *words.shape).flatten(0, 1)
    return tiled


def _placed(cells: Sequence[Sequence[Place]], there: Mapping[str, Tensor], words: int) -> Iterator[Hook]:
    """Hooks that put into the rows of each cell what its places held in the clean run."""
    rows: dict[Site, list[int]] = {}
    positions: dict[Site, list[int]] = {}
    for c, place in ((c, place) for c, cell in enumerate(cells) for place in cell):
        rows.setdefault(place.site, []).append(c)
        positions.setdefault(place.site, []).append(place.position)

    def put(activation: Tensor, hook: HookPoint) -> None:
        for site in (site for site in rows if site.hook == hook.name):
            own = site.of(activation).unflatten(0, (-1, words))
            own[rows[site], :, positions[site]] = site.of(there[hook.name])[:, positions[site]].transpose(0, 1)

    for name in {site.hook for site in rows}:
        yield name, put


def grid(sites: Sequence[Site], length: int) -> list[list[Place]]:
    """One cell for each site and position."""
    return [[Place(site, position)] for site in sites for position in range(length)]


@torch.no_grad()
def path_patch(
    model: Transformer, corrupted: Words, clean: Words, edges: Sequence[Edge], metric: Metric
) -> Float[Tensor, " word"]:
    """The metric of corrupted runs in which these edges alone carry what their writers write in the clean run.

    A `metric` makes of logits [word, pos, output] one number for each word.
    """
    return path_patches(model, corrupted, clean, [edges], metric)[0]


@torch.no_grad()
def path_patches(
    model: Transformer,
    corrupted: Words,
    clean: Words,
    cells: Sequence[Sequence[Edge]],
    metric: Metric,
    progress: Progress = silent,
) -> Float[Tensor, "cell word"]:
    """The same for many cells: sets of edges that are patched together, one result each; they run side by side."""
    _refuse_unlike(corrupted, clean)
    graph, words = Edges(model), len(clean)
    at_once, terms = max(1, graph.rows_at_once(clean.shape[1]) // words), graph.terms(clean)
    measured: list[Tensor] = []
    for some in (cells[i : i + at_once] for i in range(0, len(cells), at_once)):
        cut = torch.stack([graph.cut(edges) for edges in some]).repeat_interleave(words, dim=0)
        logits = graph.run(_tiled(corrupted, len(some)), cut, terms.repeat(1, len(some), 1, 1))
        measured += _measured(metric, logits.view(len(some), words, *logits.shape[1:]))
        progress(len(measured), len(cells))
    return torch.stack(measured) if measured else terms.new_zeros(0, words)


# -- what is measured ----------------------------------------------------------------------------------


def logit_difference(answer: Int[Tensor, " word"], other: Int[Tensor, " word"], position: int = -1) -> Metric:
    """By how much the logit of one answer passes that of another, at a position."""

    def difference(logits: Float[Tensor, "*cell word pos output"]) -> Float[Tensor, "*cell word"]:
        last = logits[..., position, :]
        chosen = torch.stack([answer, other], dim=-1).expand(*last.shape[:-1], 2)
        both = last.gather(-1, chosen)
        return both[..., 0] - both[..., 1]

    return difference


def probability(answer: Int[Tensor, " word"], position: int = -1) -> Metric:
    """The probability of an answer, at a position."""

    def share(logits: Float[Tensor, "*cell word pos output"]) -> Float[Tensor, "*cell word"]:
        last = logits[..., position, :].softmax(-1)
        return last.gather(-1, answer.expand(last.shape[:-1])[..., None])[..., 0]

    return share


@torch.no_grad()
def restored(
    patched: Float[Tensor, "*cell word"], corrupted: Float[Tensor, " word"], clean: Float[Tensor, " word"]
) -> Float[Tensor, "*cell"]:
    """The part of the difference between corrupted and clean runs that patching restores: 0 nothing, 1 all of it."""
    difference: Tensor = (clean - corrupted).mean()
    if not difference.abs() > 1e-9:
        raise InputError("instruments.nothing_to_restore")
    return (patched - corrupted).mean(-1) / difference
