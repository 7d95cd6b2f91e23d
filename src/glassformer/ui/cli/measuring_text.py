"""Commands that follow text through the layers of a model that reads text: trained here, or Hugging Face's."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import glassformer
from glassformer.messages import Message
from glassformer.ui.cli.measuring import measure
from glassformer.ui.cli.terminal import Advance, AsJson, note, print_result, progress_bar

Folder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model's folder, or that of a training run, or Hugging Face's.")
]
TextFile = Annotated[
    str, typer.Option("--text", metavar="FILE", help="Text to read: a file, or the name of a fetched corpus.")
]
Sentences = Annotated[int, typer.Option(min=1, help="Look at so many sentences, from the first on.")]
Engine = Annotated[
    str, typer.Option(help="here, ray (a cluster on this machine), or ray://address, whose nodes see the same folders.")
]


def reading(name: str) -> AbstractContextManager[Advance]:
    """A progress bar over the sentences that a model reads."""
    return progress_bar("measure.reading", name=name)


@measure.command()
def information(
    folder: Folder,
    text: TextFile,
    sentences: Sentences = 20_000,
    tokens: Annotated[int, typer.Option(min=2, help="The most frequent tokens, so many.")] = 300,
    each: Annotated[int, typer.Option(min=2, help="Vectors of each token.")] = 60,
    clusters: Annotated[int, typer.Option(min=2, help="Clusters that vectors are told apart by.")] = 600,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the clusters.")] = 0,
    as_json: AsJson = False,
) -> None:
    """How many bits each layer's vectors tell about the token that they stand for."""
    from glassformer.instruments.identity import information_by_layer
    from glassformer.opening.text import sampled

    model = glassformer.load(folder).text_model
    with reading(model.name) as advance:
        sample = sampled(model, text, sentences, tokens, each, advance)
    found = information_by_layer(sample, clusters, seed)
    layers = [{"layer": layer, **vars(value)} for layer, value in found.items()]
    bits = {name: (b.bits, b.error, b.plug_in, b.null, b.held_out, b.most) for name, b in found.items()}
    rows = ((name, *(f"{number:z.2f}" for number in numbers)) for name, numbers in bits.items())
    columns = ("layer", "bits", "plus_minus", "as_counted", "shuffled", "held_out", "most")
    print_result({"tokens": sample.tokens, "layers": layers}, as_json, columns, rows)
    if not as_json:
        most = max(value.clusters for value in found.values())
        all_tokens = Message("measure.all_tokens", tokens=sample.tokens, each=each)
        of = all_tokens if sample.tokens < tokens else Message("measure.tokens", tokens=sample.tokens)
        note("measure.clustered", of=of, vectors=len(sample.labels), clusters=most)


@measure.command()
def recovery(
    folder: Folder,
    text: TextFile,
    sentences: Sentences = 20_000,
    tokens: Annotated[int, typer.Option(min=2, help="The most frequent tokens, so many.")] = 100,
    each: Annotated[int, typer.Option(min=2, help="Vectors of each token.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the halves, and of the control.")] = 0,
    as_json: AsJson = False,
) -> None:
    """How often the token, and its place, can be read off a vector: by its nearest neighbour, and by a linear probe."""
    from glassformer.instruments.probing import probe_layers
    from glassformer.opening.text import sampled

    model = glassformer.load(folder).text_model
    with reading(model.name) as advance:
        sample = sampled(model, text, sentences, tokens, each, advance)
    found = probe_layers(sample, seed)
    rows = ((name, *(f"{share:.3f}" for share in each)) for name, *each in map(astuple, found))
    columns = ("layer", "token_nearest", "probe", "control", "place_nearest", "probe", "control")
    print_result({"layers": found}, as_json, columns, rows)


def whole_path(text: str) -> str:
    """A file from the root on, for workers elsewhere; the name of a corpus as it is."""
    return str(Path(text).resolve()) if text and Path(text).exists() else text


@measure.command()
def similarity(
    folder: Folder,
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="A model with the same tokens.")],
    text: TextFile,
    sentences: Sentences = 3000,
    engine: Engine = "here",
    as_json: AsJson = False,
) -> None:
    """How alike the vectors of two models are, layer by layer, on the same text."""
    from glassformer.opening.text import accumulated, moments_between, similarities

    work = partial(moments_between, folder.resolve(), other.resolve(), whole_path(text), sentences)
    with reading(folder.name) as advance:
        moments = accumulated(work, engine, advance)
    found = similarities(moments)
    layers = [{"layer": name, **measured, "samples": moments[name].count} for name, measured in found.items()]
    counts = {name: f"{moments[name].count:,}" for name in found}
    rows = ((name, *(f"{value:.3f}" for value in each.values()), counts[name]) for name, each in found.items())
    columns = ("layer", "pwcca", "both_ways", "svcca", "cca", "cka", "vectors")
    print_result({"layers": layers}, as_json, columns, rows)


@measure.command()
def change(
    folder: Folder,
    text: TextFile,
    sentences: Sentences = 3000,
    by: Annotated[str, typer.Option(help="Tokens apart by frequency or by place, or all together.")] = "all",
    engine: Engine = "here",
    as_json: AsJson = False,
) -> None:
    """How much vectors change from each layer to the next: 1 − PWCCA."""
    from glassformer.instruments.change import changes
    from glassformer.opening.text import accumulated, grouped, moments_of_change

    model = glassformer.load(folder).text_model
    with reading(model.name) as advance:
        names, group_of = grouped(model, by, text, sentences, advance)
        work = partial(moments_of_change, folder.resolve(), whole_path(text), sentences, len(names), group_of)
        found = changes(model.layers.names, names, accumulated(work, engine, advance))
    few = Message("measure.too_few")
    distances = (few if each.distance is None else f"{each.distance:z.3f}" for each in found)
    rows = ((c.before, c.after, c.group, d, f"{c.samples:,}") for c, d in zip(found, distances, strict=True))
    print_result({"layers": found}, as_json, ("from", "to", "tokens", "distance", "vectors"), rows)


@measure.command()
def influence(
    folder: Folder,
    text: TextFile,
    sentences: Sentences = 3000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the tokens that are replaced.")] = 0,
    as_json: AsJson = False,
) -> None:
    """How far the vectors of other tokens move when one is replaced or dropped: the mean of 1 − cosine.

    Compare a causal model with others by what is behind the token: before it, nothing can move. What is dropped also
    moves all that follows by a position.
    """
    from glassformer.instruments.change import influence as measured
    from glassformer.opening.opened import sentences_of

    model = glassformer.load(folder).text_model
    with reading(model.name) as advance:
        batches = model.batches(sentences_of(text, sentences, advance))
        found = measured(model.layers, batches, model.ordinary, seed)
    moved = {each.layer: (each.replaced, each.dropped, each.near, each.after) for each in found}
    rows = ((layer, *(f"{each:z.4f}" for each in numbers)) for layer, numbers in moved.items())
    columns = ("layer", "replaced", "dropped", "replaced_neighbours", "replaced_behind")
    print_result({"layers": found}, as_json, columns, rows)
