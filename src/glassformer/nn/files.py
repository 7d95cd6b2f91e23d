"""A model as a folder: config.json, model.safetensors, and any further documents beside them.

Saving is all or nothing: the folder is written under another name and moved into place. Loading executes nothing,
checks everything, and says what is wrong.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from glassformer.errors import InputError
from glassformer.nn.config import Config
from glassformer.nn.transformer import Transformer

FORMAT: Final = "glassformer model, version 1"


def save(folder: Path, model: Transformer, documents: Mapping[str, str] | None = None) -> None:
    """Write the model (and texts by file name) into a folder, replacing a model that is there already."""
    folder = folder.absolute()
    _check_replaceable(folder)
    weights = safetensors.torch.save({name: value.contiguous() for name, value in model.state_dict().items()})
    config = {"format": FORMAT, "sha256": hashlib.sha256(weights).hexdigest(), "config": model.config.to_json()}
    contents = {"model.safetensors": weights, "config.json": to_json(config).encode()}
    contents |= {name: text.encode() for name, text in (documents or {}).items()}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
        new, old = Path(scratch, "new"), Path(scratch, "old")
        new.mkdir()
        for name, data in contents.items():
            _write_through(new / name, data)
        if folder.exists():
            folder.rename(old)
        new.rename(folder)


def load(folder: Path) -> Transformer:
    """The model in a folder."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; `glassformer compile SPEC --out DIR` makes one")
    header = read_json(folder / "config.json")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{folder}/config.json is not that of a {FORMAT}")
    try:
        config = Config.from_json(header.get("config", {}))
    except InputError as error:
        raise InputError(f"{folder}/config.json: {error}") from None
    weights = _read_weights(folder / "model.safetensors", header.get("sha256"))
    _check_weights(config, weights, folder)
    model = Transformer(config).to(next(iter(weights.values())).dtype)
    model.load_state_dict(weights)
    return model


def _check_replaceable(folder: Path) -> None:
    """Never write over something that is not a model."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() and not (folder / "model.safetensors").is_file():
        raise InputError(f"{folder} exists and is not a model folder: choose another name, or remove it first")


def _read_weights(path: Path, checksum: object) -> dict[str, Tensor]:
    try:
        data = path.read_bytes()
        weights = safetensors.torch.load(data)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{path} is damaged or not a safetensors file: {error}") from None
    if hashlib.sha256(data).hexdigest() != checksum:
        raise InputError(f"{path} is not the file that config.json was written with: it was damaged or replaced")
    return weights


def _check_weights(config: Config, weights: Mapping[str, Tensor], folder: Path) -> None:
    """Names, shapes and number formats fit the config, before any memory is taken."""
    with torch.device("meta"):
        expected = Transformer(config).state_dict()
    for name in sorted(expected.keys() - weights.keys()):
        raise InputError(f"{folder}/model.safetensors lacks the weights {name}, which config.json asks for")
    for name, value in sorted(weights.items()):
        if name not in expected:
            raise InputError(f"{folder}/model.safetensors has weights {name} that config.json does not know")
        if value.shape != expected[name].shape:
            raise InputError(
                f"{folder}: {name} has shape {list(value.shape)}, config.json says {list(expected[name].shape)}"
            )
    formats = {str(value.dtype).removeprefix("torch.") for value in weights.values()}
    if len(formats) > 1 or not next(iter(weights.values())).is_floating_point():
        raise InputError(f"{folder}/model.safetensors mixes number formats: {', '.join(sorted(formats))}")


def read_json(path: Path) -> Any:
    """The value in a JSON file; what is wrong with it is said with line and column."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not JSON text: {error}") from None


def to_json(value: Any) -> str:
    """A value as text that people can read and compare."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
