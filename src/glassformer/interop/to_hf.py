"""A model as a folder that transformers opens with its own modelling file: any depth, any sizes, the same bits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from glassformer.errors import InputError
from glassformer.interop.alike import plain_reasons, refuse
from glassformer.nn import Transformer

MODELLING: Final = "modeling_glassformer.py"


def huggingface(model: Transformer, outputs: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Tensor], str]:
    """Its config.json, its weights, and the text of the file that computes it; answers have their names."""
    config = model.config
    refuse("the modelling file", plain_reasons(config))
    file = Path(__file__).with_name(MODELLING)
    told = {
        "model_type": "glassformer",
        "architectures": ["GlassformerForCausalLM"],
        "auto_map": {
            "AutoConfig": f"{file.stem}.GlassformerConfig",
            "AutoModelForCausalLM": f"{file.stem}.GlassformerForCausalLM",
        },
        "vocab_size": config.vocab,
        "outputs": config.outputs,
        "context": config.context,
        "hidden_size": config.width,
        "blocks": config.to_json()["blocks"],
        **{name: getattr(config, name) for name in ("causal", "attention", "scaled", "norm", "norm_place", "norm_eps")},
        "activation": config.activation,
        "dtype": str(model.dtype).removeprefix("torch."),
        "id2label": dict(enumerate(outputs)),
    }
    places = model.pos_embed.W_pos if model.pos_embed else torch.zeros(config.context, config.width)
    weights = {"pos_embed.W_pos": places.detach().to(model.dtype)} | dict(model.state_dict())
    return told, {name: value.contiguous() for name, value in weights.items()}, file.read_text()


def tokeniser(names: Sequence[str], start: str) -> dict[str, str]:
    """tokenizer.json and its config: signs (words, if a letter has several signs) become tokens behind the start."""
    try:
        from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    except ImportError:
        raise InputError("tokenisers are written by `tokenizers`: pip install 'glassformer[hf]'") from None
    vocab = {name: number for number, name in enumerate(names)}
    made = Tokenizer(models.WordLevel(vocab))
    by_sign = all(len(name) == 1 for name in names if name != start)
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated") if by_sign else pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single=f"{start} $A", special_tokens=[(start, vocab[start])])
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": start}
    return {"tokenizer.json": made.to_str(pretty=True), "tokenizer_config.json": json.dumps(settings, indent=1)}
