"""Models of Hugging Face as the one Transformer: the same numbers everywhere, and the same instruments."""

from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.errors import InputError
from glassformer.instruments.lens import attribute, logit_lens
from glassformer.nn import Transformer
from glassformer.opening.loading import load

transformers = pytest.importorskip("transformers")

SIZES: dict[str, Any] = {"vocab_size": 40, "max_position_embeddings": 24}
USUAL = {**SIZES, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 30}
SPECIAL = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}
GPT2 = {"vocab_size": 40, "n_positions": 24, "n_embd": 24, "n_layer": 3, "n_head": 4, **SPECIAL}
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", GPT2),
    "gpt2, n_inner, relu": ("GPT2LMHeadModel", {**GPT2, "n_inner": 10, "activation_function": "relu"}),
    "llama": ("LlamaForCausalLM", {**USUAL, **SPECIAL, "num_key_value_heads": 2}),
    "llama, own head width": (
        "LlamaForCausalLM",
        {**USUAL, **SPECIAL, "head_dim": 10, "tie_word_embeddings": True, "rms_norm_eps": 1e-3},
    ),
    "gpt_neox": ("GPTNeoXForCausalLM", {**USUAL, **SPECIAL, "hidden_size": 32}),
    "gpt_neox, in turn": (
        "GPTNeoXForCausalLM",
        {**USUAL, **SPECIAL, "hidden_size": 32, "use_parallel_residual": False},
    ),
    "bert": ("BertForMaskedLM", {**USUAL, **SPECIAL}),
}
TOKENS = torch.randint(2, 40, (2, 17), generator=torch.Generator().manual_seed(0))


def made(name: str) -> Any:
    """A model whose every weight is large enough to matter, biases and norms too."""
    torch.manual_seed(0)
    kind, sizes = MODELS[name]
    config = getattr(transformers, kind).config_class(**sizes)
    config._attn_implementation = "eager"
    model = getattr(transformers, kind)(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


@pytest.fixture(params=MODELS)
def pair(request: pytest.FixtureRequest) -> tuple[Any, Transformer]:
    model = made(request.param)
    return model, load(model).model


@pytest.mark.usefixtures("types_unchecked")
def test_logits_vectors_and_patterns_are_theirs(pair: tuple[Any, Transformer]) -> None:
    """To 1e-6: Hugging Face turns by angles in float32; all else here is float64."""
    theirs, ours = pair
    with torch.no_grad():
        told = theirs(TOKENS, output_hidden_states=True, output_attentions=True)
    trace = ours.trace(TOKENS)
    near: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-6}
    torch.testing.assert_close(trace.logits, told.logits, **near)
    torch.testing.assert_close(ours(TOKENS), told.logits, **near)
    for i, pattern in enumerate(told.attentions):
        torch.testing.assert_close(trace[f"blocks.{i}.attn.hook_pattern"], pattern, **near)
    first, *_, last = told.hidden_states
    torch.testing.assert_close(trace["blocks.0.hook_resid_pre"], first, **near)
    for i, vectors in enumerate(told.hidden_states[1:-1]):
        name = "hook_normalized_resid_post" if ours.config.norm_place == "post" else "hook_resid_post"
        torch.testing.assert_close(trace[f"blocks.{i}.{name}"], vectors, **near)
    if ours.ln_final:
        torch.testing.assert_close(trace["ln_final.hook_normalized"], last, **near)


@pytest.mark.usefixtures("types_unchecked")
def test_instruments_work_on_them(pair: tuple[Any, Transformer]) -> None:
    _, model = pair
    logits = model(TOKENS)
    torch.testing.assert_close(logit_lens(model, TOKENS)[-1], logits)
    if model.config.mlm_head:
        with pytest.raises(InputError, match="behind a hidden layer"):
            attribute(model, TOKENS)
    else:
        torch.testing.assert_close(attribute(model, TOKENS).logits().sum(0), logits)


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox", "bert"])
def test_a_folder_is_opened_as_it_was_saved(name: str, tmp_path: Path) -> None:
    model = made(name).float()
    model.save_pretrained(tmp_path)
    torch.testing.assert_close(load(tmp_path).model(TOKENS), load(model).model(TOKENS))


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (
            "GPT2LMHeadModel",
            {**GPT2, "scale_attn_by_inverse_layer_idx": True},
            "scale_attn_by_inverse_layer_idx = True",
        ),
        ("GPT2LMHeadModel", {**GPT2, "activation_function": "mish"}, "activation 'mish' is not known"),
        ("LlamaForCausalLM", {**USUAL, **SPECIAL, "attention_bias": True}, "attention_bias = True"),
        (
            "LlamaForCausalLM",
            {**USUAL, **SPECIAL, "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}},
            "type 'linear' are not known",
        ),
        ("OPTForCausalLM", {"vocab_size": 9, "hidden_size": 8, "num_attention_heads": 2, "ffn_dim": 8}, "kind 'opt'"),
    ],
)
def test_what_would_compute_something_else_is_refused(kind: str, changes: dict[str, Any], message: str) -> None:
    model = getattr(transformers, kind)
    with pytest.raises(InputError, match=message):
        load(model(model.config_class(**changes)))
