"""Recurrent encoder–decoders with any attention, beside their steps written out one by one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.documents.lineage.family import READERS
from glassformer.errors import InputError
from glassformer.nn import files
from glassformer.nn.encoder_decoder import LSTMN, EncoderDecoder, EncoderDecoderConfig
from glassformer.nn.scores import auxiliary_losses
from glassformer.training import Architecture, Settings, train
from glassformer.training.transductions import Transduction
from random_models import randomised

BASE = EncoderDecoderConfig(vocab=10, outputs=7, context=24, separator=8, width=8)
SOURCE, ANSWER = 6, 5
TOKENS = torch.randint(0, 8, (3, SOURCE + ANSWER), generator=torch.Generator().manual_seed(0))
TOKENS[:, SOURCE - 1] = 8


def made(**changes: Any) -> EncoderDecoder:
    return randomised(EncoderDecoder(replace(BASE, **changes)), std=0.5)


@pytest.mark.parametrize("name", READERS)
def test_an_answer_depends_on_the_source_and_on_earlier_answers_alone(name: str) -> None:
    model = made(**READERS[name])
    logits = model(TOKENS)
    assert logits.shape == (3, SOURCE + ANSWER, 7)
    for given in range(1, ANSWER):
        torch.testing.assert_close(model(TOKENS[:, : SOURCE + given]), logits[:, : SOURCE + given])
    other = TOKENS.clone()
    other[:, 0] = (other[:, 0] + 1) % 8
    assert not torch.allclose(model(other)[:, SOURCE:], logits[:, SOURCE:])


def parts(model: EncoderDecoder) -> tuple[Tensor, Tensor, Tensor]:
    """The embedded answer, the memory, and the first state of an encoder–decoder of GRUs."""
    embedded, (memory, last) = model.embed(TOKENS), model.encoder(model.embed(TOKENS[:, :SOURCE]))
    return embedded[:, SOURCE:], memory, torch.tanh(model.bridge(last[0]))


def looked(model: EncoderDecoder, state: Tensor, memory: Tensor) -> Tensor:
    """Additive attention, written out."""
    weights = dict(model.named_parameters())
    w, u, v = (weights[f"attention.{name}"][0] for name in "WUv")
    scores = [torch.tanh(state @ w + memory[:, i] @ u) @ v for i in range(SOURCE)]
    mixed = torch.stack(scores, dim=1).softmax(1)
    return sum((mixed[:, i, None] * memory[:, i] for i in range(SOURCE)), torch.zeros_like(state))


def step(model: EncoderDecoder, inputs: Tensor, state: Tensor) -> Tensor:
    after: Tensor = model.decoder(inputs[:, None], state[None])[1][0]
    return after


@pytest.mark.parametrize(
    "how",
    [{}, {"feeding": True}, {"place": "before"}],
    ids=["after the step", "fed to the next step", "before the step"],
)
def test_attention_stands_where_the_papers_put_it(how: dict[str, Any]) -> None:
    """Luong: sₜ, then c of sₜ, and h̃ = tanh(W[c; s]), maybe fed on. Bahdanau: c of sₜ₋₁, then sₜ of it, and h̃."""
    model = made(score="additive", **how)
    inputs, memory, state = parts(model)
    joined, expected = torch.zeros_like(state), []
    for t in range(ANSWER):
        if how.get("place") == "before":
            seen = looked(model, state, memory)
            state = step(model, torch.cat([inputs[:, t], seen], dim=1), state)
        else:
            state = step(model, torch.cat([inputs[:, t], joined], dim=1) if how else inputs[:, t], state)
            seen = looked(model, state, memory)
        joined = torch.tanh(torch.cat([seen, state], dim=1) @ model.combine.weight.T + model.combine.bias)
        expected.append(joined)
    torch.testing.assert_close(model.read(TOKENS)[:, SOURCE:], torch.stack(expected, dim=1))


@pytest.mark.parametrize("feeding", [False, True])
def test_a_decoder_that_looks_at_itself_sees_its_earlier_states(feeding: bool) -> None:
    """Paulus: eₜₜ' = sₜ·W sₜ' for t' < t; at the first step nothing is seen."""
    model = made(score="none", intra=True, feeding=feeding)
    inputs, _, state = parts(model)
    own = dict(model.named_parameters())["own.W"][0]
    states, joined, expected = list[Tensor](), torch.zeros_like(state), []
    for t in range(ANSWER):
        state = step(model, torch.cat([inputs[:, t], joined], dim=1) if feeding else inputs[:, t], state)
        seen = torch.zeros_like(state)
        if states:
            scores = torch.stack([((state @ own) * earlier).sum(1) for earlier in states], dim=1).softmax(1)
            seen = sum((scores[:, i, None] * earlier for i, earlier in enumerate(states)), seen)
        states.append(state)
        joined = torch.tanh(torch.cat([seen, state], dim=1) @ model.combine.weight.T + model.combine.bias)
        expected.append(joined)
    torch.testing.assert_close(model.read(TOKENS)[:, SOURCE:], torch.stack(expected, dim=1))


def test_an_lstmn_steps_from_a_mixture_of_all_its_states_and_cells() -> None:
    """Cheng: aᵢ = softmax v·tanh(W_h hᵢ + W [x; h̃]), h̃ = Σ aᵢhᵢ, c̃ = Σ aᵢcᵢ, and an LSTM's step from these."""
    torch.manual_seed(0)
    lstmn, x = LSTMN(6).double(), torch.randn(2, 5, 6).double()
    weights = dict(lstmn.named_parameters())
    w, u, v = (weights[f"attention.{name}"][0] for name in "WUv")
    hidden, cells, mixed = list[Tensor](), list[Tensor](), torch.zeros(2, 6).double()
    for t in range(5):
        mixed_cells = torch.zeros_like(mixed)
        if hidden:
            asked = torch.cat([x[:, t], mixed], dim=1) @ weights["asks.weight"].T @ w
            a = torch.stack([torch.tanh(asked + h @ u) @ v for h in hidden], dim=1).softmax(1)
            mixed = sum((a[:, i, None] * h for i, h in enumerate(hidden)), torch.zeros_like(mixed))
            mixed_cells = sum((a[:, i, None] * c for i, c in enumerate(cells)), mixed_cells)
        gates = x[:, t] @ weights["cell.weight_ih"].T + mixed @ weights["cell.weight_hh"].T
        i, f, g, o = (gates + weights["cell.bias_ih"] + weights["cell.bias_hh"]).chunk(4, dim=1)
        cells.append(f.sigmoid() * mixed_cells + i.sigmoid() * g.tanh())
        hidden.append(o.sigmoid() * cells[-1].tanh())
    states, (last, last_cells) = lstmn(x)
    torch.testing.assert_close(states, torch.stack(hidden, dim=1))
    torch.testing.assert_close((last[0], last_cells[0]), (hidden[-1], cells[-1]))


@pytest.mark.parametrize("name", [name for name in READERS if READERS[name]["score"] != "none"])
def test_an_alignment_says_where_each_answer_looked(name: str) -> None:
    model = made(**READERS[name])
    weights = model.alignment(TOKENS)
    assert weights.shape == (3, model.config.heads, ANSWER, SOURCE)
    if name != "local_p":  # which takes something from all but the middle
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


@pytest.mark.parametrize("by_steps", [False, True])
def test_choices_are_collected_with_the_places_that_they_matter_for(by_steps: bool) -> None:
    model = made(score="hard", feeding=by_steps)
    with auxiliary_losses(model, torch.Generator().manual_seed(0)) as auxiliary:
        model.read(TOKENS)
    (((_, reach), runs),) = auxiliary.choices.items()
    assert reach == ("onward" if by_steps else "here")
    assert [choice.shape for choice in runs] == ([(3, 1)] * ANSWER if by_steps else [(3, ANSWER)])


def test_it_is_saved_and_opened_as_it_was(tmp_path: Path) -> None:
    model = made(score="scaled dot", heads=2, groups=1, cell="lstm", feeding=True)
    files.save(tmp_path / "model", model)
    opened, _ = files.load(tmp_path / "model")
    assert torch.equal(opened(TOKENS), model(TOKENS))


def test_attention_learns_to_recall() -> None:
    task, architecture = Transduction("recall", 4, letters=8), Architecture(kind="rnn", score="dot", width=32)
    assert train(task, architecture, Settings(steps=150, learning_rate=5e-3, evaluate_every=50)).reached


@pytest.mark.parametrize("parts", [{"score": "hard"}, {"score": "structured", "heads": 2}], ids=str)
def test_a_training_goes_on_to_the_same_weights(parts: dict[str, Any], tmp_path: Path) -> None:
    """Also where chance is in it, and where some weights, of queries that nobody asks for, are never moved."""
    task, architecture = Transduction("recall", 4, letters=8), Architecture(kind="rnn", width=8, **parts)
    settings = Settings(steps=6, batch=8, evaluation_words=32, checkpoint_seconds=0)
    whole = train(task, architecture, settings).model

    def stop(step: int, loss: float, accuracy: float | None) -> None:
        if step == 3:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        train(task, architecture, settings, tmp_path / "run", progress=stop)
    again = train(task, architecture, settings, tmp_path / "run", resume=True).model
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), again.parameters(), strict=True))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": "cosine"}, "a score is one of"),
        ({"cell": "rnn"}, "cell is one of gru, lstm, lstmn"),
        ({"place": "within"}, "place is one of after, before"),
        ({"heads": 3}, "width 8 does not divide into 3 heads"),
        ({"heads": 4, "groups": 3}, "4 heads do not divide into 3 groups"),
        ({"score": "none", "place": "before"}, "nothing to look at"),
        ({"feeding": "no"}, "feeding is true or false, not 'no'"),
        ({"groups": "two"}, "the number of groups"),
    ],
)
@pytest.mark.usefixtures("types_unchecked")
def test_encoder_decoders_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        EncoderDecoder(replace(BASE, **changes))


def test_sources_that_do_not_end_together_are_refused() -> None:
    with pytest.raises(InputError, match="no token 8 says where the source ends"):
        made()(TOKENS[:, SOURCE:])
    with pytest.raises(InputError, match="the sources of a batch have one length"):
        made()(torch.tensor([[1, 8, 2], [8, 1, 2]]))
    with pytest.raises(InputError, match="there is no alignment"):
        made(score="none").alignment(TOKENS)
    with pytest.raises(InputError, match="do not fit a context of 24"):
        made()(torch.cat([TOKENS, TOKENS[:, 6:].repeat(1, 3)], dim=1))
