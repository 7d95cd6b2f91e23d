"""What Hugging Face's transformers opens: models, tokenisers and settings of a folder, or by a name on the hub.

Nothing in a folder is executed: weights are safetensors, and models that bring their own code are refused. As a text
model it gives transformers' own `hidden_states`; many models put a norm on the last.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch

from glassformer.errors import InputError, optional
from glassformer.instruments.layers import LayerVectors, Tokens, layers_of
from glassformer.instruments.text_model import TextModel
from glassformer.nn import Transformer, files

TOKENISERS: Final = ("tokenizer*.json", "vocab.*", "*.model", "tekken.json", "*.tiktoken")
"""The files of which a tokeniser has one at least; without, transformers would make one up that knows nothing."""
LONGEST: Final = 512
"""Tokens of a sentence, for a model without a limit, or with an absurd one."""
OURS: Final = "glassformer"
"""The kind of model that `export` writes; its modelling file is not needed here."""
WITH_LOGITS: Final = {
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "gpt_neox": "GPTNeoXForCausalLM",
    "bert": "BertForMaskedLM",
}
"""The kinds of models that can become the one Transformer, and the class of each that makes logits."""


def is_model(folder: Path) -> bool:
    """Whether transformers saved a model there."""
    config = folder / "config.json"
    if not config.is_file():
        return False
    settings = files.read_json(config)
    return isinstance(settings, dict) and "model_type" in settings


def settings(source: Path | str) -> dict[str, Any]:
    """The config of a model, as plain values."""
    if isinstance(source, Path):
        return dict(files.read_json(source / "config.json"))
    return dict(imported().AutoConfig.from_pretrained(**_given(source)).to_dict())


def text_model(source: Path | str, of_ours: Callable[[], Transformer]) -> TextModel:
    """A model with its tokeniser as one that reads text; of an encoder and a decoder the encoder."""
    words = tokeniser(source)
    if settings(source)["model_type"] == OURS:
        model = of_ours()
        run, rows, longest = layers_of(model).run, model.config.vocab, model.config.context
    else:
        theirs = opened(source)
        run, rows, longest = _hidden_states(theirs), theirs.get_input_embeddings().num_embeddings, most(theirs, words)
    vocab = words.get_vocab()
    text = {token for token in vocab.values() if token < rows} - set(words.all_special_ids)
    if not text:
        raise InputError("interop.no_text_token", place=str(source))

    def run_known(tokens: Tokens) -> list[torch.Tensor]:
        if int(tokens.max()) >= rows:
            raise InputError("interop.more_tokens", place=str(source), tokens=max(vocab.values()) + 1, rows=rows)
        return run(tokens)

    def encode(sentences: list[str], longest: int) -> list[list[int]]:
        ids: list[list[int]] = words(sentences, truncation=True, max_length=longest)["input_ids"]
        return ids

    try:
        with torch.no_grad():
            vectors = run_known(torch.tensor([[min(text)] * 2]))
    except Exception as error:  # of a model of any kind that does not take tokens alone
        raise InputError("interop.not_tokens_alone", place=str(source), why=first_line(error)) from None
    if len({each.shape for each in vectors}) > 1:
        raise InputError("interop.uneven_layers", place=str(source))
    every = max(rows, *(token + 1 for token in vocab.values()))
    return TextModel(
        name=Path(source).name,
        layers=LayerVectors(("embedding", *(str(i) for i in range(1, len(vectors)))), run_known),
        encode=encode,
        longest=longest,
        vocab=every,
        special=frozenset(range(every)) - text,
        tokeniser=identity(words),
    )


def _hidden_states(model: Any) -> Callable[[Tokens], list[torch.Tensor]]:
    return lambda tokens: list(model(input_ids=tokens, output_hidden_states=True, return_dict=True).hidden_states)


def tokeniser(source: Path | str) -> Any:
    """The tokeniser beside a model."""
    if isinstance(source, Path) and not any(found for pattern in TOKENISERS for found in source.glob(pattern)):
        raise InputError("interop.no_tokeniser", place=str(source))
    try:
        return imported().AutoTokenizer.from_pretrained(**_given(source))
    except Exception as error:  # the library's, of any kind, for files that it cannot read
        raise InputError("interop.bad_tokeniser", place=str(source), why=first_line(error)) from None


def refuse_code(folder: Path) -> None:
    """Models that bring their own code are not opened, but for ours, whose code is here."""
    for file in (folder / "config.json", folder / "tokenizer_config.json"):
        values = files.read_json(file) if file.is_file() else {}
        if "auto_map" in values and values.get("model_type") != OURS:
            raise InputError("interop.own_code", folder=str(folder), file=file.name)


def opened(source: Path | str, with_logits: bool = False) -> Any:
    """A model as transformers opens it, with what makes its logits or without; one that lacks weights is none."""
    transformers = imported()
    if isinstance(source, Path):
        refuse_code(source)
    try:
        kind = transformers.AutoConfig.from_pretrained(**_given(source)).model_type
        auto = getattr(transformers, WITH_LOGITS[known(kind)] if with_logits else "AutoModel")
        model, loading = auto.from_pretrained(
            **_given(source),
            use_safetensors=True,
            dtype="auto" if with_logits else torch.float32,
            attn_implementation="eager",
            output_loading_info=True,
        )
    except InputError:
        raise
    except Exception as error:  # the library's, those of safetensors, of odd configurations, of no network
        id = "interop.cannot_open" if isinstance(source, Path) else "interop.not_on_the_hub"
        raise InputError(id, place=str(source), why=first_line(error)) from None
    both = bool(model.config.is_encoder_decoder)
    missing = sorted(key for key in loading["missing_keys"] if "pooler" not in key and not (both and "decoder" in key))
    if missing:
        id = "interop.logits_missing" if with_logits else "interop.weights_missing"
        raise InputError(id, place=str(source), weights=missing[0])
    model = model.float() if model.dtype in (torch.float16, torch.bfloat16) else model
    return (model.get_encoder() if both else model).eval()


def _given(source: Path | str) -> dict[str, Any]:
    """What keeps the library from executing anything, and from looking elsewhere for a folder, or without a network."""
    is_here = isinstance(source, Path) or not _hub_answers()
    return {"pretrained_model_name_or_path": str(source), "local_files_only": is_here, "trust_remote_code": False}


def _hub_answers() -> bool:
    """Whether the hub can be reached; the library itself would try five times, and say so each time."""
    import huggingface_hub

    try:
        huggingface_hub.get_session().head(huggingface_hub.constants.ENDPOINT, timeout=5)
    except Exception:  # of whichever client the library has
        return False
    return True


def known(kind: str | None) -> str:
    """A kind of model that can become the one Transformer."""
    if kind not in WITH_LOGITS:
        raise InputError("interop.unknown_kind", kind=kind, known=[*WITH_LOGITS])
    return kind


def most(model: Any, tokeniser: Any) -> int:
    """The most tokens that a model takes."""
    places = getattr(model.config, "max_position_embeddings", None)
    padding = getattr(getattr(model, "embeddings", None), "padding_idx", None)
    if places and model.config.model_type in ("roberta", "xlm-roberta", "camembert") and padding is not None:
        places -= padding + 1  # there positions are counted from behind that of padding
    limits = [limit for limit in (places, tokeniser.model_max_length) if limit and 0 < limit < 10**6]
    return min(limits, default=LONGEST)


def identity(tokeniser: Any) -> str:
    """Equal for equal tokenisers, whatever they were last used for."""
    if not tokeniser.is_fast:
        return str(sorted(tokeniser.get_vocab().items()))
    parts = json.loads(tokeniser.backend_tokenizer.to_str())
    return json.dumps({name: part for name, part in parts.items() if name not in ("truncation", "padding")})


def first_line(error: Exception) -> str:
    """The kind of an error, and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def imported() -> Any:
    """The library, which is an extra."""
    transformers = optional("transformers", "interop.needs_transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers
