"""Models and traces as HTML: a shape as a table, a certificate in words, and where every head of a run looked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Final

import numpy as np
from torch import Tensor

from glassformer.automata import Machine
from glassformer.compiler.built import Built
from glassformer.compiler.description import describe
from glassformer.messages import Message
from glassformer.nn import BlockShape, Config, Trace, Transformer
from glassformer.ui.notebook import machines
from glassformer.ui.notebook.markup import folded, heading, sentence, shade, table, whole
from glassformer.wording import counted

MOST_LAYERS: Final = 32
MOST_NAMES: Final = 200
MOST_HEADS: Final = 48
MOST_POSITIONS: Final = 256
LARGEST: Final = 2**22
"""Numbers of an activation beyond which its least and largest are not looked for."""
SIDE: Final = 110


@singledispatch
def html(thing: object) -> str:
    """A thing of this kind."""
    raise TypeError(f"notebooks cannot show {type(thing).__name__}")


@html.register
def _(model: Transformer) -> str:
    config = model.config
    words = f"{counted(len(config.blocks), 'layer')}, width {config.width:,}, {model.parameter_count():,} parameters"
    sizes = [sum(weights.numel() for weights in block.parameters()) for block in model.blocks]
    return whole(heading(type(model).__name__, words), _shape(config, sizes), sentence(_choices(config)))


def _shape(config: Config, sizes: list[int]) -> str:
    """What goes in, every layer, what comes out."""
    rows = [["in", f"{config.vocab:,} tokens, {config.context:,} positions at most", "", ""]]
    for i, (block, size) in enumerate(zip(config.blocks[:MOST_LAYERS], sizes, strict=False)):
        rows.append([f"layer {i}", *_block(block), f"{size:,}"])
    if len(config.blocks) > MOST_LAYERS:
        rows.append(["…", f"{len(config.blocks) - MOST_LAYERS} more", "", ""])
    rows.append(["out", f"{config.outputs:,} answers", "", ""])
    return table(["", "attention", "MLP", "parameters"], rows)


def _block(block: BlockShape) -> tuple[str, str]:
    heads = f"{counted(block.heads, 'head')} of width {block.head_width}" if block.heads else "none"
    shared = f", keys and values in {counted(block.groups, 'group')}" if block.groups else ""
    return heads + shared, " → ".join(f"{units:,}" for units in block.mlp) or "none"


def _choices(config: Config) -> str:
    """Everything else that a config chooses, in one line."""
    norm = "no norms" if config.norm == "none" else f"{config.norm} norm, {config.norm_place}"
    parts = ["causal" if config.causal else "sees the future", config.attention, f"{config.score} scores", norm]
    return ", ".join([*parts, f"{config.positions} positions", config.activation, f"{config.skip} skips"])


@html.register
def _(built: Built) -> str:
    about = built.certificate
    sizes = f"{counted(about.layers, 'layer')}, at most {counted(about.heads, 'head')}, width {about.width:,}"
    margins = about.margins.summary().items()
    return whole(
        heading("Built", f"exact for every word of up to {counted(about.exact_length, 'letter')} in {about.dtype}"),
        sentence(f"{about.theorem}. {sizes}, {about.parameters:,} parameters."),
        sentence(f"Why this one: {about.why}"),
        table(["layer", "part", "does", "writes"], _parts(built)),
        folded("margins", table([], [(Message(f"margins.{name}_name"), message) for name, message in margins])),
        folded("the machine", machines.html(built.machine)) if isinstance(built.machine, Machine) else "",
    )


def _parts(built: Built) -> Iterator[tuple[str, str, str, str]]:
    """Every head and MLP in words, with the registers that it writes."""
    for i, layer in enumerate(describe(built.model, built.certificate).layers[:MOST_LAYERS]):
        for number, head in enumerate(layer.heads[:MOST_HEADS]):
            yield str(i), f"head {number}", str(head.operation.title), ", ".join(head.writes)
        if len(layer.heads) > MOST_HEADS:
            yield str(i), f"{len(layer.heads) - MOST_HEADS} more heads", "", ""
        if layer.mlp:
            yield str(i), "MLP", "; ".join(map(str, layer.mlp.does)), ", ".join(layer.mlp.writes)


@html.register
def _(trace: Trace) -> str:
    batch, length = trace.tokens.shape[:2]
    words = f"{counted(len(trace), 'activation')} of {batch} × {length} tokens"
    rows = [
        [name, " × ".join(map(str, value.shape)), *_ends(value)] for name, value in list(trace.items())[:MOST_NAMES]
    ]
    left_out = [sentence(f"and {len(trace) - MOST_NAMES} more")] if len(trace) > MOST_NAMES else []
    every = table(["name", "shape", "least", "largest"], rows)
    return whole(heading("Trace", words), _patterns(trace), folded("all activations", "".join([every, *left_out])))


def _ends(value: Tensor) -> tuple[str, str]:
    if not value.numel() or value.numel() > LARGEST or value.is_complex():
        return "", ""
    numbers = value.detach().double()
    return f"{float(numbers.min()):.4g}", f"{float(numbers.max()):.4g}"


def _patterns(trace: Trace) -> str:
    """Where every head looked in the first word: rows are queries, columns keys."""
    shown, left_out, cut = list[str](), 0, False
    for name, value in trace.items():
        if not name.endswith("hook_pattern") or value.ndim != 4 or not len(value):
            continue
        for head, pattern in enumerate(value[0]):
            if len(shown) >= MOST_HEADS:
                left_out += 1
                continue
            cut = cut or max(pattern.shape) > MOST_POSITIONS
            weights = pattern[:MOST_POSITIONS, :MOST_POSITIONS].detach().float().cpu().numpy().astype(np.float64)
            layer = name.split(".")[1] if name.startswith("blocks.") else name
            caption = f"<figcaption>{layer}.{head}</figcaption>"
            look = shade(weights, f"where head {head} of layer {layer} looks: rows look at columns", SIDE)
            shown.append(f'<figure style="display:inline-block;margin:4px;text-align:center">{look}{caption}</figure>')
    said = f"and {counted(left_out, 'more head')}" if left_out else ""
    said += f"{'; ' if said else ''}the first {MOST_POSITIONS} positions" if cut else ""
    return "".join(shown) + (sentence(said) if said else "")
