import json
from pathlib import Path

import pytest

from glassformer.automata import machine
from glassformer.compiler import Built, compile, describe, verify
from glassformer.errors import InputError


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_built_model_comes_back_from_its_folder(tmp_path: Path, dtype: str) -> None:
    built = compile("dyck(pairs=1, depth=3)", 30, dtype=dtype)
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
    with pytest.raises(InputError, match=r"has 11 letters, but this model is exact up to 10: .* --length 11"):
        compile("parity", 10).run("1" * 11)


def test_parts_of_different_models_do_not_mix(tmp_path: Path) -> None:
    compile("parity", 10).save(tmp_path / "parity")
    compile("gridworld(4)", 10).save(tmp_path / "grid")
    (tmp_path / "grid" / "machine.json").replace(tmp_path / "parity" / "machine.json")
    with pytest.raises(InputError, match="do not belong together: letters is 3, not 4"):
        Built.load(tmp_path / "parity")
    with pytest.raises(InputError, match="a model without machine"):
        Built.load(tmp_path / "grid")


def test_a_certificate_of_another_version_is_refused(tmp_path: Path) -> None:
    compile("parity", 10).save(tmp_path / "m")
    path = tmp_path / "m" / "certificate.json"
    path.write_text(json.dumps({"theorem": "?"}))
    with pytest.raises(InputError, match="not a certificate of this version"):
        Built.load(tmp_path / "m")


def test_the_description_names_what_each_part_reads_and_writes() -> None:
    built = compile(machine("gridworld(4)"), 20)
    told = describe(built.model, built.certificate)
    layers = told.layers
    assert (told.tokens_write, told.positions_write) == (["now"], ["first", "angles", "early"])
    assert told.answer_reads == ["now"]
    assert len(layers) == 5
    for distance, layer in zip((1, 2, 4, 8, 16), layers, strict=True):
        (head,) = layer.heads
        assert head.does == f"look {distance} back"
        assert (head.query, head.key) == (["angles", "early"], ["first", "angles"])
        assert (head.value, head.writes) == (["now"], ["past"])
        assert layer.mlp is not None
        assert (layer.mlp.reads, layer.mlp.writes) == (["now", "past"], ["now", "past"])
        assert layer.mlp.units == built.certificate.mlp
