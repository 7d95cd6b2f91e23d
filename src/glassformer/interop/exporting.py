"""A model folder of ours as one of everybody else's, and a task as a table for everybody's training code."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import safetensors.torch
import torch

from glassformer.atomic import write_folder_atomically
from glassformer.errors import InputError
from glassformer.interop import huggingface, load, to_hf, to_transformer_lens
from glassformer.interop.likeness import compared
from glassformer.interop.to_gpt2 import gpt2
from glassformer.interop.to_onnx import MODEL, onnx
from glassformer.nn import Transformer, files
from glassformer.nn.files import to_json
from glassformer.subject import Subject, open_subject
from glassformer.training.batch import Batch
from glassformer.training.objectives import END, PAD, SPECIAL, START
from glassformer.training.tasks import StateTracking
from glassformer.training.trainer import model_of

TARGETS: Final = ("hf", "gpt2", "transformer-lens", "onnx")
BESIDE: Final = ("machine.json", "certificate.json", "training.json", "names.json")
"""Documents of ours that go with a model wherever it goes."""
SPECIAL_TOKENS: Final = {"pad_token_id": PAD, "bos_token_id": START, "eos_token_id": END}
"""Of models of text."""
COMPARED: Final = "compared.json"
"""Beside a GPT-2: the words on which it was compared with ours, and what was seen."""
Contents = dict[str, bytes]


def export(folder: str | Path, target: str, out: str | Path, patterns: bool = False) -> None:
    """Write the model in a folder as another library's, with what is known of it beside."""
    folder, out = Path(folder), Path(out)
    if target not in TARGETS:
        raise InputError(f"a model goes to one of {', '.join(TARGETS)}; not to {target!r}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists{' and is not empty' * out.is_dir()}: choose another name, or remove it first")
    if patterns and target != "onnx":
        raise InputError(f"only onnx needs to be told that patterns are outputs; {target} has them anyway")
    model, documents = _opened(folder)
    contents = {name: text.encode() for name, text in documents.items() if name in BESIDE}
    if target == "onnx":
        contents[MODEL] = onnx(model, patterns)
    elif target == "transformer-lens":
        told, weights = to_transformer_lens.transformer_lens(model)
        contents[to_transformer_lens.CONFIG] = to_json(told).encode()
        contents[to_transformer_lens.WEIGHTS] = safetensors.torch.save(weights)
    else:
        subject = open_subject(folder)
        special = SPECIAL_TOKENS if "tokenizer.json" in documents else {}
        contents |= _as_gpt2(subject, special) if target == "gpt2" else _as_huggingface(subject, special)
        contents |= {name: text.encode() for name, text in _tokeniser(subject, documents).items()}
    write_folder_atomically(out, contents)


def _opened(folder: Path) -> tuple[Transformer, dict[str, str]]:
    """The model in a folder, ours or Hugging Face's, and the documents beside it."""
    if huggingface.is_model(folder):
        there = {name: folder / name for name in BESIDE if (folder / name).is_file()}
        return load(folder), {name: path.read_text() for name, path in there.items()}
    model, documents = files.load_transformer(model_of(folder))
    return model.eval(), documents


def _tokeniser(subject: Subject, documents: Mapping[str, str]) -> dict[str, str]:
    """What makes tokens of words there; nothing where only this library can."""
    if isinstance(subject.task, StateTracking) and not subject.task.scratchpad:
        return to_hf.tokeniser(subject.task.machine.symbols)
    if "tokenizer.json" in documents:
        return to_hf.tokeniser_of_text(documents["tokenizer.json"], START, SPECIAL)
    return {}


def _as_huggingface(subject: Subject, special: Mapping[str, int]) -> Contents:
    causal, names = subject.model.config.causal, subject.names[: len(subject.outputs)]
    next_token = causal and names == subject.outputs and not isinstance(subject.task, StateTracking)
    told, weights, code = to_hf.huggingface(subject.model, subject.outputs, next_token)
    return {
        "config.json": to_json({**told, **special}).encode(),
        "model.safetensors": safetensors.torch.save(weights, metadata={"format": "pt"}),
        to_hf.MODELLING: code.encode(),
    }


def _as_gpt2(subject: Subject, special: Mapping[str, int]) -> Contents:
    """In float32 if that is enough: what norms round is made larger by every layer that counts on whole numbers."""
    apart: list[str] = []
    for dtype in (torch.float32, torch.float64):
        ours = copy.deepcopy(subject.model).to(dtype)
        made = gpt2(ours)
        made.config.id2label = dict(enumerate(subject.outputs))
        for name, token in special.items():
            setattr(made.config, name, token)
            setattr(made.generation_config, name, token)
        seen = compared(subject, ours, made)
        if seen.is_near:
            with tempfile.TemporaryDirectory() as place:
                made.save_pretrained(place)
                contents = {file.name: file.read_bytes() for file in Path(place).iterdir()}
            return contents | {COMPARED: to_json(asdict(seen)).encode()}
        apart.append(f"in {seen.dtype} by {seen.apart:.1e}, and by {seen.stirred:.1e} where they round otherwise")
    raise InputError(
        f"as a GPT-2 this model would say other things, because norms round: logits are apart {'; '.join(apart)}; "
        "`--to hf` keeps them bit for bit"
    )


def columns(task: StateTracking, batch: Batch) -> dict[str, list[Any]]:
    """`tokens` (the start, then letters), `states` (−100 at the start), the `word`, and the state at its `end`."""
    letters = [[task.names[token] for token in word] for word in batch.tokens[:, 1:].tolist()]
    return {
        "tokens": batch.tokens.tolist(),
        "states": batch.targets.tolist(),
        "word": [" ".join(word) for word in letters],
        "end": [task.answers[last] for last in batch.targets[:, -1].tolist()],
    }
