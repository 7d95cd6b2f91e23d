"""Commands that follow text through the layers of a model that reads text: trained here, or Hugging Face's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from glassformer.errors import InputError
from glassformer.ui.cli.measuring import measure
from glassformer.ui.cli.terminal import AsJson, err, out, print_json, progress_bar, table_of

if TYPE_CHECKING:
    from glassformer.instruments.change import Groups
    from glassformer.instruments.identity import Sample
    from glassformer.instruments.layers import Tokens
    from glassformer.instruments.reading import Reader
    from glassformer.instruments.similarity import Moments

Key = TypeVar("Key")
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


def told(model: Reader, text: str, count: int) -> Iterator[Tokens]:
    """The sentences in tokens, with a progress bar."""
    from glassformer.reading import sentences

    with progress_bar(f"reading {model.name}") as advance:
        yield from model.batches(sentences(text, count, advance))


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
    from glassformer.reading import reader

    sample = sampled(reader(folder), text, sentences, tokens, each)
    found = information_by_layer(sample, clusters, seed)
    if as_json:
        layers = [{"layer": layer, **value.to_json()} for layer, value in found.items()]
        return print_json({"tokens": sample.tokens, "layers": layers})
    table = table_of("layer", "bits", "±", "as counted", "shuffled", "held out", "most")
    for layer, value in found.items():
        numbers = (value.bits, value.error, value.plug_in, value.null, value.held_out, value.most)
        table.add_row(layer, *(f"{number:z.2f}" for number in numbers))
    out.print(table)
    most = max(value.clusters for value in found.values())
    more = f" (no more of them come {each:,} times)" if sample.tokens < tokens else ""
    err.print(f"of {sample.tokens:,} tokens{more}: {len(sample.labels):,} vectors in {most:,} clusters")
    return None


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
    from glassformer.instruments.recovery import recovery as measured
    from glassformer.reading import reader

    found = measured(sampled(reader(folder), text, sentences, tokens, each), seed)
    if as_json:
        return print_json({"layers": [each.to_json() for each in found]})
    table = table_of("layer", "token: nearest", "probe", "control", "place: nearest", "probe", "control")
    for layer in found:
        name, *shares = layer.to_json().values()
        table.add_row(name, *(f"{share:.3f}" for share in shares))
    out.print(table)
    return None


def sampled(model: Reader, text: str, sentences: int, tokens: int, each: int) -> Sample:
    """So many vectors of each of the most frequent tokens."""
    from glassformer.instruments.identity import frequent, gather

    chosen = frequent(model.counts(told(model, text, sentences)), tokens, each)
    return gather(model.layers, ((batch, batch) for batch in told(model, text, sentences)), chosen, each)


def whole_path(text: str) -> str:
    """A file from the root on, for workers elsewhere; the name of a corpus as it is."""
    return str(Path(text).resolve()) if text and Path(text).exists() else text


def accumulated(work: Callable[..., dict[Key, Moments]], engine: str, name: str) -> dict[Key, Moments]:
    """What the work gives on an engine, with a progress bar."""
    from glassformer.reading import accumulated as on_engine

    with progress_bar(f"reading {name}") as advance:
        return on_engine(work, engine, advance)


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
    from glassformer.instruments.similarity import Similarity
    from glassformer.reading import moments_between

    work = partial(moments_between, folder.resolve(), other.resolve(), whole_path(text), sentences)
    moments = accumulated(work, engine, folder.name)
    if not moments:
        raise InputError("there is no text to look at")
    most = max(moments.values(), key=lambda each: each.needed)
    if not most.enough:
        raise InputError(
            f"{most.count:,} vectors are too few to tell, {most.needed:,} are enough: "
            "chance alone makes few vectors correlate"
        )
    kinds = ("pwcca", "symmetric_pwcca", "svcca", "cca", "cka")
    found = {name: {kind: getattr(Similarity(each), kind) for kind in kinds} for name, each in moments.items()}
    if as_json:
        layers = [{"layer": name, **told, "samples": moments[name].count} for name, told in found.items()]
        return print_json({"layers": layers})
    table = table_of("layer", "PWCCA", "both ways", "SVCCA", "CCA", "CKA", "vectors")
    for name, told in found.items():
        table.add_row(name, *(f"{value:.3f}" for value in told.values()), f"{moments[name].count:,}")
    out.print(table)
    return None


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
    from glassformer.instruments.change import by_frequency, by_place, changes
    from glassformer.reading import moments_of_change, reader

    if by not in ("all", "frequency", "place"):
        raise InputError(f"tokens are taken by frequency, by place or all together, not by {by!r}")
    model = reader(folder)
    names: tuple[str, ...] = ("all",)
    group_of: Groups | None = None
    if by != "all":
        counts = model.counts(told(model, text, sentences)) if by == "frequency" else None
        names, group_of = by_place(special=model.special) if counts is None else by_frequency(counts)
    work = partial(moments_of_change, folder.resolve(), whole_path(text), sentences, len(names), group_of)
    found = changes(model.layers.names, names, accumulated(work, engine, folder.name))
    if as_json:
        return print_json({"layers": [each.to_json() for each in found]})
    table = table_of("from", "to", "tokens", "distance", "vectors")
    for each in found:
        distance = "too few" if each.distance is None else f"{each.distance:z.3f}"
        table.add_row(each.before, each.after, each.group, distance, f"{each.samples:,}")
    out.print(table)
    return None


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
    from glassformer.reading import reader

    model = reader(folder)
    found = measured(model.layers, told(model, text, sentences), model.ordinary, seed)
    if as_json:
        return print_json({"layers": [each.to_json() for each in found]})
    table = table_of("layer", "replaced", "dropped", "replaced, neighbours", "replaced, behind it")
    for each in found:
        table.add_row(each.layer, *(f"{moved:z.4f}" for moved in (each.replaced, each.dropped, each.near, each.after)))
    out.print(table)
    return None
