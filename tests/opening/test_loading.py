"""Every kind of folder and of object is opened in one way, and an error names what is wrong with it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

import glassformer
from glassformer import Opened
from glassformer.compiler.constructions.planted import planted
from glassformer.compiler.pipeline import compile
from glassformer.errors import InputError
from glassformer.interop.exporting import export
from glassformer.nn import Config, Transformer, files
from glassformer.nn.recurrent import LSTM, LSTMConfig
from glassformer.opening.loading import NAMES, SENTENCES, load
from glassformer.training import Architecture, Settings, StateTracking, sweep, train
from glassformer.training.corpora import Corpus
from glassformer.training.facts import make_world
from glassformer.training.objectives import TextTask, text_of, tokeniser_of
from glassformer.training.store import Store
from glassformer.training.transductions import Transduction

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # what other libraries warn of is not ours

FEW = Settings(steps=2, batch=4, evaluation_words=4)
SMALL = Architecture(layers=1, width=8, heads=2)
PLAIN = Config.uniform(vocab=7, outputs=5, context=9, width=8, layers=1, heads=2)
LINES = tuple(f"the cat number {i} eats a mouse" for i in range(60))
GPT2: dict[str, Any] = {"vocab_size": 40, "n_positions": 24, "n_embd": 8, "n_layer": 1, "n_head": 2}


def gpt2() -> Any:
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2, bos_token_id=0, eos_token_id=0)).eval()


def save_words(folder: Path) -> None:
    """A tokeniser of transformers, of forty words."""
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, **{f"w{i}": i for i in range(1, 40)}}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]").save_pretrained(folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind."""
    place = tmp_path_factory.mktemp("folders")
    built, parity = compile("parity", 8), StateTracking(compile("parity", 8).machine, 8)
    built.save(place / "built")
    train(parity, SMALL, FEW, place / "run")
    (place / "sweep.toml").write_text(
        "[task]\nmachine = 'parity'\nlength = 8\n[model]\nlayers = 1\nwidth = 8\nheads = 2\n"
        "[training]\nsteps = 2\nbatch = 4\n"
    )
    (trial,) = sweep.read_sweep(place / "sweep.toml").trials.items()
    store = Store(place / "trials")
    store.add([trial])
    sweep.do_trial(store, "me", *(store.claim([trial[0]], "me") or ("", {})), place / "trials of it")
    store.close()
    train(Transduction("copy", length=3), SMALL, FEW, place / "copying")
    corpus = Corpus("lines", LINES, LINES)
    text = text_of(corpus, tokeniser_of(corpus, 270))
    train(TextTask(text, "lm"), SMALL, FEW, place / "lm")
    train(TextTask(text, "mt"), SMALL, FEW, place / "mt")
    world = make_world(6, 0)
    sentences = [f"start {world.prompt(fact)}" for fact in range(world.count)]
    documents = {NAMES: files.to_json(list(world.names)), SENTENCES: files.to_json(sentences)}
    files.save(place / "facts", planted(world, "relation"), documents)
    files.save(place / "nameless", Transformer(PLAIN))
    for target in ("hf", "gpt2"):
        export(place / "built", target, place / target)
        export(place / "lm", target, place / f"lm as {target}")
    gpt2().save_pretrained(place / "theirs")
    save_words(place / "theirs")
    found = {path.name: path for path in place.iterdir()}
    return found | {"model of a run": place / "run" / "model", "trial": place / "trials of it" / trial[0]}


WORDS = {
    "built": "1011",
    "run": "1011",
    "model of a run": "1011",
    "trial": "1011",
    "hf": "1011",
    "gpt2": "1011",
    "copying": "1 2 3 separator start 1 2",
    "lm": "the cat number 3",
    "mt": "the cat number 3",
    "lm as hf": "the cat number 3",
    "lm as gpt2": "the cat number 3",
    "facts": "start Michael",
    "theirs": "w1 w2 w3",
}


@pytest.mark.parametrize("kind", WORDS)
def test_every_kind_of_folder_is_opened_with_its_tokens_and_answers(kind: str, folders: dict[str, Path]) -> None:
    opened = load(folders[kind])
    assert isinstance(opened, Opened)
    tokens = opened.tokens(WORDS[kind])
    config = opened.model.config
    assert opened.model.trace(tokens).logits.shape == (1, tokens.shape[1], config.outputs)
    assert len(opened.names) == config.vocab
    if kind != "mt":  # whose encoder has no answers of its own
        assert len(opened.outputs) == config.outputs
    assert not opened.model.training


@pytest.mark.parametrize("kind", ["hf", "gpt2"])
def test_an_export_comes_back_as_what_it_was(kind: str, folders: dict[str, Path]) -> None:
    ours, again = load(folders["built"]), load(folders[kind])
    tokens = ours.tokens("10110")
    assert torch.equal(again.tokens("10110"), tokens)
    assert again.is_built
    assert again.task == ours.task
    assert again.outputs[:2] == ours.outputs
    logits = again.model(tokens)[..., :2]
    torch.testing.assert_close(logits, ours.model(tokens), rtol=0, atol=0 if kind == "hf" else 1e-5)


@pytest.mark.parametrize("kind", ["lm as hf", "lm as gpt2"])
def test_a_model_of_text_reads_the_same_when_it_comes_back(kind: str, folders: dict[str, Path]) -> None:
    ours, again = load(folders["lm"]), load(folders[kind])
    text = "the cat number 7 eats"
    assert ours.encode(text) == again.encode(text)
    torch.testing.assert_close(again.model(again.tokens(text)), ours.model(ours.tokens(text)), rtol=0, atol=1e-5)
    assert again.text_model.layers.names == ours.text_model.layers.names
    assert again.text_model.vocab >= ours.text_model.vocab


@pytest.mark.parametrize("kind", ["lm", "mt", "lm as hf", "lm as gpt2", "theirs"])
def test_what_reads_text_has_a_text_model(kind: str, folders: dict[str, Path]) -> None:
    model = load(folders[kind]).text_model
    for batch in model.batches([*LINES[:3], "w1 w2"]):
        assert len({len(vectors) for vectors in model.layers.run(batch)}) == 1


@pytest.mark.parametrize("kind", ["built", "run", "copying", "facts", "nameless"])
def test_what_reads_no_text_has_none(kind: str, folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=r"holds no model that reads text: there is no tokenizer\.json"):
        _ = load(folders[kind]).text_model


def test_sentences_that_a_model_knows_are_asked_at_their_end(folders: dict[str, Path]) -> None:
    tokens, asked = load(folders["facts"]).own(3)
    assert asked.sum(1).tolist() == [1, 1, 1]
    assert asked[:, -1].all()
    assert len(tokens) == 3


@pytest.mark.usefixtures("types_unchecked")
def test_objects_are_opened_too(folders: dict[str, Path]) -> None:
    built, theirs = compile("parity", 8), gpt2()
    opened = load(built)
    assert opened.model is built.model
    assert opened.outputs == built.machine.states
    assert load(opened) is opened
    assert load(str(folders["built"])).names == opened.names
    model = Transformer(PLAIN)
    numbered = load(model)
    assert numbered.model is model
    assert (numbered.names, numbered.outputs) == (tuple("0123456"), tuple("01234"))
    assert numbered.tokens("0 6 3").tolist() == [[0, 6, 3]]
    tokens = torch.arange(9)[None]
    torch.testing.assert_close(load(theirs).model(tokens), theirs(tokens).logits)
    both = files.load(folders["mt"] / "model")[0]
    assert load(both).model is both.encoder
    theirs.config.id2label = {0: "LABEL_0", 1: "one"}
    assert load(theirs).outputs[:3] == ("0", "one", "2")


def test_the_package_opens_without_naming_a_module(folders: dict[str, Path]) -> None:
    assert "load" in glassformer.__all__
    assert glassformer.load(folders["built"]).tokens("10").tolist() == [[2, 1, 0]]


def test_weights_of_another_library_are_read_when_they_are_asked_for(folders: dict[str, Path], tmp_path: Path) -> None:
    """T5 is not known as a Transformer, and read all the same."""
    sizes = {"d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}
    transformers.T5Model(transformers.T5Config(vocab_size=40, **sizes)).save_pretrained(tmp_path)
    save_words(tmp_path)
    opened = load(tmp_path)
    assert opened.text_model.layers.names == ("embedding", "1")
    with pytest.raises(InputError, match="models of the kind 't5' are not known here"):
        _ = opened.model


def test_a_model_whose_tokens_have_no_names_can_still_be_run(folders: dict[str, Path]) -> None:
    opened = load(folders["nameless"])
    assert opened.model(torch.tensor([[1, 2]])).shape == (1, 2, 5)
    with pytest.raises(InputError, match="does not tell what its tokens are"):
        opened.tokens("1")


def spoiled(folders: dict[str, Path], place: Path) -> dict[str, tuple[Callable[[], Any], str]]:
    """What cannot be opened, and the words that say why."""
    place.joinpath("file").write_text("")
    for run in ("begun", "runs/b", "runs/a"):
        place.joinpath(run).mkdir(parents=True)
        place.joinpath(run, "run.json").write_text("{}")
    files.save(place / "lstm", LSTM(LSTMConfig(vocab=3, outputs=2)))
    place.joinpath("empty").mkdir()
    for name, change in (("code", {"auto_map": {"AutoModel": "mine.Model"}}), ("bare", {})):
        gpt2().save_pretrained(place / name)
        config = json.loads(place.joinpath(name, "config.json").read_text())
        place.joinpath(name, "config.json").write_text(json.dumps(config | change))
    for name in ("cut", "other"):
        place.joinpath(name).mkdir()
        for file in folders["hf"].iterdir():
            place.joinpath(name, file.name).write_bytes(file.read_bytes())
    os.truncate(place / "cut" / "model.safetensors", 100)
    config = json.loads(place.joinpath("other", "config.json").read_text())
    place.joinpath("other", "config.json").write_text(json.dumps(config | {"hidden_size": 3}))
    export(folders["built"], "transformer-lens", place / "lens")
    place.joinpath("onnx").mkdir()
    place.joinpath("onnx", "model.onnx").write_text("")
    return {
        "nowhere": (lambda: load(place / "nowhere"), "there is no folder"),
        "file": (lambda: load(place / "file"), "is a file, not a folder"),
        "begun": (
            lambda: load(place / "begun"),
            r"has not ended yet: give the command .* again, `train` with --resume",
        ),
        "runs": (lambda: load(place / "runs"), "holds the runs 'a', 'b': name one of them"),
        "lstm": (lambda: load(place / "lstm"), "holds an LSTM, and a Transformer is needed here"),
        "empty": (lambda: load(place / "empty"), "holds no config.json"),
        "onnx": (lambda: load(place / "onnx"), "an export for ONNX: open the folder that it was made from"),
        "lens": (lambda: load(place / "lens"), "an export for TransformerLens: open the folder that it was made from"),
        "code": (lambda: load(place / "code"), "brings its own code"),
        "bare": (lambda: load(place / "bare").tokens("a"), "holds no tokeniser"),
        "cut": (lambda: load(place / "cut"), "is not what `glassformer export --to hf` wrote"),
        "other": (lambda: load(place / "other"), "is not what `glassformer export --to hf` wrote"),
        "module": (lambda: load(nn.Linear(1, 1)), "not Linear"),
        "headless": (
            lambda: load(gpt2().transformer),
            r"GPT2Model has no language-model head.*open.*GPT2LMHeadModel or",
        ),
        "classes": (
            lambda: load(transformers.GPT2ForSequenceClassification(gpt2().config)),
            "GPT2ForSequenceClassification has no language-model head",
        ),
        "nothing": (lambda: load(""), "a model is a folder, .*; not ''"),
        "long": (lambda: load("a" * 5000), "cannot be a folder: File name too long"),
        "object": (lambda: export(compile("parity", 4), "hf", place / "x"), "a folder, not .* Built; `built.save"),  # type: ignore[arg-type]
        "number": (lambda: load(5), "not int"),  # type: ignore[arg-type]
        "export": (lambda: export(folders["mt"], "hf", place / "x"), "holds a Translator, and a Transformer is needed"),
    }


@pytest.mark.usefixtures("types_unchecked")
def test_what_cannot_be_opened_is_named(folders: dict[str, Path], tmp_path: Path) -> None:
    for name, (attempt, words) in spoiled(folders, tmp_path).items():
        with pytest.raises(InputError, match=words):
            pytest.fail(f"{name}: {attempt()}")


def test_another_name_is_looked_up_on_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"no folder nobody/nothing.* looked up on the hub, which needs a network"):
        load("nobody/nothing")
    with pytest.raises(
        InputError, match=r"there is no folder nothing: .* looks names of the form owner/name up on the hub"
    ):
        load("nothing")


def test_a_hub_that_does_not_answer_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def head(address: str, timeout: float) -> None:
        asked.append(address)
        raise ConnectionError

    def from_pretrained(local_files_only: bool, **_: Any) -> None:
        asked.append(local_files_only)
        raise OSError

    monkeypatch.setattr("huggingface_hub.get_session", lambda: SimpleNamespace(head=head))
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", from_pretrained)
    with pytest.raises(InputError, match="there is no folder nobody/nothing"):
        load("nobody/nothing")
    assert asked == ["https://huggingface.co", True]


def test_a_folder_beside_others_is_no_name_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("glassformer.opening.loading._of_the_hub", lambda name: pytest.fail(name))
    tmp_path.joinpath("runs").mkdir()
    with pytest.raises(InputError, match="there is no folder runs/typo"):
        load("runs/typo")


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    compile("parity", 4).save("~/model")
    assert (tmp_path / "model").is_dir()
    assert load("~/model").tokens("1").tolist() == [[2, 1]]
    assert glassformer.Built.load("~/model").run("1")[0] == ["odd"]


def test_what_was_not_built_is_named_with_what_opens_it(folders: dict[str, Path], tmp_path: Path) -> None:
    glassformer.approximate("sort", 1, 2, 0.5, samples=10).save(tmp_path / "approximation")
    for place, words in {
        folders["hf"]: "a model for transformers",
        folders["gpt2"]: "a model for transformers",
        folders["run"]: "a run of training",
        folders["model of a run"]: r"without certificate\.json: it was not built by `compile`; `glassformer measure`",
        tmp_path / "approximation": r"made by `approximate`.*`glassformer\.load\(folder\)\.model` opens it",
    }.items():
        with pytest.raises(InputError, match=words):
            glassformer.Built.load(place)


@pytest.mark.usefixtures("types_unchecked")
def test_verify_says_what_it_takes(folders: dict[str, Path]) -> None:
    for given in ("abab", load(folders["built"])):
        with pytest.raises(InputError, match=r"verify compares a Built.*Built\.load\(folder\)` opens"):
            glassformer.verify(given)  # type: ignore[arg-type]
