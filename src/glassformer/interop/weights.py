"""Models of Hugging Face as the one Transformer: the same weights under our names, so that every instrument opens them.

GPT-2, Llama, GPT-NeoX (Pythia) and BERT are known; what differs from them, if only in one setting, is refused with the
setting, because it would compute something else.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from glassformer.errors import InputError
from glassformer.interop import huggingface
from glassformer.nn import BlockShape, Config, Transformer

Weights: TypeAlias = dict[str, Tensor]
Translated: TypeAlias = tuple[Config, Weights]
UNEMBEDDING: Final = "unembedding"
"""It has a name of its own in every family, and in some releases of the library another."""
NEOX_LINEAR: Final = (
    *("attention.dense", "mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
    *("input_layernorm", "post_attention_layernorm"),
)
ACTIVATIONS: Final = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
}


def load(source: Path | str) -> Transformer:
    """The model in a folder, or by its name on the hub."""
    if isinstance(source, Path) and huggingface.settings(source)["model_type"] == huggingface.OURS:
        try:
            theirs = SimpleNamespace(**huggingface.settings(source))
            return _made(*glassformer(theirs, safetensors.torch.load_file(source / "model.safetensors")), whole=True)
        except (OSError, SafetensorError, AttributeError, TypeError, RuntimeError, InputError) as error:
            raise InputError("interop.not_an_export", folder=str(source), why=huggingface.first_line(error)) from None
    return of_transformers(huggingface.opened(source, with_logits=True))


def of_transformers(model: Any) -> Transformer:
    """A model that transformers made."""
    kind = getattr(getattr(model, "config", None), "model_type", None)
    given = {name: weight.detach() for name, weight in model.state_dict().items()}
    if kind == huggingface.OURS:
        return _made(*glassformer(model.config, given))
    family = FAMILIES[huggingface.known(kind)]
    return _made(*family(model.config, given | {UNEMBEDDING: model.get_output_embeddings().weight.detach()}))


def _made(config: Config, weights: Weights, whole: bool = False) -> Transformer:
    """The Transformer with these weights, and zeros where another library has none, unless these must be all."""
    made = Transformer(config).to(next(iter(weights.values())).dtype)
    zero = {} if whole else {name: torch.zeros_like(value) for name, value in made.state_dict().items()}
    made.load_state_dict(zero | {name: value.clone() for name, value in weights.items()})
    return made.eval()


# -- the families ------------------------------------------------------------------------------------------


def glassformer(theirs: Any, given: Weights) -> Translated:
    """What `export --to hf` wrote: all names are ours."""
    same = (
        "outputs",
        "context",
        "blocks",
        "causal",
        "attention",
        "scaled",
        "norm",
        "norm_place",
        "norm_eps",
        "activation",
    )
    values = {name: getattr(theirs, name) for name in same}
    return Config.from_json({"vocab": theirs.vocab_size, "width": theirs.hidden_size, **values}), given


def gpt2(theirs: Any, given: Weights) -> Translated:
    """Learned positions, norms before the sublayers, q, k and v in one matrix [in, out]."""
    _refuse(theirs, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    config = _config(
        theirs,
        units=theirs.n_inner or 4 * theirs.n_embd,
        activation=theirs.activation_function,
        scaled=theirs.scale_attn_weights,
        norm="layer",
        norm_eps=theirs.layer_norm_epsilon,
    )
    heads, own, width = theirs.n_head, config.blocks[0].head_width, config.width
    weights = {"embed.W_E": given["transformer.wte.weight"], "pos_embed.W_pos": given["transformer.wpe.weight"]}
    for i in range(theirs.n_layer):
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


def llama(theirs: Any, given: Weights) -> Translated:
    """Rotary positions, RMS norms, heads that share keys and values, a gated MLP, no biases."""
    _refuse(theirs, attention_bias=False, mlp_bias=False)
    config = _config(
        theirs,
        units=theirs.intermediate_size,
        activation=theirs.hidden_act,
        norm="rms",
        norm_eps=theirs.rms_norm_eps,
        positions="rotary",
        rotary_base=float(_rope(theirs)["rope_theta"]),
        gated=True,
    )
    heads, groups = theirs.num_attention_heads, theirs.num_key_value_heads
    weights = {"embed.W_E": given["model.embed_tokens.weight"], "ln_final.w": given["model.norm.weight"]}
    for i in range(theirs.num_hidden_layers):
        old, new = f"model.layers.{i}.", f"blocks.{i}."
        for part, name, count in (("Q", "q_proj", heads), ("K", "k_proj", groups), ("V", "v_proj", groups)):
            weights[f"{new}attn.W_{part}"] = _heads(given[f"{old}self_attn.{name}.weight"].T, count)
        weights |= {
            f"{new}attn.W_O": given[f"{old}self_attn.o_proj.weight"].T.reshape(heads, -1, config.width),
            f"{new}mlp.W_gate": given[f"{old}mlp.gate_proj.weight"].T,
            f"{new}mlp.W_in": given[f"{old}mlp.up_proj.weight"].T,
            f"{new}mlp.W_out": given[f"{old}mlp.down_proj.weight"].T,
            f"{new}ln1.w": given[f"{old}input_layernorm.weight"],
            f"{new}ln2.w": given[f"{old}post_attention_layernorm.weight"],
        }
    return config, weights | {"unembed.W_U": given[UNEMBEDDING].T}


def gpt_neox(theirs: Any, given: Weights) -> Translated:
    """Partly rotary positions, attention and MLP side by side; q, k and v of each head follow each other."""
    _refuse(theirs, attention_bias=True)
    heads, width, rope = theirs.num_attention_heads, theirs.hidden_size, _rope(theirs)
    own = width // heads
    config = _config(
        theirs,
        units=theirs.intermediate_size,
        activation=theirs.hidden_act,
        norm="layer",
        norm_eps=theirs.layer_norm_eps,
        positions="rotary",
        rotary_base=float(rope["rope_theta"]),
        rotary_width=int(own * rope.get("partial_rotary_factor", 1.0)),
        parallel=theirs.use_parallel_residual,
    )
    weights = {"embed.W_E": given["gpt_neox.embed_in.weight"], "unembed.W_U": given[UNEMBEDDING].T}
    for i in range(theirs.num_hidden_layers):
        old, new = f"gpt_neox.layers.{i}.", f"blocks.{i}."
        matrix = given[f"{old}attention.query_key_value.weight"].view(heads, 3, own, width).unbind(1)
        bias = given[f"{old}attention.query_key_value.bias"].view(heads, 3, own).unbind(1)
        for part, w, b in zip("QKV", matrix, bias, strict=True):
            weights |= {f"{new}attn.W_{part}": w.transpose(1, 2), f"{new}attn.b_{part}": b}
        weights |= _of_linear_layers(new, given, config, *(f"{old}{name}" for name in NEOX_LINEAR))
    return config, weights | _norm("ln_final", given, "gpt_neox.final_layer_norm")


def bert(theirs: Any, given: Weights) -> Translated:
    """Looks both ways, norms behind the sublayers and on the embedding, a hidden layer before the logits.

    All tokens are of the first kind, whose vector is added to the positions.
    """
    _refuse(theirs, is_decoder=False, add_cross_attention=False)
    config = _config(
        theirs,
        units=theirs.intermediate_size,
        activation=theirs.hidden_act,
        causal=False,
        norm="layer",
        norm_place="post",
        norm_eps=theirs.layer_norm_eps,
        embed_norm=True,
        head=True,
    )
    heads, first, head = theirs.num_attention_heads, "bert.embeddings.", "cls.predictions."
    kind = given[f"{first}token_type_embeddings.weight"][0]
    weights = {
        "embed.W_E": given[f"{first}word_embeddings.weight"],
        "pos_embed.W_pos": given[f"{first}position_embeddings.weight"] + kind,
        "head.W_H": given[f"{head}transform.dense.weight"].T,
        "head.b_H": given[f"{head}transform.dense.bias"],
        "unembed.W_U": given[UNEMBEDDING].T,
        "unembed.b_U": given[f"{head}decoder.bias"],
        **_norm("ln_embed", given, f"{first}LayerNorm"),
        **_norm("head.ln", given, f"{head}transform.LayerNorm"),
    }
    for i in range(theirs.num_hidden_layers):
        old, new = f"bert.encoder.layer.{i}.", f"blocks.{i}."
        for part, name in (("Q", "query"), ("K", "key"), ("V", "value")):
            weights[f"{new}attn.W_{part}"] = _heads(given[f"{old}attention.self.{name}.weight"].T, heads)
            weights[f"{new}attn.b_{part}"] = given[f"{old}attention.self.{name}.bias"].view(heads, -1)
        dense = (f"{old}{name}.dense" for name in ("attention.output", "intermediate", "output"))
        norms = (f"{old}{name}.LayerNorm" for name in ("attention.output", "output"))
        weights |= _of_linear_layers(new, given, config, *dense, *norms)
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


def _of_linear_layers(
    new: str, given: Weights, config: Config, out: str, up: str, down: str, first: str, second: str
) -> Weights:
    """A block's matrices [out, in] and biases, behind the heads and in the MLP, and its two norms."""
    return {
        f"{new}attn.W_O": given[f"{out}.weight"].T.reshape(config.blocks[0].heads, -1, config.width),
        f"{new}attn.b_O": given[f"{out}.bias"],
        f"{new}mlp.W_in": given[f"{up}.weight"].T,
        f"{new}mlp.b_in": given[f"{up}.bias"],
        f"{new}mlp.W_out": given[f"{down}.weight"].T,
        f"{new}mlp.b_out": given[f"{down}.bias"],
        **_norm(f"{new}ln1", given, first),
        **_norm(f"{new}ln2", given, second),
    }


def _config(theirs: Any, units: int, activation: str, **choices: Any) -> Config:
    """The sizes, by the names that the library has for all families."""
    heads = theirs.num_attention_heads
    own = getattr(theirs, "head_dim", None) or theirs.hidden_size // heads
    groups = getattr(theirs, "num_key_value_heads", heads)
    shape = BlockShape(heads, own, (units,), None if groups == heads else groups)
    return Config(
        vocab=theirs.vocab_size,
        outputs=theirs.vocab_size,
        context=theirs.max_position_embeddings,
        width=theirs.hidden_size,
        blocks=(shape,) * theirs.num_hidden_layers,
        activation=_activation(activation),
        **choices,
    )


def _activation(name: str) -> Any:
    if name not in ACTIVATIONS:
        raise InputError("interop.unknown_activation", name=name, known=[*ACTIVATIONS])
    return ACTIVATIONS[name]


def _rope(theirs: Any) -> dict[str, Any]:
    """How positions are turned: by the usual frequencies, not by stretched ones."""
    rope = getattr(theirs, "rope_parameters", None) or {
        "rope_type": (getattr(theirs, "rope_scaling", None) or {}).get("rope_type", "default"),
        "rope_theta": getattr(theirs, "rope_theta", None) or getattr(theirs, "rotary_emb_base", 10000.0),
        "partial_rotary_factor": getattr(theirs, "rotary_pct", 1.0),
    }
    if rope.get("rope_type", "default") != "default":
        raise InputError("interop.unknown_rotary", kind=rope["rope_type"])
    return dict(rope)


def _refuse(theirs: Any, **usual: bool) -> None:
    """A setting that is not the usual one would compute something else."""
    for name, value in usual.items():
        if bool(getattr(theirs, name, value)) is not value:
            raise InputError("interop.unknown_setting", name=name, value=getattr(theirs, name), usual=value)
