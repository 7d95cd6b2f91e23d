"""Rewritten models compute what they did before, whatever the config."""

import itertools

import pytest
import torch

from glassformer.errors import InputError
from glassformer.nn import BlockShape, Config, Transformer
from glassformer.nn.identities import filled_with_zeros, head_outputs, regrouped, split_blocks, with_scale_absorbed

SHAPES = (
    BlockShape(2, 3, (5,)),
    BlockShape(0, 1, (4, 6)),
    BlockShape(3, 2, ()),
    BlockShape(1, 4, ()),
    BlockShape(0, 1, (7,)),
)
CONFIGS = [
    {"norm": norm, "norm_place": place, "causal": causal}
    for (norm, place), causal in itertools.product(
        (("none", "pre"), ("layer", "pre"), ("rms", "post"), ("layer", "post")), (True, False)
    )
]
TOKENS = torch.randint(0, 5, (3, 7), generator=torch.Generator().manual_seed(0))


def random_model(**config: object) -> Transformer:
    model = Transformer(Config(vocab=5, outputs=4, context=7, width=6, blocks=SHAPES, **config)).double()  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in model.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator, dtype=torch.float64))
    return model


@pytest.mark.parametrize("config", CONFIGS)
def test_layers_of_one_kind_compute_the_same_to_the_bit(config: dict[str, object]) -> None:
    model = random_model(**config)
    split = split_blocks(model)
    assert len(split.config.blocks) == 6
    assert all(bool(shape.heads) != bool(shape.mlp) for shape in split.config.blocks)
    assert torch.equal(split(TOKENS), model(TOKENS))


@pytest.mark.parametrize("config", CONFIGS)
def test_regrouping_makes_the_fewest_blocks_and_computes_the_same_to_the_bit(config: dict[str, object]) -> None:
    model = random_model(**config)
    grouped = regrouped(model)
    assert [(bool(shape.heads), bool(shape.mlp)) for shape in grouped.config.blocks] == [
        (True, True),
        (False, True),
        (True, False),
        (True, True),
    ]
    assert torch.equal(grouped(TOKENS), model(TOKENS))
    assert regrouped(split_blocks(model)).config == grouped.config


@pytest.mark.parametrize("norm", ["none", "layer", "rms"])
def test_absent_halves_written_as_zeros_change_no_bit(norm: str) -> None:
    model = random_model(norm=norm)
    full = filled_with_zeros(model)
    assert all(shape.heads and shape.mlp for shape in full.config.blocks)
    assert torch.equal(full(TOKENS), model(TOKENS))


def test_zeros_under_a_post_norm_are_refused() -> None:
    with pytest.raises(InputError, match="norm after the residual"):
        filled_with_zeros(random_model(norm="layer", norm_place="post"))


def test_the_scale_of_the_scores_can_be_in_the_queries() -> None:
    model = random_model(scaled=True)
    plain = with_scale_absorbed(model)
    assert not plain.config.scaled
    # sums of at most a hundred numbers below 10³, in float64, each rounded once more
    assert torch.allclose(plain(TOKENS), model(TOKENS), rtol=1e-9, atol=1e-9)
    assert with_scale_absorbed(plain) is plain


def test_heads_summed_are_heads_concatenated_and_projected() -> None:
    model = random_model()
    trace = model.trace(TOKENS)
    weights = model.state_dict()
    for i in (0, 2, 3):
        summed = head_outputs(trace[f"blocks.{i}.attn.hook_z"], weights[f"blocks.{i}.attn.W_O"]).sum(dim=2)
        written = trace[f"blocks.{i}.hook_attn_out"] - weights[f"blocks.{i}.attn.b_O"]
        assert torch.allclose(summed, written, rtol=1e-12, atol=1e-9)  # the order of a sum of at most six numbers


def test_rewritten_models_keep_their_number_format_and_mode() -> None:
    model = random_model().float().eval()
    for rewrite in (split_blocks, regrouped, filled_with_zeros, with_scale_absorbed):
        assert rewrite(model).dtype == torch.float32
        assert not rewrite(model).training


def test_a_scale_that_would_be_rounded_is_refused_for_hardmax() -> None:
    with pytest.raises(InputError, match="hardmax tie"):
        with_scale_absorbed(random_model(attention="hardmax"))


def test_rotary_models_without_heads_can_be_filled() -> None:
    config = Config(vocab=5, outputs=4, context=7, width=6, blocks=(BlockShape(0, 1, (4,)),), positions="rotary")
    model = Transformer(config)
    assert torch.equal(filled_with_zeros(model)(TOKENS), model(TOKENS))


def test_empty_blocks_are_not_kept() -> None:
    config = Config(vocab=5, outputs=4, context=7, width=6, blocks=(BlockShape(0, 1, ()), *SHAPES))
    assert regrouped(Transformer(config)).config.blocks == regrouped(random_model()).config.blocks
