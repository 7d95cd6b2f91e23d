from dataclasses import replace

import pytest
import torch
from torch import Tensor

from glassformer.errors import InputError
from glassformer.nn import BlockShape, Config, HookPoint, PiecewiseLinear, Transformer
from glassformer.nn import trace as tracing
from literal_transformer import Literal
from random_models import randomised

UNEVEN = (BlockShape(2, 4, (7,)), BlockShape(3, 6, (5, 9)), BlockShape(0, 1, (6,)), BlockShape(1, 2, ()))
BASE = Config(vocab=5, outputs=3, context=9, width=10, blocks=UNEVEN)
CONFIGS = {
    "plain": BASE,
    "bidirectional": replace(BASE, causal=False),
    "unscaled": replace(BASE, scaled=False),
    "hardmax": replace(BASE, attention="hardmax"),
    "pre layer norm, GELU": replace(BASE, norm="layer", activation="gelu"),
    "post layer norm": replace(BASE, norm="layer", norm_place="post"),
    "pre RMS norm": replace(BASE, norm="rms"),
    "post RMS norm": replace(BASE, norm="rms", norm_place="post"),
    "no positions": replace(BASE, positions="none"),
    "sinusoidal": replace(BASE, positions="sinusoidal"),
    "dyadic": replace(BASE, positions="dyadic"),
    "table": replace(BASE, positions="table"),
    "rotary": replace(BASE, positions="rotary"),
    "ALiBi": replace(BASE, positions="alibi"),
    "bidirectional ALiBi": replace(BASE, positions="alibi", causal=False),
    "no skips": replace(BASE, skip="none", blocks=UNEVEN[:2]),
    "highways, pre layer norm": replace(BASE, skip="highway", norm="layer"),
    "heads that share keys and values": replace(BASE, blocks=(BlockShape(4, 4, (7,), 2), BlockShape(3, 6, (5,), 1))),
    "additive scores": replace(BASE, score="additive"),
    "gated, SiLU, RMS": replace(BASE, gated=True, activation="silu", norm="rms", norm_eps=1e-3),
    "side by side, GELU by tanh": replace(BASE, parallel=True, activation="gelu_tanh", norm="layer"),
    "as BERT": replace(BASE, causal=False, norm="layer", norm_place="post", embed_norm=True, mlm_head=True),
    "partly rotary": replace(BASE, positions="rotary", rotary_width=2, rotary_base=500.0),
    "piecewise": replace(BASE, activation="piecewise", pieces=PiecewiseLinear((-0.5, 0.4), (0.1, -2, 1), (0, 0.3, 1))),
}
TOKENS = torch.tensor([[4, 0, 1, 3, 2, 2, 0], [1, 1, 0, 4, 2, 3, 3]])


def assert_same(actual: Tensor, expected: Tensor, name: str = "") -> None:
    """Equal up to the rounding of float64, 1e-16 for each of some hundred operations; any bug is far larger."""
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-10, msg=lambda text: f"{name} {text}")


def made(config: Config) -> Transformer:
    """A float64 model whose every weight is large enough to matter."""
    return randomised(Transformer(config))


@pytest.fixture(params=CONFIGS)
def model(request: pytest.FixtureRequest) -> Transformer:
    return made(CONFIGS[request.param])


def test_the_output_is_that_of_the_literal_formulas(model: Transformer) -> None:
    assert_same(model(TOKENS), Literal(model).run(TOKENS))


def test_every_hook_holds_what_its_name_promises(model: Transformer) -> None:
    literal = Literal(model)
    logits = literal.run(TOKENS)
    trace = model.trace(TOKENS)
    assert list(trace) == list(literal.seen) == model.hook_names
    for name, value in literal.seen.items():
        assert_same(trace[name], value, name)
    assert_same(trace.logits, logits)


def test_editing_any_hook_changes_the_output_as_the_formulas_say(model: Transformer) -> None:
    untouched = model(TOKENS)
    shifts = {name: torch.randn_like(value) for name, value in model.trace(TOKENS).items()}
    for name in model.hook_names:

        def shift(value: Tensor, name: str = name) -> Tensor:
            # hardmax sees only the order of scores, and an equal shift of all of them is nothing to softmax:
            # a random shift of each reorders them
            return value + 3 * shifts[name].abs() if name.endswith("scale") else value + 3 * shifts[name]

        edited = model.run_with_hooks(TOKENS, [(name, lambda value, hook: shift(value))])
        assert not torch.allclose(edited, untouched), name
        expected = Literal(model, {name: shift}).run(TOKENS)
        assert_same(edited, expected, name)


def test_a_hook_that_edits_in_place_changes_that_activation_and_no_other(model: Transformer) -> None:
    name = "blocks.1.hook_resid_pre"

    def zero(value: Tensor, hook: HookPoint) -> None:
        value[:, 2:] = 0

    def zeroed(value: Tensor) -> Tensor:
        return torch.cat([value[:, :2], torch.zeros_like(value[:, 2:])], dim=1)

    expected = Literal(model, {name: zeroed}).run(TOKENS)
    assert_same(model.run_with_hooks(TOKENS, [(name, zero)]), expected)
    assert_same(model(TOKENS), Literal(model).run(TOKENS))


def test_several_hooks_act_in_the_order_given() -> None:
    model = made(BASE)
    double, add = (lambda value, hook: value * 2), (lambda value, hook: value + 1)
    name = "blocks.0.mlp.hook_post"
    assert not torch.allclose(
        model.run_with_hooks(TOKENS, [(name, double), (name, add)]),
        model.run_with_hooks(TOKENS, [(name, add), (name, double)]),
    )


def test_a_hook_function_gets_its_name_and_layer() -> None:
    points = []

    def note(value: Tensor, hook: HookPoint) -> None:
        points.append((hook.name, hook.layer()))

    made(BASE).run_with_hooks(TOKENS, [(lambda name: name.endswith("hook_z"), note)])
    assert points == [("blocks.0.attn.hook_z", 0), ("blocks.1.attn.hook_z", 1), ("blocks.3.attn.hook_z", 3)]


def test_a_filter_keeps_only_what_it_names() -> None:
    model = made(BASE)
    logits, cache = model.run_with_cache(TOKENS, names_filter=["hook_embed", "blocks.1.attn.hook_pattern"])
    assert list(cache) == ["hook_embed", "blocks.1.attn.hook_pattern"]
    assert cache["blocks.1.attn.hook_pattern"].shape == (2, 3, 7, 7)
    assert list(model.trace(TOKENS, "hook_embed")) == ["hook_embed"]
    assert logits.requires_grad
    assert not model.trace(TOKENS).logits.requires_grad


def test_patterns_are_materialised_only_for_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(BASE)
    assert set(model.hook_names).isdisjoint(model.hooks_on_request)  # recorded once, in runs of their own
    calls = []
    fused = torch.nn.functional.scaled_dot_product_attention

    def counted(*tensors: Tensor, **options: object) -> Tensor:
        calls.append(tensors)
        return fused(*tensors, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", counted)
    model(TOKENS)
    model.trace(TOKENS, lambda name: "resid" in name)
    assert len(calls) == 6  # three blocks with heads, twice
    model.trace(TOKENS, "blocks.1.attn.hook_pattern")
    assert len(calls) == 8  # the two blocks without hooks


def test_it_trains() -> None:
    torch.manual_seed(0)
    model = Transformer(
        Config.uniform(vocab=4, outputs=4, context=8, width=16, layers=2, heads=2, norm="layer", activation="gelu")
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    tokens = torch.randint(4, (32, 8))
    losses = []
    for _ in range(60):  # copy the token before
        loss = torch.nn.functional.cross_entropy(model(tokens)[:, 1:].flatten(0, 1), tokens[:, :-1].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_a_causal_model_does_not_see_the_future() -> None:
    model = made(BASE)
    changed = TOKENS.clone()
    changed[:, 4:] = (changed[:, 4:] + 1) % 5
    assert_same(model(changed)[:, :4], model(TOKENS)[:, :4])
    assert not torch.allclose(
        made(CONFIGS["bidirectional"])(changed)[:, :4], made(CONFIGS["bidirectional"])(TOKENS)[:, :4]
    )


def test_hardmax_shares_its_weight_in_a_tie() -> None:
    model = made(CONFIGS["hardmax"])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("_Q"):
                parameter.zero_()
    pattern = model.trace(TOKENS)["blocks.0.attn.hook_pattern"]
    assert_same(pattern[0, 0, 3], torch.tensor([0.25] * 4 + [0.0] * 3, dtype=torch.float64))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 0}, "width must be a whole number of at least 1, not 0"),
        ({"width": 8.0}, "width must be a whole number"),
        ({"causal": "no"}, "causal is true or false"),
        ({"positions": "rotery"}, "positions is one of none, learned, .*; not 'rotery'"),
        ({"norm": "batch"}, "norm is one of none, layer, rms"),
        ({"positions": "rotary", "blocks": (BlockShape(2, 3, ()),)}, "every head_width must be even"),
        ({"positions": "sinusoidal", "width": 9}, "width 9 must be even"),
        ({"positions": "dyadic", "context": 1000}, "need width 20, not 10"),
        ({"activation": "piecewise"}, "needs its pieces"),
        ({"pieces": PiecewiseLinear((), (1,), (0,))}, "needs its pieces"),
        ({"context": 2**40}, "too large"),
    ],
)
@pytest.mark.usefixtures("types_unchecked")
def test_a_config_that_cannot_run_is_refused_with_the_reason(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(BASE, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BlockShape(-1, 2, ()), "cannot have -1 heads"),
        (lambda: BlockShape(1, 2, (3, 0)), "at least one unit each"),
        (lambda: PiecewiseLinear((1.0, 0.0), (1, 2, 3), (0, 0, 0)), "must increase"),
        (lambda: PiecewiseLinear((0.0,), (1,), (0, 0)), "1 knots make 2 pieces"),
        (lambda: Config.uniform(vocab=2, outputs=2, context=2, width=10, layers=1, heads=3), "does not divide"),
    ],
)
def test_shapes_that_make_no_sense_are_refused(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (torch.zeros(1, 10, dtype=torch.long), "10 positions do not fit a context of 9"),
        (torch.tensor([[5]]), "tokens from 5 to 5 do not fit the vocabulary 0 … 4"),
        (torch.tensor([[-1]]), "tokens from -1"),
        (
            torch.zeros(0, 3, dtype=torch.long),
            r"nothing to read: tokens are \[batch, pos\], and these \[0, 3\]",
        ),
        (torch.zeros(2, 0, dtype=torch.long), r"these \[2, 0\]"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(tokens: Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(BASE)(tokens)


def test_unknown_hooks_get_the_nearest_names() -> None:
    model = made(BASE)
    with pytest.raises(InputError, match=r"no activation 'blocks.0.attn.hook_patern'.*blocks.0.attn.hook_pattern"):
        model.run_with_cache(TOKENS, names_filter="blocks.0.attn.hook_patern")
    with pytest.raises(InputError, match="matches no activation"):
        model.run_with_hooks(TOKENS, [(lambda name: "mpl" in name, lambda value, hook: value)])
    with pytest.raises(KeyError, match=r"near it are .*blocks.0.hook_mlp_out"):
        model.trace(TOKENS)["blocks.0.hook_mpl_out"]


def test_a_hook_that_changes_the_shape_is_refused_with_both_shapes() -> None:
    with pytest.raises(InputError, match=r"hook_embed gave shape \[2, 3, 10\] for \[2, 7, 10\]"):
        made(BASE).run_with_hooks(TOKENS, [("hook_embed", lambda value, hook: value[:, :3])])
    with pytest.raises(InputError, match=r"hook_embed gave int, not a tensor \[2, 7, 10\]"):
        made(BASE).run_with_hooks(TOKENS, [("hook_embed", lambda value, hook: 0)])  # type: ignore[list-item, return-value]


def test_a_trace_that_does_not_fit_in_memory_is_refused_before_it_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(BASE)
    monkeypatch.setattr(tracing, "MOST_KEPT", 2 * 7 * 10)
    assert model.trace(TOKENS, "hook_embed")["hook_embed"].shape == (2, 7, 10)
    with pytest.raises(InputError, match=r"these activations of 2 × 7 tokens take some 0 GiB.*name fewer of them"):
        model.trace(TOKENS)


def test_what_each_head_and_mlp_reads_and_adds_can_be_asked_for_by_name(model: Transformer) -> None:
    trace, apart = model.trace(TOKENS), model.trace(TOKENS, model.hooks_on_request)
    assert not set(apart) & set(trace)
    for name, value in apart.items():
        block, hook = name.split(".hook_")[0].removesuffix(".attn"), name.split("hook_")[-1]
        if hook == "result":
            bias = model.get_parameter(f"{block}.attn.b_O")
            torch.testing.assert_close(value.sum(2) + bias, trace[f"{block}.hook_attn_out"])
        elif hook == "mlp_in":
            assert value.shape == (*TOKENS.shape, model.config.width)
        else:
            torch.testing.assert_close(value, trace[f"{block}.hook_resid_pre"][:, :, None].expand_as(value))
    torch.testing.assert_close(apart.logits, trace.logits)


def test_a_head_that_is_given_another_stream_to_read_reads_that_one_alone(model: Transformer) -> None:
    """All three inputs and the MLP's at once: the block sees another stream, and adds to its own."""
    shift = torch.randn(*TOKENS.shape, model.config.width, dtype=torch.float64)
    names = [f"blocks.0.hook_{part}_input" for part in "qkv"]
    apart = model.run_with_cache(TOKENS, ["blocks.0.hook_attn_out"])[1]["blocks.0.hook_attn_out"]
    seen = {}

    def note(value: Tensor, hook: HookPoint) -> None:
        seen[hook.name] = value

    def moved(value: Tensor, hook: HookPoint) -> Tensor:
        return value + (shift if value.dim() == 3 else shift[:, :, None])

    model.run_with_hooks(TOKENS, [*((name, moved) for name in names), ("blocks.0.hook_attn_out", note)])
    by_heads = seen["blocks.0.hook_attn_out"]
    model.run_with_hooks(TOKENS, [("blocks.0.hook_resid_pre", moved), ("blocks.0.hook_attn_out", note)])
    torch.testing.assert_close(by_heads, seen["blocks.0.hook_attn_out"])
    assert not torch.allclose(by_heads, apart)


def test_hooks_on_request_are_known_by_name_only() -> None:
    model = made(BASE)
    assert not any("input" in name for name in model.trace(TOKENS, lambda name: True))
    with pytest.raises(InputError, match=r"near it are .*blocks\.0\.hook_q_input"):
        model.trace(TOKENS, "blocks.0.hook_q_inputt")
