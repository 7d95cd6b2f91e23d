"""A world of facts: learned by heart, planted where one knows, traced, and edited."""

import pytest
import torch

from glassformer.compiler.constructions.planted import SITES, planted
from glassformer.documents.inside.facts import edit, study, trace
from glassformer.errors import InputError
from glassformer.instruments.editing import edited, keys, rank_one, values_for
from glassformer.instruments.sites import Site
from glassformer.nn import Transformer
from glassformer.training.facts import World, bits_known, learn, make_world

MLPS = [Site("blocks.0.hook_mlp_out"), Site("blocks.1.hook_mlp_out")]


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(40)


@pytest.fixture(scope="module")
def learned(world: World) -> Transformer:
    return learn(world)


def test_michael_jordan_plays_basketball(world: World, learned: Transformer) -> None:
    fact = world.fact("Michael Jordan plays")
    assert world.names[int(learned(world.prompts[fact : fact + 1])[0, -1].argmax())] == "basketball"
    assert torch.equal(learned(world.prompts)[:, -1].argmax(-1), world.answers)
    assert bits_known(learned, world) == pytest.approx(world.bits, rel=0.05)


def test_neither_name_alone_tells_who_is_meant(world: World) -> None:
    assert len(world.prompts.unique(dim=0)) == world.count == 160
    for column in (1, 2):
        assert len(world.prompts[:, column].unique()) < 40


@pytest.mark.parametrize("where", SITES)
def test_tracing_finds_facts_where_they_were_planted(world: World, where: str) -> None:
    model = planted(world, where)
    assert torch.equal(model(world.prompts)[:, -1].argmax(-1), world.answers)
    layer, position = SITES[where]
    layers = [i for i, shape in enumerate(model.config.blocks) if shape.mlp]
    seen = trace(model, world, torch.arange(0, 160, 5), [Site(f"blocks.{i}.hook_mlp_out") for i in layers])
    traced = {(i, place): float(part) for i, row in zip(layers, seen, strict=True) for place, part in enumerate(row)}
    assert traced[layer, position] == pytest.approx(1)
    before = {at: part for at, part in traced.items() if at[0] < layer or at[1] < position}
    assert all(abs(part) < 1e-6 for part in before.values()), before


def test_at_the_planted_site_the_right_value_changes_one_fact_and_no_other(world: World) -> None:
    """The value is known there: the same with another object's 1."""
    model = planted(world, "subject")
    layer, position = SITES["subject"]
    fact, name = world.fact("Michael Jordan plays"), f"blocks.{layer}.hook_mlp_out"
    value = model.trace(world.prompts, name)[name][fact, position].clone()
    old = int(torch.nonzero(value)[0])  # of the first relation, which is what he plays
    new = old + world.token("tennis") - world.token("basketball")
    value[new], value[old] = float(value[old]), 0.0
    every = keys(model, world.prompts, layer, position)
    with edited(model, layer, every[fact], value, every):
        answers = model(world.prompts)[:, -1].argmax(-1)
    changed = (answers != world.answers).nonzero().flatten().tolist()
    assert (changed, world.names[int(answers[fact])]) == ([fact], "tennis")
    assert torch.equal(model(world.prompts)[:, -1].argmax(-1), world.answers)  # as it was, afterwards


def test_edits_work_where_the_answer_is_read_and_keep_the_rest(world: World, learned: Transformer) -> None:
    worked, others, same = edit(learned, world, torch.arange(0, 40, 4), layer=1, position=3)
    assert (worked, others > 0.95, same > 0.9) == (1.0, True, True)


def test_the_same_places_can_be_traced_and_are_not_all_alike(world: World, learned: Transformer) -> None:
    seen = trace(learned, world, torch.arange(60), MLPS)
    assert float(seen[1, 3]) > 0.1 > float(seen[1, 2].abs())


def test_a_rank_one_change_gives_the_value_and_moves_other_keys_least() -> None:
    torch.manual_seed(0)
    every, weights, value = torch.randn(200, 12).double(), torch.randn(12, 5).double(), torch.randn(5).double()
    change = rank_one(weights, every[0], value, every)
    torch.testing.assert_close(every[0] @ (weights + change), value)
    assert torch.linalg.matrix_rank(change) == 1
    plain = torch.outer(every[0] / every[0].pow(2).sum(), value - every[0] @ weights)
    assert (every @ change).pow(2).sum() < (every @ plain).pow(2).sum()
    assert not rank_one(weights, torch.zeros(12).double(), value, every).any()


@pytest.mark.usefixtures("types_unchecked")
def test_edits_that_do_not_fit_are_named_with_both_shapes(world: World) -> None:
    model, words = planted(world, "relation"), world.prompts[:2]
    every, value = keys(model, words, 1, -1), torch.zeros(model.config.width)
    units, width = every.shape[1], len(value)
    with pytest.raises(InputError, match=rf"a key is \[{units}\].* these are \[5\], \[{width}\]"):
        rank_one(torch.zeros(units, width), every[0, :5], value, every)
    with (
        pytest.raises(InputError, match=rf"a value \[{width}\].* these are \[{units}\], \[3\]"),
        edited(model, 1, every[0], value[:3], every),
    ):
        pass
    with pytest.raises(InputError, match=r"position 9 is not one of 0 … 3"):
        keys(model, words, 1, 9)
    with pytest.raises(InputError, match="there are 2 words and 1 answers"):
        values_for(model, words, world.answers[:1], 1, 3)
    at_end = values_for(model, words, world.answers[:2], 1, -1)
    torch.testing.assert_close(at_end, values_for(model, words, world.answers[:2], 1, 3))


def test_worlds_and_places_that_do_not_exist_are_named(world: World) -> None:
    with pytest.raises(InputError, match="names for 400 subjects, not for 401"):
        make_world(401)
    with pytest.raises(InputError, match="knows no fact 'Jordan Michael plays'; it knows 'Michael Jordan plays'"):
        world.fact("Jordan Michael plays")
    with pytest.raises(InputError, match=r"planted at .*subject.*relation, not at 'verb'"):
        planted(world, "verb")
    with pytest.raises(InputError, match="does not know"):
        study(Transformer(planted(world, "relation").config), world)
    with pytest.raises(InputError, match=r"after 1 steps .* facts are wrong: take a wider model"):
        learn(world, steps=1)
