import itertools
import json
import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from glassformer import atomic
from glassformer.errors import InputError
from glassformer.nn import BlockShape, Config, PiecewiseLinear, Transformer, files

RELU = PiecewiseLinear((0.0,), (0.0, 1.0), (0.0, 0.0))
BLOCKS = (BlockShape(2, 3, (5,)), BlockShape(0, 1, (4, 2)))
PLAIN = Config(vocab=3, outputs=2, context=6, width=6, blocks=BLOCKS)
FANCY = Config(
    vocab=3, outputs=2, context=6, width=6, blocks=BLOCKS,
    activation="piecewise", pieces=RELU, positions="dyadic", norm="layer",
)  # fmt: skip


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    files.save(tmp_path / "model", Transformer(PLAIN), {"certificate.json": "{}"})
    return tmp_path / "model"


@pytest.mark.parametrize("config", [PLAIN, FANCY])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_model_comes_back_as_it_was(tmp_path: Path, config: Config, dtype: torch.dtype) -> None:
    model = Transformer(config).to(dtype)
    files.save(tmp_path / "m", model, {"machine.json": '{"states": ["é"]}'})
    loaded, documents = files.load(tmp_path / "m")
    assert loaded.config == config
    assert documents == {"machine.json": '{"states": ["é"]}'}
    for (name, value), (other, expected) in zip(loaded.state_dict().items(), model.state_dict().items(), strict=True):
        assert name == other
        assert value.dtype == dtype
        assert torch.equal(value, expected)
    tokens = torch.tensor([[0, 1, 2]])
    assert torch.equal(loaded(tokens), model(tokens))


def test_the_key_that_the_mlm_head_had_before_is_read() -> None:
    values = replace(FANCY, mlm_head=True).to_json()
    values["head"] = values.pop("mlm_head")
    assert Config.from_json(values).mlm_head


def test_a_model_may_replace_a_model_and_nothing_else(saved: Path, tmp_path: Path) -> None:
    files.save(saved, Transformer(FANCY))
    assert files.load(saved)[0].config == FANCY
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]  # nothing left behind
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter1.txt").write_text("…")
    with pytest.raises(InputError, match="not a model folder"):
        files.save(precious, Transformer(PLAIN))
    assert (precious / "chapter1.txt").exists()


def test_a_folder_that_holds_more_than_a_model_is_never_replaced(saved: Path) -> None:
    (saved / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=r"not a model folder.*'tokenizer.json'"):
        files.save(saved, Transformer(FANCY))
    assert (saved / "tokenizer.json").exists()
    foreign = saved.parent / "gpt2"
    foreign.mkdir()
    (foreign / "config.json").write_text('{"model_type": "gpt2"}')
    (foreign / "model.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="not a model folder"):
        files.save(foreign, Transformer(FANCY))


def test_a_failed_save_leaves_the_old_model(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic, "_write_through", full_disk)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        files.save(saved, Transformer(FANCY))
    assert files.load(saved)[0].config == PLAIN
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_a_model_that_is_replaced_again_and_again_can_be_read_at_any_time(saved: Path) -> None:
    writer = multiprocessing.get_context("fork").Process(target=replace_for_ever, args=(saved,))
    writer.start()
    try:
        found = [files.load(saved)[0].config for _ in range(100)]
    finally:
        writer.kill()
        writer.join()
    assert all(config in (PLAIN, FANCY) for config in found)


def replace_for_ever(folder: Path) -> None:
    models = itertools.cycle([Transformer(FANCY), Transformer(PLAIN)])
    while True:
        files.save(folder, next(models))


def edit_config(folder: Path, change: Callable[[dict[str, Any]], object], careful: bool = True) -> None:
    """Change config.json; a careful stranger makes the checksums fit."""
    path = folder / "config.json"
    values = json.loads(path.read_text())
    change(values)
    if careful and "config" in values:
        values["sha256"]["config"] = files._checksum(files._canonical(values["config"]))
    path.write_text(json.dumps(values))


def rewrite_weights(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "model.safetensors"
    weights = safetensors.torch.load(path.read_bytes())
    change(weights)
    data = safetensors.torch.save(weights)
    path.write_bytes(data)
    edit_config(folder, lambda values: values["sha256"].update({"model.safetensors": files._checksum(data)}))


def test_a_damaged_or_missing_part_is_named(saved: Path) -> None:
    path = saved / "model.safetensors"
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"model.safetensors is not the file .* damaged or replaced"):
            files.load(saved)
    path.unlink()
    with pytest.raises(InputError, match=r"cannot read .*model.safetensors: No such file"):
        files.load(saved)


def test_a_document_of_another_model_is_found(saved: Path) -> None:
    (saved / "certificate.json").write_text('{"exact_length": 1000000}')
    with pytest.raises(InputError, match=r"certificate.json is not the file .* damaged or replaced"):
        files.load(saved)


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda f: (f / "config.json").write_text("{"), r"config.json, line 1, column 2: "),
        (lambda f: (f / "config.json").write_bytes(b"\xff\xfe"), "not JSON text"),
        (lambda f: (f / "config.json").write_text("[1]"), "is not that of a glassformer model"),
        (lambda f: (f / "config.json").write_text('{"model_type": "gpt2"}'), "is a model for transformers"),
        (lambda f: edit_config(f, lambda v: v["config"].update(causal=False), careful=False), "changed after"),
        (lambda f: edit_config(f, lambda v: v.update(sha256={})), "lacks the checksums"),
        (lambda f: edit_config(f, lambda v: v["sha256"].update({"../x": "0"})), "outside its folder"),
        (lambda f: edit_config(f, lambda v: v.update(config=None)), "wrong kind"),
        (lambda f: edit_config(f, lambda v: v.update(config="abc")), "wrong kind"),
        (lambda f: edit_config(f, lambda v: v["config"].pop("width")), "lacks 'width'"),
        (lambda f: edit_config(f, lambda v: v["config"].update(widht=3)), "unknown key 'widht' .*'width'"),
        (lambda f: edit_config(f, lambda v: v["config"].update(width="x")), "whole number"),
        (
            lambda f: edit_config(f, lambda v: v["config"].update(width=8)),
            r"attn.W_K has shape \[2, 6, 3\], .* says \[2, 8, 3\]",
        ),
        (lambda f: edit_config(f, lambda v: v["config"].update(positions="none")), "weights pos_embed.W_pos that"),
        (lambda f: rewrite_weights(f, lambda w: w.pop("unembed.b_U")), "lacks the weights unembed.b_U"),
        (lambda f: rewrite_weights(f, lambda w: w.update(x=torch.ones(1))), "has weights x that"),
        (lambda f: rewrite_weights(f, lambda w: w.update({"unembed.b_U": w["unembed.b_U"].half()})), "mixes number"),
    ],
)
@pytest.mark.usefixtures("types_unchecked")
def test_what_is_wrong_with_a_folder_is_named(saved: Path, break_it: object, message: str) -> None:
    break_it(saved)  # type: ignore[operator]
    with pytest.raises(InputError, match=message):
        files.load(saved)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no folder .*nowhere"):
        files.load(tmp_path / "nowhere")
