"""Training speed of the one Transformer beside its peers, and what it costs to look inside.

    python benchmarks/train_throughput.py            # install the peers with: pip install -e ".[bench]"

All models have 4 layers, width 128, 4 heads and about the same parameters, read the same batches of 32 × 128
tokens in float32 on one thread, and take turns, so that a busy machine slows all alike. Read the ratios.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.nn import Config, Transformer

VOCAB, LAYERS, WIDTH, HEADS, LENGTH, BATCH = 65, 4, 128, 4, 128, 32


def ours() -> nn.Module:
    return Transformer(
        Config.uniform(
            vocab=VOCAB, outputs=VOCAB, context=LENGTH, width=WIDTH, layers=LAYERS, heads=HEADS,
            norm="layer", activation="gelu",
        )
    )  # fmt: skip


class PlainBlock(nn.Module):
    """nanoGPT's layout: one Linear for query, key and value, SDPA, two Linears, pre-norm."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads = [part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1)]
        mixed = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, -1))
        down: Tensor = self.down(F.gelu(self.up(self.norm2(x))))
        return x + down


class Plain(nn.Module):
    """A GPT in plain PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(VOCAB, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(PlainBlock() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
        logits: Tensor = self.head(self.norm(self.blocks(x)))
        return logits


def hugging_face() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    class Logits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = GPT2LMHeadModel(
                GPT2Config(
                    vocab_size=VOCAB, n_positions=LENGTH, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
                    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False,
                )
            )  # fmt: skip

        def forward(self, tokens: Tensor) -> Tensor:
            logits: Tensor = self.model(tokens).logits
            return logits

    return Logits()


def x_transformers() -> nn.Module:
    from x_transformers import Decoder, TransformerWrapper

    decoder = Decoder(dim=WIDTH, depth=LAYERS, heads=HEADS, attn_dim_head=WIDTH // HEADS, attn_flash=True)
    return TransformerWrapper(num_tokens=VOCAB, max_seq_len=LENGTH, attn_layers=decoder)  # type: ignore[no-any-return]


PEERS: dict[str, Callable[[], nn.Module]] = {
    "glassformer": ours,
    "nanoGPT's layout": Plain,
    "Hugging Face GPT-2": hugging_face,
    "x-transformers": x_transformers,
}


def training_step(model: nn.Module, optimiser: torch.optim.Optimizer, tokens: Tensor) -> None:
    logits = model(tokens)
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()


def in_turns(work: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each piece of work in each round, after one round to warm up; results are kept as a user would.

    Each round begins with another one, so that none is always the first after another's memory.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    kept: dict[str, object] = {}
    names = list(work)
    for turn in range(rounds + 1):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            run = work[name]
            begin = time.perf_counter()
            kept[name] = run()
            if turn:
                seconds[name].append(time.perf_counter() - begin)
    return seconds


def ratio(ones: list[float], others: list[float]) -> str:
    """How many times longer the others took: the geometric mean over the rounds, and its standard error."""
    logs = [math.log(other / one) for one, other in zip(ones, others, strict=True)]
    mean = math.exp(statistics.mean(logs))
    return f"{mean:.2f} ± {mean * statistics.stdev(logs) / math.sqrt(len(logs)):.2f}×"


def compare_training(rounds: int) -> None:
    torch.manual_seed(0)
    tokens = torch.randint(VOCAB, (BATCH, LENGTH))
    work: dict[str, Callable[[], object]] = {}
    sizes = {}
    for name, make in PEERS.items():
        try:
            model = make().train()
        except ImportError as error:
            print(f"{name}: not measured ({error}); pip install -e '.[bench]'")
            continue
        optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
        sizes[name] = sum(p.numel() for p in model.parameters())
        work[name] = lambda m=model, o=optimiser: training_step(m, o, tokens)  # type: ignore[misc]
    seconds = in_turns(work, rounds)
    print(f"\n{'training, forward + backward + AdamW':40}{'parameters':>12}{'tokens/s':>12}{'ours is':>15}")
    for name, times in seconds.items():
        faster = ratio(seconds["glassformer"], times)
        print(f"{name:40}{sizes[name]:>12,}{BATCH * LENGTH / statistics.median(times):>12,.0f}{faster:>15}")


def compare_looking(rounds: int) -> None:
    torch.manual_seed(0)
    tokens = torch.randint(VOCAB, (BATCH, LENGTH))
    model = ours().eval()
    assert isinstance(model, Transformer)
    with torch.no_grad():
        seconds = in_turns(
            {
                "plain forward": lambda: model(tokens),
                "trace of the residual stream": lambda: model.trace(tokens, lambda name: "resid" in name),
                "trace of everything": lambda: model.trace(tokens),
            },
            rounds,
        )
    print(f"\n{'looking inside':40}{'seconds':>12}{'cost':>15}")
    for name, times in seconds.items():
        print(f"{name:40}{statistics.median(times):>12.3f}{ratio(seconds['plain forward'], times):>15}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two rounds only, to show that it works")
    rounds = 2 if parser.parse_args().quick else 60
    torch.set_num_threads(1)
    compare_training(rounds)
    compare_looking(rounds)
