"""The commands that open a forward pass, on built, trained and planted models."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from glassformer.compiler.pipeline import compile
from glassformer.training import Architecture, Settings, StateTracking, train
from shell import Shell


@pytest.fixture(scope="module")
def parity(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("built") / "parity"
    compile("parity", 8, "log").save(folder)
    return str(folder)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("trained") / "parity"
    task = StateTracking(compile("parity", 8).machine, 8)
    train(task, Architecture(layers=2, width=16, heads=2), Settings(steps=5), folder)
    return str(folder)


def test_a_step_is_told_and_its_json_holds_every_key(shell: Shell, parity: str) -> None:
    told, _ = shell("step", parity, "1011", "--layer", "1", "--temperature", "0.5")
    assert "start 1 0 1 [1]" in told
    assert "probabilities at temperature 0.5: odd 0.881" in told
    found = shell.json("step", parity, "1011", "--layer", "1", "--position", "3")
    (head,) = found["heads"]
    assert [key["masked"] is None for key in head["keys"]] == [False] * 4 + [True]
    assert [round(key["weight"]) for key in head["keys"]] == [0, 1, 0, 0, 0]  # layer 1 looks two back
    assert found["logits"][0]["name"] == "even"


def test_steps_that_cannot_be_are_refused(shell: Shell, parity: str) -> None:
    for arguments, words in {
        ("102",): "'2'",
        ("10", "--layer", "7"): "layer 7 is not one of 0 … 2",
        ("10", "--position", "9"): "position 9 is not one of 0 … 2",
        ("10", "--temperature", "-1"): "the temperature",
        ("1" * 20,): "do not fit a context of 9",
    }.items():
        assert words in shell("step", parity, *arguments, code=2)[1]


def test_every_instrument_takes_trained_models_too(shell: Shell, trained: str) -> None:
    assert shell.json("step", trained, "10110")["heads"][1]["keys"]
    assert len(shell.json("measure", "lens", trained, "10110")["layers"]) == 3
    parts = shell.json("measure", "attribution", trained, "10110")
    assert sum(parts["parts"].values()) == pytest.approx(parts["logit"], abs=1e-5)  # sums of float32
    layers = shell.json("measure", "ablate", trained, "--words", "8", "--out", "ablated.svg")["layers"]
    assert "head 1" in "".join(ET.fromstring(Path("ablated.svg").read_text()).itertext())
    assert [len(layer["heads"]) for layer in layers] == [2, 2]
    found = shell.json("measure", "circuit", trained, "--words", "8", "--kind", "mean", "--tolerance", "0.05")
    assert "precision" not in found  # nobody knows the circuit of a trained model


def test_lens_and_attribution_of_a_built_model(shell: Shell, parity: str) -> None:
    layers = shell.json("measure", "lens", parity, "1011")["layers"]
    assert layers[-1]["answers"] == ["even", "odd", "odd", "even", "odd"]
    assert "layer 1 MLP" in shell("measure", "attribution", parity, "1011", "--answer", "even")[0]
    assert "there is no answer 'third'" in shell("measure", "attribution", parity, "1", "--answer", "third", code=2)[1]


def test_patching_shows_where_the_difference_is(shell: Shell, parity: str, tmp_path: Path) -> None:
    of_one_head = shell.json("measure", "patch", parity, "1011", "1111", "--hook", "attn.hook_z[0]")
    assert [layer["restored"][-1] for layer in of_one_head["layers"]] == [0, 1, 0]  # layer 1 fetches it
    (second,) = shell.json("measure", "patch", parity, "1011", "1111", "--hook", "blocks.1.attn.hook_z")["layers"]
    assert (second["layer"], second["restored"][-1]) == (1, 1)
    found = shell.json("measure", "patch", parity, "1011", "1111")
    assert [layer["restored"] for layer in found["layers"]] == [[0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1]]
    drawing = tmp_path / "patch.svg"
    shell("measure", "patch", parity, "1011", "1111", "--out", str(drawing))
    assert "0/1" in "".join(ET.fromstring(drawing.read_text()).itertext())
    path = ("measure", "path", parity, "1011", "1111", "--from", "hook_embed", "--to")
    (heard,) = shell.json(*path, "blocks.0.hook_v_input[0]")["layers"]
    assert heard["restored"] == 0  # the letter is two back, not one


def test_hooks_outside_of_layers_and_answers_that_are_named_are_patched_too(shell: Shell, parity: str) -> None:
    words = ("measure", "patch", parity, "1011", "1111")
    (embedded,) = shell.json(*words, "--hook", "hook_embed", "--out", "embedded.svg")["layers"]
    assert (embedded["layer"], embedded["restored"]) == (None, [0, 0, 1, 0, 0])
    assert "hook_embed" in "".join(ET.fromstring(Path("embedded.svg").read_text()).itertext())
    named = ("--answer", "odd", "--other", "even")
    assert shell.json(*words)["layers"] == shell.json(*words, *named)["layers"]
    assert "say by --answer and --other" in shell(*words, "--answer", "even", code=2)[1].replace("\n", " ")
    assert "there is no answer 'odt'; near it are odd" in shell(*words, "--answer", "odt", code=2)[1]


def test_every_path_is_tried_where_none_is_named(shell: Shell, parity: str, tmp_path: Path) -> None:
    last = ("measure", "path", parity, "1011", "1111", "--to", "blocks.2.hook_resid_post")
    told, _ = shell(*last, "--out", str(tmp_path / "paths.svg"))
    assert "blocks.1.hook_mlp_out" in told
    drawn = "".join(ET.fromstring((tmp_path / "paths.svg").read_text()).itertext())
    assert "blocks.2.hook_resid_post" in drawn
    restored = {each["from"]: each["restored"] for layer in shell.json(*last)["layers"] for each in layer["edges"]}
    assert restored["blocks.1.hook_mlp_out"] == 1
    assert restored["hook_pos_embed"] == 0
    everything = shell.json(*last[:-2])["layers"]
    assert [layer["layer"] for layer in everything] == [0, 1, 2]


def test_patches_that_cannot_be_are_refused(shell: Shell, parity: str) -> None:
    for arguments, words in {
        ("patch", parity, "101", "10"): "4 and 3 tokens: they must be equally long",
        ("patch", parity, "11", "00"): "both words have the answer even",
        ("patch", parity, "10", "00", "--hook", "hook_resid_pra"): "near it are hook_resid_pre",
        ("patch", parity, "10", "00", "--position", "5"): "position 5 is not one of 0 … 2",
        (
            "path",
            parity,
            "10",
            "00",
            "--from",
            "nobody",
            "--to",
            "blocks.0.hook_mlp_in",
        ): "nobody is nothing that writes",
        ("path", parity, "10", "00", "--to", "blocks.0.hook_mlp_im"): "near it are blocks.0.hook_mlp_in",
        (
            "patch",
            parity,
            "10",
            "00",
            "--out",
            "patch.txt",
        ): "a name that ends in .svg is needed",
        ("dictionary", parity, "--hook", "hook_embed", "--features", "100000000"): "GiB; the limit is 2 GiB",
        ("ablate", parity, "--kind", "all"): "an ablation is one of zero, mean, resample; not 'all'",
        ("dictionary", parity, "--hook", "blocks.0.hook_pattern"): "there is no activation 'blocks.0.hook_pattern'",
        ("dictionary", parity, "--hook", "hook_embed", "--kind", "gated"): "standard (ReLU and L1) or topk",
        ("dictionary", parity, "--hook", "mlp"): "near it are blocks.0.hook_mlp_in",
        ("ablate", parity, "--text", "some.txt"): "reads words of its task, not a text",
    }.items():
        assert words in shell("measure", *arguments, code=2)[1].replace("\n", " ")


def test_the_circuit_of_a_built_model_is_scored(shell: Shell, parity: str) -> None:
    found = shell.json("measure", "circuit", parity)
    assert (found["precision"], found["recall"], len(found["edges"])) == (1.0, 1.0, found["known"])
    assert found["edges"] == found["wires"]
    assert found["sufficient"] is found["suffices"] is True
    told, _ = shell("measure", "circuit", parity, "--kind", "resample", "--prune", "--words", "16")
    assert "not found: hook_pos_embed → blocks.0.hook_q_input[0]" in told


def test_a_dictionary_is_trained_scored_and_kept(shell: Shell, parity: str, tmp_path: Path) -> None:
    options = ("--hook", "blocks.0.hook_resid_post", "--steps", "20", "--words", "16", "--out", str(tmp_path / "sae"))
    found = shell.json("measure", "dictionary", parity, *options)
    assert found["layers"][0]["known"] > 0
    assert json.loads((tmp_path / "sae" / "cfg.json").read_text())["metadata"]["hook_name"] == options[1]


def test_the_start_token_has_no_answer_that_counts(shell: Shell, parity: str) -> None:
    assert "mean ablation on 5 words, 40 answers" in shell("measure", "ablate", parity, "--words", "5")[1]


def test_planted_facts_are_found_and_the_model_is_kept(shell: Shell, tmp_path: Path) -> None:
    options = ("--planted", "relation", "--subjects", "10", "--edits", "2", "--out", str(tmp_path))
    found = shell.json("facts", *options)
    assert [round(place["traced"], 3) for place in found["places"]] == [0, 0, 0, 1]
    assert found["places"][-1]["efficacy"] == found["places"][-1]["others_kept"] == 1
    told, _ = shell("step", str(tmp_path / "model"), "start Michael Jordan plays", "--layer", "1")
    assert "logit lens after this layer: basketball" in told
    assert "there is no token 'Jordn' here; near it are Jordan" in shell(
        "step", str(tmp_path / "model"), "start Michael Jordn plays", code=2
    )[1].replace("\n", " ")
    told, said = shell("measure", "ablate", str(tmp_path / "model"), "--kind", "zero")
    assert "zero ablation on 40 words, 40 answers" in said  # of a fact only the end is asked for
    assert "0.925" in told  # the MLP knows; three facts are what is said where nothing is known
    assert shell.json("measure", "circuit", str(tmp_path / "model"), "--words", "8")["edges"]
    assert "have 4 tokens" in shell("measure", "ablate", str(tmp_path / "model"), "--length", "9", code=2)[1]
    assert "not at 'verb'" in shell("facts", "--planted", "verb", "--out", str(tmp_path / "x"), code=2)[1]


def test_a_model_that_changes_sequences_is_opened_too(shell: Shell) -> None:
    train = ("train", "copy", "--length", "3", "--layers", "1", "--width", "8", "--heads", "2", "--steps", "2")
    shell(*train, "--part", "groups=1", "--part", "score=additive", "--out", "copying")
    told = shell.json("step", "copying", "1 2 3 separator start 1 2")
    assert told["tokens"] == ["1", "2", "3", "separator", "start", "1", "2"]
    assert shell.json("measure", "heads", "copying")["layers"]
    assert shell.json("measure", "ablate", "copying")["layers"]
    assert "is NAME=VALUE" in shell(*train, "--part", "score", code=2)[1]
    shell("train", "recall", "--kind", "rnn", "--steps", "1", "--width", "8", "--out", "recalling")
    assert "a Transformer is needed here" in shell("step", "recalling", "1", code=2)[1]


def test_a_built_model_is_shown_words_of_the_length_that_it_is_for(shell: Shell) -> None:
    shell("compile", "parity", "--length", "80", "--method", "log", "--out", "m")
    assert shell.json("measure", "circuit", "m", "--words", "12")["recall"] == 1
    said, _ = shell("measure", "circuit", "m", "--words", "12", "--length", "8")
    assert "these are shorter: try --length 128" in said
