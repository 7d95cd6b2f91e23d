"""What is measured while models read a text: vectors of tokens, and moments that are accumulated, here or on a cluster.

Each of n workers runs every nth batch, all with the same batches, and their moments are merged: the sums are those of
one worker, but for the order in which numbers are added.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from glassformer.errors import InputError
from glassformer.instruments.change import ALL, Groups, by_frequency, by_place, change_moments
from glassformer.instruments.identity import Sample, frequent, gather
from glassformer.instruments.layers import Tokens, seen
from glassformer.instruments.similarity import Moments, Similarity
from glassformer.instruments.text_model import TextModel
from glassformer.messages import Message
from glassformer.opening.loading import load
from glassformer.opening.opened import sentences_of
from glassformer.progress import Progress, silent
from glassformer.training import cluster

Key = TypeVar("Key")
Share: TypeAlias = tuple[int, int]
"""Which batches a worker runs: of every so many, the one with this number."""
KINDS: Final = ("pwcca", "symmetric_pwcca", "svcca", "cca", "cka")
GROUPED: Final = ("all", "frequency", "place")


def sampled(model: TextModel, text: str, count: int, tokens: int, each: int, progress: Progress = silent) -> Sample:
    """So many vectors of each of the most frequent tokens; the text is read twice."""
    chosen = frequent(model.counts(model.batches(sentences_of(text, count, progress))), tokens, each)
    again = model.batches(sentences_of(text, count, progress))
    return gather(model.layers, ((batch, batch) for batch in again), chosen, each)


def similarities(moments: Mapping[str, Moments]) -> dict[str, dict[str, float]]:
    """The similarity of the vectors of each layer, by all measures; too few vectors are refused."""
    if not moments:
        raise InputError("instruments.no_text")
    most = max(moments.values(), key=lambda each: each.needed)
    if not most.enough:
        raise InputError("instruments.too_few_vectors", count=most.count, needed=most.needed)
    return {name: {kind: getattr(Similarity(each), kind) for kind in KINDS} for name, each in moments.items()}


def grouped(
    model: TextModel, by: str, text: str, count: int, progress: Progress
) -> tuple[tuple[Message, ...], Groups | None]:
    """The names of groups of tokens, and what gives a token's group: by frequency, by place, or all together."""
    if by not in GROUPED:
        raise InputError("opening.grouped", by=by)
    if by == "frequency":
        return by_frequency(model.counts(model.batches(sentences_of(text, count, progress))))
    return by_place(special=model.special) if by == "place" else (ALL, None)


def moments_between(
    folder: Path, other: Path, text: str, count: int, share: Share = (0, 1), progress: Progress = silent
) -> dict[str, Moments]:
    """Of each layer of a model and the same layer of another."""
    one, two = load(folder).text_model, load(other).text_model
    if one.tokeniser != two.tokeniser:
        raise InputError("opening.other_tokens", one=str(folder), other=str(other))
    depths = [len(each.layers.names) - 1 for each in (one, two)]
    if depths[0] != depths[1]:
        raise InputError("opening.other_depths", one=str(folder), other=str(other), layers=depths[0], others=depths[1])
    moments: dict[str, Moments] = {}
    for tokens in own(one.batches(sentences_of(text, count, progress), min(one.longest, two.longest)), share):
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
    progress: Progress = silent,
) -> dict[tuple[int, int], Moments]:
    """Of each layer and the next, for each group of tokens."""
    model = load(folder).text_model
    return change_moments(
        model.layers, own(model.batches(sentences_of(text, count, progress)), share), groups, group_of
    )


def own(batches: Iterator[Tokens], share: Share) -> Iterator[Tokens]:
    """The batches that are a worker's."""
    number, of = share
    return itertools.islice(batches, number, None, of)


def accumulated(work: Callable[..., dict[Key, Moments]], engine: str, progress: Progress) -> dict[Key, Moments]:
    """What the work gives with all batches, by one worker here, or by as many as a cluster has room for."""
    if not cluster.asked_for(engine):
        return work(progress=progress)
    found: dict[Key, Moments] = {}
    with cluster.connected(engine) as ray:
        remote = ray.remote(num_cpus=1, max_retries=10)(_shared)
        workers = cluster.size(ray)
        shares: list[Any] = [remote.remote(work, (number, workers)) for number in range(workers)]
        for number, share in enumerate(shares, start=1):
            for key, moments in _outcome(ray, share).items():
                found.setdefault(key, Moments(moments.x_width, moments.y_width)).merge(moments)
            progress(number, workers)
    return found


def _outcome(ray: Any, share: Any) -> dict[Any, Moments]:
    """The result of a worker, or its error."""
    try:
        found: dict[Any, Moments] = ray.get(share)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, InputError):
            raise error.cause from None
        raise
    return found


def _shared(work: Callable[..., dict[Any, Moments]], share: Share) -> dict[Any, Moments]:
    return work(share=share)
