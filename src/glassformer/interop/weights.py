"""Models of Hugging Face as the one Transformer: the same weights under our names, so that every instrument opens them.

    model = glassformer.interop.load("path/to/folder")   # or a model that is there already

GPT-2, Llama, GPT-NeoX (Pythia) and BERT are known; what differs from them, if only in one setting, is refused with the
setting, because it would compute something else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor

from glassformer.errors import InputError
from glassformer.interop.huggingface import first_line, imported, refuse_code
from glassformer.nn import BlockShape, Config, Transformer

Weights: TypeAlias = dict[str, Tensor]
Translated: TypeAlias = tuple[Config, Weights]
UNEMBEDDING: Final = "unembedding"
"""It has a name of its own in every family, and in some releases of the library another."""
ACTIVATIONS: Final = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
}


def load(source: str | Path | Any) -> Transformer:
    """The model in a folder, by its name on the hub where there is a network, or as transformers made it."""
    model = opened(str(source)) if isinstance(source, str | Path) else source
    kind = known(getattr(getattr(model, "config", None), "model_type", None))
    given = {name: weight.detach() for name, weight in model.state_dict().items()}
    given[UNEMBEDDING] = model.get_output_embeddings().weight.detach()
    config, weights = FAMILIES[kind](model.config, given)
    made = Transformer(config).to(next(iter(weights.values())).dtype)
    zero = {name: torch.zeros_like(value) for name, value in made.state_dict().items()}
    made.load_state_dict(zero | {name: value.clone() for name, value in weights.items()})
    return made.eval()


def known(kind: str | None) -> str:
    """One of the FAMILIES."""
    if kind not in FAMILIES:
        raise InputError(f"models of the kind {kind!r} are not known here; known are {', '.join(FAMILIES)}")
    return kind


def opened(source: str) -> Any:
    """The model as transformers opens it, with its logits; none of its code is executed."""
    transformers = imported()
    folder = Path(source)
    if folder.is_dir():
        refuse_code(folder)
    elif folder.exists() or source.startswith((".", "/", "~")):
        raise InputError(f"{source} is no folder that holds a model")
    given = {"pretrained_model_name_or_path": source, "trust_remote_code": False}
    try:
        config = transformers.AutoConfig.from_pretrained(**given, local_files_only=folder.is_dir())
        known(config.model_type)
        auto = transformers.AutoModelForMaskedLM if config.model_type == "bert" else transformers.AutoModelForCausalLM
        model, loading = auto.from_pretrained(
            **given,
            local_files_only=folder.is_dir(),
            use_safetensors=True,
            dtype="auto",
            output_loading_info=True,
        )
    except InputError:
        raise
    except Exception as error:  # the library's, those of safetensors, and of a network that is not there
        hint = "" if folder.is_dir() else "; a name is looked up on the hub, which needs a network: or give a folder"
        raise InputError(f"{source}: transformers cannot open it: {first_line(error)}{hint}") from None
    if missing := sorted(loading["missing_keys"]):
        raise InputError(
            f"{source} does not hold all weights of its model: {missing[0]} is missing; what makes logits must be "
            "saved, too, as of a model for causal or masked language modelling"
        )
    return model.float().eval() if model.dtype in (torch.float16, torch.bfloat16) else model.eval()


# -- the families ------------------------------------------------------------------------------------------


def gpt2(told: Any, given: Weights) -> Translated:
    """Learned positions, norms before the sublayers, q, k and v in one matrix [in, out]."""
    _refuse(told, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    heads, width, own = told.n_head, told.n_embd, told.n_embd // told.n_head
    config = Config(
        vocab=told.vocab_size,
        outputs=told.vocab_size,
        context=told.n_positions,
        width=width,
        blocks=(BlockShape(heads, own, (told.n_inner or 4 * width,)),) * told.n_layer,
        scaled=told.scale_attn_weights,
        norm="layer",
        norm_eps=told.layer_norm_epsilon,
        activation=_activation(told.activation_function),
    )
    weights = {"embed.W_E": given["transformer.wte.weight"], "pos_embed.W_pos": given["transformer.wpe.weight"]}
    for i in range(told.n_layer):
        old, new = f"transformer.h.{i}.", f"blocks.{i}."
        matrix, bias = (given[f"{old}attn.c_attn.{what}"].chunk(3, -1) for what in ("weight", "bias"))
        for part, w, b in zip("QKV", matrix, bias, strict=True):
            weights |= {f"{new}attn.W_{part}": _heads(w, heads), f"{new}attn.b_{part}": b.view(heads, own)}
        weights |= {
            f"{new}attn.W_O": given[f"{old}attn.c_proj.weight"].view(heads, own, width),
            f"{new}attn.b_O": given[f"{old}attn.c_proj.bias"],
            f"{new}mlp.W_in": given[f"{old}mlp.c_fc.weight"],
            f"{new}mlp.b_in": given[f"{old}mlp.c_fc.bias"],
            f"{new}mlp.W_out": given[f"{old}mlp.c_proj.weight"],
            f"{new}mlp.b_out": given[f"{old}mlp.c_proj.bias"],
            **_norm(f"{new}ln1", given, f"{old}ln_1"),
            **_norm(f"{new}ln2", given, f"{old}ln_2"),
        }
    return config, weights | _norm("ln_final", given, "transformer.ln_f") | {"unembed.W_U": given[UNEMBEDDING].T}


def llama(told: Any, given: Weights) -> Translated:
    """Rotary positions, RMS norms, heads that share keys and values, a gated MLP, no biases."""
    rope = _rope(told)
    heads, groups, width = told.num_attention_heads, told.num_key_value_heads, told.hidden_size
    own = told.head_dim or width // heads
    config = Config(
        vocab=told.vocab_size,
        outputs=told.vocab_size,
        context=told.max_position_embeddings,
        width=width,
        blocks=(BlockShape(heads, own, (told.intermediate_size,), None if groups == heads else groups),)
        * told.num_hidden_layers,
        norm="rms",
        norm_eps=told.rms_norm_eps,
        positions="rotary",
        rotary_base=float(rope["rope_theta"]),
        activation=_activation(told.hidden_act),
        gated=True,
    )
    _refuse(told, attention_bias=False, mlp_bias=False)
    weights = {"embed.W_E": given["model.embed_tokens.weight"], "ln_final.w": given["model.norm.weight"]}
    for i in range(told.num_hidden_layers):
        old, new = f"model.layers.{i}.", f"blocks.{i}."
        for part, name, count in (("Q", "q_proj", heads), ("K", "k_proj", groups), ("V", "v_proj", groups)):
            weights[f"{new}attn.W_{part}"] = _heads(given[f"{old}self_attn.{name}.weight"].T, count)
        weights |= {
            f"{new}attn.W_O": given[f"{old}self_attn.o_proj.weight"].T.reshape(heads, own, width),
            f"{new}mlp.W_gate": given[f"{old}mlp.gate_proj.weight"].T,
            f"{new}mlp.W_in": given[f"{old}mlp.up_proj.weight"].T,
            f"{new}mlp.W_out": given[f"{old}mlp.down_proj.weight"].T,
            f"{new}ln1.w": given[f"{old}input_layernorm.weight"],
            f"{new}ln2.w": given[f"{old}post_attention_layernorm.weight"],
        }
    return config, weights | {"unembed.W_U": given[UNEMBEDDING].T}


def gpt_neox(told: Any, given: Weights) -> Translated:
    """Partly rotary positions, attention and MLP side by side; q, k and v of each head follow each other."""
    _refuse(told, attention_bias=True)
    rope = _rope(told)
    heads, width, own = told.num_attention_heads, told.hidden_size, told.hidden_size // told.num_attention_heads
    config = Config(
        vocab=told.vocab_size,
        outputs=told.vocab_size,
        context=told.max_position_embeddings,
        width=width,
        blocks=(BlockShape(heads, own, (told.intermediate_size,)),) * told.num_hidden_layers,
        norm="layer",
        norm_eps=told.layer_norm_eps,
        positions="rotary",
        rotary_base=float(rope["rope_theta"]),
        rotary_width=int(own * rope.get("partial_rotary_factor", 1.0)),
        activation=_activation(told.hidden_act),
        parallel=told.use_parallel_residual,
    )
    weights = {"embed.W_E": given["gpt_neox.embed_in.weight"], "unembed.W_U": given[UNEMBEDDING].T}
    for i in range(told.num_hidden_layers):
        old, new = f"gpt_neox.layers.{i}.", f"blocks.{i}."
        matrix = given[f"{old}attention.query_key_value.weight"].view(heads, 3, own, width).unbind(1)
        bias = given[f"{old}attention.query_key_value.bias"].view(heads, 3, own).unbind(1)
        for part, w, b in zip("QKV", matrix, bias, strict=True):
            weights |= {f"{new}attn.W_{part}": w.transpose(1, 2), f"{new}attn.b_{part}": b}
        weights |= {
            f"{new}attn.W_O": given[f"{old}attention.dense.weight"].T.reshape(heads, own, width),
            f"{new}attn.b_O": given[f"{old}attention.dense.bias"],
            **_affine(f"{new}mlp", "in", given, f"{old}mlp.dense_h_to_4h"),
            **_affine(f"{new}mlp", "out", given, f"{old}mlp.dense_4h_to_h"),
            **_norm(f"{new}ln1", given, f"{old}input_layernorm"),
            **_norm(f"{new}ln2", given, f"{old}post_attention_layernorm"),
        }
    return config, weights | _norm("ln_final", given, "gpt_neox.final_layer_norm")


def bert(told: Any, given: Weights) -> Translated:
    """Looks both ways, norms behind the sublayers and on the embedding, a hidden layer before the logits.

    All tokens are of the first kind, whose vector is added to the positions.
    """
    _refuse(told, is_decoder=False, add_cross_attention=False)
    heads, width, own = told.num_attention_heads, told.hidden_size, told.hidden_size // told.num_attention_heads
    config = Config(
        vocab=told.vocab_size,
        outputs=told.vocab_size,
        context=told.max_position_embeddings,
        width=width,
        blocks=(BlockShape(heads, own, (told.intermediate_size,)),) * told.num_hidden_layers,
        causal=False,
        norm="layer",
        norm_place="post",
        norm_eps=told.layer_norm_eps,
        activation=_activation(told.hidden_act),
        embed_norm=True,
        head=True,
    )
    first, head = "bert.embeddings.", "cls.predictions."
    weights = {
        "embed.W_E": given[f"{first}word_embeddings.weight"],
        "pos_embed.W_pos": given[f"{first}position_embeddings.weight"]
        + given[f"{first}token_type_embeddings.weight"][0],
        "head.W_H": given[f"{head}transform.dense.weight"].T,
        "head.b_H": given[f"{head}transform.dense.bias"],
        "unembed.W_U": given[UNEMBEDDING].T,
        "unembed.b_U": given[f"{head}decoder.bias"],
        **_norm("ln_embed", given, f"{first}LayerNorm"),
        **_norm("head.ln", given, f"{head}transform.LayerNorm"),
    }
    for i in range(told.num_hidden_layers):
        old, new = f"bert.encoder.layer.{i}.", f"blocks.{i}."
        for part, name in (("Q", "query"), ("K", "key"), ("V", "value")):
            weights[f"{new}attn.W_{part}"] = _heads(given[f"{old}attention.self.{name}.weight"].T, heads)
            weights[f"{new}attn.b_{part}"] = given[f"{old}attention.self.{name}.bias"].view(heads, own)
        weights |= {
            f"{new}attn.W_O": given[f"{old}attention.output.dense.weight"].T.reshape(heads, own, width),
            f"{new}attn.b_O": given[f"{old}attention.output.dense.bias"],
            **_affine(f"{new}mlp", "in", given, f"{old}intermediate.dense"),
            **_affine(f"{new}mlp", "out", given, f"{old}output.dense"),
            **_norm(f"{new}ln1", given, f"{old}attention.output.LayerNorm"),
            **_norm(f"{new}ln2", given, f"{old}output.LayerNorm"),
        }
    return config, weights


FAMILIES: Final[dict[str, Callable[[Any, Weights], Translated]]] = {
    "gpt2": gpt2,
    "llama": llama,
    "gpt_neox": gpt_neox,
    "bert": bert,
}


def _heads(matrix: Tensor, heads: int) -> Tensor:
    """[in, head · own] as [head, in, own]."""
    return matrix.reshape(matrix.shape[0], heads, -1).transpose(0, 1)


def _norm(new: str, given: Weights, old: str) -> Weights:
    return {f"{new}.w": given[f"{old}.weight"], f"{new}.b": given[f"{old}.bias"]}


def _affine(new: str, which: str, given: Weights, old: str) -> Weights:
    return {f"{new}.W_{which}": given[f"{old}.weight"].T, f"{new}.b_{which}": given[f"{old}.bias"]}


def _activation(name: str) -> Any:
    if name not in ACTIVATIONS:
        raise InputError(f"the activation {name!r} is not known here; known are {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


def _rope(told: Any) -> dict[str, Any]:
    """How positions are turned: by the usual frequencies, not by stretched ones."""
    rope = getattr(told, "rope_parameters", None) or {
        "rope_type": (getattr(told, "rope_scaling", None) or {}).get("rope_type", "default"),
        "rope_theta": getattr(told, "rope_theta", None) or getattr(told, "rotary_emb_base", 10000.0),
        "partial_rotary_factor": getattr(told, "rotary_pct", 1.0),
    }
    if rope.get("rope_type", "default") != "default":
        raise InputError(f"rotary positions of the type {rope['rope_type']!r} are not known here: only the usual ones")
    return dict(rope)


def _refuse(told: Any, **usual: bool) -> None:
    """A setting that is not the usual one would compute something else."""
    for name, value in usual.items():
        if bool(getattr(told, name, value)) is not value:
            raise InputError(f"{name} = {getattr(told, name)} is not known here: only {value}")
