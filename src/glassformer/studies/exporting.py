"""A model folder of ours as one of everybody else's, and a task as a table for everybody's training code."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any, Final

import safetensors.torch
import torch

from glassformer.atomic import write_folder_atomically
from glassformer.errors import InputError
from glassformer.interop import to_hf, to_transformer_lens
from glassformer.interop.to_gpt2 import gpt2
from glassformer.interop.to_onnx import MODEL, onnx
from glassformer.learn.batch import Batch
from glassformer.learn.tasks import Following
from glassformer.learn.trainer import model_of
from glassformer.nn import Transformer, files
from glassformer.nn.files import to_json
from glassformer.studies.subject import Subject, open_subject

TARGETS: Final = ("hf", "gpt2", "transformer-lens", "onnx")
BESIDE: Final = ("machine.json", "certificate.json", "training.json", "names.json")
"""Documents of ours that go with a model wherever it goes."""
NEAR: Final = 1e-5
"""How far a GPT-2's logits may be from ours."""
TRIED: Final = 16
START: Final = "start"

Contents = dict[str, bytes]


def export(folder: str | Path, target: str, out: str | Path, patterns: bool = False) -> None:
    """Write the model in a folder as another library's, with what is known of it beside."""
    folder, out = Path(folder), Path(out)
    if target not in TARGETS:
        raise InputError(f"a model goes to one of {', '.join(TARGETS)}; not to {target!r}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} exists and is not empty: choose another name, or remove it first")
    if patterns and target != "onnx":
        raise InputError(f"only onnx needs to be told that patterns are outputs; {target} has them anyway")
    subject = open_subject(folder)
    contents = _documents(folder)
    if target == "onnx":
        contents[MODEL] = onnx(subject.model, patterns)
    elif target == "transformer-lens":
        told, weights = to_transformer_lens.transformer_lens(subject.model)
        contents[to_transformer_lens.CONFIG] = to_json(told).encode()
        contents[to_transformer_lens.WEIGHTS] = safetensors.torch.save(weights)
    else:
        contents |= _as_gpt2(subject.model) if target == "gpt2" else _as_huggingface(subject)
        if isinstance(subject.task, Following):
            contents |= {name: text.encode() for name, text in to_hf.tokeniser(subject.names, START).items()}
    write_folder_atomically(out, contents)


def _documents(folder: Path) -> Contents:
    """What lies beside the model, if it is one of ours: its machine, its certificate, its tokeniser."""
    place = model_of(folder)
    _, documents = files.load(place)
    return {name: text.encode() for name, text in documents.items() if name in (*BESIDE, "tokenizer.json")}


def _as_huggingface(subject: Subject) -> Contents:
    told, weights, code = to_hf.huggingface(subject.model, subject.outputs)
    return {
        "config.json": to_json(told).encode(),
        "model.safetensors": safetensors.torch.save(weights, metadata={"format": "pt"}),
        to_hf.MODELLING: code.encode(),
    }


def _as_gpt2(model: Transformer) -> Contents:
    """In float32 if that is enough: what norms round is made larger by every layer that counts on whole numbers."""
    apart: list[str] = []
    for dtype in (torch.float32, torch.float64):
        ours = copy.deepcopy(model).to(dtype)
        made = gpt2(ours)
        difference, same = _compared(ours, made)
        if same and difference <= NEAR:
            with tempfile.TemporaryDirectory() as place:
                made.save_pretrained(place)
                return {file.name: file.read_bytes() for file in Path(place).iterdir()}
        answers = "the same answers" if same else "other answers"
        apart.append(f"in {str(dtype).removeprefix('torch.')} by {difference:.1e}, with {answers}")
    raise InputError(
        f"as a GPT-2 this model would say other things, because norms round: logits are apart {'; '.join(apart)}; "
        "`--to hf` keeps them bit for bit"
    )


@torch.no_grad()
def _compared(model: Transformer, made: Any) -> tuple[float, bool]:
    """How far logits are apart on some words, and whether the answers are the same at every position."""
    chance = torch.Generator().manual_seed(0)
    tokens = torch.randint(model.config.vocab, (TRIED, model.config.context), generator=chance)
    ours, theirs = model(tokens), made(tokens).logits
    apart = float((ours - theirs[..., : model.config.outputs]).abs().max())
    return apart, torch.equal(ours.argmax(-1), theirs.argmax(-1))


def columns(task: Following, batch: Batch) -> dict[str, list[Any]]:
    """`tokens` (the start, then letters), `states` (−100 at the start), the `word`, and the state at its `end`."""
    letters = [[task.names[token] for token in word] for word in batch.tokens[:, 1:].tolist()]
    return {
        "tokens": batch.tokens.tolist(),
        "states": batch.targets.tolist(),
        "word": [" ".join(word) for word in letters],
        "end": [task.answers[last] for last in batch.targets[:, -1].tolist()],
    }
