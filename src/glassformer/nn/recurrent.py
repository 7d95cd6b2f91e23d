"""Recurrent networks: what theory compares with (an RNN of ReLUs), and what experiments do (an LSTM)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from glassformer.errors import whole_number
from glassformer.nn.config import PlainConfig


class Recurrent(nn.Module):
    """letters [batch, length] → logits [batch, length, output]; h ← relu(W_ih x + W_hh h + b), one step a letter."""

    def __init__(self, vocab: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, vocab)
        self.rnn = nn.RNN(vocab, hidden, nonlinearity="relu", batch_first=True)
        self.start = nn.Parameter(torch.zeros(hidden))
        self.unembed = nn.Linear(hidden, outputs)

    def forward(self, letters: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length output"]:
        """One step for each letter, from the start vector."""
        start = self.start.expand(1, len(letters), -1).contiguous()
        states, _ = self.rnn(self.embed(letters), start)
        logits: Tensor = self.unembed(states)
        return logits


@dataclass(frozen=True)
class LSTMConfig(PlainConfig):
    """The sizes of an LSTM."""

    vocab: int
    outputs: int
    embedding: int = 64
    hidden: int = 128
    layers: int = 1

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            whole_number(value, name, least=1)


class LSTM(nn.Module):
    """tokens [batch, pos] → logits [batch, pos, output], one step a token."""

    def __init__(self, config: LSTMConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.embedding)
        self.lstm = nn.LSTM(config.embedding, config.hidden, config.layers, batch_first=True)
        self.unembed = nn.Linear(config.hidden, config.outputs)

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos output"]:
        """One step for each token."""
        logits: Tensor = self.unembed(self.read(tokens))
        return logits

    def read(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos hidden"]:
        """The states that the logits are read off."""
        states: Tensor = self.lstm(self.embed(tokens))[0]
        return states
