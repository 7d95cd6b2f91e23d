"""A model as a folder that transformers opens with its own modelling file: any depth, any sizes, the same bits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from glassformer.errors import optional
from glassformer.interop.uniform import plain_reasons, refuse
from glassformer.messages import Message
from glassformer.nn import Transformer

MODELLING: Final = "modeling_glassformer.py"


def huggingface(
    model: Transformer, outputs: tuple[str, ...], next_token: bool
) -> tuple[dict[str, Any], dict[str, Tensor], str]:
    """Its config.json, its weights, and the text of the file that computes it; answers have their names."""
    config = model.config
    refuse(Message("interop.modelling_file"), plain_reasons(config))
    file = Path(__file__).with_name(MODELLING)
    settings = {
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
        "next_token": next_token,
        "dtype": str(model.dtype).removeprefix("torch."),
        "id2label": dict(enumerate(outputs)),
    }
    places = model.pos_embed.W_pos if model.pos_embed else torch.zeros(config.context, config.width)
    weights = {"pos_embed.W_pos": places.detach().to(model.dtype)} | dict(model.state_dict())
    return settings, {name: value.contiguous() for name, value in weights.items()}, file.read_text()


def tokeniser(letters: Sequence[str]) -> dict[str, str]:
    """tokenizer.json and its config: letters, or names between blanks if some have several characters, after the start.

    Nothing where that would not give the letters back: blanks inside letters of several characters.
    """
    by_character = all(len(letter) == 1 for letter in letters)
    if not by_character and any(letter.split() != [letter] for letter in letters):
        return {}
    tokenizers = optional("tokenizers", "interop.needs_tokenizers")
    start = _start(letters)
    vocab = {name: number for number, name in enumerate([*letters, start])}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocab))
    split = tokenizers.pre_tokenizers
    every = split.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    made.pre_tokenizer = every if by_character else split.WhitespaceSplit()
    return _framed(made, start, vocab[start], {"bos_token": start})


def tokeniser_of_text(text: str, start: int, special: Sequence[str]) -> dict[str, str]:
    """The same of a model of text: its tokeniser, with the token that begins a sentence in front."""
    named = dict(zip(("pad_token", "bos_token", "eos_token", "mask_token"), special, strict=True))
    tokenizers = optional("tokenizers", "interop.needs_tokenizers")
    return _framed(tokenizers.Tokenizer.from_str(text), special[start], start, named)


def _framed(made: Any, start: str, number: int, special: dict[str, str]) -> dict[str, str]:
    from tokenizers import processors

    made.post_processor = processors.TemplateProcessing(single=f"{start} $A", special_tokens=[(start, number)])
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
        **special,
    }
    return {"tokenizer.json": made.to_str(pretty=True), "tokenizer_config.json": json.dumps(settings, indent=1)}


def _start(letters: Sequence[str]) -> str:
    """A name for the start that no word can contain."""
    name = "<start>"
    while set(name) <= set(letters) or any(name in letter for letter in letters):
        name = f"<{name}\u2060>"
    return name
