"""A model for TransformerLens: weights by the names that it shares with us, and the config that makes room for them.

    model = glassformer.interop.to_transformer_lens.load(folder)

gives a HookedTransformer (TransformerLens 3) or a TransformerBridge (4), whichever is installed. It divides scores by
√d_head whatever one asks; heads are made as wide as a power of 4, so that what undoes it is exact.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import safetensors.torch
import torch
from torch import Tensor

from glassformer.errors import InputError, optional
from glassformer.interop.uniform import plain_reasons, power_of_four, refuse, uniform_blocks
from glassformer.messages import Message, verbatim
from glassformer.nn import Transformer

CONFIG, WEIGHTS = "transformer_lens.json", "model.safetensors"
NAMES: Final = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}
NORMS: Final = {"none": None, "layer": "LN", "rms": "RMS"}


def transformer_lens(model: Transformer) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The config, as plain values, and the state dict."""
    config = model.config
    reasons = [Message("interop.hardmax")] * (config.attention == "hardmax")
    reasons += [Message("interop.post_norm")] * (config.norm != "none" and config.norm_place == "post")
    refuse(verbatim("TransformerLens"), plain_reasons(config), reasons)
    widest = max((shape.head_width for shape in config.blocks), default=1)
    even = uniform_blocks(model, head_width=power_of_four(widest))
    shape, weights = even.config.blocks[0], even.state_dict()
    for name in weights:
        if name.endswith(("W_Q", "b_Q")):
            weights[name] = weights[name] * shape.head_width**0.5
    settings = {
        "n_layers": len(even.config.blocks),
        "d_model": even.config.width,
        "n_ctx": config.context,
        "d_head": shape.head_width,
        "n_heads": shape.heads,
        "d_mlp": shape.mlp[0],
        "d_vocab": config.vocab,
        "d_vocab_out": config.outputs,
        "act_fn": NAMES[config.activation],
        "normalization_type": NORMS[config.norm],
        "eps": config.norm_eps,
        "attention_dir": "causal" if config.causal else "bidirectional",
        "positional_embedding_type": "standard",
        "dtype": str(model.dtype).removeprefix("torch."),
    }
    return settings, {name: value.contiguous() for name, value in weights.items()}


def load(folder: str | Path) -> Any:
    """The model that `glassformer export … --to transformer-lens` wrote, in the TransformerLens that is installed."""
    try:
        settings = json.loads((Path(folder) / CONFIG).read_text())
        weights = safetensors.torch.load_file(Path(folder) / WEIGHTS)
    except (OSError, ValueError) as error:
        raise InputError("interop.not_for_transformer_lens", folder=str(folder), why=str(error)) from None
    settings["dtype"] = getattr(torch, settings["dtype"])
    transformer_lens = optional("transformer_lens", "interop.needs_transformer_lens")
    if int(version("transformer-lens").split(".")[0]) < 4:
        config = transformer_lens.HookedTransformerConfig(**settings, init_weights=False, device="cpu")
        model = transformer_lens.HookedTransformer(config)
        model.load_state_dict(weights, strict=False)  # it has masks beside weights
        return model.eval()
    from transformer_lens.config import TransformerBridgeConfig
    from transformer_lens.model_bridge.sources.native import boot
    from transformer_lens.utilities.tl_checkpoint_conversion import convert_tl_checkpoint

    config = TransformerBridgeConfig(**settings, init_weights=False)
    bridge: Any = boot(config, dtype=settings["dtype"])
    bridge.load_state_dict(convert_tl_checkpoint(weights, bridge.cfg))
    return bridge.eval()
