"""What a person sees of a machine, and of a model on one word, as plain values: for the page, the report and notebooks.

Attention weights are sixteen-bit numbers in base64, since a word of 512 letters has a quarter of a million of them for
every head; everything else is JSON as it is. Sentences, and drawings with words in them, come in all languages.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.algebra import Limits
from glassformer.automata import Machine
from glassformer.compiler.built import Built
from glassformer.compiler.classification import classify
from glassformer.compiler.constructions.universal import Approximation
from glassformer.compiler.constructions.universal.proof import part_title
from glassformer.documents.approximation.stages import stages
from glassformer.errors import InputError
from glassformer.instruments import score_heads
from glassformer.instruments.heads import HeadScore
from glassformer.messages import LANGUAGES, Message, verbatim
from glassformer.nn import Transformer
from glassformer.nn.trace import HookContext, HookPoint
from glassformer.opening.opened import Opened
from glassformer.ui.drawing.automaton import layout
from glassformer.ui.drawing.cascade import draw_cascade

Seen = dict[str, Any]

FULL: Final = 2**16 - 1
"""The number that stands for an attention weight of 1."""
MOST_NUMBERS: Final = 2**22
"""Attention weights that are shown at once."""
QUICK: Final = Limits(elements=20_000, images=2_000, rows=100_000, seconds=2.0)
"""How far the algebra looks while somebody waits."""


CLASSIFIED: Final = ("states", "minimal_states", "monoid_size", "complexity", "solvable", "depth", "length")
PROMISED: Final = ("method", "layers", "heads", "width", "mlp", "parameters", "dtype", "exact_length")


def machine_seen(machine: Machine, spec: str) -> Seen:
    """States, letters, where they lead, and where all of it is drawn, if it can be."""
    drawn = layout(machine)
    return {
        "spec": spec,
        "states": list(machine.states),
        "symbols": list(machine.symbols),
        "delta": machine.delta.tolist(),
        "start": int(machine.start),
        "outputs": [output if isinstance(output, bool) else str(output) for output in machine.outputs],
        "layout": None if drawn is None else asdict(drawn),
    }


def class_seen(machine: Machine, spec: str, length: int, limits: Limits = QUICK) -> Seen:
    """Its class, its groups, its depths, and its cascade, drawn."""
    found = classify(machine, length, limits=limits)
    values, circuits, cascade = found.to_json(), found.complexity.of_circuits, found.cascade
    return {
        **{key: values[key] for key in CLASSIFIED},
        "theorem": circuits and circuits.theorem.in_all_languages(),
        "assumes": circuits and circuits.assumes.in_all_languages(),
        "groups": {str(name): count for name, count in found.groups().items()},
        "group_names": {str(name): name.in_all_languages() for name in found.groups() if isinstance(name, Message)},
        "notes": [note.in_all_languages() for note in found.notes],
        "drawing": cascade and {language: draw_cascade(cascade, spec, language) for language in LANGUAGES},
    }


def built_seen(built: Built) -> Seen:
    """What a built model promises, and what each of its parts does."""
    promised = built.certificate
    return {
        **{key: getattr(promised, key) for key in PROMISED},
        "theorem": promised.theorem.in_all_languages(),
        "why": promised.why.in_all_languages(),
        "margins": [
            [Message(f"margins.{name}_name").in_all_languages(), held.in_all_languages()]
            for name, held in promised.margins.summary().items()
        ],
        "registers": [
            {"name": each.name, "start": each.start, "size": each.size, "about": each.about.in_all_languages()}
            for each in promised.registers
        ],
        "parts": [
            {
                "heads": [operation.title.in_all_languages() for operation in layer.heads],
                "mlp": layer.mlp and [does.in_all_languages() for does in layer.mlp],
            }
            for layer in promised.blocks
        ],
    }


def approximation_seen(built: Approximation) -> Seen:
    """What was built for a function, how near it is, and its stages along a line, each with its lines in order."""
    return {
        **asdict(built.certificate),
        "cells": built.grid.cells,
        "parts": [
            {"name": part_title(part).in_all_languages(), "blocks": len(layers)}
            for part, layers in built.proof.parts.items()
        ],
        "stages": {
            name: {
                "title": _in_all_languages(panel.title),
                "across": _in_all_languages(panel.across),
                "names": [_in_all_languages(panel.names[line]) for line in panel.lines],
                "lines": [_rounded_points(points) for points in panel.lines.values()],
                "between": panel.between,
                "logarithmic": panel.logarithmic,
            }
            for name, panel in stages(built).items()
        },
    }


@torch.no_grad()
def word_seen(subject: Opened, word: str, without: Sequence[Sequence[int]] = (), stream: bool = True) -> Seen:
    """One word in one model: all answers and attention patterns; heads in `without`, as [layer, head], are ablated.

    The stream is what every register holds after every layer. An answer is −1 where several lead together.
    """
    model, tokens = subject.model, subject.tokens(word)
    length = tokens.shape[1]
    numbers = sum(shape.heads for shape in model.config.blocks) * length**2
    if numbers > MOST_NUMBERS:
        raise InputError("page.too_many_weights", weights=numbers)
    patterns = _patterns(model)
    behind = [f"blocks.{i}.hook_resid_post" for i in range(len(model.blocks))]
    hooks = HookContext([*patterns, "hook_embed", "hook_pos_embed", *behind], _ablations(model, without))
    logits, seen = model(tokens, hooks), hooks.cache
    layers = [seen["hook_embed"] + seen.get("hook_pos_embed", 0), *(seen[name] for name in behind)]
    return {
        "tokens": [subject.names[token] for token in tokens[0].tolist()],
        "outputs": list(subject.outputs),
        "logits": _rounded(logits[0]),
        "answers": _answers(logits[0]),
        "lens": [_answers(model.unembed(model.finish(each))[0]) for each in layers],
        "heads": [shape.heads for shape in model.config.blocks],
        "patterns": [[_packed(head) for head in seen[name][0]] if name in seen else [] for name in _patterns(model)],
        "stream": [_rounded(each[0]) for each in layers] if stream else None,
    }


def heads_seen(subject: Opened, words: int, length: int) -> Seen:
    """What each head does on words of so many letters, by its patterns, and how much it matters."""
    tokens = subject.words(words, min(length, subject.model.config.context - 1)).tokens
    scores = [_head_seen(score, subject) for score in score_heads(subject.model, tokens)]
    return {"scores": scores, "words": len(tokens), "length": tokens.shape[1] - 1}


def _in_all_languages(text: Message | str) -> dict[str, str]:
    return (text if isinstance(text, Message) else verbatim(text)).in_all_languages()


def _head_seen(score: HeadScore, subject: Opened) -> Seen:
    second = score.next_best
    return {
        "layer": score.layer,
        "head": score.head,
        "job": score.title.in_all_languages(),
        "at": None if score.at is None else [subject.names[token] for token in score.at],
        "confidence": score.confidence,
        "matters": score.matters,
        "second": {"job": second.title.in_all_languages(), "score": score.scores[second]},
    }


def _answers(logits: Float[Tensor, "pos answer"]) -> list[int]:
    leads = logits == logits.amax(-1, keepdim=True)
    return torch.where(leads.sum(-1) == 1, logits.argmax(-1), -1).tolist()


def refuse_unknown_heads(without: Sequence[Sequence[int]], models: Sequence[Transformer]) -> None:
    """Heads that none of the models has cannot be ablated."""
    for layer, head in without:
        if not any(_has_head(model, layer, head) for model in models):
            raise InputError("page.no_head", head=head, layer=layer)


def _has_head(model: Transformer, layer: int, head: int) -> bool:
    return 0 <= layer < len(model.blocks) and 0 <= head < model.config.blocks[layer].heads


def _patterns(model: Transformer) -> list[str]:
    return [f"blocks.{i}.attn.hook_pattern" for i in range(len(model.blocks))]


def _packed(weights: Float[Tensor, "query key"]) -> str:
    numbers = (weights * FULL).round().to(torch.int32).numpy().astype("<u2")
    return base64.b64encode(numbers.tobytes()).decode()


def _rounded(values: Float[Tensor, "pos number"]) -> list[list[float]]:
    """To four digits: what is seen, not what is computed with."""
    return [[float(f"{value:.4g}") for value in row] for row in values.tolist()]


def _rounded_points(points: Sequence[tuple[float, float]]) -> list[list[float]]:
    return [[float(f"{x:.4g}"), float(f"{y:.4g}")] for x, y in points]


def _ablations(model: Transformer, without: Sequence[Sequence[int]]) -> Mapping[str, list[Any]]:
    """Edits that set the output of these heads to 0, of those that the model has."""
    edits: dict[str, list[Any]] = {}
    for layer, head in without:
        if not _has_head(model, layer, head):
            continue

        def ablate(z: Tensor, hook: HookPoint, head: int = head) -> None:
            z[:, :, head] = 0

        edits.setdefault(f"blocks.{layer}.attn.hook_z", []).append(ablate)
    return edits
