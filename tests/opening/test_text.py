"""Models that read text, from folders; what workers accumulate in shares is what one accumulates alone."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from glassformer.errors import InputError
from glassformer.instruments.change import by_place
from glassformer.instruments.similarity import Moments, Similarity
from glassformer.nn import Config, Transformer, files
from glassformer.opening.text import accumulated, moments_between, moments_of_change
from glassformer.training import corpora
from glassformer.training.objectives import tokeniser_of
from places import DATA

CONFIG = Config.uniform(vocab=400, outputs=400, context=40, width=8, layers=2, heads=2, norm="layer")
TEXT = DATA / "sentences.tsv"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    tokeniser = tokeniser_of(corpora.load(str(TEXT)), 400).to_str()
    folders = [tmp_path_factory.mktemp("models") / str(seed) for seed in range(2)]
    for folder in folders:
        files.save(folder, Transformer(CONFIG), {"tokenizer.json": tokeniser})
    return folders


def works(models: list[Path]) -> list[Callable[..., dict[Any, Moments]]]:
    names, group_of = by_place()
    one, other = models
    return [
        partial(moments_between, one, other, str(TEXT), 300),
        partial(moments_of_change, one, str(TEXT), 300, len(names), group_of),
    ]


def assert_same(found: dict[Any, Moments], expected: dict[Any, Moments]) -> None:
    assert set(found) == set(expected)
    for key, moments in expected.items():
        assert found[key].count == moments.count
        if moments.count > 1:
            assert Similarity(found[key]).pwcca == pytest.approx(Similarity(moments).pwcca, abs=1e-9)


@pytest.mark.parametrize("which", [0, 1])
def test_shares_add_up_to_the_whole(models: list[Path], which: int) -> None:
    work = works(models)[which]
    parts = [work(share=(number, 3)) for number in range(3)]
    assert sum(next(iter(part.values())).count > 0 for part in parts) == 3
    for part in parts[1:]:
        for key, moments in part.items():
            parts[0][key].merge(moments)
    assert_same(parts[0], work())


@pytest.mark.filterwarnings("ignore")  # of Ray's own doing
def test_a_cluster_gives_the_same_numbers(models: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # a cluster on this machine alone
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    told: list[tuple[int, int]] = []
    try:
        for work in works(models):
            assert_same(accumulated(work, "ray", lambda count, of: told.append((count, of))), work())
    finally:
        ray.shutdown()
    assert told == [(1, 2), (2, 2)] * 2


def test_another_engine_is_refused(models: list[Path]) -> None:
    with pytest.raises(InputError, match="here, ray or ray://address; not 'spark'"):
        accumulated(works(models)[0], "spark", lambda count, of: None)
