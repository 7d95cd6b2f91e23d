import json
from pathlib import Path

import pytest
import safetensors.torch
import torch

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
    loaded = files.load(tmp_path / "m")
    assert loaded.config == config
    assert files.read_json(tmp_path / "m" / "machine.json") == {"states": ["é"]}
    for (name, value), (other, expected) in zip(loaded.state_dict().items(), model.state_dict().items(), strict=True):
        assert name == other
        assert value.dtype == dtype
        assert torch.equal(value, expected)
    tokens = torch.tensor([[0, 1, 2]])
    assert torch.equal(loaded(tokens), model(tokens))


def test_a_model_may_replace_a_model_and_nothing_else(saved: Path, tmp_path: Path) -> None:
    files.save(saved, Transformer(FANCY))
    assert files.load(saved).config == FANCY
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]  # nothing left behind
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter1.txt").write_text("…")
    with pytest.raises(InputError, match="not a model folder"):
        files.save(precious, Transformer(PLAIN))
    assert (precious / "chapter1.txt").exists()


def test_a_failed_save_leaves_the_old_model(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_write_through", full_disk)
    with pytest.raises(OSError, match="No space"):
        files.save(saved, Transformer(FANCY))
    assert files.load(saved).config == PLAIN
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def edit_config(folder: Path, change: object) -> None:
    path = folder / "config.json"
    values = json.loads(path.read_text())
    change(values)  # type: ignore[operator]
    path.write_text(json.dumps(values))


def rewrite_weights(folder: Path, change: object) -> None:
    """Change the weights and make the checksum fit, as a careful stranger would."""
    import hashlib

    path = folder / "model.safetensors"
    weights = safetensors.torch.load(path.read_bytes())
    change(weights)  # type: ignore[operator]
    data = safetensors.torch.save(weights)
    path.write_bytes(data)
    edit_config(folder, lambda values: values.update(sha256=hashlib.sha256(data).hexdigest()))


def test_a_truncated_or_damaged_file_is_named(saved: Path) -> None:
    path = saved / "model.safetensors"
    whole = path.read_bytes()
    for cut in (0, 4, 100, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match=r"model.safetensors is damaged"):
            files.load(saved)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match="damaged or replaced"):
        files.load(saved)
    path.unlink()
    with pytest.raises(InputError, match=r"cannot read .*model.safetensors: No such file"):
        files.load(saved)


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda f: (f / "config.json").write_text("{"), r"config.json, line 1, column 2: "),
        (lambda f: (f / "config.json").write_bytes(b"\xff\xfe"), "not JSON text"),
        (lambda f: (f / "config.json").write_text("[1]"), "is not that of a glassformer model"),
        (lambda f: (f / "config.json").write_text('{"model_type": "gpt2"}'), "is not that of a glassformer model"),
        (lambda f: edit_config(f, lambda v: v["config"].pop("width")), "lacks 'width'"),
        (lambda f: edit_config(f, lambda v: v["config"].update(widht=3)), "unknown key 'widht' .*'width'"),
        (lambda f: edit_config(f, lambda v: v["config"].update(width="x")), "wrong kind"),
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
def test_what_is_wrong_with_a_folder_is_said(saved: Path, break_it: object, message: str) -> None:
    break_it(saved)  # type: ignore[operator]
    with pytest.raises(InputError, match=message):
        files.load(saved)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no folder .*nowhere"):
        files.load(tmp_path / "nowhere")
