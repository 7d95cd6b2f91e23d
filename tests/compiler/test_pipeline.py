import itertools
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer.automata import formats, machine
from glassformer.compiler.built import Built
from glassformer.compiler.description import describe
from glassformer.compiler.pipeline import compile
from glassformer.compiler.verification import verify
from glassformer.errors import InputError
from glassformer.nn import files
from glassformer.operations.attention import LookBack


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_a_built_model_comes_back_from_its_folder(tmp_path: Path, dtype: str) -> None:
    built = compile("dyck(pairs=1, depth=3)", 30, "log", dtype)
    built.save(tmp_path / "dyck")
    loaded = Built.load(tmp_path / "dyck")
    assert loaded.certificate == built.certificate
    assert loaded.machine == built.machine
    assert verify(loaded, words=20).wrong == 0
    names = {path.name for path in (tmp_path / "dyck").iterdir()}
    assert names == {"config.json", "model.safetensors", "certificate.json", "machine.json"}


def test_running_a_word_gives_states_and_labels_for_every_letter() -> None:
    states, labels = compile("regex:(ab)*", 20).run("abab")
    assert labels == [False, True, False, True]
    assert len(set(states)) == 2
    assert compile("parity", 20).run("") == ([], [])


def test_longer_words_than_promised_are_refused() -> None:
    with pytest.raises(InputError, match=r"has 11 letters, but this model is exact up to 10: .* for length 11"):
        compile("parity", 10).run("1" * 11)


def test_parts_of_different_models_do_not_mix(tmp_path: Path) -> None:
    compile("cyclic(4)", 10).save(tmp_path / "cyclic")
    compile("gridworld(4)", 10).save(tmp_path / "grid")
    (tmp_path / "grid" / "machine.json").replace(tmp_path / "cyclic" / "machine.json")
    with pytest.raises(InputError, match=r"cyclic/machine.json is not the file"):
        Built.load(tmp_path / "cyclic")


def test_a_model_that_was_not_built_has_no_certificate(tmp_path: Path) -> None:
    files.save(tmp_path / "m", compile("parity", 10).model)
    with pytest.raises(InputError, match=r"a model without certificate.json"):
        Built.load(tmp_path / "m")


@pytest.mark.parametrize("text", ["{}", '{"registers": [1], "blocks": [], "margins": {}}', "[]"])
def test_a_certificate_of_another_version_is_refused(tmp_path: Path, text: str) -> None:
    built = compile("parity", 10)
    files.save(
        tmp_path / "m",
        built.model,
        {"certificate.json": text, "machine.json": formats.dumps(built.machine, "json")},
    )
    with pytest.raises(InputError, match="not a certificate of this version"):
        Built.load(tmp_path / "m")


def assert_refused(built: Built, folder: Path, part: str) -> None:
    """A changed model answers nothing, in this process or after saving, unless changes are trusted: then it warns."""
    built.save(folder)
    message = f"the {part} changed after the model was built"
    for answer in (lambda: built.run("0"), lambda: built.states("00"), lambda: Built.load(folder)):
        with pytest.raises(InputError, match=f"{message}: .* trust_changes=True"):
            answer()
    with pytest.raises(InputError, match=message):
        built.cast("float64")
    with pytest.warns(UserWarning, match=message):
        trusted = Built.load(folder, trust_changes=True)
    with pytest.warns(UserWarning, match=message):
        replace(trusted, model=built.model).run("0")


def test_changed_weights_are_refused_wherever_they_were_changed(tmp_path: Path) -> None:
    built = compile("cyclic(5)", 20)
    assert built.changed == []
    built.run("1")
    with torch.no_grad():
        built.model.unembed.b_U[1] += 3
    assert_refused(built, tmp_path / "added", "weights")
    built = compile("cyclic(5)", 20)
    built.run("1")
    built.model.state_dict()["blocks.0.attn.W_V"][...] = torch.nan  # no version counter sees this
    assert_refused(built, tmp_path / "nan", "weights")
    built = compile("cyclic(5)", 20)
    built.model.bfloat16()
    assert_refused(built, tmp_path / "rounded", "weights")
    assert verify(built, words=10).words == 10  # whoever wants to know how wrong it is


def test_another_machine_or_config_is_refused(tmp_path: Path) -> None:
    built = compile("cyclic(5)", 20)
    shifted = replace(built.machine, start=1)  # type: ignore[type-var]
    assert_refused(replace(built, machine=shifted), tmp_path / "machine", "machine")
    built.model.config = replace(built.model.config, scaled=not built.model.config.scaled)
    assert_refused(built, tmp_path / "config", "config")


def test_a_certificate_of_before_binds_the_weights_alone(tmp_path: Path) -> None:
    built = compile("cyclic(5)", 20)
    old = replace(built, certificate=replace(built.certificate, config="", machine=""))
    old.save(tmp_path / "m")
    assert Built.load(tmp_path / "m").run("11")[0] == ["1", "2"]


def test_layers_do_not_share_their_weights() -> None:
    model = compile("cyclic(5)", 20, dtype="float64").model
    pointers = [parameter.data_ptr() for parameter in model.parameters()]
    assert len(set(pointers)) == len(pointers)


def test_batches_of_any_shape_come_back_in_that_shape() -> None:
    built = compile("gridworld(4)", 12, "log")
    for shape in ((12,), (0, 12), (3, 12), (2, 3, 7), (4, 0)):
        words = np.random.default_rng(0).integers(0, 3, shape).astype(np.uint8)
        assert built.states(words).shape == shape
        assert (built.states(words) == built.machine.run(words)).all()


def test_autocast_does_not_round_a_built_model() -> None:
    built = compile("gridworld(20)", 60, "log")
    words = np.random.default_rng(0).integers(0, 3, (20, 60))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (built.states(words) == built.machine.run(words)).all()


def test_the_description_names_what_each_part_reads_and_writes() -> None:
    built = compile(machine("gridworld(4)"), 20, "log")
    description = describe(built.model, built.certificate)
    layers = description.layers
    assert (description.tokens_write, description.positions_write) == (["now"], ["first", "angles", "early"])
    assert description.answer_reads == ["now"]
    assert len(layers) == 5
    for distance, layer in zip((1, 2, 4, 8, 16), layers, strict=True):
        (head,) = layer.heads
        assert head.operation == LookBack(distance)
        assert (head.query, head.key) == (["angles", "early"], ["first", "angles"])
        assert (head.value, head.writes) == (["now"], ["past"])
        assert layer.mlp is not None
        assert (layer.mlp.reads, layer.mlp.writes) == (["now", "past"], ["now", "past"])
        assert layer.mlp.units == built.certificate.mlp


def test_a_slow_computer_builds_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = compile("symmetric(4)", 100).certificate
    clock = itertools.count(step=1000)
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert compile("symmetric(4)", 100).certificate == expected
