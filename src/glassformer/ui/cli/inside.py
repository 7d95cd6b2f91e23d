"""Commands that open one forward pass: follow it, read its layers, take parts away, put parts of another run in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from rich import box

import glassformer
from glassformer.atomic import write_atomically
from glassformer.errors import InputError
from glassformer.messages import Message, verbatim
from glassformer.ui.cli.measuring import AnyFolder, AnyText, measure
from glassformer.ui.cli.terminal import AsJson, app, label, note, out, print_json, progress_bar, say, table_of
from glassformer.wording import visible

if TYPE_CHECKING:
    from glassformer.instruments.circuits import Circuit
    from glassformer.instruments.patching import Ablated
    from glassformer.instruments.steps import Step
    from glassformer.opening.opened import Opened

MOST_KEYS, MOST_EDGES = 8, 20
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
Answer = Annotated[str | None, typer.Option(help="The clean answer; default: that of the model to the clean word.")]
Other = Annotated[str | None, typer.Option(help="The corrupted answer; default: that to the corrupted word.")]


def svg_file(picture: Path | None) -> Path | None:
    """A name for a drawing, which is SVG."""
    if picture and picture.suffix.lower() != ".svg":
        raise InputError("measure.svg", name=str(picture))
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

    opened = glassformer.load(folder)
    tokens = opened.tokens(word)
    step = follow(opened.model, tokens, opened.names, opened.outputs, layer, position, temperature)
    print_json(step) if as_json else print_step(step)


def print_step(step: Step) -> None:
    """A step, in words and tables."""
    word = " ".join(f"[{visible(t)}]" if i == step.position else visible(t) for i, t in enumerate(step.tokens))
    out.print(word)
    say("measure.where", position=step.position, layer=step.layer)
    say("measure.neighbours", names=named(step.neighbours))
    say("measure.lengths", lengths=[f"{name.removeprefix('hook_')} {x:.3g}" for name, x in step.stream.items()])
    for head in step.heads:
        title = Message("measure.head", head=head.head, query=head.query_length, update=head.update_length)
        table = table_of("key", "token", "score", "masked", "weight", "adds", "share", title=title, box=box.SIMPLE)
        shown = sorted(sorted(head.keys, key=lambda key: -key.weight)[:MOST_KEYS], key=lambda key: key.position)
        for key in shown:
            masked = "−∞" if key.masked is None else f"{key.masked:.3g}"
            numbers = [f"{key.score:.3g}", masked, f"{key.weight:.3f}", f"{key.length:.3g}", f"{key.share:.3f}"]
            table.add_row(str(key.position), visible(key.token), *numbers)
        out.print(table)
        if len(head.keys) > len(shown):
            say("measure.more_keys", count=len(head.keys) - len(shown))
    if mlp := step.mlp:
        units = [Message("measure.unit", unit=u.unit, active=u.active, length=u.length) for u in mlp.largest]
        counts = {"active": mlp.active, "units": mlp.units, "length": mlp.update_length}
        say("measure.mlp", **counts, largest=units) if units else say("measure.mlp_at_rest", **counts)
    say("measure.lens", names=named(step.lens))
    say("measure.logits", names=named(step.logits))
    say("measure.probabilities", temperature=step.temperature, names=named(step.probabilities))


def named(values: list[Any]) -> list[str]:
    """Names with their numbers."""
    return [f"{visible(each.name)} {each.value:.3g}" for each in values]


@measure.command()
def lens(folder: AnyFolder, word: Word, as_json: AsJson = False) -> None:
    """Say what the model would answer at every position if it stopped at each layer (logit lens)."""
    from glassformer.instruments.lens import guesses

    opened = glassformer.load(folder)
    tokens = opened.tokens(word)
    rows = {row.layer: (opened.answers(row.outputs), row.probabilities) for row in guesses(opened.model, tokens)}
    if as_json:
        layers = [{"layer": name, "answers": said, "probabilities": sure} for name, (said, sure) in rows.items()]
        return print_json({"layers": layers})
    table = table_of("after", *map(verbatim, rows))
    for i, token in enumerate(tokens[0].tolist()):
        table.add_row(visible(opened.names[token]), *(f"{visible(a[i])} {p[i]:.2f}" for a, p in rows.values()))
    return out.print(table)


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
    from glassformer.instruments.lens import attribution as measured

    opened = glassformer.load(folder)
    number = None if answer is None else opened.output(answer)
    shares = measured(opened.model, opened.tokens(word), position, number)
    chosen = opened.outputs[shares.output]
    if as_json:
        given = {"answer": chosen, "logit": shares.logit, "parts": shares.by_name(), "layers": shares.by_layer()}
        return print_json(given)
    table = table_of("part", Message("measure.into_the_logit", answer=visible(chosen)))
    for name, share in sorted(shares.by_name().items(), key=lambda part: -abs(part[1])):
        table.add_row(name, f"{share:+.4g}")
    table.add_section()
    table.add_row(label("all"), f"{shares.logit:+.4g}")
    return out.print(table)


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
    from glassformer.instruments.patching import ablations

    opened = glassformer.load(folder)
    questions = opened.batches(words, length, seed, text)
    batches, asked = [each.tokens for each in questions], [each.asked for each in questions]
    with progress_bar("measure.taking_away") as advance:
        layers = ablations(opened.model, batches, kind, seed, asked, advance)
    if picture:
        draw(picture, *as_grid(layers), Message("measure.ablation_map", kind=kind))
    if as_json:
        return print_json({"kind": kind, "layers": layers})
    table = table_of("layer", "part", "answers_that_change")
    for layer in layers:
        for head, changed in enumerate(layer.heads):
            table.add_row(str(layer.layer), str(Message("labels.head_number", head=head)), f"{changed:.3f}")
        if layer.mlp is not None:
            table.add_row(str(layer.layer), "MLP", f"{layer.mlp:.3f}")
    out.print(table)
    answers = sum(int(each.sum()) for each in asked)
    note("measure.ablated", kind=kind, words=sum(map(len, batches)), answers=answers)
    if text:
        note("measure.sentences_of_one_length")
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
    from glassformer.instruments.sites import at_layers

    opened = glassformer.load(folder)
    pair = opened.contrast(clean, corrupted, position, answer, other)
    sites = at_layers(opened.model, hook)
    cells = grid([site for _, site in sites], pair.clean.shape[1])
    with progress_bar("measure.patching") as advance:
        measured = patched(opened.model, pair.corrupted, pair.clean, cells, pair.metric, advance)
    effect = restored(measured, pair.corrupted_lead, pair.clean_lead).view(len(sites), -1).tolist()
    columns = [both(opened, *tokens) for tokens in zip(pair.clean[0].tolist(), pair.corrupted[0].tolist(), strict=True)]
    if picture:
        rows = [hook if i is None else Message("labels.layer_number", layer=i) for i, _ in sites]
        draw(picture, effect, rows, columns, Message("measure.patch_map", hook=hook))
    if as_json:
        layers = [{"layer": i, "restored": row} for (i, _), row in zip(sites, effect, strict=True)]
        return print_json({"hook": hook, "layers": layers})
    table = table_of("layer", *map(verbatim, columns))
    for (i, _), row in zip(sites, effect, strict=True):
        table.add_row("" if i is None else str(i), *(f"{value:.2f}" for value in row))
    return out.print(table)


def as_grid(layers: list[Ablated]) -> tuple[list[list[float]], list[Message], list[Message | str]]:
    """Layers × parts, with their names; parts that a layer does not have change nothing."""
    heads = max(len(layer.heads) for layer in layers)
    values = [[*layer.heads, *[0.0] * (heads - len(layer.heads)), layer.mlp or 0.0] for layer in layers]
    rows = [Message("labels.layer_number", layer=layer.layer) for layer in layers]
    return values, rows, [*(Message("labels.head_number", head=head) for head in range(heads)), "MLP"]


def draw(picture: Path, values: Cells, rows: Sequence[object], columns: Sequence[object], title: Message) -> None:
    """A heat map, in a file."""
    from glassformer.ui.drawing.heatmap import draw_heatmap

    names = [*map(str, rows)], [*map(str, columns)]
    write_atomically(picture, draw_heatmap(values, *names, str(title), full=1.0).encode())
    note("common.wrote", place=picture)


def both(opened: Opened, one: int, two: int) -> str:
    """A token, or the two where the words differ."""
    names = visible(opened.names[one]), visible(opened.names[two])
    return names[0] if one == two else f"{names[0]}/{names[1]}"


@measure.command()
def path(
    folder: AnyFolder,
    clean: Clean,
    corrupted: Corrupted,
    writer: Annotated[
        str | None,
        typer.Option("--from", help="What writes: hook_embed, blocks.0.attn.hook_result[1] …; default: all."),
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option("--to", help="What reads it: blocks.1.hook_q_input[0], blocks.1.hook_mlp_in …; default: all."),
    ] = None,
    position: Position = -1,
    answer: Answer = None,
    other: Other = None,
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Let one part read from another what it writes in the clean run, and no other part (path patching).

    0 is the corrupted answer, 1 the clean one. Without --from or --to, every edge is tried in turn.
    """
    from glassformer.instruments.edges import Edge, Edges
    from glassformer.instruments.patching import path_patches, restored
    from glassformer.instruments.sites import Site

    opened = glassformer.load(folder)
    pair = opened.contrast(clean, corrupted, position, answer, other)
    edges = Edges(opened.model).between(*(Site.parse(name) if name else None for name in (writer, reader)))
    with progress_bar("measure.patching") as advance:
        cells = [[edge] for edge in edges]
        patched = path_patches(opened.model, pair.corrupted, pair.clean, cells, pair.metric, advance)
    effects = dict(zip(edges, restored(patched, pair.corrupted_lead, pair.clean_lead).tolist(), strict=True))
    if picture:
        writers, readers = dict.fromkeys(e.writer for e in edges), dict.fromkeys(e.reader for e in edges)
        values = [[effects.get(Edge(w, r)) for r in readers] for w in writers]
        draw(picture, values, [*writers], [*readers], Message("measure.path_map"))
    if as_json:
        each = [{"from": str(e.writer), "to": str(e.reader), "restored": effect} for e, effect in effects.items()]
        layers = edges_by_layer(each, len(opened.model.blocks))
        if writer and reader:
            layers = [{"layer": layer["layer"], **each[0]} for layer in layers if layer["edges"]]
        return print_json({"from": writer, "to": reader, "layers": layers})
    if len(effects) == 1:
        return say("measure.one_path", edge=str(edges[0]), effect=effects[edges[0]])
    table = table_of("to", "from", "restored")
    for edge, effect in sorted(effects.items(), key=lambda each: -abs(each[1]))[:MOST_EDGES]:
        table.add_row(str(edge.reader), str(edge.writer), f"{effect:.3f}")
    out.print(table)
    if len(effects) > MOST_EDGES:
        say("measure.more_paths", count=len(effects) - MOST_EDGES)
    return None


def edges_by_layer(edges: list[dict[str, Any]], layers: int) -> list[dict[str, Any]]:
    """Edges, by the layer of those that read; `wires` is what they were called."""
    read = [[edge for edge in edges if edge["to"].startswith(f"blocks.{i}.")] for i in range(layers)]
    return [{"layer": i, "edges": own, "wires": own} for i, own in enumerate(read)]


@measure.command()
def circuit(
    folder: AnyFolder,
    kind: Kind = "zero",
    words: Words = 256,
    length: Length = None,
    tolerance: Annotated[
        float, typer.Option(min=0, max=1, help="The part of the answers that may change when an edge is cut.")
    ] = 0.0,
    prune: Annotated[
        bool, typer.Option("--prune", help="Cut for good, one after the other, from the logits down.")
    ] = False,
    text: AnyText = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Find the edges between parts that a model needs, by cutting each; beside the circuit known in a built one.

    Known are the edges that the weights make. Those that are there but not needed by these words are idle: then what
    was found is sufficient, with all else cut. A built model is shown words of the length that it is for, or of 256;
    every one of them if these are at most --words.
    """
    from glassformer.instruments.circuits import find_circuit

    opened = glassformer.load(folder)
    longest = opened.words_task.length if opened.is_built else 0
    shown = opened.rows(words, length or min(longest, 256) or None, seed, text)
    with progress_bar("measure.cutting") as advance:
        asked = (shown.tokens, kind, tolerance, seed, shown.asked)
        found = find_circuit(opened.model, *asked, prune, opened.known_edges, advance)
    if not as_json:
        return print_circuit(found, len(shown.tokens), shown.tokens.shape[1], longest)
    edges = [{"from": str(e.writer), "to": str(e.reader), "changes": found.changes.get(e)} for e in found.edges]
    layers = edges_by_layer(edges, len(opened.model.blocks))
    overlap = found.overlap
    known = {"precision": overlap.precision, "recall": overlap.recall, "known": overlap.known}
    known_too = known if found.known is not None else {}
    sufficient = {"sufficient": found.is_sufficient, "suffices": found.is_sufficient}
    return print_json({"kind": kind, "edges": edges, "wires": edges, "layers": layers, **sufficient, **known_too})


def print_circuit(found: Circuit, words: int, tokens: int, longest: int) -> None:
    """The edges into each part that reads, and how they compare with those that are known."""
    table = table_of("reads", "from")
    for reader in dict.fromkeys(edge.reader for edge in found.edges):
        table.add_row(str(reader), ", ".join(str(edge.writer) for edge in found.edges if edge.reader == reader))
    out.print(table)
    if found.known is not None:
        overlap = found.overlap
        counts = {"found": overlap.found, "known": overlap.known}
        say("measure.circuit_scored", **counts, precision=overlap.precision, recall=overlap.recall)
        for edge in found.missed:
            say("measure.not_found", edge=str(edge))
        if found.missed and tokens <= longest:
            say("measure.try_longer", length=longest)
    rest = Message("measure.changes_nothing" if found.is_sufficient else "measure.more_is_needed")
    say("measure.all_others_cut", rest=rest, words=words, tokens=tokens)
