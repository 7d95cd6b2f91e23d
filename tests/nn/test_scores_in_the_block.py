"""The block of the one Transformer takes any score."""

from dataclasses import replace
from typing import get_args

import pytest
import torch

from glassformer.errors import InputError
from glassformer.instruments.lens import attribute
from glassformer.instruments.steps import follow
from glassformer.nn import BlockShape, Config, Transformer
from glassformer.nn.config import ScoreKind, Window
from glassformer.nn.identities import filled_with_zeros
from glassformer.nn.scores import auxiliary_losses
from glassformer.training import Architecture
from glassformer.training.transductions import Transduction
from random_models import randomised

OWN_WEIGHTS = ("hard", "intra-temporal", "structured")
PARTS = [(s, w) for s in get_args(ScoreKind) for w in get_args(Window) if w == "global" or s not in OWN_WEIGHTS]
BASE = Config.uniform(vocab=5, outputs=3, context=40, width=8, layers=2, heads=2, positions="none")
TOKENS = torch.randint(0, 5, (2, 24), generator=torch.Generator().manual_seed(0))
"""More tokens than numbers in the product of two heads, so that linear attention takes sums."""


def made(**changes: object) -> Transformer:
    return randomised(Transformer(replace(BASE, **changes)), std=0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(("score", "window"), PARTS)
def test_looking_changes_nothing_and_patterns_are_weights(score: str, window: str) -> None:
    model = made(score=score, window=window)
    trace = model.trace(TOKENS)
    torch.testing.assert_close(trace.logits, model(TOKENS))
    pattern = trace["blocks.1.attn.hook_pattern"]
    assert not pattern.triu(1).any()
    if window != "local-p":  # which takes something from all but the middle
        torch.testing.assert_close(pattern.sum(-1), torch.ones_like(pattern[..., 0]))


@pytest.mark.parametrize(("score", "window"), PARTS)
def test_what_comes_later_changes_no_answer(score: str, window: str) -> None:
    model = made(score=score, window=window)
    torch.testing.assert_close(model(TOKENS[:, :9]), model(TOKENS)[:, :9])


@pytest.mark.parametrize("score", ["hard", "structured"])
@pytest.mark.parametrize("causal", [False, True])
def test_what_scores_add_to_the_loss_is_collected(score: str, causal: bool) -> None:
    model = made(score=score, causal=causal)
    with auxiliary_losses(model, torch.Generator().manual_seed(0)) as auxiliary:
        model.read(TOKENS)
    model.read(TOKENS)  # adds nothing
    assert (len(auxiliary.choices), len(auxiliary.penalties)) == ((2, 0) if score == "hard" else (0, 2))
    assert {reach for _, reach in auxiliary.choices} <= {"onward" if causal else "all"}
    auxiliary.total(torch.rand(2, 24).double(), 48).backward()
    gradient = dict(model.named_parameters())["blocks.0.attn.W_K"].grad
    assert gradient is not None
    assert gradient.isfinite().all()
    assert gradient.any()


def test_heads_that_share_keys_and_values_are_heads_with_equal_ones() -> None:
    shared = made(blocks=(BlockShape(4, 2, (8,), groups=2),))
    own = Transformer(replace(shared.config, blocks=(BlockShape(4, 2, (8,)),))).double()
    weights = {
        name: value.repeat_interleave(2, 0) if name.split(".")[-1] in ("W_K", "W_V", "b_K", "b_V") else value
        for name, value in shared.state_dict().items()
    }
    own.load_state_dict(weights)
    torch.testing.assert_close(shared(TOKENS), own(TOKENS))
    assert shared.parameter_count() < own.parameter_count()


def test_a_step_shows_the_scores_that_the_model_has() -> None:
    model = made(score="additive")
    seen = follow(model, TOKENS[:1], list("abcde"), list("xyz"), layer=1, position=5)
    scores = model.trace(TOKENS[:1])["blocks.1.attn.hook_attn_scores"][0, 0, 5]
    assert [key.score for key in seen.heads[0].keys][:6] == pytest.approx(scores[:6].tolist())


def test_what_needs_a_sum_refuses_a_stream_that_is_none() -> None:
    with pytest.raises(InputError, match="logits are no sum"):
        attribute(made(skip="highway"), TOKENS)
    with pytest.raises(InputError, match="without a residual nothing would be left"):
        filled_with_zeros(made(skip="none", blocks=(BlockShape(0, 1, (4,)),)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": "cosine"}, "score is one of dot, hard"),
        ({"score": "additive", "attention": "hardmax"}, "hardmax and alibi go with dot products"),
        ({"window": "local-m", "positions": "alibi"}, "hardmax and alibi go with dot products"),
        ({"skip": "some"}, "skip is one of residual, highway, none"),
    ],
)
@pytest.mark.usefixtures("types_unchecked")
def test_a_config_that_cannot_be_is_refused(changes: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(BASE, **changes)  # type: ignore[arg-type]


def test_heads_that_do_not_divide_into_groups_are_refused() -> None:
    with pytest.raises(InputError, match="3 heads do not divide into 2 groups"):
        BlockShape(3, 4, (), groups=2)


def test_without_residuals_weights_begin_so_that_nothing_fades() -> None:
    task = Transduction("reverse", 6)
    deep = {
        skip: Architecture(layers=16, width=32, skip=skip, norm="none", initialisation="fan_in").model(task, 0)
        for skip in ("none", "highway")
    }
    for model in deep.values():
        assert isinstance(model, Transformer)
        trace = model.trace(torch.randint(0, 8, (4, 8)), ["blocks.0.hook_mlp_out", "blocks.15.hook_resid_post"])
        assert trace["blocks.15.hook_resid_post"].norm() > 1e-6 * trace["blocks.0.hook_mlp_out"].norm()
