"""The instrument that names heads, scored where the right names are known."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from glassformer.automata import machine
from glassformer.automata.words import chosen_words
from glassformer.automata.zoo import SPECIMENS
from glassformer.compiler.built import Built
from glassformer.compiler.pipeline import compile
from glassformer.errors import InputError
from glassformer.instruments import HeadScore, score_heads
from glassformer.nn import BlockShape, Config, Transformer
from glassformer.operations.attention import AnyMatch, FlatSum, Itself, LatestMatch, LookBack, Operation, Start
from glassformer.training import Architecture, Settings, StateTracking, train


def named(built: Built) -> list[HeadScore]:
    words = chosen_words(built.machine, built.certificate.exact_length, 64, seed=0)
    return score_heads(built.model, built.tokens(words))


@pytest.mark.parametrize("spec", SPECIMENS)
@pytest.mark.parametrize("method", ["auto", "log"])
def test_every_head_of_a_built_model_is_named_by_its_known_job(spec: str, method: str) -> None:
    built = compile(spec, 40, method)
    for score in named(built):
        known = built.certificate.blocks[score.layer].heads[score.head]
        assert score.operation == known.pattern, (known, score)
        assert score.at is None or isinstance(known, AnyMatch), score  # what matches may well be told by its letter


def test_heads_of_an_untrained_model_are_unclear() -> None:
    config = Config.uniform(vocab=3, outputs=2, context=40, width=32, layers=2, heads=4, norm="layer")
    torch.manual_seed(0)
    scores = score_heads(Transformer(config), torch.randint(0, 2, (32, 40)))
    assert {score.operation for score in scores} <= {None, FlatSum()}  # all alike is what such a head does
    assert all(score.scores[LatestMatch()] < 0.5 for score in scores)


def test_a_flat_head_and_the_null_are_told_apart_from_a_reset() -> None:
    flat, reset = named(compile("parity", 40, "cascade")), named(compile("memory(3)", 40, "cascade"))
    assert [score.operation for score in flat] == [FlatSum()]
    assert {score.operation for score in reset} == {LatestMatch()}
    assert flat[0].nulls[Itself()] < 0.2


def test_the_scores_of_a_head_go_by_operations_not_by_titles() -> None:
    (score,) = named(compile("parity", 40, "cascade"))
    by_operation = {each["operation"]["kind"]: each for each in score.to_json()["operations"]}
    assert by_operation["flat_sum"]["score"] == score.to_json()["scores"]["flat sum"]
    assert by_operation["itself"]["null"] == score.nulls[Itself()]


def looking(at: Callable[[int], int], length: int = 24) -> Transformer:
    """One head that looks at a place that the position alone decides, by a table of positions."""
    config = Config(
        vocab=3, outputs=3, context=length, width=2 * length, blocks=(BlockShape(1, length, ()),), positions="table"
    )
    model = Transformer(config)
    weights = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    for query in range(length):
        weights["pos_embed.W_pos"][query, query] = 1
        weights["blocks.0.attn.W_Q"][0, query, at(query)] = 1000
        weights["blocks.0.attn.W_K"][0, query, query] = 1
    model.load_state_dict(weights)
    return model


@pytest.mark.parametrize(
    ("at", "operation"),
    [
        (lambda query: query, Itself()),
        (lambda query: 0, Start()),
        (lambda query: max(query - 1, 0), LookBack(1)),
        (lambda query: max(query - 4, 0), LookBack(4)),
        (lambda query: max(query - 3, 0), None),
        (lambda query: max(query - 5, 0), None),
        (lambda query: query // 2, None),
        (lambda query: query - query % 2, None),
    ],
)
def test_a_head_that_the_position_moves_is_no_conditional_reset(
    at: Callable[[int], int], operation: Operation | None
) -> None:
    (score,) = score_heads(looking(at), torch.randint(0, 3, (40, 24)))
    assert score.operation == operation, score
    assert score.matters == 0


def test_a_head_matters_as_much_as_answers_change_without_it() -> None:
    built = compile("parity", 40, "cascade")
    (score,) = named(built)
    assert score.matters > 0.3  # without the count the answer is always the same one


def test_a_trained_flip_flop_model_has_a_conditional_reset() -> None:
    task = StateTracking(machine("flipflop"), 24, letters=(0.8, 0.1, 0.1))
    settings = Settings(steps=500, learning_rate=3e-3, evaluate_every=500, evaluation_words=64)
    trained = train(task, Architecture(layers=1, width=32, heads=1), settings)
    assert trained.score.accuracy > 0.99
    assert isinstance(trained.model, Transformer)
    (score,) = score_heads(trained.model, task.batch(np.random.default_rng(1), 64).tokens)
    assert score.operation == LatestMatch(), score


def test_a_head_that_resets_where_it_matters_is_named_for_those_tokens() -> None:
    task = StateTracking(machine("flipflop"), 16)
    trained = train(task, Architecture(layers=1, width=32, heads=1), Settings(steps=300, learning_rate=3e-3))
    assert isinstance(trained.model, Transformer)
    (score,) = score_heads(trained.model, task.batch(np.random.default_rng(0), 64).tokens)
    read = task.names.index("r")  # after a write the letter itself tells the state, wherever the head looks
    assert (score.operation, score.at) == (LatestMatch(), [read]), score


def test_what_cannot_be_scored_is_refused() -> None:
    model = compile("parity", 10).model
    with pytest.raises(InputError, match="fewer than 4 tokens"):
        score_heads(model, torch.zeros((2, 3), dtype=torch.long))
    open_eyed = Transformer(Config.uniform(vocab=2, outputs=2, context=9, width=8, layers=1, heads=1, causal=False))
    with pytest.raises(InputError, match="sees the future"):
        score_heads(open_eyed, torch.zeros((2, 9), dtype=torch.long))
