"""A model as a stock GPT-2, which transformers opens without foreign code.

GPT-2 has norms and no bias at its logits. The stream is stored as (x, −x), whose mean is 0, and the norms get an
epsilon so large that they divide by 2²⁰ whatever x is, and a weight that multiplies by 2²⁰ again: the identity, to
rounding. A column that is 1 everywhere carries the bias. A model that has layer norms itself keeps them; there the
bias goes through that of the last norm, or, if there are too many answers for that, through a second copy of the
stream, whose mean and variance are those of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.interop.huggingface import imported
from glassformer.interop.uniform import plain_reasons, power_of_four, refuse, refuse_if_too_large, uniform_blocks
from glassformer.messages import Message, verbatim
from glassformer.nn import BlockShape, Transformer

DIVISORS: Final = {torch.float32: 2.0**20, torch.float64: 2.0**40}
"""By what norms divide: beside its square, the variance is lost in rounding."""
NEVER: Final = -1e4
"""The logit of a token that is no answer."""
NAMES: Final = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}
LOST: Final = 1e-5
"""Largest rounding error allowed in the bias."""
GPT2: Final = Message("interop.a_gpt2")

Placed: TypeAlias = Callable[[Tensor], Tensor]
"""How a weight that reads, or writes, a stream does so where the stream is stored otherwise."""


def gpt2(model: Transformer) -> Any:
    """A GPT2LMHeadModel with these logits, at its first outputs; tokens beyond them are never the answer."""
    config = model.config
    is_other_norm = config.norm == "rms" or (config.norm, config.norm_place) == ("layer", "post")
    reasons = [Message("interop.not_causal")] * (not config.causal)
    reasons += [Message("interop.hardmax")] * (config.attention == "hardmax")
    reasons += [verbatim(f"norm = {config.norm}, {config.norm_place}")] * is_other_norm
    refuse(GPT2, plain_reasons(config), reasons)
    even = uniform_blocks(model)
    return _mirrored(even) if config.norm == "none" else _as_it_is(even)


def _mirrored(even: Transformer) -> Any:
    """Without norms: twice as wide."""
    config, weights = even.config, _with_one(even)
    width = config.width + 1
    own, room = _sizes(config.blocks[0], 2 * width)

    def written(x: Tensor) -> Tensor:
        return F.pad(torch.stack([x, -x], dim=-1).flatten(-2), (0, room - 2 * width))

    def read(w: Tensor) -> Tensor:
        return F.pad(torch.stack([w / 2, -w / 2], dim=-2).flatten(-3, -2), (0, 0, 0, room - 2 * width))

    divisor = DIVISORS[even.dtype]
    made = _made(even, room, own, divisor**2)
    given = {
        "transformer.wte.weight": written(weights["embed.W_E"]),
        "transformer.wpe.weight": written(weights["pos_embed.W_pos"]),
        "lm_head.weight": read(weights["unembed.W_U"]).T,
    }
    for i in range(len(config.blocks)):
        given |= _block(weights, i, room, own, written, read)
    norms = [name for name in made.state_dict() if ".ln_" in name and name.endswith("weight")]
    one = torch.zeros(room, dtype=even.dtype)
    one[2 * width - 2] = NEVER  # of the column that is 1
    return _filled(made, given | {name: torch.full((room,), divisor) for name in norms}, one)


def _sizes(shape: BlockShape, width: int) -> tuple[int, int]:
    """How wide heads and stream are: a power of 4, by whose root no score is rounded, unless that takes much room.

    Of 16 and more: there halves of the mirror fall on neighbours wherever processors add numbers side by side.
    """
    round_, tight = max(16, power_of_four(shape.head_width)), shape.head_width
    wide, narrow = (own * max(shape.heads, -(-width // own)) for own in (round_, tight))
    return (round_, wide) if wide <= 1.5 * narrow + 16 else (tight, narrow)


def _with_one(even: Transformer) -> dict[str, Tensor]:
    """The weights with one more column of the stream, which is 1; the logits' bias is read off it."""
    more: dict[str, tuple[int, ...]] = dict.fromkeys(("W_Q", "W_K", "W_V", "W_in", "W_U"), (0, 0, 0, 1))
    more |= dict.fromkeys(("W_E", "W_pos", "W_O", "b_O", "W_out", "b_out"), (0, 1))
    weights = {
        name: F.pad(value, more[kind]) if (kind := name.split(".")[-1]) in more else value
        for name, value in even.state_dict().items()
    }
    weights["pos_embed.W_pos"][:, -1] = 1
    weights["unembed.W_U"][-1] = weights["unembed.b_U"]
    return weights


def _as_it_is(even: Transformer) -> Any:
    """With layer norms before the sublayers, which is what GPT-2 is; twice as wide where the width has no room."""
    config, weights, shape = even.config, even.state_dict(), even.config.blocks[0]
    width, own, heads = config.width, shape.head_width, shape.heads * shape.head_width
    once = _through_the_norm(even) if heads == width else None
    room = width if once else 2 * width
    if heads > room or room % own:
        refuse(GPT2, (), [Message("interop.heads_do_not_fit", heads=shape.heads, own=own, width=width)])

    def written(x: Tensor) -> Tensor:
        return x.repeat(*[1] * (x.dim() - 1), room // width)

    def read(w: Tensor) -> Tensor:
        return F.pad(w, (0, 0, 0, room - width))

    given = {
        "transformer.wte.weight": written(weights["embed.W_E"]),
        "transformer.wpe.weight": written(weights["pos_embed.W_pos"]),
        "transformer.ln_f.weight": F.pad(weights["ln_final.w"], (0, room - width)),
        "transformer.ln_f.bias": F.pad(weights["ln_final.b"], (0, room - width)),
        "lm_head.weight": read(weights["unembed.W_U"]).T.clone(),
    }
    if once:
        carried, never = once
        given["transformer.ln_f.bias"] += carried
    else:
        never = NEVER * F.one_hot(torch.tensor(width), room).to(even.dtype)  # of a column that is 1
        given["transformer.ln_f.bias"][width] = 1
        given["lm_head.weight"][:, width] = weights["unembed.b_U"]
    for i in range(len(config.blocks)):
        given |= _block(weights, i, room, own, written, read)
        for theirs, ours in (("ln_1", "ln1"), ("ln_2", "ln2")):
            given[f"transformer.h.{i}.{theirs}.weight"] = written(weights[f"blocks.{i}.{ours}.w"])
            given[f"transformer.h.{i}.{theirs}.bias"] = written(weights[f"blocks.{i}.{ours}.b"])
    return _filled(_made(even, room, own, config.norm_eps), given, never)


def _through_the_norm(even: Transformer) -> tuple[Tensor, Tensor] | None:
    """What the last norm must add to give the logits their bias, and a row for tokens that are no answers; if it can.

    No answer reads the direction v, along which the norm adds twice as much as all else can take away again.
    """
    weights = even.state_dict()
    unembed, bias = weights["unembed.W_U"].double(), weights["unembed.b_U"].double()
    carried = torch.linalg.lstsq(unembed.T, bias[:, None]).solution[:, 0]
    if float((unembed.T @ carried - bias).abs().max()) > LOST:
        return None
    if even.config.outputs >= even.config.vocab:
        return carried.to(even.dtype), torch.zeros_like(weights["ln_final.b"])
    if even.config.outputs >= even.config.width:
        return None
    v = torch.linalg.svd(unembed).U[:, -1]
    most = float(weights["ln_final.w"].abs().max() * even.config.width**0.5 + weights["ln_final.b"].norm())
    return (carried + 2 * (most + carried.norm()) * v).to(even.dtype), (NEVER / most * v).to(even.dtype)


def _block(weights: dict[str, Tensor], i: int, room: int, own: int, written: Placed, read: Placed) -> dict[str, Tensor]:
    """The weights of one block under GPT-2's names, of matrices [in, out]; heads that are not there stay empty.

    GPT-2 divides scores by the root of the width of its heads; queries are multiplied by it.
    """
    part = {name: weights[f"blocks.{i}.attn.{name}"] for name in ("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V", "W_O")}
    wider = own - part["W_Q"].shape[2]
    part |= {name: F.pad(value, (0, wider) if name != "W_O" else (0, 0, 0, wider)) for name, value in part.items()}
    part |= {name: part[name] * own**0.5 for name in ("W_Q", "b_Q")}
    more = room - part["b_Q"].numel()
    matrices = [F.pad(part[f"W_{x}"].transpose(0, 1).flatten(1), (0, more)) for x in "QKV"]
    new, mlp = f"transformer.h.{i}.", f"blocks.{i}.mlp."
    return {
        f"{new}attn.c_attn.weight": read(torch.cat(matrices, dim=1)),
        f"{new}attn.c_attn.bias": torch.cat([F.pad(part[f"b_{x}"].flatten(), (0, more)) for x in "QKV"]),
        f"{new}attn.c_proj.weight": written(F.pad(part["W_O"].flatten(0, 1), (0, 0, 0, more))),
        f"{new}attn.c_proj.bias": written(weights[f"blocks.{i}.attn.b_O"]),
        f"{new}mlp.c_fc.weight": read(weights[f"{mlp}W_in"]),
        f"{new}mlp.c_fc.bias": weights[f"{mlp}b_in"],
        f"{new}mlp.c_proj.weight": written(weights[f"{mlp}W_out"]),
        f"{new}mlp.c_proj.bias": written(weights[f"{mlp}b_out"]),
    }


def _made(even: Transformer, width: int, own: int, epsilon: float) -> Any:
    """An empty GPT-2 of the right sizes."""
    transformers, config = imported(), even.config
    refuse_if_too_large(len(config.blocks) * width * (4 * width + 2 * config.blocks[0].mlp[0]))
    sizes = transformers.GPT2Config(
        vocab_size=max(config.vocab, config.outputs),
        n_positions=config.context,
        n_embd=width,
        n_layer=len(config.blocks),
        n_head=width // own,
        n_inner=config.blocks[0].mlp[0],
        activation_function=NAMES[config.activation],
        layer_norm_epsilon=epsilon,
        tie_word_embeddings=False,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=config.vocab - 1,
        eos_token_id=config.vocab - 1,
        dtype=str(even.dtype).removeprefix("torch."),
    )
    return transformers.GPT2LMHeadModel(sizes).to(even.dtype).eval()


def _filled(made: Any, given: dict[str, Tensor], never: Tensor) -> Any:
    """The model with these weights, zeros elsewhere, and the row for tokens that are no answers."""
    weights = {name: torch.zeros_like(value) for name, value in made.state_dict().items()}
    weights["lm_head.weight"][:] = never
    for name, value in given.items():
        weights[name][: len(value)] = value
    made.load_state_dict(weights)
    return made
