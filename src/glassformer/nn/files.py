"""A model as a folder: config.json, model.safetensors, and any further documents beside them.

Saving is all or nothing: the folder is written under another name and moved into place. config.json holds a
checksum of every part, so that a damaged file, or one from another model, is found, and so is a model that another
process replaces while it is read: then the new one is read. Loading executes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from glassformer.atomic import recover, write_folder_atomically
from glassformer.errors import InputError
from glassformer.nn.config import Config
from glassformer.nn.encoder_decoder import EncoderDecoder, EncoderDecoderConfig
from glassformer.nn.recurrent import LSTM, LSTMConfig
from glassformer.nn.transformer import Transformer
from glassformer.nn.translator import Translator, TranslatorConfig

FORMAT: Final = "glassformer model, version 1"
OTHER_FOLDERS: Final = {"run.json": "a_run", "transformer_lens.json": "for_transformer_lens", "model.onnx": "for_onnx"}
"""Folders that hold no model of this format, by a file of each, and what is said of them."""
LARGEST_DOCUMENT: Final = 16 * 2**20  # bytes of a JSON file

Model: TypeAlias = Transformer | LSTM | Translator | EncoderDecoder
KINDS: Final[dict[str, tuple[type[Config | LSTMConfig | TranslatorConfig | EncoderDecoderConfig], type[Model]]]] = {
    "transformer": (Config, Transformer),
    "lstm": (LSTMConfig, LSTM),
    "translator": (TranslatorConfig, Translator),
    "rnn": (EncoderDecoderConfig, EncoderDecoder),
}
"""What a folder can hold: the class of its config, and that of the model."""


def save(folder: Path, model: Model, documents: Mapping[str, str] | None = None) -> None:
    """Write the model (and texts by file name) into a folder, replacing a model that is there already."""
    check_name(folder)
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
        raise InputError("nn.transformer_needed", source=folder, kind=type(model).__name__)
    return model, documents


def load(folder: Path) -> tuple[Model, dict[str, str]]:
    """The model in a folder, and the texts of the documents beside it, by file name."""
    check_name(folder)
    recover(folder)
    header, parts = _read(folder)
    if header.get("kind", "transformer") not in KINDS:
        raise InputError("folder.kind", folder=folder, kinds=[*KINDS], kind=header["kind"])
    config_class, model_class = KINDS[header.get("kind", "transformer")]
    try:
        config = config_class.from_json(header["config"])
    except InputError as error:
        raise InputError("folder.config", folder=folder, why=error.message) from None
    weights = _parse_weights(parts.pop("model.safetensors"), folder)
    with torch.device("meta"):
        expected = model_class(config).state_dict()  # type: ignore[arg-type]  # each class with its own config
    _check_weights(expected, weights, folder)
    model = model_class(config).to(next(iter(weights.values())).dtype)  # type: ignore[arg-type]
    model.load_state_dict(weights)
    return model, {name: data.decode() for name, data in parts.items()}


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """config.json and all that it vouches for; if the folder was replaced meanwhile, that of the new one."""
    while True:
        with _is_still_there(folder) as is_still_there:
            try:
                header = _header(folder)
                checksums = header["sha256"]
                parts = {name: _read_part(folder / name, checksums[name]) for name in checksums if name != "config"}
                if _checksum(_canonical(header.get("config"))) != checksums.get("config"):
                    raise InputError("folder.config_changed", folder=folder)
                return header, parts
            except InputError:
                if is_still_there():
                    raise


@contextmanager
def _is_still_there(folder: Path) -> Iterator[Callable[[], bool]]:
    """Tells whether a folder is still the one that it is now; it is kept open, so that no other gets its number."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:  # there is none; or this is Windows, which does not replace a folder that is read
        yield lambda: True
        return
    try:
        yield lambda: folder.exists() and os.path.samestat(folder.stat(), os.fstat(descriptor))
    finally:
        os.close(descriptor)


def _header(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise InputError("folder.a_file" if folder.is_file() else "folder.no_folder", folder=folder)
    if not (folder / "config.json").exists():
        kinds = (kind for name, kind in OTHER_FOLDERS.items() if (folder / name).exists())
        raise InputError(f"folder.{next(kinds, 'no_config')}", folder=folder)
    header = read_json(folder / "config.json")
    if isinstance(header, dict) and "model_type" in header:
        raise InputError("folder.for_transformers", folder=folder)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("folder.format", folder=folder, format=FORMAT)
    checksums = header.get("sha256")
    if not isinstance(checksums, dict) or "model.safetensors" not in checksums:
        raise InputError("folder.no_checksums", folder=folder)
    for name in checksums:
        if Path(name).name != name:
            raise InputError("folder.outside", folder=folder, name=name)
    return header


def check_name(folder: Path) -> None:
    """Some names cannot be those of a folder; the system says why."""
    try:
        folder.exists()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError("folder.name", name=str(folder)[:60], why=why) from None


def _check_replaceable(folder: Path) -> None:
    """Never write over something that is not a model, or holds more than one."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        ours = {"config.json", *_header(folder)["sha256"]}
    except InputError:
        raise InputError("folder.not_replaceable", folder=folder) from None
    foreign = sorted({path.name for path in folder.iterdir()} - ours)
    if foreign:
        raise InputError("folder.holds_more", folder=folder, name=foreign[0])


def _read_part(path: Path, checksum: object) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError("folder.cannot_read", path=path, why=error.strerror) from None
    if _checksum(data) != checksum:
        raise InputError("folder.damaged", path=path)
    return data


def _parse_weights(data: bytes, folder: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError("folder.not_safetensors", folder=folder, why=str(error)) from None


def _tensors(model: Model) -> dict[str, Tensor]:
    return {name: value.contiguous() for name, value in model.state_dict().items()}


def digest(model: Model) -> str:
    """A checksum of all weights, their names and number formats."""
    parts = hashlib.sha256()
    for name, value in sorted(_tensors(model).items()):
        parts.update(f"{name} {value.dtype} {list(value.shape)}".encode())
        parts.update(value.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return parts.hexdigest()


def fingerprint(model: Model) -> int:
    """A quick checksum of all weights: whether any was changed since the last one, by accident."""
    found = 0
    for value in _tensors(model).values():
        found = zlib.crc32(value.detach().cpu().reshape(-1).view(torch.uint8).numpy().data, found)
    return found


def digest_of_config(config: Any) -> str:
    """A checksum of all settings that are not the default, so that it is the same when there are more settings."""

    def chosen(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            given = ((field, getattr(value, field.name)) for field in fields(value))
            return {field.name: chosen(each) for field, each in given if each != field.default}
        return [chosen(part) for part in value] if isinstance(value, tuple | list) else value

    return _checksum(_canonical(chosen(config)))


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_weights(expected: Mapping[str, Tensor], weights: Mapping[str, Tensor], folder: Path) -> None:
    """Names, shapes and number formats fit the config, before any memory is taken."""
    for name in sorted(expected.keys() - weights.keys()):
        raise InputError("folder.lacks_weights", folder=folder, name=name)
    for name, value in sorted(weights.items()):
        if name not in expected:
            raise InputError("folder.more_weights", folder=folder, name=name)
        if value.shape != expected[name].shape:
            shapes = {"found": f"{[*value.shape]}", "right": f"{[*expected[name].shape]}"}
            raise InputError("folder.shape", folder=folder, name=name, **shapes)
    formats = {str(value.dtype).removeprefix("torch.") for value in weights.values()}
    if len(formats) > 1 or not next(iter(weights.values())).is_floating_point():
        raise InputError("folder.mixed_formats", folder=folder, formats=sorted(formats))


def read_json(path: Path) -> Any:
    """The value in a JSON file; an error names line and column."""
    try:
        if path.stat().st_size > LARGEST_DOCUMENT:
            raise InputError("folder.too_large", path=path, limit=LARGEST_DOCUMENT // 2**20)
        return parse_json(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise InputError("folder.cannot_read", path=path, why=error.strerror) from None
    except UnicodeDecodeError as error:
        raise InputError("folder.not_json", name=path, why=str(error)) from None


def parse_json(text: str, name: str) -> Any:
    """The value in a JSON text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError("folder.json", name=name, line=error.lineno, column=error.colno, why=error.msg) from None
    except RecursionError as error:
        raise InputError("folder.not_json", name=name, why=str(error)) from None


def to_json(value: Any) -> str:
    """A value as text that people can read and compare."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
