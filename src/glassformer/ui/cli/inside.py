"""Commands that open one forward pass: follow it, read its layers, take parts away, put parts of another run in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from rich import box

from glassformer.atomic import write_atomically
from glassformer.errors import InputError
from glassformer.ui.cli.measuring import AnyFolder, AnyText, measure
from glassformer.ui.cli.terminal import AsJson, app, err, out, print_json, progress_bar, table_of
from glassformer.wording import counted, visible

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.instruments.patching import Metric
    from glassformer.instruments.sites import Site
    from glassformer.instruments.steps import Step
    from glassformer.instruments.wiring import Wire
    from glassformer.subject import Subject

MOST_KEYS, MOST_WIRES = 8, 20
Cells: TypeAlias = Sequence[Sequence[float | None]]

Word = Annotated[
    str, typer.Argument(metavar="WORD", help="What the model reads: letters of its machine, text, or names of tokens.")
]
Clean = Annotated[str, typer.Argument(metavar="CLEAN", help="A word.")]
Corrupted = Annotated[str, typer.Argument(metavar="CORRUPTED", help="A word as long, with another answer.")]
Position = Annotated[int, typer.Option(help="Which position; −1 is the last.")]
Kind = Annotated[str, typer.Option(help="What stands there instead: zero, mean (over words) or resample.")]
Words = Annotated[int, typer.Option(min=2, max=100_000, help="Words to look at.")]
Length = Annotated[int | None, typer.Option(min=1, help="Their length; default: as in training, or up to 64.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the words.")]
Answer = Annotated[str | None, typer.Option(help="The clean answer; default: what the model says of the clean word.")]
Other = Annotated[str | None, typer.Option(help="The corrupted answer; default: what it says of the corrupted word.")]


def svg_file(picture: Path | None) -> Path | None:
    """A name for a drawing, which is SVG."""
    if picture and picture.suffix.lower() != ".svg":
        raise InputError(f"heat maps are drawn as SVG: a name that ends in .svg is needed, not {picture}")
    return picture


Picture = Annotated[
    Path | None, typer.Option("--out", metavar="FILE.svg", help="Draw the heat map here.", callback=svg_file)
]


@app.command()
def step(
    folder: AnyFolder,
    word: Word,
    layer: Annotated[int, typer.Option(help="Which layer; −1 is the last.")] = 0,
    position: Position = -1,
    temperature: Annotated[float, typer.Option(help="Of the probabilities: towards 0 the likeliest takes all.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Follow one forward pass at one position through one layer: scores, mask, pattern, values, MLP, logits."""
    from glassformer.instruments.steps import follow
    from glassformer.subject import open_subject

    subject = open_subject(folder)
    tokens = subject.tokens(word)
    found = follow(subject.model, tokens, subject.names, subject.outputs, layer, position, temperature)
    if as_json:
        return print_json(found.to_json())
    return print_step(found)


def print_step(found: Step) -> None:
    """A step, in words and tables."""
    word = " ".join(f"[{visible(t)}]" if i == found.position else visible(t) for i, t in enumerate(found.tokens))
    out.print(f"{word}\nposition {found.position}, layer {found.layer}")
    out.print(f"near it, by dot product of embeddings: {named(found.neighbours)}")
    lengths = ", ".join(f"{name.removeprefix('hook_')} {value:.3g}" for name, value in found.stream.items())
    out.print(f"lengths of vectors: {lengths}")
    for head in found.heads:
        title = (
            f"head {head.head}: a query of length {head.query_length:.3g}, an update of length {head.update_length:.3g}"
        )
        table = table_of("key", "token", "score", "masked", "weight", "adds", "share", title=title, box=box.SIMPLE)
        shown = sorted(sorted(head.keys, key=lambda key: -key.weight)[:MOST_KEYS], key=lambda key: key.position)
        for key in shown:
            masked = "−∞" if key.masked is None else f"{key.masked:.3g}"
            numbers = [f"{key.score:.3g}", masked, f"{key.weight:.3f}", f"{key.length:.3g}", f"{key.share:.3f}"]
            table.add_row(str(key.position), visible(key.token), *numbers)
        out.print(table)
        if len(head.keys) > len(shown):
            out.print(f"  … and {len(head.keys) - len(shown)} keys with less weight (all of them with --json)")
    if found.mlp:
        units = ", ".join(f"unit {unit.unit} at {unit.active:.3g} adds {unit.length:.3g}" for unit in found.mlp.largest)
        out.print(
            f"MLP: {found.mlp.active} of {found.mlp.units} units active, an update of length "
            f"{found.mlp.update_length:.3g}" + (f"; {units}" if units else "")
        )
    out.print(f"would be said after this layer: {named(found.lens)}")
    out.print(f"logits at the end: {named(found.logits)}")
    out.print(f"probabilities at temperature {found.temperature:g}: {named(found.probabilities)}")


def named(values: list[Any]) -> str:
    """Names with their numbers."""
    return ", ".join(f"{visible(each.name)} {each.value:.3g}" for each in values)


@measure.command()
def lens(folder: AnyFolder, word: Word, as_json: AsJson = False) -> None:
    """Say what the model would answer at every position if it stopped at each layer (logit lens)."""
    from glassformer.instruments.lens import logit_lens
    from glassformer.subject import open_subject

    subject = open_subject(folder)
    tokens = subject.tokens(word)
    probabilities = logit_lens(subject.model, tokens)[:, 0].softmax(-1)
    most, which = probabilities.max(-1)
    names = ["embedding", *map(str, range(len(most) - 1))]
    rows = [
        [(subject.outputs[i], p) for i, p in zip(best, share, strict=True)]
        for best, share in zip(which.tolist(), most.tolist(), strict=True)
    ]
    if as_json:
        said = [{"answers": [a for a, _ in row], "probabilities": [p for _, p in row]} for row in rows]
        return print_json({"layers": [{"layer": name, **each} for name, each in zip(names, said, strict=True)]})
    table = table_of("after", *names)
    for i, token in enumerate(tokens[0].tolist()):
        table.add_row(visible(subject.names[token]), *(f"{visible(row[i][0])} {row[i][1]:.2f}" for row in rows))
    out.print(table)
    return None


@measure.command()
def attribution(
    folder: AnyFolder,
    word: Word,
    position: Position = -1,
    answer: Annotated[str | None, typer.Option(help="Whose logit; default: the one that the model gives.")] = None,
    as_json: AsJson = False,
) -> None:
    """Split a logit into what embedding, positions, every head and every MLP put into it; the parts sum to it.

    Where there is a norm, its scale is taken as it was in this run (frozen), and acts on each part alone.
    """
    import torch

    from glassformer.instruments.lens import attribute
    from glassformer.instruments.steps import within
    from glassformer.subject import open_subject

    subject = open_subject(folder)
    tokens = subject.tokens(word)
    within(position, tokens.shape[1], "position")
    parts = attribute(subject.model, tokens)
    shares = parts.logits()[:, 0, position]
    with torch.no_grad():
        total = subject.model(tokens)[0, position]
    chosen = int(total.argmax()) if answer is None else subject.output(answer)
    found = dict(zip(parts.names, shares[:, chosen].tolist(), strict=True))
    said, logit = subject.outputs[chosen], float(total[chosen])
    if as_json:
        return print_json({"answer": said, "logit": logit, "parts": found, "layers": by_layer(found)})
    table = table_of("part", f"into the logit of {visible(said)}")
    for name, share in sorted(found.items(), key=lambda part: -abs(part[1])):
        table.add_row(name, f"{share:+.4g}")
    table.add_section()
    table.add_row("all", f"{logit:+.4g}")
    out.print(table)
    return None


def by_layer(found: dict[str, float]) -> list[dict[str, float]]:
    """The parts that belong to a layer, one object for each."""
    layers: dict[int, dict[str, float]] = {}
    for name, share in found.items():
        if name.startswith("layer "):
            number, part = name.removeprefix("layer ").split(" ", 1)
            layers.setdefault(int(number), {})[part] = share
    return [{"layer": number, **layers[number]} for number in sorted(layers)]


@measure.command()
def ablate(
    folder: AnyFolder,
    kind: Kind = "mean",
    words: Words = 64,
    length: Length = None,
    text: AnyText = None,
    seed: Seed = 0,
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Take away every head and every MLP in turn, and count the answers that change."""
    from glassformer.instruments.patching import changed_without, outputs_of
    from glassformer.subject import open_subject

    subject = open_subject(folder)
    questions = subject.batches(words, length, seed, text)
    batches, asked = [each.tokens for each in questions], [each.asked for each in questions]
    layers: list[dict[str, Any]] = [{"layer": i, "heads": [], "mlp": None} for i in range(len(subject.model.blocks))]
    parts = outputs_of(subject.model)
    with progress_bar("taking away") as advance:
        for number, site in enumerate(parts, start=1):
            changed = changed_without(subject.model, batches, site, kind, seed, asked)
            layer = layers[int(site.hook.split(".")[1])]
            if site.head is None:
                layer["mlp"] = changed
            else:
                layer["heads"].append(changed)
            advance(number, len(parts))
    if picture:
        draw(picture, *as_grid(layers), f"Answers that change without a part ({kind} ablation)")
    if as_json:
        return print_json({"kind": kind, "layers": layers})
    table = table_of("layer", "part", "answers that change")
    for layer in layers:
        for head, changed in enumerate(layer["heads"]):
            table.add_row(str(layer["layer"]), f"head {head}", f"{changed:.3f}")
        if layer["mlp"] is not None:
            table.add_row(str(layer["layer"]), "MLP", f"{layer['mlp']:.3f}")
    out.print(table)
    count = sum(int(each.sum()) for each in asked)
    err.print(f"{kind} ablation on {sum(map(len, batches)):,} words, {counted(count, 'answer')}")
    if text:
        err.print("(sentences of the text that are as long, in tokens, as another one; each counts once)")
    return None


@measure.command()
def patch(
    folder: AnyFolder,
    clean: Clean,
    corrupted: Corrupted,
    hook: Annotated[
        str,
        typer.Option(help="What is put in: hook_resid_pre … of every layer, blocks.1.hook_mlp_out, or hook_embed."),
    ] = "hook_resid_pre",
    position: Position = -1,
    answer: Answer = None,
    other: Other = None,
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Put what one run held at each layer and position into the run on another word: where does the answer come back?

    0 is the corrupted answer, 1 the clean one, measured by the difference of their logits at the position asked.
    """
    from glassformer.instruments.patching import grid, restored
    from glassformer.instruments.patching import patch as patched

    subject, one, two, metric, ends = pair(folder, clean, corrupted, position, answer, other)
    layers, sites = at_layers(subject, hook)
    with progress_bar("patching") as advance:
        measured = patched(subject.model, two, one, grid(sites, one.shape[1]), metric, advance)
    effect = restored(measured, *ends).view(len(sites), -1)
    columns = [both(subject, int(a), int(b)) for a, b in zip(one[0], two[0], strict=True)]
    if picture:
        rows = [f"layer {i}" if i is not None else hook for i in layers]
        draw(picture, effect.tolist(), rows, columns, f"Part of the answer restored by {hook}")
    if as_json:
        told = [{"layer": i, "restored": row} for i, row in zip(layers, effect.tolist(), strict=True)]
        return print_json({"hook": hook, "layers": told})
    table = table_of("layer", *columns)
    for i, row in zip(layers, effect.tolist(), strict=True):
        table.add_row("" if i is None else str(i), *(f"{value:.2f}" for value in row))
    out.print(table)
    return None


def at_layers(subject: Subject, hook: str) -> tuple[list[int | None], list[Site]]:
    """A hook of one layer, of every layer that has it, or of none (hook_embed), as sites with their layers."""
    from glassformer.instruments.sites import Site, check
    from glassformer.nn.trace import unknown_hook

    there = {*subject.model.hook_names, *subject.model.hooks_on_request}
    if in_layer := re.match(r"blocks\.(\d+)\.", hook):
        return [int(in_layer[1])], [check(subject.model, Site.parse(hook))]
    if Site.parse(hook).hook in there:
        return [None], [Site.parse(hook)]
    named = [(i, Site.parse(f"blocks.{i}.{hook}")) for i in range(len(subject.model.blocks))]
    found = [(i, site) for i, site in named if site.hook in there]
    if not found:
        raise InputError(unknown_hook(hook, {re.sub(r"blocks\.\d+\.", "", name) for name in there}))
    return [i for i, _ in found], [site for _, site in found]


def as_grid(layers: list[dict[str, Any]]) -> tuple[list[list[float]], list[str], list[str]]:
    """Layers × parts, with their names; parts that a layer does not have change nothing."""
    heads = max(len(layer["heads"]) for layer in layers)
    values = [[*layer["heads"], *[0.0] * (heads - len(layer["heads"])), layer["mlp"] or 0.0] for layer in layers]
    return values, [f"layer {layer['layer']}" for layer in layers], [*(f"head {h}" for h in range(heads)), "MLP"]


def draw(picture: Path, values: Cells, rows: list[str], columns: list[str], title: str) -> None:
    """A heat map, in a file."""
    from glassformer.ui.drawing.heatmap import draw_heatmap

    write_atomically(picture, draw_heatmap(values, rows, columns, title, full=1.0).encode())
    err.print(f"wrote {picture}")


def both(subject: Subject, one: int, two: int) -> str:
    """A token, or the two where the words differ."""
    names = visible(subject.names[one]), visible(subject.names[two])
    return names[0] if one == two else f"{names[0]}/{names[1]}"


@measure.command()
def path(
    folder: AnyFolder,
    clean: Clean,
    corrupted: Corrupted,
    writer: Annotated[
        str | None,
        typer.Option("--from", help="Who says it: hook_embed, blocks.0.attn.hook_result[1] …; default: all."),
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option("--to", help="Who hears it: blocks.1.hook_q_input[0], blocks.1.hook_mlp_in …; default: all."),
    ] = None,
    position: Position = -1,
    answer: Answer = None,
    other: Other = None,
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Let one part hear from another what it says in the clean run, and nobody else (path patching).

    0 is the corrupted answer, 1 the clean one. Without --from or --to, every wire is tried in turn.
    """
    from glassformer.instruments.patching import path_patches, restored
    from glassformer.instruments.sites import Site
    from glassformer.instruments.wiring import Wire, Wiring

    subject, one, two, metric, ends = pair(folder, clean, corrupted, position, answer, other)
    named = (Site.parse(name) if name else None for name in (writer, reader))
    wires = Wiring(subject.model).between(*named)
    with progress_bar("patching") as advance:
        patched = path_patches(subject.model, two, one, [[wire] for wire in wires], metric, advance)
    effects = dict(zip(wires, restored(patched, *ends).tolist(), strict=True))
    if picture:
        writers, readers = dict.fromkeys(w.writer for w in wires), dict.fromkeys(w.reader for w in wires)
        values = [[effects.get(Wire(w, r)) for r in readers] for w in writers]
        title = "Part of the answer restored over each wire, from rows to columns"
        draw(picture, values, [str(w) for w in writers], [str(r) for r in readers], title)
    if as_json:
        told = [{"from": str(w.writer), "to": str(w.reader), "restored": effect} for w, effect in effects.items()]
        layers = wires_by_layer(told, len(subject.model.blocks))
        if writer and reader:
            layers = [{"layer": each["layer"], **told[0]} for each in layers if each["wires"]]
        return print_json({"from": writer, "to": reader, "layers": layers})
    if len(effects) == 1:
        out.print(f"{wires[0]}: {effects[wires[0]]:.3f} of the way from the corrupted to the clean answer")
        return None
    table = table_of("to", "from", "restored")
    for wire, effect in sorted(effects.items(), key=lambda each: -abs(each[1]))[:MOST_WIRES]:
        table.add_row(str(wire.reader), str(wire.writer), f"{effect:.3f}")
    out.print(table)
    if len(effects) > MOST_WIRES:
        out.print(f"… and {len(effects) - MOST_WIRES:,} wires that do less (all of them with --json)")
    return None


def wires_by_layer(wires: list[dict[str, Any]], layers: int) -> list[dict[str, Any]]:
    """Wires, by the layer of those that read."""
    return [{"layer": i, "wires": [w for w in wires if w["to"].startswith(f"blocks.{i}.")]} for i in range(layers)]


def pair(
    folder: Path, clean: str, corrupted: str, position: int, clean_answer: str | None, corrupted_answer: str | None
) -> tuple[Subject, Tensor, Tensor, Metric, tuple[Tensor, Tensor]]:
    """Two words, by how much one of two answers leads at a position, and how far it does, corrupted and clean."""
    import torch

    from glassformer.instruments.patching import logit_difference
    from glassformer.instruments.steps import within
    from glassformer.subject import open_subject

    subject = open_subject(folder)
    one, two = subject.tokens(clean), subject.tokens(corrupted)
    if one.shape != two.shape:
        raise InputError(f"the words have {one.shape[1]} and {two.shape[1]} tokens: they must be equally long")
    within(position, one.shape[1], "position")
    with torch.no_grad():
        logits = subject.model(two), subject.model(one)
    named = (corrupted_answer, clean_answer)
    other, answer = (
        each[:, position].argmax(-1) if name is None else torch.tensor([subject.output(name)])
        for each, name in zip(logits, named, strict=True)
    )
    if torch.equal(answer, other):
        said = visible(subject.outputs[int(answer)])
        raise InputError(
            f"both words have the answer {said} at position {position}: take two that differ there, or say by --answer "
            "and --other which two answers are compared"
        )
    metric = logit_difference(answer, other, position)
    return subject, one, two, metric, (metric(logits[0]), metric(logits[1]))


@measure.command()
def circuit(
    folder: AnyFolder,
    kind: Kind = "zero",
    words: Words = 256,
    length: Length = None,
    tolerance: Annotated[
        float, typer.Option(min=0, max=1, help="The part of the answers that may change when a wire is cut.")
    ] = 0.0,
    prune: Annotated[
        bool, typer.Option("--prune", help="Cut for good, one after the other, from the logits down.")
    ] = False,
    text: AnyText = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Find the wires between parts that a model needs, by cutting each; beside the circuit known in a built one.

    Known are the wires that the weights make. Those that are there but not needed by these words are idle: then what
    was found suffices, with all else cut. A built model is shown words of the length that it is for, or of 256 letters;
    every one of them if these are at most --words.
    """
    from glassformer.instruments.circuits import effects, score, suffices, wires_in_weights
    from glassformer.instruments.circuits import prune as pruned
    from glassformer.subject import open_subject

    subject = open_subject(folder)
    longest = subject.words_task.length if subject.is_built else 0
    questions = subject.rows(words, length or min(longest, 256) or None, seed, text)
    tokens, asked = questions.tokens, questions.asked
    changes: dict[Wire, float] = {}
    with progress_bar("cutting") as advance:
        if prune:
            found = pruned(subject.model, tokens, kind, tolerance, seed, asked=asked, tell=advance)
        else:
            changes = effects(subject.model, tokens, kind, seed, asked=asked, tell=advance)
            found = [wire for wire, changed in changes.items() if changed > tolerance]
    enough = suffices(subject.model, tokens, found, kind, seed, asked)
    is_known = subject.is_built and subject.model.config.norm == "none"
    known = wires_in_weights(subject.model) if is_known else []
    scored = score(found, known)
    if as_json:
        told = {"precision": scored.precision, "recall": scored.recall, "known": scored.known}
        wires = [{"from": str(w.writer), "to": str(w.reader), "changes": changes.get(w)} for w in found]
        layers = wires_by_layer(wires, len(subject.model.blocks))
        known_too = told if is_known else {}
        return print_json({"kind": kind, "wires": wires, "layers": layers, "suffices": enough, **known_too})
    table = table_of("reads", "from")
    readers = dict.fromkeys(wire.reader for wire in found)
    for reader in readers:
        table.add_row(str(reader), ", ".join(str(wire.writer) for wire in found if wire.reader == reader))
    out.print(table)
    if is_known:
        out.print(
            f"{scored.found} wires found, {scored.known} known: precision {scored.precision:.3f}, recall "
            f"{scored.recall:.3f}"
        )
        for wire in known:
            if wire not in found:
                out.print(f"not found: {wire}")
        if scored.recall < 1 and tokens.shape[1] <= longest:
            out.print(f"the model is for words of {longest:,} letters, and these are shorter: try --length {longest}")
    rest = "changes no answer" if enough else "changes answers: more is needed than was found"
    out.print(f"to cut all other wires together {rest} ({len(tokens):,} words of {tokens.shape[1]} tokens)")
    return None
