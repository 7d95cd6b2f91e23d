"""A model folder of ours as one of everybody else's, and a task as a table for everybody's training code."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import safetensors.torch
import torch

from glassformer.atomic import write_folder_atomically
from glassformer.errors import InputError
from glassformer.interop import to_hf, to_transformer_lens
from glassformer.interop.agreement import compared
from glassformer.interop.to_gpt2 import gpt2
from glassformer.interop.to_onnx import MODEL, onnx
from glassformer.messages import Message
from glassformer.nn.files import to_json
from glassformer.opening.loading import BESIDE, TOKENISER, load
from glassformer.opening.opened import Opened
from glassformer.training.batch import Batch
from glassformer.training.objectives import END, PAD, SPECIAL, START
from glassformer.training.tasks import StateTracking

TARGETS: Final = ("hf", "gpt2", "transformer-lens", "onnx")
SPECIAL_TOKENS: Final = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
"""Of models of text."""
COMPARED: Final = "compared.json"
"""Beside a GPT-2: the words on which it was compared with ours, and what was seen."""
Contents = dict[str, bytes]


def export(folder: str | Path, target: str, out: str | Path, patterns: bool = False) -> None:
    """Write the model in a folder as another library's, with what is known of it beside."""
    if not isinstance(folder, str | os.PathLike):
        raise InputError("interop.folder_needed", kind=type(folder).__name__)
    folder, out = Path(folder), Path(out)
    if target not in TARGETS:
        raise InputError("interop.target", targets=TARGETS, target=target)
    if out.exists() and not out.is_dir():
        raise InputError("interop.out_exists", out=str(out))
    if out.exists() and any(out.iterdir()):
        raise InputError("interop.out_not_empty", out=str(out))
    if patterns and target != "onnx":
        raise InputError("interop.patterns", target=target)
    opened = load(folder)
    model, documents = opened.model, opened.documents
    if opened.whole is not model:
        raise InputError("interop.two_parts", folder=str(folder), kind=type(opened.whole).__name__)
    contents = {name: text.encode() for name, text in documents.items() if name in BESIDE}
    if target == "onnx":
        contents[MODEL] = onnx(model, patterns)
    elif target == "transformer-lens":
        config, weights = to_transformer_lens.transformer_lens(model)
        contents[to_transformer_lens.CONFIG] = to_json(config).encode()
        contents[to_transformer_lens.WEIGHTS] = safetensors.torch.save(weights)
    else:
        special = SPECIAL_TOKENS if TOKENISER in documents else {}
        contents |= _as_gpt2(opened, special) if target == "gpt2" else _as_huggingface(opened, special)
        contents |= {name: text.encode() for name, text in _tokeniser(opened).items()}
    write_folder_atomically(out, contents)


def _tokeniser(opened: Opened) -> dict[str, str]:
    """What makes tokens of words there; nothing where only this library can."""
    if isinstance(opened.task, StateTracking) and not opened.task.scratchpad:
        return to_hf.tokeniser(opened.task.machine.symbols)
    if TOKENISER in opened.documents:
        return to_hf.tokeniser_of_text(opened.documents[TOKENISER], START, SPECIAL)
    return {}


def _as_huggingface(opened: Opened, special: Mapping[str, int]) -> Contents:
    causal, names = opened.model.config.causal, opened.names[: len(opened.outputs)]
    next_token = causal and names == opened.outputs and not isinstance(opened.task, StateTracking)
    config, weights, code = to_hf.huggingface(opened.model, opened.outputs, next_token)
    return {
        "config.json": to_json({**config, **special}).encode(),
        "model.safetensors": safetensors.torch.save(weights, metadata={"format": "pt"}),
        to_hf.MODELLING: code.encode(),
    }


def _as_gpt2(opened: Opened, special: Mapping[str, int]) -> Contents:
    """In float32 if that is enough: what norms round is made larger by every layer that counts on whole numbers."""
    differences: list[Message] = []
    for dtype in (torch.float32, torch.float64):
        ours = copy.deepcopy(opened.model).to(dtype)
        made = gpt2(ours)
        made.config.id2label = dict(enumerate(opened.outputs))
        for name, token in special.items():
            setattr(made.config, name, token)
            setattr(made.generation_config, name, token)
        seen = compared(opened, ours, made)
        if seen.is_near:
            with tempfile.TemporaryDirectory() as place:
                made.save_pretrained(place)
                contents = {file.name: file.read_bytes() for file in Path(place).iterdir()}
            return contents | {COMPARED: to_json(seen.to_json()).encode()}
        found = {"here": seen.max_difference, "elsewhere": seen.max_difference_perturbed}
        differences.append(Message("interop.apart", dtype=seen.dtype, **found))
    raise InputError("interop.gpt2_rounds", apart=differences)


def columns(task: StateTracking, batch: Batch) -> dict[str, list[Any]]:
    """`tokens` (the start, then letters), `states` (−100 at the start), the `word`, and the state at its `end`."""
    letters = [[task.names[token] for token in word] for word in batch.tokens[:, 1:].tolist()]
    return {
        "tokens": batch.tokens.tolist(),
        "states": batch.targets.tolist(),
        "word": [" ".join(word) for word in letters],
        "end": [task.answers[last] for last in batch.targets[:, -1].tolist()],
    }
