"""The parts of the logits sum to the logits, whatever the norm; each step shows what the formulas say."""

import math

import numpy as np
import pytest
import torch

from glassformer.compiler.pipeline import compile
from glassformer.errors import InputError
from glassformer.instruments.lens import Part, attribute, attribution, guesses, logit_lens
from glassformer.instruments.steps import at_temperature, follow, neighbours
from glassformer.nn import Config, Transformer
from random_models import randomised

TOKENS = torch.tensor([[0, 1, 2, 3, 4, 0], [4, 4, 1, 0, 2, 2]])
SIZES = {"vocab": 5, "outputs": 4, "context": 9, "width": 12, "layers": 2, "heads": 2}
CONFIGS = {
    "no norm": Config.uniform(**SIZES),
    "pre-norm": Config.uniform(**SIZES, norm="layer", activation="gelu"),
    "post-norm": Config.uniform(**SIZES, norm="layer", norm_place="post"),
    "rms, rotary": Config.uniform(**SIZES, norm="rms", positions="rotary"),
    "alibi, seeing both sides": Config.uniform(**SIZES, positions="alibi", causal=False),
}
NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture(params=CONFIGS)
def model(request: pytest.FixtureRequest) -> Transformer:
    return randomised(Transformer(CONFIGS[request.param]))


def test_the_parts_of_the_logits_sum_to_them(model: Transformer) -> None:
    parts = attribute(model, TOKENS)
    torch.testing.assert_close(parts.logits().sum(0), model(TOKENS), rtol=0, atol=1e-12)  # float64 sums of ten parts
    some = torch.tensor([3, 1])
    torch.testing.assert_close(parts.logits(some), parts.logits()[..., some])


def test_on_a_built_model_the_parts_sum_exactly() -> None:
    built = compile("dihedral(4)", 20)
    words = built.tokens(np.stack([built.machine.encode(word * 10) for word in ("sr", "rr")]))
    assert torch.equal(attribute(built.model, words).logits().sum(0), built.model(words))


def test_the_last_layer_of_the_lens_is_the_model(model: Transformer) -> None:
    lens = logit_lens(model, TOKENS)
    assert len(lens) == 3
    torch.testing.assert_close(lens[-1], model(TOKENS))


def test_one_logit_is_attributed_and_its_parts_go_by_layer(model: Transformer) -> None:
    found = attribution(model, TOKENS, position=2)
    logits = model(TOKENS)[0, 2].detach()
    assert found.output == int(logits.argmax())
    assert sum(found.parts.values()) == pytest.approx(found.logit) == pytest.approx(float(logits.max()))
    assert [layer["layer"] for layer in found.by_layer()] == [0, 1]
    assert found.by_layer()[1]["MLP"] == found.parts[Part("MLP", 1)] == found.by_name()["layer 1 MLP"]
    assert "head 1" in found.by_layer()[0]
    assert "layer 0 head 1" in found.by_name()
    assert attribution(model, TOKENS, 2, output=3).logit == pytest.approx(float(logits[3]))


def test_the_guesses_after_the_last_layer_are_the_answers(model: Transformer) -> None:
    first, *_, last = guesses(model, TOKENS)
    assert (first.layer, last.layer) == ("embedding", "1")
    assert last.outputs == model(TOKENS)[0].argmax(-1).tolist()
    assert last.probabilities == pytest.approx(model(TOKENS)[0].detach().softmax(-1).amax(-1).tolist())


def test_a_step_shows_the_numbers_of_the_run(model: Transformer) -> None:
    found = follow(model, TOKENS[:1], NAMES, NAMES[:4], layer=1, position=3)
    trace = model.trace(TOKENS[:1])
    causal = model.config.causal
    for head in found.heads:
        pattern = trace["blocks.1.attn.hook_pattern"][0, head.head, 3]
        assert [key.weight for key in head.keys] == pytest.approx(pattern.tolist())
        assert [key.masked is None for key in head.keys] == [causal and k > 3 for k in range(6)]
        assert sum(key.share for key in head.keys) == pytest.approx(1)
        update = trace["blocks.1.attn.hook_z"][0, 3, head.head] @ model.get_parameter("blocks.1.attn.W_O")[head.head]
        assert head.update_length == pytest.approx(update.norm().item())
        if model.config.positions != "alibi":  # which adds to the scores what no query or key says
            assert all(key.masked in (None, pytest.approx(key.score)) for key in head.keys)
    assert found.mlp
    assert found.mlp.update_length == pytest.approx(float(trace["blocks.1.hook_mlp_out"][0, 3].norm()))
    assert found.logits[0].value == pytest.approx(float(trace.logits[0, 3].max()))
    assert sum(each.value for each in found.probabilities) == pytest.approx(1)
    assert found.tokens == ["a", "b", "c", "d", "e", "a"]


def test_temperature_sharpens_and_spreads() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, 2.0])
    assert at_temperature(logits, 0).tolist() == [0.5, 0, 0, 0.5]
    assert at_temperature(logits, 1e-300).isfinite().all()
    torch.testing.assert_close(at_temperature(logits, 1.0), logits.softmax(-1))
    entropies = [float(torch.special.entr(at_temperature(logits, t)).sum()) for t in (0.1, 0.5, 1, 4, 1000)]
    assert entropies == sorted(entropies)
    assert entropies[-1] == pytest.approx(math.log(4), abs=1e-5)
    with pytest.raises(InputError, match="the temperature"):
        at_temperature(logits, -1.0)


def test_neighbours_are_the_largest_dot_products() -> None:
    torch.manual_seed(0)
    model = Transformer(CONFIGS["no norm"])
    near = neighbours(model, 2, NAMES)
    dots = {name: (row @ model.embed.W_E[2]).item() for name, row in zip(NAMES, model.embed.W_E, strict=True)}
    assert [each.name for each in near] == sorted(dots, key=lambda name: -dots[name])


def test_places_outside_the_word_or_model_are_named() -> None:
    model = Transformer(CONFIGS["no norm"])
    with pytest.raises(InputError, match=r"layer 2 is not one of 0 … 1"):
        follow(model, TOKENS[:1], NAMES, NAMES, layer=2, position=0)
    with pytest.raises(InputError, match=r"position -7 is not one of 0 … 5"):
        follow(model, TOKENS[:1], NAMES, NAMES, layer=0, position=-7)
    with pytest.raises(InputError, match="one word; these are 2"):
        follow(model, TOKENS, NAMES, NAMES, layer=0, position=0)
