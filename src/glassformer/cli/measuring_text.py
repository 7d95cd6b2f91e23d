"""Commands that follow text through the layers of a model that was trained on text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.measuring import AnyFolder, measure, model_of
from glassformer.cli.terminal import AsJson, out, print_json, progress_bar, table_of
from glassformer.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

    from glassformer.measure.identity import Sample
    from glassformer.measure.layers import Layers, Tokens

TextFile = Annotated[
    str, typer.Option("--text", metavar="FILE", help="Text to read: a file, or the name of a fetched corpus.")
]
Sentences = Annotated[int, typer.Option(min=1, help="Look at so many sentences, from the first on.")]


@dataclass(frozen=True)
class Reader:
    """A model that reads text: its layers, and its tokens."""

    layers: Layers
    tokeniser: Tokenizer
    longest: int
    name: str

    def batches(self, text: str, sentences: int) -> Iterator[Tokens]:
        """The sentences in tokens, with a progress bar."""
        import itertools

        from glassformer.learn import corpora
        from glassformer.learn.objectives import in_batches

        with progress_bar(f"reading {self.name}") as advance:

            def told() -> Iterator[str]:
                for number, (sentence, _) in enumerate(itertools.islice(corpora.read(text), sentences), start=1):
                    yield sentence
                    if number % 64 == 0:
                        advance(number, sentences)

            yield from in_batches(self.tokeniser, told(), self.longest)

    def counts(self, text: str, sentences: int) -> np.ndarray:
        """How often each token comes."""
        import numpy as np

        found = np.zeros(self.tokeniser.get_vocab_size(), dtype=int)
        for batch in self.batches(text, sentences):
            found += np.bincount(batch.numpy().ravel(), minlength=len(found))
        return found


def reader(folder: Path) -> Reader:
    """The model in a folder, or of a run; of a translator its encoder."""
    from glassformer.learn.objectives import tokeniser_from
    from glassformer.measure.layers import layers_of
    from glassformer.nn import files
    from glassformer.nn.translator import reader_of

    place = model_of(folder)
    model, documents = files.load(place)
    if "tokenizer.json" not in documents:
        raise InputError(f"{place} holds no model that reads text: there is no tokenizer.json beside it")
    found = reader_of(model, str(place))
    tokeniser = tokeniser_from(documents["tokenizer.json"], f"{place}/tokenizer.json")
    return Reader(layers_of(found), tokeniser, found.config.context, folder.name)


@measure.command()
def information(
    folder: AnyFolder,
    text: TextFile,
    sentences: Sentences = 20_000,
    tokens: Annotated[int, typer.Option(min=2, help="The most frequent tokens, so many.")] = 300,
    each: Annotated[int, typer.Option(min=2, help="Vectors of each token.")] = 60,
    clusters: Annotated[int, typer.Option(min=2, help="Clusters that vectors are told apart by.")] = 600,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the clusters.")] = 0,
    as_json: AsJson = False,
) -> None:
    """How many bits each layer's vectors tell about the token that they stand for."""
    from glassformer.measure.identity import information_by_layer

    found = information_by_layer(sampled(reader(folder), text, sentences, tokens, each), clusters, seed)
    if as_json:
        return print_json({"layers": [{"layer": layer, **value.to_json()} for layer, value in found.items()]})
    table = table_of("layer", "bits", "±", "as counted", "shuffled", "held out", "most")
    for layer, value in found.items():
        numbers = (value.bits, value.error, value.plug_in, value.null, value.held_out, value.most)
        table.add_row(layer, *(f"{number:.2f}" for number in numbers))
    out.print(table)
    return None


@measure.command()
def recovery(
    folder: AnyFolder,
    text: TextFile,
    sentences: Sentences = 20_000,
    tokens: Annotated[int, typer.Option(min=2, help="The most frequent tokens, so many.")] = 100,
    each: Annotated[int, typer.Option(min=2, help="Vectors of each token.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the halves, and of the control.")] = 0,
    as_json: AsJson = False,
) -> None:
    """How often the token, and its place, can be read off a vector: by its nearest neighbour, and by a linear probe."""
    from glassformer.measure.recovery import recovery as measured

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
    from glassformer.learn.objectives import SPECIAL
    from glassformer.measure.identity import frequent, gather

    chosen = frequent(model.counts(text, sentences), tokens, each, len(SPECIAL))
    return gather(model.layers, ((batch, batch) for batch in model.batches(text, sentences)), chosen, each)


@measure.command()
def similarity(
    folder: AnyFolder,
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="A model with the same tokens.")],
    text: TextFile,
    sentences: Sentences = 3000,
    as_json: AsJson = False,
) -> None:
    """How alike the vectors of two models are, layer by layer, on the same text."""
    from glassformer.measure.layers import seen
    from glassformer.measure.similarity import Moments, Similarity

    one, two = reader(folder), reader(other)
    if one.tokeniser.to_str() != two.tokeniser.to_str():
        raise InputError(f"{folder} and {other} cut text into other tokens: their vectors cannot be set side by side")
    longest = min(one.longest, two.longest)
    one, two = (
        Reader(one.layers, one.tokeniser, longest, one.name),
        Reader(two.layers, two.tokeniser, longest, two.name),
    )
    moments: dict[str, Moments] = {}
    for tokens in one.batches(text, sentences):
        (a,), (b,) = seen(one.layers, [tokens]), seen(two.layers, [tokens])
        for name, x, y in zip(one.layers.names, a.vectors, b.vectors, strict=False):
            moments.setdefault(name, Moments(x.shape[1], y.shape[1])).add(x, y)
    kinds = ("pwcca", "symmetric_pwcca", "svcca", "cca", "cka")
    found = {name: {kind: getattr(Similarity(each), kind) for kind in kinds} for name, each in moments.items()}
    if as_json:
        layers = [{"layer": name, **told, "samples": moments[name].count} for name, told in found.items()]
        return print_json({"layers": layers})
    table = table_of("layer", "PWCCA", "both ways", "SVCCA", "CCA", "CKA")
    for name, told in found.items():
        table.add_row(name, *(f"{value:.3f}" for value in told.values()))
    out.print(table)
    return None


@measure.command()
def change(
    folder: AnyFolder,
    text: TextFile,
    sentences: Sentences = 3000,
    by: Annotated[str, typer.Option(help="Tokens apart by frequency or by place, or all together.")] = "all",
    as_json: AsJson = False,
) -> None:
    """How much vectors change from each layer to the next: 1 − PWCCA."""
    from glassformer.measure.change import by_frequency, by_place
    from glassformer.measure.change import change as measured

    model = reader(folder)
    if by not in ("all", "frequency", "place"):
        raise InputError(f"tokens are taken by frequency, by place or all together, not by {by!r}")
    if by == "all":
        found = measured(model.layers, model.batches(text, sentences))
    else:
        groups = by_place() if by == "place" else by_frequency(model.counts(text, sentences))
        found = measured(model.layers, model.batches(text, sentences), *groups)
    if as_json:
        return print_json({"layers": [each.to_json() for each in found]})
    table = table_of("from", "to", "tokens", "distance", "vectors")
    for each in found:
        distance = "too few" if each.distance is None else f"{each.distance:.3f}"
        table.add_row(each.before, each.after, each.group, distance, f"{each.samples:,}")
    out.print(table)
    return None


@measure.command()
def influence(
    folder: AnyFolder,
    text: TextFile,
    sentences: Sentences = 3000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the tokens that are replaced.")] = 0,
    as_json: AsJson = False,
) -> None:
    """How far the vectors of other tokens move when one is replaced or dropped: the mean of 1 − cosine."""
    from glassformer.learn.objectives import SPECIAL
    from glassformer.measure.change import influence as measured

    model = reader(folder)
    vocab = model.tokeniser.get_vocab_size()
    found = measured(model.layers, model.batches(text, sentences), vocab, len(SPECIAL), seed)
    if as_json:
        return print_json({"layers": [each.to_json() for each in found]})
    table = table_of("layer", "replaced", "dropped", "replaced, neighbours")
    for each in found:
        table.add_row(each.layer, f"{each.replaced:.4f}", f"{each.dropped:.4f}", f"{each.near:.4f}")
    out.print(table)
    return None
