"""Models and traces as HTML: a shape as a table, a certificate in words, and where every head of a run looked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Final

import numpy as np
from torch import Tensor

from glassformer.automata import Machine
from glassformer.compiler.built import Built
from glassformer.compiler.description import describe
from glassformer.messages import Message, verbatim
from glassformer.nn import BlockShape, Config, Trace, Transformer
from glassformer.ui.notebook import machines
from glassformer.ui.notebook.markup import Markup, whole

MOST_LAYERS: Final = 32
MOST_NAMES: Final = 200
MOST_HEADS: Final = 48
MOST_POSITIONS: Final = 256
LARGEST: Final = 2**22
"""Numbers of an activation beyond which its least and largest are not looked for."""
SIDE: Final = 110


@singledispatch
def html(thing: object, language: str = "en") -> str:
    """A thing of this kind."""
    raise TypeError(f"notebooks cannot show {type(thing).__name__}")


@html.register
def _(model: Transformer, language: str = "en") -> str:
    config, marks = model.config, Markup(language)
    sizes = {"layers": len(config.blocks), "width": config.width, "parameters": model.parameter_count()}
    of_blocks = [sum(weights.numel() for weights in block.parameters()) for block in model.blocks]
    heading = marks.heading(type(model).__name__, Message("notebook.model", **sizes))
    return whole(heading, _shape(config, of_blocks, marks), marks.sentence(_choices(config)))


def _shape(config: Config, sizes: list[int], marks: Markup) -> str:
    """What goes in, every layer, what comes out."""
    taken = Message("notebook.tokens_and_positions", tokens=config.vocab, positions=config.context)
    rows: list[Sequence[object]] = [[Message("notebook.input"), taken, "", ""]]
    for i, (block, size) in enumerate(zip(config.blocks[:MOST_LAYERS], sizes, strict=False)):
        rows.append([Message("notebook.layer", layer=i), *_block(block), f"{size:,}"])
    if len(config.blocks) > MOST_LAYERS:
        rows.append(["…", Message("notebook.more", count=len(config.blocks) - MOST_LAYERS), "", ""])
    rows.append([Message("notebook.output"), Message("notebook.answers", answers=config.outputs), "", ""])
    return marks.table(["", Message("notebook.attention"), "MLP", Message("notebook.parameters")], rows)


def _block(block: BlockShape) -> tuple[Message, Message]:
    none = Message("notebook.none")
    heads = Message("notebook.heads", heads=block.heads, width=block.head_width) if block.heads else none
    if block.groups:
        heads = Message("notebook.groups", heads=heads, groups=block.groups)
    return heads, verbatim(" → ".join(f"{units:,}" for units in block.mlp)) if block.mlp else none


def _choices(config: Config) -> Message:
    """Everything else that a config chooses, in one line."""
    norm = Message("notebook.norm", norm=config.norm, place=config.norm_place)
    return Message(
        "notebook.choices",
        causal=Message("notebook.causal" if config.causal else "notebook.not_causal"),
        attention=config.attention,
        score=config.score,
        norm=Message("notebook.no_norms") if config.norm == "none" else norm,
        positions=config.positions,
        activation=config.activation,
        skip=config.skip,
    )


@html.register
def _(built: Built, language: str = "en") -> str:
    about, marks = built.certificate, Markup(language)
    sizes = {"layers": about.layers, "heads": about.heads, "width": about.width, "parameters": about.parameters}
    margins = [(Message(f"margins.{name}_name"), message) for name, message in about.margins.summary().items()]
    columns = [Message(f"notebook.column_{name}") for name in ("layer", "part", "does", "writes")]
    machine = machines.html(built.machine, language) if isinstance(built.machine, Machine) else ""
    return whole(
        marks.heading(
            Message("notebook.built"), Message("notebook.exact", letters=about.exact_length, dtype=about.dtype)
        ),
        marks.sentence(Message("notebook.built_sizes", theorem=about.theorem, **sizes)),
        marks.sentence(Message("notebook.why", why=about.why)),
        marks.table(columns, _parts(built)),
        marks.folded(Message("notebook.margins"), marks.table([], margins)),
        marks.folded(Message("notebook.the_machine"), machine) if machine else "",
    )


def _parts(built: Built) -> Iterator[Sequence[object]]:
    """Every head and MLP in words, with the registers that it writes."""
    for i, layer in enumerate(describe(built.model, built.certificate).layers[:MOST_LAYERS]):
        for number, head in enumerate(layer.heads[:MOST_HEADS]):
            yield i, Message("notebook.head", head=number), head.operation.title, ", ".join(head.writes)
        if len(layer.heads) > MOST_HEADS:
            yield i, Message("notebook.more_heads", heads=len(layer.heads) - MOST_HEADS), "", ""
        if layer.mlp:
            yield i, "MLP", Message("common.verbatim", text=layer.mlp.does), ", ".join(layer.mlp.writes)


@html.register
def _(trace: Trace, language: str = "en") -> str:
    (batch, length), marks = trace.tokens.shape[:2], Markup(language)
    rows = [
        [name, " × ".join(map(str, value.shape)), *_ends(value)] for name, value in list(trace.items())[:MOST_NAMES]
    ]
    every = marks.table([Message(f"notebook.column_{name}") for name in ("name", "shape", "least", "largest")], rows)
    if len(trace) > MOST_NAMES:
        every += marks.sentence(Message("notebook.more", count=len(trace) - MOST_NAMES))
    words = Message("notebook.activations", activations=len(trace), batch=batch, tokens=length)
    all_of_them = marks.folded(Message("notebook.all_activations"), every)
    return whole(marks.heading(Message("notebook.trace"), words), _patterns(trace, marks), all_of_them)


def _ends(value: Tensor) -> tuple[str, str]:
    if not value.numel() or value.numel() > LARGEST or value.is_complex():
        return "", ""
    numbers = value.detach().double()
    return f"{float(numbers.min()):.4g}", f"{float(numbers.max()):.4g}"


def _patterns(trace: Trace, marks: Markup) -> str:
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
            look = marks.shade(weights, Message("notebook.pattern", head=head, layer=layer), SIDE)
            shown.append(f'<figure style="display:inline-block;margin:4px;text-align:center">{look}{caption}</figure>')
    notes = [Message("notebook.more_heads", heads=left_out)] if left_out else []
    notes += [Message("notebook.first_positions", positions=MOST_POSITIONS)] if cut else []
    return "".join([*shown, *map(marks.sentence, notes)])
