"""The command line as a user meets it: output, JSON keys, exit codes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from glassformer.documents.ledger import CLAIMS
from places import DATA
from shell import Shell


def test_help_shows_the_commands_and_how_to_start(shell: Shell) -> None:
    text, _ = shell("--help")
    for word in ("zoo", "compile", "verify", "run", "show", "claims", "convert", "regex:(ab)*"):
        assert word in text


def test_compile_verify_run_and_show(shell: Shell) -> None:
    made = shell.json("compile", "regex:(ab)*", "--length", "20", "--method", "log", "--out", "m")
    keys = {"theorem", "method", "layers", "heads", "width", "mlp", "parameters", "dtype", "exact_length"}
    assert keys <= made.keys()
    assert (made["layers"], made["heads"], made["exact_length"], made["method"]) == (5, 1, 32, "log")
    checked = shell.json("verify", "m", "--words", "30")
    assert {"words", "positions", "wrong", "longest"} <= checked.keys()
    assert (checked["words"], checked["positions"], checked["wrong"], checked["longest"]) == (30, 960, 0, 32)
    ran = shell.json("run", "m", "abba")
    assert ran["outputs"] == [False, True, False, False]
    assert len(ran["states"]) == 4
    shown = shell.json("show", "m")
    assert shown["layers"][2]["heads"][0]["operation"] == {"kind": "look_back", "distance": 4}
    for command in (("compile", "parity"), ("verify", "m"), ("run", "m", "ab"), ("show", "m")):
        text, _ = shell(*command)
        assert text.strip()
        assert "{" not in text


def test_show_explains_in_words(shell: Shell) -> None:
    shell("compile", "gridworld(4)", "--length", "10", "--method", "log", "--out", "m")
    text, _ = shell("show", "m")
    for words in ("look 8 back", "compose", "now", "past", "angles", "Exact for every word of up to 16 letters"):
        assert words in text


def test_a_wrong_model_fails_verification_with_exit_code_1(shell: Shell) -> None:
    import torch

    from glassformer import Built

    shell("compile", "gridworld(4)", "--length", "30", "--out", "m")
    built = Built.load("m")
    with torch.no_grad():
        built.model.unembed.b_U[1] += 3
    built.save("m")
    assert shell.json("verify", "m", code=1)["wrong"] > 0
    assert "first mistake: after" in shell("verify", "m", code=1)[0]


def test_zoo_lists_machines_and_shows_one(shell: Shell) -> None:
    names = {row["name"] for row in shell.json("zoo")}
    assert {"parity", "gridworld", "dyck", "tomita", "random"} <= names
    assert "open brackets" in shell("zoo")[0]
    assert "(start)" in shell("zoo", "dyck(pairs=1, depth=2)")[0]
    assert shell.json("zoo", "parity")["states"] == ["even", "odd"]


@pytest.mark.parametrize("suffix", ["json", "dot", "att"])
def test_convert_writes_files_that_are_specs_again(shell: Shell, suffix: str) -> None:
    shell("convert", "regex:a(ab)*", f"m.{suffix}")
    made = shell.json("compile", f"m.{suffix}", "--length", "9", "--method", "log", "--out", "m")
    assert made["layers"] == 4
    assert shell.json("run", "m", "aaba")["outputs"] == [True, False, True, False]


def test_claims_are_listed_and_run(shell: Shell) -> None:
    listed = shell.json("claims", "--list")
    assert [row["id"] for row in listed] == [claim.id for claim in CLAIMS]
    (row,) = shell.json("claims", "S0.6")
    assert row.keys() == {"id", "claimed", "measured", "holds"}
    assert row["holds"] is True
    assert "T = 256" in row["measured"]
    assert "S0.7" in shell("claims", "--list")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "paritty"], "did you mean parity"),
        (["compile", "regex:(ab"], "column"),
        (["compile", "parity", "--length", "0"], "a whole number from 1 on"),
        (["classify", "paritty"], "did you mean parity"),
        (["classify", "parity", "--svg", "nowhere/x.svg"], "nowhere/x.svg: cannot be written"),
        (["classify", "transformations(7)", "--most-images", "9", "--svg", "x.svg"], "no cascade to draw"),
        (["verify", "n" * 300], "cannot be a folder: File name too long"),
        (["compile", "parity", "--dtype", "int4"], "not 'int4'"),
        (["compile", "gridworld(20)", "--method", "log", "--dtype", "bfloat16"], "use dtype"),
        (["compile", "nowhere.json"], "nowhere.json"),
        (["verify", "nowhere"], "there is no folder nowhere"),
        (["run", "nowhere", "ab"], "there is no folder nowhere"),
        (["verify", "."], ". is not a model folder"),
        (["claims", "S7.1"], "there is no claim 'S7.1'"),
        (["convert", "parity", "x.pdf"], ".json"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(shell: Shell, arguments: list[str], message: str) -> None:
    text, error = shell(*arguments, code=2)
    assert text == ""
    assert message in error
    assert "Traceback" not in error


def test_a_changed_model_is_shown_with_a_warning(shell: Shell) -> None:
    from glassformer import Built

    shell("compile", "parity", "--length", "9", "--out", "m")
    built = Built.load("m")
    built.save("m2")
    built.model.double()
    built.save("m")
    for arguments in (("show", "m"), ("run", "m", "1")):
        assert "the weights changed after the model was built" in shell(*arguments, code=2)[1]
        assert "the certificate no longer holds" in shell(*arguments, "--trust-changes")[1]
    assert "the certificate no longer holds" in shell("verify", "m")[1]
    assert "Exact for every word" in shell("show", "m2")[0]
    assert "Exact for every word" not in shell("show", "m", "--trust-changes")[0]


def test_classify_tells_the_class_the_cascade_and_the_depths(shell: Shell) -> None:
    told = shell.json("classify", "abab", "--length", "1000")
    assert (told["states"], told["minimal_states"], told["monoid_size"]) == (5, 5, 10)
    assert (told["aperiodic"], told["quasi_aperiodic"], told["solvable"]) == (False, True, True)
    assert told["complexity"] == "AC0"
    assert [(row["level"], row["group"], row["order"], row["points"]) for row in told["cascade"]] == [
        (1, "1", 1, 2),
        (2, "C2", 2, 3),
    ]
    assert told["depth"] == {"log": 10, "cascade": 3}
    text, _ = shell("classify", "abab")
    for words in ("quasi-aperiodic", "Barrington", "7 layers", "3 layers", "C2", "none: a memory"):
        assert words in text


def test_classify_goes_as_far_as_it_is_allowed(shell: Shell) -> None:
    told = shell.json("classify", "transformations(6)", "--most-elements", "100")
    assert told["monoid_size"] is None
    assert told["cascade"]
    assert "more than 100 elements" in told["notes"][0]
    told = shell.json("classify", "gridworld(9)", "--most-images", "5")
    assert (told["complexity"], told["cascade"], told["depth"]["cascade"]) == (None, [], None)
    assert told["depth"]["log"] == 7
    assert "not decided" in shell("classify", "gridworld(9)", "--most-images", "5")[0]


def test_classify_draws_the_cascade(shell: Shell, tmp_path: Path) -> None:
    shell("classify", "dihedral(4)", "--svg", "d4.svg")
    assert ElementTree.parse(tmp_path / "d4.svg").getroot().tag.endswith("svg")


def test_unknown_commands_and_options_exit_with_2(shell: Shell) -> None:
    shell("explode", code=2)
    shell("verify", "m", "--speed", "9", code=2)
    shell("verify", "m", "--seed", "-1", code=2)


def test_a_letter_outside_the_alphabet_is_named(shell: Shell) -> None:
    shell("compile", "parity", "--length", "9", "--out", "m")
    assert "letter '2' at position 3" in shell("run", "m", "0121", code=2)[1]
    assert "exact up to 9" in shell("run", "m", "0" * 10, code=2)[1]


def test_a_claim_asked_for_twice_is_run_once(shell: Shell) -> None:
    assert [row["id"] for row in shell.json("claims", "S0.2", "S0.2")] == ["S0.2"]


def test_a_machine_with_too_many_letters_for_the_terminal_is_listed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "after L" in shell("zoo", "gridworld(3)")[0]
    monkeypatch.setattr("glassformer.ui.cli.terminal.out.width", 30)
    text = shell("zoo", "gridworld(3)")[0]
    assert "L S →" in text
    assert max(map(len, text.splitlines())) <= 30


def test_the_empty_word_shows_the_start(shell: Shell) -> None:
    shell("compile", "parity", "--length", "1", "--out", "m")
    assert "even" in shell("run", "m", "")[0]
    assert "1 layer, 0 heads" in shell("show", "m")[0]  # one letter tells the state


def command(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """`glassformer …` in a process of its own."""
    return subprocess.run([sys.executable, "-m", "glassformer", *arguments], text=True, check=False, **options)


def test_output_that_cannot_be_written_is_said() -> None:
    with Path("/dev/full").open("w") as full:
        done = command("zoo", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.strip() == "glassformer: cannot write the output: No space left on device"


def test_help_that_cannot_be_written_is_said_too() -> None:
    with Path("/dev/full").open("w") as full:
        done = command("--help", stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, "No space left" in done.stderr) == (2, True)


def test_streams_may_be_closed_or_know_few_signs() -> None:
    assert subprocess.run(f"{sys.executable} -m glassformer zoo parity >&-", shell=True, check=False).returncode == 0
    done = command("zoo", "regex:ä*", stdout=subprocess.PIPE, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, r"\xe4" in done.stdout) == (0, True)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = command("zoo", stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_interrupt_is_said_and_exits_with_130(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("glassformer.compiler.pipeline.compile", interrupt)
    assert shell("compile", "parity", code=130)[1].strip() == "glassformer: interrupted"


def test_a_model_is_trained_kept_resumed_and_measured(shell: Shell) -> None:
    asked = ("train", "flipflop", "--length", "8", "--steps", "20", "--batch", "8", "--width", "16", "--out", "run")
    told = shell.json(*asked)
    assert {"accuracy", "loss", "steps", "tokens_per_second"} <= told.keys()
    assert told["steps"] == 20
    assert "holds a run already" in shell(*asked, code=2)[1]
    assert shell.json(*asked, "--resume")["accuracy"] == told["accuracy"]
    measured = shell.json("measure", "heads", "run")
    assert [len(layer["heads"]) for layer in measured["layers"]] == [4, 4]
    assert "unclear" in shell("measure", "heads", "run")[0] or "flat sum" in shell("measure", "heads", "run")[0]


def test_the_heads_of_a_built_model_are_named(shell: Shell) -> None:
    shell("compile", "parity", "--length", "20", "--method", "cascade", "--out", "m")
    assert "flat sum" in shell("measure", "heads", "m")[0]


def test_flip_flop_language_is_trained_tested_elsewhere_and_measured(shell: Shell) -> None:
    asked = ("train", "flip-flop language", "--length", "16", "--steps", "5", "--batch", "8", "--width", "16")
    told = shell.json(*asked, "--test", "ignore=0.1", "--test", "length=24", "--out", "run")
    assert set(told["tests"]) == {"ignore=0.1", "length=24"}
    assert "seen on 64 words of 15 tokens" in shell("measure", "heads", "run")[1]


def test_a_scratchpad_is_measured_too(shell: Shell) -> None:
    shell("train", "parity", "--length", "6", "--steps", "5", "--width", "16", "--scratchpad", "--out", "run")
    assert "seen on 64 words of 13 tokens" in shell("measure", "heads", "run")[1]


def test_a_family_of_trained_models_is_judged_by_what_each_was_trained_for(shell: Shell) -> None:
    for length in ("2", "4", "16"):
        asked = ("train", "dyck(2, 3)", "--predict", "top", "--length", length, "--test", "length=20")
        shell(*asked, "--steps", "5", "--width", "16", "--out", f"run{length}")
    told = shell.json("measure", "shortcut", "run2", "run4", "run16")
    assert [member["length"] for member in told["layers"]] == [2, 4, 16]
    assert not told["shortcut"]
    assert "depth grows like T^0.00" in told["why"] or "T^-0.00" in told["why"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "parity", "--letters", "x"], "numbers with commas between them"),
        (["train", "parity", "--letters", "0.5"], "2 letters"),
        (["train", "parity", "--predict", "mood"], "one of state, output, start"),
        (["train", "parity", "--test", "colour=red"], "WHAT is one of length, letters, ignore"),
        (["train", "parity", "--test", "length=many"], "needs a number"),
        (["train", "parity", "--ignore", "0.5"], "knows no 'ignore'"),
        (["train", "flip-flop language", "--predict", "top"], "knows no 'predict'"),
        (["train", "parity", "--kind", "mamba"], "transformer, lstm"),
        (["train", "parity", "--resume"], "--resume needs the folder"),
        (["train", "parity", "--resume", "--out", "nowhere"], "holds no run that could go on"),
        (["train", "parity", "--width", "30"], "does not divide into 4 heads"),
        (["train", "parity", "--threads", "100000000"], "threads is at most 1,024"),
        (["sweep", "missing.toml", "--engine", "ray", "--keep", "runs"], "--keep is for sweeps on this machine"),
        (["sweep", "missing.toml"], "cannot read missing.toml"),
        (["measure", "heads", "nowhere"], "there is no folder"),
    ],
)
def test_what_cannot_be_learned_or_measured_is_refused(shell: Shell, arguments: list[str], message: str) -> None:
    assert message in shell(*arguments, code=2)[1]


SAMPLE = DATA / "sentences.tsv"


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on text."""
    from glassformer.training import Architecture, Settings, corpora, train
    from glassformer.training.objectives import TextTask, text_of, tokeniser_of

    folder = tmp_path_factory.mktemp("readers")
    corpus = corpora.load(SAMPLE, parallel=True)
    text = text_of(corpus, tokeniser_of(corpus, 330), longest=24)
    for seed, objective in enumerate(("lm", "mt")):
        settings = Settings(steps=3, batch=8, evaluation_words=8, seed=seed)
        train(TextTask(text, objective), Architecture(layers=2, width=8, heads=2), settings, folder / objective)
    return folder


def test_text_is_followed_through_the_layers(shell: Shell, readers: Path) -> None:
    text = ("--text", str(SAMPLE), "--sentences", "250")
    lm, mt = str(readers / "lm"), str(readers / "mt")
    few = ("--tokens", "5", "--each", "8", "--clusters", "10")
    told = shell.json("measure", "information", lm, *text, *few)["layers"]
    assert [each["layer"] for each in told] == ["embedding", "1", "2"]
    assert all(0 <= each["plug_in"] <= each["most"] + 1e-9 for each in told)
    told = shell.json("measure", "recovery", lm, *text, *few[:4])["layers"]
    assert told[0]["token_nearest"] > 0.5
    told = shell.json("measure", "similarity", lm, lm, *text)["layers"]
    assert all(each["pwcca"] == pytest.approx(1) for each in told)
    assert all(each["pwcca"] < 0.999 for each in shell.json("measure", "similarity", lm, mt, *text)["layers"])
    assert len(shell.json("measure", "change", mt, *text)["layers"]) == 2
    assert len(shell.json("measure", "change", mt, *text, "--by", "place")["layers"]) == 10
    assert "times" in shell("measure", "change", mt, *text, "--by", "frequency")[0]
    told = shell.json("measure", "influence", mt, *text)["layers"]
    assert told[0]["replaced"] == pytest.approx(0, abs=1e-6)
    assert told[2]["replaced"] > 0
    assert "not by 'x'" in shell("measure", "change", mt, *text, "--by", "x", code=2)[1]
    assert "this model has no machine" in shell("measure", "heads", lm, code=2)[1]


@pytest.mark.parametrize("what", ["information", "recovery", "similarity", "change", "influence"])
def test_an_empty_name_of_a_text_is_told(shell: Shell, readers: Path, what: str) -> None:
    models = [str(readers / "lm")] * (2 if what == "similarity" else 1)
    assert "no text was named" in shell("measure", what, *models, "--text", "", code=2)[1]


def test_an_empty_text_is_told(shell: Shell, readers: Path) -> None:
    Path("empty.txt").write_text("")
    lm = str(readers / "lm")
    for what in (("similarity", lm, lm), ("change", lm)):
        assert "there is no text to look at" in shell("measure", *what, "--text", "empty.txt", code=2)[1]


def test_information_tells_how_many_tokens_there_were(shell: Shell, readers: Path) -> None:
    asked = ("measure", "information", str(readers / "lm"), "--text", str(SAMPLE), "--each", "60", "--clusters", "30")
    found = shell.json(*asked, "--tokens", "300")
    assert 2 <= found["tokens"] < 300
    assert {each["samples"] for each in found["layers"]} == {60 * found["tokens"]}
    vectors = f"{60 * found['tokens']:,} vectors in 30 clusters"
    said = f"of {found['tokens']} tokens (no more of them come 60 times): {vectors}"
    assert said in shell(*asked, "--tokens", "300")[1]
    assert "of 2 tokens: 120 vectors" in shell(*asked, "--tokens", "2")[1]


def test_no_zero_is_printed_as_negative(shell: Shell, readers: Path) -> None:
    asked = ("measure", "influence", str(readers / "mt"), "--text", str(SAMPLE), "--sentences", "50")
    assert "-0.0" not in shell(*asked)[0]


def test_a_model_of_machines_reads_no_text(shell: Shell) -> None:
    shell("compile", "parity", "--length", "8", "--out", "parity")
    message = shell("measure", "information", "parity", "--text", str(SAMPLE), code=2)[1]
    assert "no tokenizer.json" in message


def test_corpora_are_listed_and_those_that_are_not_here_say_so(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert shell.json("corpus", "list")["help-en-de"]["here"] is False
    assert "no corpus 'x'" in shell("corpus", "fetch", "x", code=2)[1]
    assert "corpus fetch help-en-de" in shell("evolve", "--out", "evo", code=2)[1]


def test_a_function_is_approximated(shell: Shell) -> None:
    told = shell.json("approximate", "sort", "--d", "1", "--n", "2", "--delta", "0.25", "--samples", "200")
    assert {"blocks", "formula_blocks", "contextual", "grid_error", "distance", "distance_error"} <= told.keys()
    assert told["blocks"] == told["formula_blocks"] == 50
    assert told["contextual"] is True
    assert told["grid_error"] <= 1e-6
    asked = ("approximate", "centre", "--delta", "1/4", "--samples", "50", "--plot", "centre.svg")
    assert "the formula says 24" in shell(*asked)[0]
    drawing = ElementTree.fromstring(Path("centre.svg").read_text())
    assert len([mark for mark in drawing if mark.tag.endswith("polyline") and mark.get("stroke") != "#e8eef4"]) >= 6
    planned = shell.json("approximate", "sort", "--epsilon", "0.06", "--plan")
    assert (planned["delta"], planned["refusal"]) == (0.125, None)
    assert "12,363" in shell("approximate", "reverse", "--d", "2", "--n", "3", "--plan")[0]
    shell("approximate", "sort", "--delta", "1/4", "--samples", "50", "--out", "sorter")
    assert {path.name for path in Path("sorter").iterdir()} == {
        "config.json",
        "model.safetensors",
        "approximation.json",
    }
    assert "made by `approximate`" in shell("verify", "sorter", code=2)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sine"], "those with names are centre"),
        (["sort", "--delta", "1/3"], "powers of two are exact"),
        (["sort", "--delta", "x"], "as 1/4 or 0.25"),
        (["sort", "--delta", "1/4", "--epsilon", "0.1"], "not both"),
        (["sort", "--no-positions"], "order matters"),
        (["sort", "--d", "3", "--n", "3", "--delta", "1/8"], "402,654,796 blocks"),
        (["sort", "--n", "3", "--epsilon", "0.0001"], "the limit is 200,000"),
        (["sort", "--n", "3", "--delta", "1/8", "--out", "sorter"], "too many to be single objects"),
    ],
)
def test_what_cannot_be_approximated_is_refused(shell: Shell, arguments: list[str], message: str) -> None:
    assert message in shell("approximate", *arguments, code=2)[1]


def test_a_sweep_is_printed_and_kept(shell: Shell, tmp_path: Path) -> None:
    Path("s.toml").write_text(
        "[task]\nmachine = 'parity'\nlength = 5\n[model]\nwidth = 8\nheads = 2\nlayers = [1, 2]\n"
        "[training]\nsteps = 3\nbatch = 2\nevaluation_words = 2\n"
    )
    rows = shell.json("sweep", "s.toml", "--processes", "1")
    assert [row["status"] for row in rows] == ["done", "done"]
    assert "layers" in shell("sweep", "s.toml")[0]
    assert "here, ray or ray://address" in shell("sweep", "s.toml", "--engine", "abacus", code=2)[1]


def test_a_family_of_models_is_judged(shell: Shell) -> None:
    for length in (4, 16, 64):
        shell("compile", "symmetric(3)", "--length", str(length), "--method", "log", "--out", f"m{length}")
    told = shell.json("measure", "shortcut", "m4", "m16", "m64")
    assert told["shortcut"] is True
    assert [(member["length"], member["depth"], member["wrong"]) for member in told["layers"]] == [
        (4, 2, 0),
        (16, 4, 0),
        (64, 6, 0),
    ]
    assert "a shortcut: right throughout" in shell("measure", "shortcut", "m4", "m16", "m64")[0]
    assert "at least three lengths" in shell("measure", "shortcut", "m4", "m16", code=2)[1]
    shell("compile", "parity", "--length", "64", "--out", "other")
    assert "no model of the same task" in shell("measure", "shortcut", "m4", "m16", "other", code=2)[1]
