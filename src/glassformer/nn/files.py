"""A model as a folder: config.json, model.safetensors, and any further documents beside them.

Saving is all or nothing: the folder is written under another name and moved into place. config.json holds a
checksum of every part, so that a damaged file, or one from another model, is found. Loading executes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from glassformer.atomic import write_folder_atomically
from glassformer.errors import InputError
from glassformer.nn.config import Config
from glassformer.nn.readers import EncoderDecoder, ReaderConfig
from glassformer.nn.recurrent import LSTM, LSTMConfig
from glassformer.nn.transformer import Transformer
from glassformer.nn.translator import Translator, TranslatorConfig

FORMAT: Final = "glassformer model, version 1"
LARGEST_DOCUMENT: Final = 16 * 2**20  # bytes of a JSON file

Model: TypeAlias = Transformer | LSTM | Translator | EncoderDecoder
KINDS: Final[dict[str, tuple[type[Config | LSTMConfig | TranslatorConfig | ReaderConfig], type[Model]]]] = {
    "transformer": (Config, Transformer),
    "lstm": (LSTMConfig, LSTM),
    "translator": (TranslatorConfig, Translator),
    "rnn": (ReaderConfig, EncoderDecoder),
}
"""What a folder can hold: the class of its config, and that of the model."""


def save(folder: Path, model: Model, documents: Mapping[str, str] | None = None) -> None:
    """Write the model (and texts by file name) into a folder, replacing a model that is there already."""
    _check_name(folder)
    _check_replaceable(folder)
    parts = {"model.safetensors": safetensors.torch.save(_tensors(model))}
    parts |= {name: text.encode() for name, text in (documents or {}).items()}
    config = model.config.to_json()
    checksums = {name: _checksum(data) for name, data in parts.items()} | {"config": _checksum(_canonical(config))}
    (kind,) = (kind for kind, (_, cls) in KINDS.items() if isinstance(model, cls))
    header = {"format": FORMAT, "kind": kind, "sha256": checksums, "config": config}
    write_folder_atomically(folder, parts | {"config.json": to_json(header).encode()})


def load_transformer(folder: Path) -> tuple[Transformer, dict[str, str]]:
    """The same for those who can only use a Transformer."""
    model, documents = load(folder)
    if not isinstance(model, Transformer):
        raise InputError(f"{folder} holds an {type(model).__name__}, and a Transformer is needed here")
    return model, documents


def load(folder: Path) -> tuple[Model, dict[str, str]]:
    """The model in a folder, and the texts of the documents beside it, by file name."""
    _check_name(folder)
    header = _header(folder)
    checksums = header["sha256"]
    parts = {name: _read_part(folder / name, checksums[name]) for name in checksums if name != "config"}
    if _checksum(_canonical(header.get("config"))) != checksums.get("config"):
        raise InputError(f"{folder}/config.json was changed after the model was saved")
    if header.get("kind", "transformer") not in KINDS:
        raise InputError(f"{folder}/config.json: kind is one of {', '.join(KINDS)}; not {header['kind']!r}")
    config_class, model_class = KINDS[header.get("kind", "transformer")]
    try:
        config = config_class.from_json(header["config"])
    except InputError as error:
        raise InputError(f"{folder}/config.json: {error}") from None
    weights = _parse_weights(parts.pop("model.safetensors"), folder)
    with torch.device("meta"):
        expected = model_class(config).state_dict()  # type: ignore[arg-type]  # each class with its own config
    _check_weights(expected, weights, folder)
    model = model_class(config).to(next(iter(weights.values())).dtype)  # type: ignore[arg-type]
    model.load_state_dict(weights)
    return model, {name: data.decode() for name, data in parts.items()}


def _header(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        there = f"{folder} is a file, not a folder" if folder.is_file() else f"there is no folder {folder}"
        raise InputError(f"{there}; `glassformer compile SPEC --out DIR` makes one")
    if not (folder / "config.json").exists():
        raise InputError(f"{folder} is not a model folder: it holds no config.json")
    header = read_json(folder / "config.json")
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{folder}/config.json is not that of a {FORMAT}")
    checksums = header.get("sha256")
    if not isinstance(checksums, dict) or "model.safetensors" not in checksums:
        raise InputError(f"{folder}/config.json lacks the checksums of its parts")
    for name in checksums:
        if Path(name).name != name:
            raise InputError(f"{folder}/config.json names a part outside its folder: {name!r}")
    return header


def _check_name(folder: Path) -> None:
    """Some names cannot be those of a folder; the system says why."""
    try:
        folder.exists()
    except (OSError, ValueError) as error:
        raise InputError(f"{str(folder)[:60]!r} cannot be a folder: {getattr(error, 'strerror', error)}") from None


def _check_replaceable(folder: Path) -> None:
    """Never write over something that is not a model, or holds more than one."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    refusal = f"{folder} exists and is not a model folder: choose another name, or remove it first"
    try:
        ours = {"config.json", *_header(folder)["sha256"]}
    except InputError:
        raise InputError(refusal) from None
    foreign = sorted({path.name for path in folder.iterdir()} - ours)
    if foreign:
        raise InputError(f"{refusal} (it holds {foreign[0]!r})")


def _read_part(path: Path, checksum: object) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if _checksum(data) != checksum:
        raise InputError(f"{path} is not the file that config.json was written with: it was damaged or replaced")
    return data


def _parse_weights(data: bytes, folder: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{folder}/model.safetensors is not a safetensors file: {error}") from None


def _tensors(model: Model) -> dict[str, Tensor]:
    return {name: value.contiguous() for name, value in model.state_dict().items()}


def digest(model: Model) -> str:
    """A checksum of all weights, their names and number formats."""
    parts = hashlib.sha256()
    for name, value in sorted(_tensors(model).items()):
        parts.update(f"{name} {value.dtype} {list(value.shape)}".encode())
        parts.update(value.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return parts.hexdigest()


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_weights(expected: Mapping[str, Tensor], weights: Mapping[str, Tensor], folder: Path) -> None:
    """Names, shapes and number formats fit the config, before any memory is taken."""
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
        if path.stat().st_size > LARGEST_DOCUMENT:
            raise InputError(f"{path} is larger than {LARGEST_DOCUMENT // 2**20} MiB, the limit")
        return parse_json(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not JSON text: {error}") from None


def parse_json(text: str, name: str) -> Any:
    """The value in a JSON text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}, line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError as error:
        raise InputError(f"{name} is not JSON text: {error}") from None


def to_json(value: Any) -> str:
    """A value as text that people can read and compare."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
