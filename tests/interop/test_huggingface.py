"""Models of Hugging Face, tiny and random, saved here by transformers, read by the same instruments."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from glassformer.errors import InputError
from glassformer.instruments.layers import seen
from glassformer.opening.loading import load
from shell import Shell

NOUNS, VERBS, KINDS = ("cat", "dog", "bird"), ("sees", "hears", "likes"), ("big", "old", "red", "small")
WORDS = ["[CLS]", "[SEP]", "[UNK]", "[PAD]", "the", "a", *NOUNS, *VERBS, *KINDS]
SENTENCES = [
    f"the {one} {noun} {verb} a {other} {NOUNS[i - 1]}"
    for one in KINDS[:2]
    for other in KINDS[2:]
    for i, (noun, verb) in enumerate(zip(NOUNS, VERBS, strict=True))
]
SMALL: dict[str, Any] = {"vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}


def tokeniser(framed: bool) -> transformers.PreTrainedTokenizerFast:
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    if framed:
        made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 0), ("[SEP]", 1)])
    named = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=12, **named)


def gpt2() -> transformers.PreTrainedModel:
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=len(WORDS), n_positions=10, n_embd=16, n_layer=2, n_head=2)
    )


def bert() -> transformers.PreTrainedModel:
    return transformers.BertModel(transformers.BertConfig(**SMALL, intermediate_size=32, max_position_embeddings=16))


def llama() -> transformers.PreTrainedModel:
    return transformers.LlamaModel(transformers.LlamaConfig(**SMALL, intermediate_size=32, max_position_embeddings=16))


def t5() -> transformers.PreTrainedModel:
    return transformers.T5Model(
        transformers.T5Config(vocab_size=len(WORDS), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2)
    )


MODELS = {"gpt2": (gpt2, 10), "bert": (bert, 12), "llama": (llama, 12), "t5": (t5, 12)}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for name, (make, _) in MODELS.items():
        torch.manual_seed(0)
        found[name] = tmp_path_factory.mktemp(name)
        make().save_pretrained(found[name])
        tokeniser(framed=name == "bert").save_pretrained(found[name])
    return found


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("text") / "text.txt"
    rng = np.random.default_rng(0)  # each is read once, so that they must differ
    said = [*SENTENCES, *(" ".join(rng.choice(WORDS[4:], size)) for size in rng.integers(4, 9, 240))]
    file.write_text("\n".join(said))
    return file


@pytest.mark.parametrize("name", MODELS)
def test_vectors_are_the_hidden_states_of_transformers(name: str, folders: dict[str, Path]) -> None:
    ours = load(folders[name]).text_model
    (batch,) = ours.batches(SENTENCES)
    model = transformers.AutoModel.from_pretrained(folders[name], attn_implementation="eager").eval()
    model = model.get_encoder() if name == "t5" else model
    with torch.no_grad():
        expected = model(input_ids=batch, output_hidden_states=True).hidden_states
    assert ours.layers.names == ("embedding", "1", "2")
    (found,) = seen(ours.layers, [batch])
    for vectors, state in zip(found.vectors, expected, strict=True):
        assert np.array_equal(vectors, state.flatten(0, 1).numpy())


@pytest.mark.parametrize("name", MODELS)
def test_sentences_are_framed_and_cut_as_the_model_wants_them(name: str, folders: dict[str, Path]) -> None:
    model = load(folders[name]).text_model
    assert model.longest == MODELS[name][1]
    (batch,) = model.batches([" ".join(["cat"] * 30)])
    assert batch.shape == (1, model.longest)
    assert (batch[0, 0] == WORDS.index("[CLS]")) == (name == "bert")
    assert model.special >= {0, 1, 2, 3}


@pytest.mark.parametrize("what", ["information", "recovery", "change", "influence"])
@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_the_command_line_measures_them(
    name: str, what: str, folders: dict[str, Path], text: Path, shell: Shell
) -> None:
    few = ["--each", "20", "--tokens", "10"] if what in ("information", "recovery") else []
    few += ["--clusters", "20"] if what == "information" else []
    told = shell.json("measure", what, str(folders[name]), "--text", str(text), *few)
    assert len(told["layers"]) == (2 if what == "change" else 3)


def test_models_with_one_tokeniser_are_compared_and_others_refused(
    folders: dict[str, Path], text: Path, shell: Shell
) -> None:
    asked = ("measure", "similarity", str(folders["gpt2"]))
    of = ("--text", str(text))
    assert shell(*asked, str(folders["gpt2"]), *of)[0].count("1.000") == 3 * 5
    assert len(shell.json(*asked, str(folders["llama"]), *of)["layers"]) == 3
    assert "cut text into other tokens" in shell(*asked, str(folders["bert"]), *of, code=2)[1]


def changed(folder: Path, place: Path) -> Path:
    shutil.copytree(folder, place)
    return place


def test_a_folder_without_a_tokeniser_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    for name in MODELS:
        folder = changed(folders[name], tmp_path / name)
        for file in folder.glob("*token*"):
            file.unlink()
        with pytest.raises(InputError, match="holds no tokeniser"):
            _ = load(folder).text_model


def test_a_tokeniser_with_more_tokens_than_the_model_is_refused(
    folders: dict[str, Path], text: Path, tmp_path: Path, shell: Shell
) -> None:
    folder = changed(folders["gpt2"], tmp_path / "other")
    larger = tokeniser(framed=False)
    larger.add_tokens(["sleeps", "eats"])
    larger.save_pretrained(folder)
    assert shell.json("measure", "influence", str(folder), "--text", str(text))  # as long as they are not used
    text.with_name("eats.txt").write_text("the cat eats the mat\n" * 2)
    said = shell("measure", "influence", str(folder), "--text", str(text.with_name("eats.txt")), code=2)[1]
    assert f"has {len(WORDS) + 2} tokens and the model vectors for {len(WORDS)}" in said


def test_weights_that_are_missing_or_no_weights_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = changed(folders["bert"], tmp_path / "deeper")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 4}))
    with pytest.raises(InputError, match=r"does not hold all weights .* is missing"):
        _ = load(folder).text_model
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1")
    with pytest.raises(InputError, match="cannot open it"):
        _ = load(folder).text_model


def test_a_model_that_says_no_limit_reads_sentences_of_some_length(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = changed(folders["t5"], tmp_path / "t5")
    told = json.loads((folder / "tokenizer_config.json").read_text())
    told.pop("model_max_length")
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    model = load(folder).text_model
    assert [batch.shape for batch in model.batches([" ".join(["cat"] * 600)])] == [(1, model.longest)]


def test_a_tokeniser_is_the_same_after_it_was_used(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = changed(folders["gpt2"], tmp_path / "used")
    used = tokeniser(framed=False)
    used(SENTENCES, truncation=True, max_length=3)
    used.save_pretrained(folder)
    assert load(folder).text_model.tokeniser == load(folders["gpt2"]).text_model.tokeniser


def test_models_of_other_depths_and_too_little_text_are_refused(
    folders: dict[str, Path], tmp_path: Path, shell: Shell
) -> None:
    torch.manual_seed(0)
    transformers.GPT2Model(
        transformers.GPT2Config(vocab_size=len(WORDS), n_positions=10, n_embd=16, n_layer=3, n_head=2)
    ).save_pretrained(tmp_path / "deeper")
    tokeniser(framed=False).save_pretrained(tmp_path / "deeper")
    (tmp_path / "one.txt").write_text(SENTENCES[0])
    for other, said in (
        (tmp_path / "deeper", "has 2 layers and"),
        (folders["llama"], "7 vectors are too few to tell, 160 are enough"),
    ):
        asked = ("measure", "similarity", str(folders["gpt2"]), str(other), "--text", str(tmp_path / "one.txt"))
        assert said in shell(*asked, code=2)[1]


def test_a_folder_without_safetensors_is_refused_and_not_unpickled(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(folders["gpt2"], folder)
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="transformers cannot open it"):
        _ = load(folder).text_model


def test_a_model_that_brings_its_own_code_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "custom"
    shutil.copytree(folders["gpt2"], folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"auto_map": {"AutoConfig": "mine.Mine", "AutoModel": "mine.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    with pytest.raises(InputError, match="brings its own code"):
        _ = load(folder).text_model
    assert not (tmp_path / "executed").exists()


def test_the_instruments_that_look_inside_open_them_too(folders: dict[str, Path], shell: Shell) -> None:
    gpt = str(folders["gpt2"])
    told = shell.json("step", gpt, "the big cat", "--layer", "1")
    assert told["tokens"] == ["the", "big", "cat"]
    assert len(told["heads"]) == 2
    parts = shell.json("measure", "attribution", gpt, "the big cat")
    assert parts["layers"]
    assert shell.json("measure", "lens", gpt, "the big cat")["layers"]
    (folder := Path("text.txt")).write_text("\n".join(SENTENCES))
    text = ("--text", str(folder))
    assert shell.json("measure", "ablate", gpt, *text)["layers"]
    assert shell.json("measure", "dictionary", gpt, *text, "--hook", "blocks.0.hook_resid_post", "--steps", "5")[
        "layers"
    ]
    stretches = (*text, "--length", "4", "--words", "8")
    assert len(shell.json("measure", "heads", gpt, *stretches)["layers"][0]["heads"]) == 2
    assert shell.json("measure", "circuit", gpt, *stretches)["sufficient"]
    pair = ("the big cat", "the big dog")
    assert shell.json("measure", "patch", gpt, *pair)["layers"]
    assert shell.json("measure", "path", gpt, *pair, "--from", "hook_embed", "--to", "blocks.0.hook_mlp_in")["layers"]
    folder.write_text("the big cat")
    assert "too few for two stretches of 4" in shell("measure", "heads", gpt, *stretches, code=2)[1]
    assert "those that take --text" in shell("measure", "heads", gpt, code=2)[1].replace("\n", " ")
    assert "lm_head.weight is missing; what makes logits" in shell("step", str(folders["llama"]), "the cat", code=2)[1]
    assert "not known here; known are gpt2" in shell("step", str(folders["t5"]), "the cat", code=2)[1]
