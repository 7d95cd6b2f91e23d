"""Models of Hugging Face as the one Transformer: the same weights under our names, so that every instrument opens them.

GPT-2, Llama, GPT-NeoX (Pythia) and BERT are known; what differs from them, if only in one setting, is refused with the
setting, because it would compute something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from glassformer.nn.config import Activation

Weights: TypeAlias = dict[str, Tensor]
Translated: TypeAlias = tuple[Config, Weights]
UNEMBEDDING: Final = "unembedding"
"""It has a name of its own in every family, and in some releases of the library another."""
ACTIVATIONS: Final[dict[str, Activation]] = {
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
    if (head := model.get_output_embeddings()) is None:
        classes = list(huggingface.WITH_LOGITS.values())
        raise InputError("interop.no_language_model_head", kind=type(model).__name__, classes=classes)
    return _made(*family(model.config, given | {UNEMBEDDING: head.weight.detach()}))


def _made(config: Config, weights: Weights, whole: bool = False) -> Transformer:
    """The Transformer with these weights, and zeros where another library has none, unless these must be all."""
    made = Transformer(config).to(next(iter(weights.values())).dtype)
    zero = {} if whole else {name: torch.zeros_like(value) for name, value in made.state_dict().items()}
    made.load_state_dict(zero | {name: value.clone() for name, value in weights.items()})
    return made.eval()


# -- the families: the names of their modules by ours, and what is special ----------------------------------

PARTS: Final = ("attn.Q", "attn.K", "attn.V", "attn.O", "mlp.in", "mlp.out", "ln1", "ln2", "mlp.gate")
"""The modules of a block by our names; below, in the same order, by the names of each family."""
GPT2: Final = ("attn.q", "attn.k", "attn.v", "attn.c_proj", "mlp.c_fc", "mlp.c_proj", "ln_1", "ln_2")
LLAMA: Final = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    *("mlp.up_proj", "mlp.down_proj", "input_layernorm", "post_attention_layernorm", "mlp.gate_proj"),
)
NEOX: Final = (
    *("attention.q", "attention.k", "attention.v", "attention.dense"),
    *("mlp.dense_h_to_4h", "mlp.dense_4h_to_h", "input_layernorm", "post_attention_layernorm"),
)
BERT: Final = (
    *("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
    *("intermediate.dense", "output.dense", "attention.output.LayerNorm", "output.LayerNorm"),
)


def glassformer(theirs: Any, given: Weights) -> Translated:
    """What `export --to hf` wrote: all names are ours."""
    same = ("outputs", "context", "blocks", "causal", "attention", "scaled", "norm", "norm_place", "norm_eps")
    values = {name: getattr(theirs, name) for name in (*same, "activation")}
    return Config.from_json({"vocab": theirs.vocab_size, "width": theirs.hidden_size, **values}), given


def gpt2(theirs: Any, given: Weights) -> Translated:
    """Learned positions, norms before the sublayers, matrices [in, out], with q, k and v in one."""
    _refuse(theirs, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    config = _config(
        theirs,
        units=theirs.n_inner or 4 * theirs.n_embd,
        activation=theirs.activation_function,
        scaled=theirs.scale_attn_weights,
        norm="layer",
        norm_eps=theirs.layer_norm_epsilon,
    )
    in_block = {name: value for name, value in given.items() if name.startswith("transformer.h.")}
    given = given | {name: value.T for name, value in in_block.items() if value.dim() == 2}
    for name in (name for name in in_block if ".attn.c_attn." in name):
        given |= _parted(name, "c_attn", given[name].chunk(3))
    weights = {"embed.W_E": given["transformer.wte.weight"], "pos_embed.W_pos": given["transformer.wpe.weight"]}
    return config, weights | _by_name(given, config, "transformer.h.{}.", GPT2, {"ln_final": "transformer.ln_f"})


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
    weights = {"embed.W_E": given["model.embed_tokens.weight"]}
    return config, weights | _by_name(given, config, "model.layers.{}.", LLAMA, {"ln_final": "model.norm"})


def gpt_neox(theirs: Any, given: Weights) -> Translated:
    """Partly rotary positions, attention and MLP side by side; q, k and v of each head follow each other."""
    _refuse(theirs, attention_bias=True)
    heads, rope = theirs.num_attention_heads, _rope(theirs)
    own = theirs.hidden_size // heads
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
    for name in [name for name in given if ".query_key_value." in name]:
        by_head = given[name].unflatten(0, (heads, 3, own)).unbind(1)
        given = given | _parted(name, "query_key_value", (part.flatten(0, 1) for part in by_head))
    weights, last = {"embed.W_E": given["gpt_neox.embed_in.weight"]}, {"ln_final": "gpt_neox.final_layer_norm"}
    return config, weights | _by_name(given, config, "gpt_neox.layers.{}.", NEOX, last)


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
        mlm_head=True,
    )
    first, head = "bert.embeddings.", "cls.predictions."
    kind = given[f"{first}token_type_embeddings.weight"][0]
    weights = {
        "embed.W_E": given[f"{first}word_embeddings.weight"],
        "pos_embed.W_pos": given[f"{first}position_embeddings.weight"] + kind,
        "unembed.b_U": given[f"{head}decoder.bias"],
    }
    around = {
        "ln_embed": f"{first}LayerNorm",
        "head.ln": f"{head}transform.LayerNorm",
        "head.H": f"{head}transform.dense",
    }
    return config, weights | _by_name(given, config, "bert.encoder.layer.{}.", BERT, around)


FAMILIES: Final[dict[str, Callable[[Any, Weights], Translated]]] = {
    "gpt2": gpt2,
    "llama": llama,
    "gpt_neox": gpt_neox,
    "bert": bert,
}


def _config(theirs: Any, units: int, activation: str, **choices: Any) -> Config:
    """The sizes, by the names that the library has for all families."""
    if activation not in ACTIVATIONS:
        raise InputError("interop.unknown_activation", name=activation, known=[*ACTIVATIONS])
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
        activation=ACTIVATIONS[activation],
        **choices,
    )


def _parted(name: str, joined: str, parts: Iterable[Tensor]) -> Weights:
    """Three weights in the place of one that holds queries, keys and values."""
    return {name.replace(joined, part): value for part, value in zip("qkv", parts, strict=True)}


def _by_name(given: Weights, config: Config, block: str, names: Sequence[str], outside: Mapping[str, str]) -> Weights:
    """Our weights of modules that have others in their place: matrices are [out, in] there, and heads lie in a row."""
    blocks = range(len(config.blocks))
    inside = {
        f"blocks.{i}.{ours}": block.format(i) + name for i in blocks for ours, name in zip(PARTS, names, strict=False)
    }
    weights = {"unembed.W_U": given[UNEMBEDDING].T}
    for ours, theirs in {**inside, **outside}.items():
        part, _, kind = ours.rpartition(".")
        weight, bias = (f"{ours}.w", f"{ours}.b") if kind.startswith("ln") else (f"{part}.W_{kind}", f"{part}.b_{kind}")
        weights[weight] = _arranged(given[f"{theirs}.weight"], kind, config)
        if f"{theirs}.bias" in given:
            weights[bias] = _arranged(given[f"{theirs}.bias"], kind, config)
    return weights


def _arranged(value: Tensor, kind: str, config: Config) -> Tensor:
    """A matrix as [in, out], or with an axis for heads; a bias of heads with that axis, too."""
    shape = config.blocks[0]
    heads = (shape.groups or shape.heads) if kind in ("K", "V") else shape.heads
    if value.dim() == 1:
        return value.reshape(heads, -1) if kind in ("Q", "K", "V") else value
    if kind in ("Q", "K", "V"):
        return value.T.reshape(config.width, heads, -1).transpose(0, 1)
    return value.T.reshape(heads, -1, config.width) if kind == "O" else value.T


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
