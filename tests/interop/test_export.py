"""Models that go out: the same logits in transformers, as a stock GPT-2, in TransformerLens, and in ONNX."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.automata.words import chosen_words
from glassformer.compiler.built import Built
from glassformer.compiler.pipeline import compile
from glassformer.errors import InputError
from glassformer.interop import to_hf, to_transformer_lens
from glassformer.interop.exporting import export
from glassformer.interop.to_gpt2 import gpt2
from glassformer.interop.to_onnx import MODEL
from glassformer.interop.uniform import uniform_blocks
from glassformer.nn import BlockShape, Config, Transformer, files
from glassformer.opening.loading import load
from glassformer.training import Architecture, Settings, StateTracking, train
from glassformer.training.corpora import Corpus
from glassformer.training.objectives import END, START, TextTask, text_of, tokeniser_of
from shell import Shell

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
pytestmark = pytest.mark.filterwarnings("ignore")  # what other libraries warn of is not ours

BUILT = [
    ("parity", "log", 16),
    ("symmetric(3)", "log", 12),
    ("flipflop", "cascade", 12),
    ("dihedral(4)", "cascade", 12),  # blocks of different sizes, MLPs of several hidden layers
    ("gridworld(4)", "gridworld", 12),
    ("dyck(pairs=2, depth=3)", "dyck", 12),
]
SIZES: dict[str, Any] = {"vocab": 7, "outputs": 5, "context": 9, "width": 12}
RANDOM = {
    "pre-norm": Config.uniform(**SIZES, layers=2, heads=3, norm="layer", activation="gelu_tanh"),
    "no norm, groups": Config.uniform(**SIZES, layers=2, heads=4, groups=2),
    "sinusoidal, silu": Config.uniform(**SIZES, layers=1, heads=2, positions="sinusoidal", activation="silu"),
    "rms": Config.uniform(**SIZES, layers=2, heads=2, norm="rms"),
    "uneven": Config(
        **SIZES, blocks=(BlockShape(0, 1, (5, 6, 3)), BlockShape(2, 5, ()), BlockShape(1, 3, (4,))), positions="none"
    ),
    "post-norm": Config.uniform(**SIZES, layers=2, heads=2, norm="layer", norm_place="post"),
    "hardmax, both ways": Config.uniform(**SIZES, layers=2, heads=2, attention="hardmax", causal=False),
}


def random_model(name: str) -> Transformer:
    """Weights that all matter, biases and gains too."""
    torch.manual_seed(0)
    model = Transformer(RANDOM[name])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def saved(model: Transformer, place: Path) -> Path:
    names = [str(i) for i in range(max(model.config.vocab, model.config.outputs))]
    files.save(place, model, {"names.json": files.to_json(names)})
    return place


def words_of(built: Built) -> torch.Tensor:
    length = built.certificate.exact_length
    return built.tokens(chosen_words(built.machine, length, 16, seed=0))


def tokens_of(model: Transformer) -> torch.Tensor:
    return torch.randint(model.config.vocab, (3, model.config.context), generator=torch.Generator().manual_seed(1))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Open a folder with its own code, which is copied here and not into the home of whoever tests."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    return lambda folder: transformers.AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)


@pytest.mark.parametrize(("spec", "method", "length"), BUILT)
def test_blocks_are_made_alike_without_changing_a_bit(spec: str, method: str, length: int) -> None:
    built = compile(spec, length, method)
    even = uniform_blocks(built.model)
    assert len(set(even.config.blocks)) == 1
    assert torch.equal(even(words_of(built)), built.model(words_of(built)))


@pytest.mark.parametrize("name", [name for name in RANDOM if "norm" not in name or name == "pre-norm"])
def test_random_blocks_are_made_alike_too(name: str) -> None:
    model = random_model(name).double()
    torch.testing.assert_close(uniform_blocks(model)(tokens_of(model)), model(tokens_of(model)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("source", [*RANDOM, *(spec for spec, _, _ in BUILT)])
def test_a_folder_for_transformers_has_the_same_logits_bit_for_bit(source: str, tmp_path: Path, opened: Any) -> None:
    if source in RANDOM:
        model, folder = random_model(source), saved(random_model(source), tmp_path / "ours")
        tokens = tokens_of(model)
    else:
        built = compile(source, 12)
        built.save(folder := tmp_path / "ours")
        model, tokens = built.model, words_of(built)
    export(folder, "hf", tmp_path / "theirs")
    theirs = opened(tmp_path / "theirs")
    assert torch.equal(theirs(tokens).logits, model(tokens))
    told = theirs(tokens, output_hidden_states=True, output_attentions=True)
    trace = model.trace(tokens)
    seen = [trace[name] for name in model.hook_names if name.endswith("hook_pattern")]
    assert len(told.hidden_states) == len(model.blocks) + 1
    for ours, pattern in zip(seen, told.attentions, strict=True):
        torch.testing.assert_close(pattern, ours, rtol=0, atol=1e-6)  # float32, one product more or less at once


def test_letters_become_tokens_and_answers_have_names(tmp_path: Path, opened: Any) -> None:
    built = compile("flipflop", 12)
    built.save(tmp_path / "ours")
    export(tmp_path / "ours", "hf", tmp_path / "theirs")
    words = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path / "theirs")
    tokens = torch.tensor([words("r01r0r")["input_ids"]])
    model = opened(tmp_path / "theirs")
    said = [model.config.id2label[int(i)] for i in model(tokens).logits[0, 1:].argmax(-1)]
    assert said == built.run("r01r0r")[0]
    assert json.loads((tmp_path / "theirs" / "machine.json").read_text())["states"]
    with pytest.raises(ValueError, match="do not fit a context of 13"):
        model(torch.zeros(1, 14, dtype=torch.int64))
    with pytest.raises(ValueError, match="answers about what it has read"):
        model.generate(tokens)


def test_a_model_that_says_the_next_token_generates(tmp_path: Path, opened: Any) -> None:
    config = replace(RANDOM["pre-norm"], outputs=7)
    torch.manual_seed(0)
    model = Transformer(config).eval()
    model.initialise(fan_in=True)
    export(saved(model, tmp_path / "ours"), "hf", tmp_path / "theirs")
    theirs = opened(tmp_path / "theirs")
    begun = torch.tensor([[1, 2], [4, 0]])
    told = theirs.generate(begun, do_sample=False)
    assert told.shape == (2, config.context)
    assert torch.equal(told[:, 2:], model(told).argmax(-1)[:, 1:-1])
    assert theirs.generate(begun, max_new_tokens=3, do_sample=True).shape == (2, 5)
    assert torch.equal(theirs.get_input_embeddings()(begun), model.embed(begun))
    assert torch.equal(theirs.get_output_embeddings().weight, model.unembed.W_U.T)


def test_a_model_of_text_goes_out_with_its_tokeniser_and_goes_on(tmp_path: Path, opened: Any) -> None:
    """It has far more answers than width, which a GPT-2 tells through a second copy of the stream."""
    corpus = Corpus("lines", tuple(f"the cat number {i} eats a mouse" for i in range(60)), None)
    text = text_of(corpus, tokeniser_of(corpus, 270))
    ours = train(
        TextTask(text, "lm"),
        Architecture(layers=1, width=8, heads=2),
        Settings(steps=5, evaluation_words=8),
        tmp_path / "ours",
    )
    said = []
    for target in ("hf", "gpt2"):
        export(tmp_path / "ours", target, tmp_path / target)
        words = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path / target)
        begun = words("the cat", return_tensors="pt")["input_ids"]
        assert begun[0, 0] == words.bos_token_id == START
        theirs = opened(tmp_path / target)
        assert theirs.generation_config.eos_token_id == END
        torch.testing.assert_close(theirs(begun).logits, ours.model(begun), rtol=0, atol=1e-5)
        said.append(theirs.generate(begun, max_new_tokens=3, do_sample=False).tolist())
    assert theirs.config.n_embd == 16
    assert said[0] == said[1]


@pytest.mark.parametrize(("spec", "method", "length"), BUILT)
def test_a_stock_gpt2_says_the_same(spec: str, method: str, length: int, tmp_path: Path) -> None:
    built = compile(spec, length, method)
    built.save(tmp_path / "ours")
    export(tmp_path / "ours", "gpt2", tmp_path / "theirs")
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "theirs").eval()
    tokens = words_of(built)
    logits = theirs(tokens).logits
    assert torch.equal(logits.argmax(-1), built.model(tokens).argmax(-1))
    outputs = built.model.config.outputs
    torch.testing.assert_close(logits[..., :outputs], built.model(tokens), rtol=0, atol=1e-5)
    again = load(tmp_path / "theirs").model
    torch.testing.assert_close(again(tokens), logits, rtol=0, atol=1e-5)


def test_a_gpt2_is_right_where_one_letter_fills_the_word(tmp_path: Path) -> None:
    """Whole numbers that never change are read again and again: there, what norms round adds up."""
    built = compile("memory(8)", 64, "log")
    built.save(tmp_path / "ours")
    export(tmp_path / "ours", "gpt2", tmp_path / "theirs")
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "theirs").eval()
    rng = np.random.default_rng(7)
    tokens = built.tokens(np.where(rng.random((64, 64)) < 0.02, rng.integers(0, 9, (64, 64)), 0))
    assert torch.equal(theirs(tokens).logits.argmax(-1), built.model(tokens).argmax(-1))


def test_a_gpt2_scales_its_scores_as_all_do(tmp_path: Path) -> None:
    """Some releases of transformers scale them whatever the config says."""
    compile("parity", 8).save(tmp_path / "ours")
    export(tmp_path / "ours", "gpt2", tmp_path / "theirs")
    for way in ("eager", "sdpa"):
        theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "theirs", attn_implementation=way).eval()
        assert theirs.config.scale_attn_weights
        assert theirs(torch.tensor([[2, 1, 0, 1, 1]])).logits.argmax(-1).tolist() == [[0, 1, 1, 0, 1]]


@pytest.mark.parametrize("target", ["hf", "gpt2", "transformer-lens"])
def test_a_model_whose_layer_is_empty_goes_out_too(target: str, tmp_path: Path, opened: Any) -> None:
    built = compile("regex:[ab]*", 4)
    assert not any(shape.heads or shape.mlp for shape in built.model.config.blocks)
    built.save(tmp_path / "ours")
    export(tmp_path / "ours", target, tmp_path / "theirs")
    tokens = words_of(built)
    if target == "transformer-lens":
        logits = to_transformer_lens.load(tmp_path / "theirs")(tokens)
    else:
        logits = opened(tmp_path / "theirs")(tokens).logits
    assert torch.equal(logits.argmax(-1), built.model(tokens).argmax(-1))


@pytest.mark.parametrize(
    "letters", [["s", "t", "a", "r"], ["a", "start"], ["restart", "on"], ["\n", " "], ["<start>", "b"]]
)
def test_no_letter_is_taken_for_the_start(letters: list[str]) -> None:
    words = to_hf.tokeniser(letters)
    made = tokenizers.Tokenizer.from_str(words["tokenizer.json"])
    by_sign = all(len(letter) == 1 for letter in letters)
    word = [*letters, *letters[::-1]]
    ids = made.encode("".join(word) if by_sign else " ".join(word)).ids
    assert ids == [len(letters), *(letters.index(letter) for letter in word)]
    assert to_hf.tokeniser(["a b", "c"]) == {}  # blanks inside letters of several signs: not to be told apart


@pytest.mark.parametrize("target", ["gpt2", "transformer-lens"])
def test_a_model_too_large_with_all_blocks_alike_is_refused(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile("dihedral(4)", 8, "cascade").save(tmp_path / "ours")
    monkeypatch.setattr("glassformer.interop.uniform.LARGEST", 10_000)
    with pytest.raises(InputError, match="parameters; the limit is 10,000: `--to hf` and `--to onnx` keep its shape"):
        export(tmp_path / "ours", target, tmp_path / "theirs")


def test_a_gpt2_is_double_precision_where_single_is_not_enough(tmp_path: Path) -> None:
    built = compile("random(12, letters=5, seed=1)", 64, "log")
    built.save(tmp_path / "ours")
    export(tmp_path / "ours", "gpt2", tmp_path / "theirs")
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "theirs", dtype="auto").eval()
    assert theirs.dtype == torch.float64
    seen = json.loads((tmp_path / "theirs" / "compared.json").read_text())
    assert seen["dtype"] == "float64"
    assert seen["words"][0] == {"count": 5**3, "tokens": 4}  # every one
    assert seen["max_difference"] == seen["apart"] <= 1e-5
    assert 1e-5 < seen["max_difference_perturbed"] == seen["stirred"] <= 1e-2  # on other processors
    assert torch.equal(theirs(words_of(built)).logits.argmax(-1), built.model(words_of(built)).argmax(-1))


def test_a_trained_model_becomes_a_gpt2_with_its_own_norms(tmp_path: Path) -> None:
    task = StateTracking(compile("parity", 8).machine, 8)
    trained = train(task, Architecture(layers=2, width=16, heads=2), Settings(steps=20), tmp_path / "ours")
    export(tmp_path / "ours", "gpt2", tmp_path / "theirs")
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "theirs").eval()
    tokens = task.batch(np.random.default_rng(0), 32).tokens
    ours, logits = trained.model(tokens), theirs(tokens).logits
    assert (theirs.config.n_embd, task.outputs, task.vocab) == (16, 2, 3)
    torch.testing.assert_close(logits[..., :2], ours, rtol=0, atol=1e-5)
    assert torch.equal(logits.argmax(-1), ours.argmax(-1))


@pytest.mark.parametrize(
    ("vocab", "outputs", "heads", "width"),
    [(7, 12, (2, 4), 16), (14, 12, (2, 4), 16), (14, 4, (2, 4), 8), (14, 4, (1, 4), 16), (5, 4, (3, 4), 16)],
    ids=["more answers", "and more tokens", "few answers", "few heads", "wide heads"],
)
def test_a_gpt2_with_norms_is_twice_as_wide_where_it_must_be(
    vocab: int, outputs: int, heads: tuple[int, int], width: int
) -> None:
    """Its norm cannot tell more answers than the width, nor are heads of other sizes known."""
    torch.manual_seed(0)
    shape = BlockShape(*heads, (20,))
    model = Transformer(Config(vocab, outputs, context=9, width=8, blocks=(shape,) * 2, norm="layer")).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    theirs, tokens = gpt2(model), tokens_of(model)
    assert theirs.config.n_embd == width
    torch.testing.assert_close(theirs(tokens).logits[..., :outputs], model(tokens), rtol=0, atol=1e-5)
    assert torch.equal(theirs(tokens).logits.argmax(-1), model(tokens).argmax(-1))


@pytest.mark.parametrize("source", ["pre-norm", "no norm, groups", "uneven", *(spec for spec, _, _ in BUILT)])
def test_transformer_lens_says_and_shows_the_same(source: str, tmp_path: Path) -> None:
    pytest.importorskip("transformer_lens")
    if source in RANDOM:
        model = random_model(source)
        folder, tokens = saved(model, tmp_path / "ours"), tokens_of(model)
    else:
        built = compile(source, 12)
        built.save(folder := tmp_path / "ours")
        model, tokens = built.model, words_of(built)
    export(folder, "transformer-lens", tmp_path / "theirs")
    logits, cache = to_transformer_lens.load(tmp_path / "theirs").run_with_cache(tokens)
    apart = 0 if source not in RANDOM else 1e-5
    torch.testing.assert_close(logits, model(tokens), rtol=0, atol=apart)
    torch.testing.assert_close(cache["hook_embed"][..., : model.config.width], model.trace(tokens)["hook_embed"])


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.parametrize("source", ["flipflop", "hardmax, both ways"])
def test_onnx_takes_any_batch_and_length_and_shows_patterns(source: str, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    if source in RANDOM:
        model = random_model(source)
        folder = saved(model, tmp_path / "ours")
    else:
        built = compile(source, 12)
        built.save(folder := tmp_path / "ours")
        model = built.model
    export(folder, "onnx", tmp_path / "theirs", patterns=True)
    session = onnxruntime.InferenceSession(tmp_path / "theirs" / MODEL)
    hooks = [name for name in model.hook_names if name.endswith("hook_pattern")]
    assert [each.name for each in session.get_outputs()] == ["logits", *hooks]
    for batch, length in ((1, 1), (3, 2), (5, model.config.context)):
        tokens = torch.randint(model.config.vocab, (batch, length))
        logits, *patterns = session.run(None, {"tokens": tokens.numpy()})
        torch.testing.assert_close(torch.from_numpy(logits), model(tokens).detach(), rtol=0, atol=1e-5)
        trace = model.trace(tokens)
        for name, pattern in zip(hooks, patterns, strict=True):
            torch.testing.assert_close(torch.from_numpy(pattern), trace[name], rtol=0, atol=1e-6)


def test_what_a_target_does_not_know_is_refused_by_its_name(tmp_path: Path) -> None:
    highway = replace(RANDOM["pre-norm"], skip="highway", score="additive")
    folder = saved(Transformer(highway), tmp_path / "highway")
    for target in ("hf", "gpt2", "transformer-lens"):
        with pytest.raises(InputError, match="score = additive; skip = highway"):
            export(folder, target, tmp_path / "theirs")
    refused = {
        ("hardmax, both ways", "gpt2"): "it sees the future, and GPT-2 is causal; attention = hardmax",
        ("hardmax, both ways", "transformer-lens"): "attention = hardmax",
        ("post-norm", "gpt2"): "norm = layer, post",
        ("rms", "gpt2"): "norm = rms",
        ("post-norm", "transformer-lens"): "norms behind the sublayers",
    }
    for i, ((name, target), words) in enumerate(refused.items()):
        with pytest.raises(InputError, match=words):
            export(saved(random_model(name), tmp_path / str(i)), target, tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()


def test_norms_that_would_round_too_much_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile("symmetric(3)", 12, "log").save(tmp_path / "ours")
    monkeypatch.setattr("glassformer.interop.agreement.NEAR", -1.0)  # nothing is near enough
    with pytest.raises(InputError, match=r"because norms round: logits are apart in float32 by .*; `--to hf`"):
        export(tmp_path / "ours", "gpt2", tmp_path / "theirs")


@pytest.mark.usefixtures("types_unchecked")
def test_the_command_line_exports_and_refuses(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("compile", "parity", "--length", "8", "--out", "parity")
    said = shell("export", "parity", "--to", "gpt2", "--out", "theirs")[1]
    assert "wrote theirs" in said
    assert "words its logits are within 0 of ours" in said.replace("\n", " ")
    told = shell.json("step", "theirs", "101")
    assert told["tokens"] == ["start", "1", "0", "1"]
    assert told["logits"][0]["name"] == "even"
    assert "letter 'x' at position 2" in shell("step", "theirs", "1x", code=2)[1]
    ours, theirs = (shell.json("measure", "heads", folder)["layers"][0]["heads"][0] for folder in ("parity", "theirs"))
    assert ours["job"] == theirs["job"]  # its machine is beside it
    shell("export", "theirs", "--to", "transformer-lens", "--out", "again")
    for arguments, words in {
        ("parity", "--to", "hf", "--out", "theirs"): "theirs exists and is not empty",
        ("parity", "--to", "keras", "--out", "x"): "one of hf, gpt2, transformer-lens, onnx; not to 'keras'",
        ("parity", "--to", "hf", "--out", "x", "--patterns"): "--patterns is for onnx",
        ("nothing", "--to", "hf", "--out", "x"): "there is no folder nothing",
    }.items():
        assert words in shell("export", *arguments, code=2)[1].replace("\n", " ")
    for module, target, extra in (("onnxscript", "onnx", "[onnx]"), ("transformers", "gpt2", "[hf]")):
        monkeypatch.setitem(sys.modules, module, None)
        assert f"glassformer{extra}" in shell("export", "parity", "--to", target, "--out", "x", code=2)[1]


def test_a_task_becomes_parquet_or_a_dataset(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    shell("dataset", "dihedral(3)", "--length", "5", "--words", "7", "--out", "words.parquet")
    table = datasets.Dataset.from_parquet("words.parquet")
    built = compile("dihedral(3)", 5)
    for row in table:
        assert row["tokens"][0] == len(built.machine.symbols)
        assert row["states"][1:] == built.machine.run(np.array(row["tokens"][1:])).tolist()
        assert row["end"] == built.run(row["word"].split())[0][-1]
    shell("dataset", "dihedral(3)", "--length", "5", "--words", "7", "--held-out", "3", "--out", "words")
    both = datasets.load_from_disk("words")
    assert {name: len(split) for name, split in both.items()} == {"train": 7, "test": 3}
    assert both["train"].to_list() == table.to_list()
    again = ("dataset", "dihedral(3)", "--out")
    assert "words exists" in shell(*again, "words", code=2)[1]
    assert "words.csv is neither" in shell(*again, "words.csv", code=2)[1]
    assert "too many to write at once" in shell(*again, "x", "--length", "1000000", "--words", "1000", code=2)[1]
    assert "holds one table" in shell(*again, "x.parquet", "--held-out", "3", code=2)[1]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "glassformer[datasets]" in shell(*again, "x.parquet", code=2)[1]
