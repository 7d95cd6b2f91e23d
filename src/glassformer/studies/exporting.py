"""A model folder of ours as one of everybody else's, and a task as a table for everybody's training code."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import safetensors.torch
import torch

from glassformer.atomic import write_folder_atomically
from glassformer.automata.words import chosen_words
from glassformer.errors import InputError
from glassformer.interop import huggingface, load, to_hf, to_transformer_lens
from glassformer.interop.to_gpt2 import gpt2
from glassformer.interop.to_onnx import MODEL, onnx
from glassformer.learn.batch import Batch
from glassformer.learn.objectives import SPECIAL, START
from glassformer.learn.tasks import Following
from glassformer.learn.trainer import model_of
from glassformer.nn import Transformer, files
from glassformer.nn.files import to_json
from glassformer.nn.transformer import Tokens
from glassformer.studies.subject import Subject, open_subject

TARGETS: Final = ("hf", "gpt2", "transformer-lens", "onnx")
BESIDE: Final = ("machine.json", "certificate.json", "training.json", "names.json")
"""Documents of ours that go with a model wherever it goes."""
NEAR: Final = 1e-5
"""How far a GPT-2's logits may be from ours."""
TRIED: Final = 16

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
        contents |= _as_gpt2(subject) if target == "gpt2" else _as_huggingface(subject)
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
    if isinstance(subject.task, Following) and not subject.task.scratchpad:
        return to_hf.tokeniser(subject.task.machine.symbols)
    if "tokenizer.json" in documents:
        return to_hf.tokeniser_of_text(documents["tokenizer.json"], START, SPECIAL)
    return {}


def _as_huggingface(subject: Subject) -> Contents:
    told, weights, code = to_hf.huggingface(subject.model, subject.outputs)
    return {
        "config.json": to_json(told).encode(),
        "model.safetensors": safetensors.torch.save(weights, metadata={"format": "pt"}),
        to_hf.MODELLING: code.encode(),
    }


def _as_gpt2(subject: Subject) -> Contents:
    """In float32 if that is enough: what norms round is made larger by every layer that counts on whole numbers."""
    apart: list[str] = []
    for dtype in (torch.float32, torch.float64):
        ours = copy.deepcopy(subject.model).to(dtype)
        made = gpt2(ours)
        made.config.id2label = dict(enumerate(subject.outputs))
        difference, same = _compared(ours, made, _tried(subject))
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


def _tried(subject: Subject) -> Tokens:
    """Words on which both are compared: random and nasty ones, and such as are nearly all one letter."""
    config, chance = subject.model.config, torch.Generator().manual_seed(0)
    found = torch.randint(config.vocab, (TRIED, config.context), generator=chance)
    if not isinstance(task := subject.task, Following) or task.scratchpad:
        return found
    length, letters = config.context - 1, len(task.machine.symbols)
    rng = np.random.default_rng(0)
    sparse = []
    for letter in range(min(letters, TRIED)):
        others, chances = rng.integers(letters, size=(TRIED // 2, length)), rng.random((TRIED // 2, length))
        rare = np.geomspace(1 / length, 0.5, TRIED // 2)[:, None]
        sparse.append(np.where(chances < rare, others, letter))
    nasty = chosen_words(task.machine, length, 2 * TRIED, seed=0)
    return torch.cat([found, replace(task, length=length).answered(np.concatenate([*sparse, nasty])).tokens])


@torch.no_grad()
def _compared(model: Transformer, made: Any, words: Tokens) -> tuple[float, bool]:
    """How far logits are apart, and whether the answers are the same wherever ours leads by more than rounding."""
    apart, same = 0.0, True
    for tokens in words.split(TRIED):
        ours, theirs = model(tokens), made(tokens).logits
        apart = max(apart, float((ours - theirs[..., : model.config.outputs]).abs().max()))
        best = ours.topk(min(2, ours.shape[-1]), dim=-1).values
        leads = best[..., 0] - best[..., -1] > 2 * NEAR
        differ = ours.argmax(-1) != theirs.argmax(-1)
        same = same and not bool((differ & (leads | (theirs.argmax(-1) >= model.config.outputs))).any())
    return apart, same


def columns(task: Following, batch: Batch) -> dict[str, list[Any]]:
    """`tokens` (the start, then letters), `states` (−100 at the start), the `word`, and the state at its `end`."""
    letters = [[task.names[token] for token in word] for word in batch.tokens[:, 1:].tolist()]
    return {
        "tokens": batch.tokens.tolist(),
        "states": batch.targets.tolist(),
        "word": [" ".join(word) for word in letters],
        "end": [task.answers[last] for last in batch.targets[:, -1].tolist()],
    }
