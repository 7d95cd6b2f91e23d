"""Ablation and patching beside runs changed one by one, and where built models hold what makes the difference."""

import pytest
import torch

from glassformer.compiler.pipeline import compile
from glassformer.errors import InputError
from glassformer.instruments import patching, sites
from glassformer.instruments.edges import Edge, Edges
from glassformer.instruments.patching import (
    Place,
    ablate,
    ablations,
    changed_without,
    grid,
    logit_difference,
    patch,
    path_patch,
    path_patches,
    probability,
    restored,
)
from glassformer.instruments.sites import Site, at_layers, check, rows_at_once
from glassformer.nn import Config, Transformer
from glassformer.nn.trace import HookPoint
from random_models import randomised

CONFIG = Config.uniform(vocab=5, outputs=4, context=9, width=12, layers=2, heads=2, norm="layer")
CLEAN = torch.tensor([[0, 1, 2, 3, 4, 0], [4, 4, 1, 0, 2, 2], [1, 0, 3, 3, 2, 4]])
CORRUPTED = torch.tensor([[1, 1, 2, 3, 4, 0], [4, 0, 1, 0, 2, 2], [1, 0, 3, 3, 2, 0]])


@pytest.fixture
def model() -> Transformer:
    return randomised(Transformer(CONFIG))


@pytest.mark.parametrize("at_once", [2**24, 400], ids=["all together", "in small batches"])
def test_a_grid_is_the_same_as_patching_place_by_place(
    model: Transformer, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sites, "NUMBERS_AT_ONCE", at_once)
    metric = probability(torch.tensor([0, 1, 2]))
    where = [Site("blocks.0.hook_resid_pre"), Site("blocks.1.attn.hook_z", 1), Site("blocks.1.hook_mlp_out")]
    measured = patch(model, CORRUPTED, CLEAN, grid(where, 6), metric).view(3, 6, 3)
    held = model.trace(CLEAN, [site.hook for site in where])
    for i, site in enumerate(where):
        for position in range(6):

            def put(value: torch.Tensor, hook: object, site: Site = site, position: int = position) -> None:
                site.of(value)[:, position] = site.of(held[site.hook])[:, position]

            expected = metric(model.run_with_hooks(CORRUPTED, [(site.hook, put)]))
            torch.testing.assert_close(measured[i, position], expected)


def test_patching_all_positions_of_the_first_stream_restores_everything(model: Transformer) -> None:
    metric = logit_difference(torch.tensor([0, 1, 2]), torch.tensor([1, 2, 3]))
    everything = [[Place(Site("blocks.0.hook_resid_pre"), position) for position in range(6)]]
    measured = patch(model, CORRUPTED, CLEAN, everything, metric)
    assert float(restored(measured, metric(model(CORRUPTED)), metric(model(CLEAN)))[0]) == pytest.approx(1.0)


def test_on_a_built_model_the_letter_that_differs_is_carried_as_the_construction_says() -> None:
    """Doubling: letter 2 of 4 reaches the last position from layer 1 on its way 2 back."""
    built = compile("parity", 4, "log")
    clean, corrupted = (built.tokens(built.machine.encode(word)[None]) for word in ("1011", "1111"))
    metric = logit_difference(built.model(clean)[:, -1].argmax(-1), built.model(corrupted)[:, -1].argmax(-1))
    where = [Site(f"blocks.{i}.hook_resid_pre") for i in range(2)]
    measured = patch(built.model, corrupted, clean, grid(where, 5), metric)
    found = restored(measured, metric(built.model(corrupted)), metric(built.model(clean))).view(2, 5)
    assert found.tolist() == [[0, 0, 1, 0, 0], [0, 0, 1, 0, 0]]


def test_many_paths_at_once_are_the_same_as_one_after_the_other(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sites, "NUMBERS_AT_ONCE", 2000)
    metric, edges = probability(torch.tensor([0, 1, 2])), Edges(model).between(reader=Site("blocks.1.hook_mlp_in"))
    together = path_patches(model, CORRUPTED, CLEAN, [[edge] for edge in edges], metric)
    assert len(edges) == 7  # from the embedding, the positions, two heads of each layer, and an MLP
    for edge, each in zip(edges, together, strict=True):
        torch.testing.assert_close(each, path_patch(model, CORRUPTED, CLEAN, [edge], metric))


def test_path_patching_goes_over_one_edge_alone(model: Transformer) -> None:
    metric = probability(torch.tensor([0, 1, 2]))
    to_logits = Site("blocks.1.hook_resid_post")
    every_writer = ["hook_embed", "hook_pos_embed", "blocks.0.hook_mlp_out", "blocks.1.hook_mlp_out"]
    heads = [Site(f"blocks.{i}.attn.hook_result", head) for i in range(2) for head in range(2)]
    edges = [Edge(site, to_logits) for site in [*map(Site, every_writer), *heads]]
    everything = path_patch(model, CORRUPTED, CLEAN, edges, metric)
    torch.testing.assert_close(everything, metric(model(CLEAN)))
    alone = path_patch(model, CORRUPTED, CLEAN, edges[2:3], metric)
    assert not torch.allclose(alone, everything)
    assert not torch.allclose(alone, metric(model(CORRUPTED)))


def test_ablations_put_nothing_the_mean_or_another_word_in_the_place(model: Transformer) -> None:
    site, seen = Site("blocks.1.attn.hook_z", 0), model.trace(CLEAN, "blocks.1.attn.hook_z")["blocks.1.attn.hook_z"]
    others = patching.others(3)
    assert (others != torch.arange(3)).all()
    assert sorted(others.tolist()) == [0, 1, 2]
    held = seen[:, :, 0]
    for kind, instead in {"zero": 0 * held, "mean": held.mean(0).expand_as(held), "resample": held[others]}.items():

        def put(value: torch.Tensor, hook: object, instead: torch.Tensor = instead) -> None:
            value[:, :, 0] = instead

        expected = model.run_with_hooks(CLEAN, [(site.hook, put)])
        torch.testing.assert_close(ablate(model, CLEAN, [site], kind), expected)


def test_what_stands_instead_is_of_runs_that_lack_nothing_however_many_words_fit_at_once(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = [Site("blocks.0.hook_mlp_out"), Site("blocks.1.attn.hook_z", 0)]
    held = model.trace(CLEAN, [site.hook for site in where])

    def put(value: torch.Tensor, hook: HookPoint) -> None:
        for site in (site for site in where if site.hook == hook.name):
            site.of(value)[:] = site.of(held[site.hook]).mean(0)

    expected = model.run_with_hooks(CLEAN, [(site.hook, put) for site in where])
    torch.testing.assert_close(ablate(model, CLEAN, where, "mean"), expected)
    monkeypatch.setattr(sites, "NUMBERS_AT_ONCE", 1)
    assert rows_at_once(model, 6) == 1
    torch.testing.assert_close(ablate(model, CLEAN, where, "mean"), expected)
    changed = patching.changed_without(model, [CLEAN], where[0], "resample")
    monkeypatch.undo()
    assert changed == patching.changed_without(model, [CLEAN], where[0], "resample")


def test_bad_places_are_named_with_what_would_do(model: Transformer) -> None:
    metric = probability(torch.tensor([0, 1, 2]))
    for site, words in {
        Site("blocks.0.hook_resid_prae"): "near it are blocks.0.hook_resid_pre",
        Site("blocks.0.attn.hook_pattern"): "has two positions",
        Site("blocks.0.attn.hook_z", 2): "has no head 2; it has 2",
        Site("blocks.0.hook_mlp_out", 0): "has no head 0; it has none",
    }.items():
        with pytest.raises(InputError, match=words):
            check(model, site)
        with pytest.raises(InputError, match=words):
            patch(model, CORRUPTED, CLEAN, [[Place(site, 0)]], metric)
    with pytest.raises(InputError, match=r"position 6 is not one of 0 … 5"):
        patch(model, CORRUPTED, CLEAN, [[Place(Site("hook_embed"), 6)]], metric)
    with pytest.raises(InputError, match=r"these are \[3, 5\] and \[3, 6\]"):
        patch(model, CORRUPTED[:, :5], CLEAN, [[Place(Site("hook_embed"), 0)]], metric)
    edge = Edge(Site("hook_embed"), Site("blocks.0.hook_mlp_in"))
    with pytest.raises(InputError, match=r"these are \[3, 6\] and \[2, 6\]"):
        path_patch(model, CORRUPTED, CLEAN[:2], [edge], metric)
    with pytest.raises(InputError, match=r"the metric gave \[1, 3, 6\] for logits \[1, 3, 6, 4\]"):
        path_patch(model, CORRUPTED, CLEAN, [edge], lambda logits: logits[..., 0])
    with pytest.raises(InputError, match=r"the metric cannot take logits \[1, 3, 6, 4\]"):
        path_patch(model, CORRUPTED, CLEAN, [edge], probability(torch.tensor([0, 1, 2, 3])))
    assert patch(model, CORRUPTED, CLEAN, [], metric).shape == (0, 3)
    with pytest.raises(InputError, match="an ablation is one of zero, mean, resample; not 'noise'"):
        ablate(model, CLEAN, [Site("hook_embed")], "noise")
    with pytest.raises(InputError, match="at least two words"):
        ablate(model, CLEAN[:1], [Site("hook_embed")], "resample")
    with pytest.raises(InputError, match="nothing to restore"):
        restored(metric(model(CLEAN)), metric(model(CLEAN)), metric(model(CLEAN)))


def test_a_request_that_does_not_fit_in_memory_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Transformer(CONFIG)
    monkeypatch.setattr(sites, "MOST_NUMBERS", 400)
    with pytest.raises(InputError, match="one word of 9 tokens needs some 0 GiB"):
        rows_at_once(model, 9)


def test_every_part_is_taken_away_in_turn(model: Transformer) -> None:
    found = ablations(model, [CLEAN], "zero")
    assert [(layer.layer, len(layer.heads)) for layer in found] == [(0, 2), (1, 2)]
    assert found[1].heads[1] == changed_without(model, [CLEAN], Site("blocks.1.attn.hook_z", 1), "zero")
    assert found[0].mlp == changed_without(model, [CLEAN], Site("blocks.0.hook_mlp_out"), "zero")


def test_a_hook_is_one_of_a_layer_of_every_layer_or_of_none(model: Transformer) -> None:
    assert at_layers(model, "hook_embed") == [(None, Site("hook_embed"))]
    assert at_layers(model, "attn.hook_z[1]") == [(i, Site(f"blocks.{i}.attn.hook_z", 1)) for i in range(2)]
    assert at_layers(model, "blocks.1.hook_mlp_out") == [(1, Site("blocks.1.hook_mlp_out"))]
    with pytest.raises(InputError, match="near it are hook_mlp_out"):
        at_layers(model, "hook_mlp_outt")
