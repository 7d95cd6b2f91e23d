"""One text for three objectives."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from glassformer.errors import InputError
from glassformer.nn import Config, Transformer, files
from glassformer.nn.encoder_decoder import parted
from glassformer.nn.translator import Translator, TranslatorConfig
from glassformer.training import Architecture, Settings, corpora, train
from glassformer.training.batch import IGNORE_INDEX
from glassformer.training.objectives import (
    END,
    MASK,
    OBJECTIVES,
    PAD,
    SPECIAL,
    START,
    Text,
    TextTask,
    encoded,
    masked,
    text_of,
    tokeniser_from,
    tokeniser_of,
)
from places import DATA

CORPUS = corpora.load(DATA / "sentences.tsv", parallel=True)
TOKENISER = tokeniser_of(CORPUS, 330)
SMALL = Architecture(layers=1, width=16, heads=2)


@pytest.fixture(scope="module")
def text() -> Text:
    return text_of(CORPUS, TOKENISER, longest=24)


def test_tokens_give_the_sentence_back() -> None:
    for sentence in (*CORPUS.sentences[:20], "Größe: 3 × 4 €"):
        ids = encoded(TOKENISER, [sentence])[0]
        assert (ids[0], ids[-1]) == (START, END)
        assert TOKENISER.decode(ids).strip() == sentence
    again = tokeniser_from(TOKENISER.to_str(), "here")
    assert encoded(again, CORPUS.sentences) == encoded(TOKENISER, CORPUS.sentences)
    with pytest.raises(InputError, match="here is not a tokeniser"):
        tokeniser_from("{}", "here")


def test_a_text_holds_every_sentence_that_is_short_enough(text: Text) -> None:
    lengths = [
        (len(a), len(b))
        for a, b in zip(
            encoded(TOKENISER, CORPUS.sentences), encoded(TOKENISER, CORPUS.translations or ()), strict=True
        )
    ]
    assert text.count == sum(a <= 24 and b <= 24 for a, b in lengths)
    assert all(group.shape[1] == length for length, group in text.sentences.items())
    with pytest.raises(InputError, match="at most 3 tokens"):
        text_of(CORPUS, TOKENISER, longest=3)


def test_a_language_model_is_asked_for_the_next_token(text: Text) -> None:
    batch = TextTask(text, "lm").batch(np.random.default_rng(0), 8)
    assert torch.equal(batch.targets[:, :-1], batch.tokens[:, 1:])
    assert (batch.targets[:, -1] == IGNORE_INDEX).all()
    assert (batch.tokens[:, 0] == START).all()
    assert (batch.tokens[:, -1] == END).all()


def test_a_seventh_or_so_of_tokens_is_masked_replaced_or_left() -> None:
    rng = np.random.default_rng(0)
    tokens = rng.integers(len(SPECIAL), 300, (2000, 50))
    tokens[:, 0], tokens[:, -1] = START, END
    shown, asked = masked(tokens, 300, rng)
    where = asked != IGNORE_INDEX
    assert (asked[where] == tokens[where]).all()
    assert (shown[~where] == tokens[~where]).all()
    assert not where[:, [0, -1]].any()
    assert where[:, 1:-1].mean() == pytest.approx(0.15, abs=0.005)  # of 96,000 tokens: four standard errors
    assert (shown[where] == MASK).mean() == pytest.approx(0.8, abs=0.015)
    assert (shown[where] == tokens[where]).mean() == pytest.approx(0.1 + 0.1 / 296, abs=0.012)


def test_a_translator_is_asked_for_the_translation_and_nothing_behind_it(text: Text) -> None:
    batch = TextTask(text, "mt").batch(np.random.default_rng(0), 8)
    pairs = dict(zip(CORPUS.sentences, CORPUS.translations or (), strict=True))
    for tokens, targets in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
        end = tokens.index(END) + 1
        assert set(targets[:end]) == {IGNORE_INDEX}
        assert tokens[end] == START
        asked = [token for token in targets[end:] if token != IGNORE_INDEX]
        assert asked[-1] == END
        assert TOKENISER.decode(asked).strip() == pairs[TOKENISER.decode(tokens[:end]).strip()]
        given = [token for token in tokens[end + 1 :] if token != PAD]
        assert given[: len(asked) - 1] == asked[:-1]


def test_held_out_sentences_are_never_learned_from(text: Text) -> None:
    task = TextTask(text, "lm")
    learned = {tuple(row) for seed in range(300) for row in task.batch(np.random.default_rng(seed), 8).tokens.tolist()}
    tested = task.held_out()
    held_out = {
        tuple(row) for seed in range(30) for row in tested.batch(np.random.default_rng(seed), 8).tokens.tolist()
    }
    assert held_out
    assert not learned & held_out


def test_lengths_are_as_frequent_as_their_sentences(text: Text) -> None:
    task = TextTask(text, "lm")
    drawn = [task.batch(np.random.default_rng(seed), 1).tokens.shape[1] for seed in range(2000)]
    shares = {length: len(which) for length, which in task.numbers.items()}
    for length, count in shares.items():
        expected = count / sum(shares.values())
        assert drawn.count(length) / 2000 == pytest.approx(expected, abs=4 * (expected / 2000) ** 0.5)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_is_learned_and_kept_with_its_tokeniser(text: Text, objective: str, tmp_path: Path) -> None:
    settings = Settings(steps=200, batch=32, learning_rate=1e-2, evaluate_every=200, evaluation_words=64)
    trained = train(TextTask(text, objective), SMALL, settings, folder=tmp_path / "run")
    assert trained.score.accuracy > 0.3  # of some fifty words; a model that learned nothing is right in one of six
    model, documents = files.load(tmp_path / "run" / "model")
    assert isinstance(model, Translator if objective == "mt" else Transformer)
    assert tokeniser_from(documents["tokenizer.json"], "").get_vocab_size() == text.vocab
    batch = TextTask(text, objective).batch(np.random.default_rng(0), 4)
    with torch.no_grad():
        assert torch.equal(model(batch.tokens), trained.model(batch.tokens))


def test_a_translation_does_not_look_ahead_and_looks_at_the_whole_source(text: Text) -> None:
    task = TextTask(text, "mt")
    model = SMALL.model(task, seed=0)
    assert isinstance(model, Translator)
    tokens = task.batch(np.random.default_rng(0), 2).tokens
    source, target = parted(tokens, model.config.separator)
    logits = model(tokens)[:, source.shape[1] :]
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1) % text.vocab
    assert torch.equal(model(changed)[:, source.shape[1] : -1], logits[:, :-1])
    other = tokens.clone()
    other[:, source.shape[1] - 2] = (other[:, source.shape[1] - 2] + 1) % text.vocab
    assert (model(other)[:, source.shape[1]] - logits[:, 0]).abs().max() > 0
    assert target.shape[1] == tokens.shape[1] - source.shape[1]


def test_the_nth_token_of_a_translation_stands_at_the_same_position_whatever_the_source() -> None:
    empty = Config(vocab=9, outputs=9, context=12, width=4, blocks=())
    model = Translator(TranslatorConfig(replace(empty, outputs=4, context=7), empty, END))
    table = model.decoder.pos_embed
    assert table is not None
    for source in ([START, 7, END], [START, 7, 8, 5, 6, END]):
        read = model.read(torch.tensor([[*source, START, 4, 5]]))[0]
        assert torch.equal(read[len(source) :], model.decoder.embed.W_E[[START, 4, 5]] + table.W_pos[7:10])


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.parametrize("places", [[0], [0, -1], [0, 1, 2]])
def test_places_are_as_many_as_tokens_and_from_0_on(places: list[int]) -> None:
    model = Transformer(Config(vocab=9, outputs=9, context=12, width=4, blocks=()))
    with pytest.raises(InputError, match="2 tokens stand at as many places"):
        model.read(torch.tensor([[4, 5]]), first=torch.tensor(places))


def test_a_translator_refuses_sources_that_do_not_end_together(text: Text) -> None:
    model = SMALL.model(TextTask(text, "mt"), seed=0)
    with pytest.raises(InputError, match="where the source ends"):
        model(torch.full((1, 4), 7))
    with pytest.raises(InputError, match="one length"):
        model(torch.tensor([[START, 7, END, START], [START, 7, 8, END]]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: TextTask(text_of(CORPUS, TOKENISER), "gan"), "one of lm, mlm, mt; not 'gan'"),
        (lambda: TextTask(text_of(corpora.Corpus("x", ("a b",), None), TOKENISER), "mt"), "x has no translations"),
        (lambda: tokeniser_of(CORPUS, 100), "size of the vocabulary"),
    ],
)
def test_what_cannot_be_read_is_refused(wrong: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        wrong()  # type: ignore[operator]
