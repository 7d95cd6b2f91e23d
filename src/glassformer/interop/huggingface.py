"""Models that Hugging Face's transformers saved in a folder on this machine, as readers of text.

Nothing is looked for elsewhere, and nothing in the folder is executed: weights are safetensors, and models that bring
their own code are refused. The vectors are transformers' own `hidden_states`; many models put a norm on the last.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from glassformer.errors import InputError
from glassformer.measure.layers import Layers, Tokens
from glassformer.measure.reading import Reader
from glassformer.nn import files


def is_model(folder: Path) -> bool:
    """Whether transformers saved a model there."""
    config = folder / "config.json"
    return config.is_file() and "model_type" in files.read_json(config)


def reader(folder: Path) -> Reader:
    """The model in a folder, with its tokeniser; of an encoder and a decoder the encoder."""
    transformers = imported()
    try:
        given = {"pretrained_model_name_or_path": str(folder), "local_files_only": True, "trust_remote_code": False}
        tokeniser = transformers.AutoTokenizer.from_pretrained(**given)
        model = transformers.AutoModel.from_pretrained(**given, use_safetensors=True, dtype=torch.float32)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        raise InputError(f"{folder}: transformers cannot open it: {str(error).strip().splitlines()[0]}") from None
    config = model.config
    model = (model.get_encoder() if config.is_encoder_decoder else model).eval()
    names = ("embedding", *(str(i + 1) for i in range(config.num_hidden_layers)))

    def run(tokens: Tokens) -> list[torch.Tensor]:
        return list(model(input_ids=tokens, output_hidden_states=True).hidden_states)

    def encode(sentences: list[str], longest: int) -> list[list[int]]:
        ids: list[list[int]] = tokeniser(sentences, truncation=True, max_length=longest)["input_ids"]
        return ids

    room = getattr(config, "max_position_embeddings", None) or tokeniser.model_max_length
    return Reader(
        name=folder.name,
        layers=Layers(names, run),
        encode=encode,
        longest=min(room, tokeniser.model_max_length),
        vocab=max(len(tokeniser), config.vocab_size),
        special=frozenset(tokeniser.all_special_ids),
        tokeniser=tokeniser.backend_tokenizer.to_str()
        if tokeniser.is_fast
        else str(sorted(tokeniser.get_vocab().items())),
    )


def imported() -> Any:
    """The library, which is an extra."""
    try:
        import transformers
    except ImportError:
        raise InputError("models of Hugging Face are opened by `transformers`: pip install 'glassformer[hf]'") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers
