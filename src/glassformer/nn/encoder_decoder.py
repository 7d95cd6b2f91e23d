"""Recurrent encoder–decoders, for which attention was made, with any attention of the family between the two.

Like a Translator, they map tokens to logits: the source up to and with the separator, which all sequences of a batch
have at the same place, then what there is of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from glassformer.errors import InputError, whole_number
from glassformer.nn.config import PlainConfig, check_choices, check_flags
from glassformer.nn.scores import Additive, Dot, Environment, General, MultiHead, Sizes, Weights, part

Tokens: TypeAlias = Int[Tensor, "batch pos"]
Vectors: TypeAlias = Float[Tensor, "batch place width"]
Memory: TypeAlias = Float[Tensor, "batch source width"]
State: TypeAlias = Tensor | tuple[Tensor, Tensor]
"""What a recurrent network keeps, [1, batch, width]; of an LSTM also its cells."""

Cell: TypeAlias = Literal["gru", "lstm", "lstmn"]
LookPlace: TypeAlias = Literal["after", "before"]
NONE: Final = "none"
"""No attention: all that the decoder knows of the source is the vector that it starts from."""


@dataclass(frozen=True)
class EncoderDecoderConfig(PlainConfig):
    """What an encoder and decoder are made of."""

    vocab: int
    outputs: int
    context: int
    separator: int
    width: int = 64
    score: str = "additive"
    window: str = "global"
    heads: int = 1
    groups: int | None = None
    """How many groups of heads share their keys and values; each head has its own if not given."""
    cell: Cell = "gru"
    """gru, lstm, or lstmn: an LSTM that reads all its earlier states (Cheng et al. 2016), and an LSTM behind it."""
    place: LookPlace = "after"
    """Whether the decoder looks after its step (Luong) or before it, and steps with what it saw (Bahdanau)."""
    feeding: bool = False
    """Input feeding (Luong): whether what was read, joined with the state, is an input of the next step."""
    intra: bool = False
    """Whether the decoder also looks at its own earlier states (Paulus)."""

    def __post_init__(self) -> None:
        for name in ("vocab", "outputs", "context", "width", "heads"):
            whole_number(getattr(self, name), name, least=1)
        whole_number(self.separator, "nn.separator", least=0)
        if self.groups is not None:
            whole_number(self.groups, "nn.group_count", least=1)
        check_flags(self, "feeding", "intra")
        check_choices(self)
        if self.width % self.heads:
            raise InputError("nn.width_by_heads", width=self.width, heads=self.heads)
        if self.place == "before" and self.score == NONE:
            raise InputError("nn.nothing_before_a_step")

    @property
    def by_steps(self) -> bool:
        """Whether a step needs what was read in the one before, so that steps cannot be done together."""
        return self.place == "before" or self.feeding


def attention(config: EncoderDecoderConfig) -> Dot | MultiHead:
    """The part that a config names: on the states as they are, or, if heads are several, on what each makes of them."""
    if config.heads == 1 and config.groups is None:
        return part(config.score, Sizes(1, config.width, config.context), config.window)
    sizes = Sizes(config.heads, config.width // config.heads, config.context)
    return MultiHead(part(config.score, sizes, config.window), config.width, config.groups)


class EncoderDecoder(nn.Module):
    """tokens [batch, pos] → logits [batch, pos, output]."""

    def __init__(self, config: EncoderDecoderConfig) -> None:
        super().__init__()
        self.config, width = config, config.width
        self.embed = nn.Embedding(config.vocab, width)
        recurrent = nn.GRU if config.cell == "gru" else nn.LSTM
        self.encoder: nn.Module
        if config.cell == "lstmn":
            self.encoder = LSTMN(width)
        else:
            self.encoder = recurrent(width, width, batch_first=True)
        self.bridge = nn.Linear(width, width if config.cell == "gru" else 2 * width)
        self.decoder = recurrent(2 * width if config.by_steps else width, width, batch_first=True)
        self.attention = None if config.score == NONE else attention(config)
        self.own = General(Sizes(1, width, config.context)) if config.intra else None
        read = 1 + (self.attention is not None) + config.intra
        self.combine = nn.Linear(read * width, width)
        self.unembed = nn.Linear(width, config.outputs)

    def forward(self, tokens: Tokens) -> Float[Tensor, "batch pos output"]:
        """Read the source, and go on behind it."""
        logits: Tensor = self.unembed(self.read(tokens)[None])[0]
        return logits

    def read(self, tokens: Tokens, seen: list[Weights] | None = None) -> Float[Tensor, "batch pos width"]:
        """The vectors that logits are read off; zero at the source, where nothing is asked."""
        source, target = parted(tokens, self.config.separator)
        if tokens.shape[1] > self.config.context:
            raise InputError("nn.context", count=tokens.shape[1], context=self.config.context)
        memory, state = self.encode(source)
        lengths = torch.full((len(tokens),), source.shape[1], device=tokens.device)
        env = Environment(lengths=lengths, reach="onward" if self.config.by_steps else "here")
        decode = self.by_steps if self.config.by_steps else self.at_once
        return F.pad(decode(self.embed(target), memory, state, env, seen), (0, 0, source.shape[1], 0))

    def encode(self, source: Tokens) -> tuple[Memory, State]:
        """A vector for each token of the source, and the decoder's first state, made from the last ones."""
        width, (memory, last) = self.config.width, self.encoder(self.embed(source))
        hidden = last if self.config.cell == "gru" else last[0]
        start = torch.tanh(self.bridge(hidden))
        return memory, start if self.config.cell == "gru" else (start[..., :width], start[..., width:])

    def at_once(
        self, inputs: Vectors, memory: Memory, state: State, env: Environment, seen: list[Weights] | None
    ) -> Vectors:
        """All steps, and then all looks."""
        states, _ = self.decoder(inputs, contiguous(state))
        parts = [self.look(states, memory, env, seen)] if self.attention is not None else []
        return self.joined(states, parts, states)

    def by_steps(
        self, inputs: Vectors, memory: Memory, state: State, env: Environment, seen: list[Weights] | None
    ) -> Vectors:
        """Step by step: look and step, or step and look, each with the output of the one before."""
        looks: list[Weights] | None = None if seen is None else []
        own, joined = inputs.new_zeros(len(inputs), 0, inputs.shape[2]), [torch.zeros_like(inputs[:, :1])]
        for t in range(inputs.shape[1]):
            env.first = t
            fed, parts = joined[-1], list[Vectors]()
            if self.config.place == "before":
                last = state if isinstance(state, Tensor) else state[0]
                fed = self.look(last.transpose(0, 1), memory, env, looks)
                parts = [fed]
            now, state = self.decoder(torch.cat([inputs[:, t : t + 1], fed], dim=-1), contiguous(state))
            own = torch.cat([own, now], dim=1)
            if self.attention is not None and self.config.place == "after":
                parts = [self.look(now, memory, env, looks)]
            joined.append(self.joined(now, parts, own))
        if seen is not None and looks:
            seen.append(torch.cat(looks, dim=2))
        return torch.cat(joined[1:], dim=1)

    def look(self, states: Vectors, memory: Memory, env: Environment, seen: list[Weights] | None) -> Vectors:
        """What the states, as queries, read from the memory."""
        assert self.attention is not None
        q, k = states[:, None], memory[:, None]
        if seen is not None:
            seen.append(self.attention.weights(q, k, replace(env, state=dict(env.state))))
        read: Vectors = self.attention(q, k, k, env)[:, 0]
        return read

    def joined(self, states: Vectors, parts: list[Vectors], own: Memory) -> Vectors:
        """h̃ = tanh(W [c; s]): states and what was read, joined; of its own states a decoder reads the earlier ones."""
        if self.own is not None:
            first = own.shape[1] - states.shape[1]
            earlier = torch.ones(states.shape[1], own.shape[1], dtype=torch.bool, device=own.device).tril(first - 1)
            parts = [*parts, self.own(states[:, None], own[:, None], own[:, None], Environment(earlier))[:, 0]]
        return torch.tanh(self.combine(torch.cat([*parts, states], dim=-1)))

    @torch.no_grad()
    def alignment(self, tokens: Tokens) -> Float[Tensor, "batch head target source"]:
        """Where each token of the answer looked."""
        if self.attention is None:
            raise InputError("nn.no_alignment")
        seen: list[Weights] = []
        self.read(tokens, seen=seen)
        return seen[0]


class LSTMN(nn.Module):
    """An LSTM that keeps all its states and cells, and steps from a mixture of them instead of from the last (S2.4).

    aᵢ = softmax v·tanh(W hᵢ + U [x; h̃]), h̃ = Σ aᵢhᵢ, c̃ = Σ aᵢcᵢ: states and cells are read as pairs, with one weight.
    Cheng, Dong and Lapata 2016.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(width, width)
        self.asks = nn.Linear(2 * width, width, bias=False)
        self.attention = Additive(Sizes(1, width, 1))

    def forward(self, inputs: Vectors) -> tuple[Vectors, tuple[Tensor, Tensor]]:
        """All states; and the last one with its cells, as torch's LSTM gives them."""
        batch, length, width = inputs.shape
        tape = inputs.new_zeros(batch, 1, 0, 2 * width)
        mixed = inputs.new_zeros(batch, width), inputs.new_zeros(batch, width)
        for t in range(length):
            x = inputs[:, t]
            if t:
                query = self.asks(torch.cat([x, mixed[0]], dim=-1))[:, None, None]
                both = self.attention(query, tape[..., :width], tape, Environment(first=t))[:, 0, 0]
                mixed = both[:, :width], both[:, width:]
            state = self.cell(x, mixed)
            tape = torch.cat([tape, torch.cat(state, dim=-1)[:, None, None]], dim=2)
        states, cells = tape[:, 0].chunk(2, dim=-1)
        return states, (states[None, :, -1], cells[None, :, -1])


def contiguous(state: State) -> State:
    """As torch's recurrent networks want it."""
    return state.contiguous() if isinstance(state, Tensor) else (state[0].contiguous(), state[1].contiguous())


def parted(tokens: Tokens, separator: int) -> tuple[Int[Tensor, "batch source"], Int[Tensor, "batch target"]]:
    """The source, with the separator that ends it, and what follows."""
    ends = (tokens[0] == separator).nonzero()
    if not len(ends):
        raise InputError("nn.no_separator", separator=separator)
    first = int(ends[0]) + 1
    if not bool((tokens[:, first - 1] == separator).all()):
        raise InputError("nn.one_source_length")
    return tokens[:, :first], tokens[:, first:]
