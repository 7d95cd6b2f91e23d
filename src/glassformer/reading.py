"""Models that read text, opened from their folders, and what is accumulated while they read, here or on a cluster.

Each of n workers runs every nth batch, all with the same batches, and their moments are merged: the sums are those of
one worker, but for the order in which numbers are added.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from glassformer.errors import InputError
from glassformer.instruments.change import Groups, change_moments
from glassformer.instruments.layers import Tokens, layers_of, seen
from glassformer.instruments.reading import Reader
from glassformer.instruments.similarity import Moments
from glassformer.interop import huggingface
from glassformer.nn import files
from glassformer.nn.translator import reader_of
from glassformer.training import cluster, corpora
from glassformer.training.objectives import SPECIAL, encoded, tokeniser_from
from glassformer.training.trainer import model_of

Told: TypeAlias = Callable[[int, int], None]
Key = TypeVar("Key")
Share: TypeAlias = tuple[int, int]
"""Which batches a worker runs: of every so many, the one with this number."""


def reader(folder: Path) -> Reader:
    """The model in a folder, ours or Hugging Face's, or of a run; of a translator its encoder."""
    if not folder.exists():
        raise InputError(f"there is no folder {folder}")
    if folder.is_file():
        raise InputError(
            f"{folder} is a file, and a folder is needed that holds a model that reads text: "
            "a run of `glassformer evolve`, or one that Hugging Face's transformers saved"
        )
    if huggingface.is_model(folder):
        return huggingface.reader(folder)
    place = model_of(folder)
    model, documents = files.load(place)
    if "tokenizer.json" not in documents:
        raise InputError(f"{place} holds no model that reads text: there is no tokenizer.json beside it")
    found = reader_of(model, str(place))
    tokeniser = tokeniser_from(documents["tokenizer.json"], f"{place}/tokenizer.json")
    return Reader(
        name=folder.name,
        layers=layers_of(found),
        encode=partial(encoded, tokeniser),
        longest=found.config.context,
        vocab=tokeniser.get_vocab_size(),
        special=frozenset(range(len(SPECIAL))),
        tokeniser=tokeniser.to_str(),
    )


def sentences(text: str, count: int | None = None, tell: Told | None = None) -> Iterator[str]:
    """The first sentences of a text, each once: what comes again tells nothing new, but would count as more."""
    seen = set[int]()
    for number, (sentence, _) in enumerate(itertools.islice(corpora.read(text), count), start=1):
        if (known := hash(sentence)) in seen:
            continue
        seen.add(known)
        yield sentence
        if tell and count and number % 64 == 0:
            tell(number, count)


def moments_between(
    folder: Path, other: Path, text: str, count: int, share: Share = (0, 1), tell: Told | None = None
) -> dict[str, Moments]:
    """Of each layer of a model and the same layer of another."""
    one, two = reader(folder), reader(other)
    if one.tokeniser != two.tokeniser:
        raise InputError(f"{folder} and {other} cut text into other tokens: their vectors cannot be set side by side")
    if len(one.layers.names) != len(two.layers.names):
        raise InputError(
            f"{folder} has {len(one.layers.names) - 1} layers and {other} {len(two.layers.names) - 1}: "
            "layers are set side by side one by one"
        )
    moments: dict[str, Moments] = {}
    for tokens in own(one.batches(sentences(text, count, tell), min(one.longest, two.longest)), share):
        (a,), (b,) = seen(one.layers, [tokens]), seen(two.layers, [tokens])
        for name, x, y in zip(one.layers.names, a.vectors, b.vectors, strict=True):
            moments.setdefault(name, Moments(x.shape[1], y.shape[1])).add(x, y)
    return moments


def moments_of_change(
    folder: Path,
    text: str,
    count: int,
    groups: int,
    group_of: Groups | None,
    share: Share = (0, 1),
    tell: Told | None = None,
) -> dict[tuple[int, int], Moments]:
    """Of each layer and the next, for each group of tokens."""
    model = reader(folder)
    return change_moments(model.layers, own(model.batches(sentences(text, count, tell)), share), groups, group_of)


def own(batches: Iterator[Tokens], share: Share) -> Iterator[Tokens]:
    """The batches that are a worker's."""
    number, of = share
    return itertools.islice(batches, number, None, of)


def accumulated(work: Callable[..., dict[Key, Moments]], engine: str, tell: Told) -> dict[Key, Moments]:
    """What the work gives with all batches, by one worker here, or by as many as a cluster has room for."""
    if not cluster.asked_for(engine):
        return work(tell=tell)
    found: dict[Key, Moments] = {}
    with cluster.connected(engine) as ray:
        remote = ray.remote(num_cpus=1, max_retries=10)(_shared)
        workers = cluster.size(ray)
        shares: list[Any] = [remote.remote(work, (number, workers)) for number in range(workers)]
        for number, share in enumerate(shares, start=1):
            for key, moments in _outcome(ray, share).items():
                found.setdefault(key, Moments(moments.x_width, moments.y_width)).merge(moments)
            tell(number, workers)
    return found


def _outcome(ray: Any, share: Any) -> dict[Any, Moments]:
    """What a worker found, or what it says is wrong."""
    try:
        found: dict[Any, Moments] = ray.get(share)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, InputError):
            raise error.cause from None
        raise
    return found


def _shared(work: Callable[..., dict[Any, Moments]], share: Share) -> dict[Any, Moments]:
    return work(share=share)
