"""Models that Hugging Face's transformers saved in a folder on this machine, as readers of text.

Nothing is looked for elsewhere, and nothing in the folder is executed: weights are safetensors, and models that bring
their own code are refused. The vectors are transformers' own `hidden_states`; many models put a norm on the last.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import torch

from glassformer.errors import InputError
from glassformer.instruments.layers import Layers, Tokens
from glassformer.instruments.reading import Reader
from glassformer.nn import files

TOKENISERS: Final = ("tokenizer*.json", "vocab.*", "*.model", "tekken.json", "*.tiktoken")
"""The files of which a tokeniser has one at least; without, transformers would make one up that knows nothing."""
LONGEST: Final = 512
"""Tokens of a sentence, of a model that says no limit, or none to be taken seriously."""


def is_model(folder: Path) -> bool:
    """Whether transformers saved a model there."""
    config = folder / "config.json"
    if not config.is_file():
        return False
    told = files.read_json(config)
    return isinstance(told, dict) and "model_type" in told


def reader(folder: Path) -> Reader:
    """The model in a folder, with its tokeniser; of an encoder and a decoder the encoder."""
    refuse_code(folder)
    words = tokeniser(folder)
    model = opened(folder)
    vocab = words.get_vocab()
    rows = model.get_input_embeddings().num_embeddings
    text = {token for token in vocab.values() if token < rows} - set(words.all_special_ids)
    if not text:
        raise InputError(f"the tokeniser in {folder} knows no token that stands for text")

    def run(tokens: Tokens) -> list[torch.Tensor]:
        if int(tokens.max()) >= rows:
            raise InputError(
                f"the tokeniser in {folder} has {max(vocab.values()) + 1:,} tokens and the model vectors for {rows:,}: "
                "save a tokeniser and a model that belong together"
            )
        return list(model(input_ids=tokens, output_hidden_states=True, return_dict=True).hidden_states)

    def encode(sentences: list[str], longest: int) -> list[list[int]]:
        ids: list[list[int]] = words(sentences, truncation=True, max_length=longest)["input_ids"]
        return ids

    try:
        with torch.no_grad():
            vectors = run(torch.tensor([[min(text)] * 2]))
    except Exception as error:  # whatever a model of any kind says to tokens alone
        raise InputError(f"{folder} does not read tokens alone: {first_line(error)}") from None
    if len({each.shape for each in vectors}) > 1:
        raise InputError(f"the layers of {folder} have vectors of other numbers or widths, which is not known here")
    return Reader(
        name=folder.name,
        layers=Layers(("embedding", *(str(i) for i in range(1, len(vectors)))), run),
        encode=encode,
        longest=longest(model, words),
        vocab=max(rows, *vocab.values()) + 1,
        special=frozenset(range(max(rows, *vocab.values()) + 1)) - text,
        tokeniser=told(words),
    )


def tokeniser(folder: Path) -> Any:
    """The tokeniser beside a model."""
    if not any(found for pattern in TOKENISERS for found in folder.glob(pattern)):
        raise InputError(f"{folder} holds no tokeniser: save it beside the model")
    try:
        return imported().AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # whatever the library says of files that it cannot read
        raise InputError(f"{folder}: transformers cannot open its tokeniser: {first_line(error)}") from None


def refuse_code(folder: Path) -> None:
    """Models that bring their own code are not opened."""
    for file in (folder / "config.json", folder / "tokenizer_config.json"):
        if file.is_file() and "auto_map" in files.read_json(file):
            raise InputError(f"{folder} brings its own code, which is not executed here ({file.name}: auto_map)")


def opened(folder: Path) -> Any:
    """The model; one of which some weights are missing is none."""
    transformers = imported()
    try:
        given = {"pretrained_model_name_or_path": str(folder), "local_files_only": True, "trust_remote_code": False}
        model, loading = transformers.AutoModel.from_pretrained(
            **given, use_safetensors=True, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
        )
    except Exception as error:  # the library's, those of safetensors and of tokenisers, and of odd configurations
        raise InputError(f"{folder}: transformers cannot open it: {first_line(error)}") from None
    both = bool(model.config.is_encoder_decoder)
    missing = sorted(key for key in loading["missing_keys"] if "pooler" not in key and not (both and "decoder" in key))
    if missing:
        raise InputError(f"{folder} does not hold all weights of its model: {missing[0]} is missing")
    return (model.get_encoder() if both else model).eval()


def longest(model: Any, tokeniser: Any) -> int:
    """The most tokens that a model takes."""
    places = getattr(model.config, "max_position_embeddings", None)
    padding = getattr(getattr(model, "embeddings", None), "padding_idx", None)
    if places and model.config.model_type in ("roberta", "xlm-roberta", "camembert") and padding is not None:
        places -= padding + 1  # there positions are counted from behind that of padding
    limits = [limit for limit in (places, tokeniser.model_max_length) if limit and 0 < limit < 10**6]
    return min(limits, default=LONGEST)


def told(tokeniser: Any) -> str:
    """What tells a tokeniser from others, whatever it was last used for."""
    if not tokeniser.is_fast:
        return str(sorted(tokeniser.get_vocab().items()))
    parts = json.loads(tokeniser.backend_tokenizer.to_str())
    return json.dumps({name: part for name, part in parts.items() if name not in ("truncation", "padding")})


def first_line(error: Exception) -> str:
    """What an error says first."""
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__


def imported() -> Any:
    """The library, which is an extra."""
    try:
        import transformers
    except ImportError:
        raise InputError("models of Hugging Face are opened by `transformers`: pip install 'glassformer[hf]'") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers
