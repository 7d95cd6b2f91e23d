"""A recurrent network: a vector for each letter, torch's own RNN, a read-out. What theory compares with."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


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
