"""Sparse autoencoders: write vectors as sums of few directions out of many, and hope that these are the features.

f = relu((x − b_dec) W_enc + b_enc), of which all count (and their sum is paid for: L1), or only the k largest (top-k);
x' = f W_dec + b_dec, with directions W_dec of length 1. Where the features are known, the hope can be checked: a
dictionary that reconstructs well need not have found one of them. Files are in SAELens's layout.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import torch
from jaxtyping import Float
from safetensors.torch import load, save
from torch import Tensor, nn

from glassformer.atomic import write_atomically
from glassformer.errors import InputError, finite_number, whole_number
from glassformer.instruments.layers import refuse_infinite
from glassformer.messages import verbatim
from glassformer.progress import Progress, silent

FOUND: Final = 0.9
"""A feature is recovered if some direction has at least this cosine with it."""
MOST_NUMBERS: Final = 2**29
"""In training: 2 GiB in float32."""
NUMBERS_AT_ONCE: Final = 2**24
"""Of the activities when a dictionary is tried: 64 MiB in float32."""
CONFIG, WEIGHTS = "cfg.json", "sae_weights.safetensors"

Vectors = Float[Tensor, "sample width"]


@dataclass(frozen=True)
class DictionaryConfig:
    """Sizes and kind of a dictionary: ReLU with a price on Σ f (standard, `l1`), or the k largest alone (topk)."""

    width: int
    features: int
    kind: str = "topk"
    l1: float = 0.1
    k: int = 4

    def __post_init__(self) -> None:
        whole_number(self.width, "instruments.width", least=1)
        whole_number(self.features, "instruments.features", least=1)
        if self.kind not in ("standard", "topk"):
            raise InputError("instruments.dictionary_kind", kind=self.kind)
        finite_number(self.l1, "instruments.l1", least=0)
        if whole_number(self.k, verbatim("k"), least=1) > self.features:
            raise InputError("instruments.k_of_features", features=self.features, k=self.k)
        self.refuse_if_too_large(samples=1)

    def refuse_if_too_large(self, samples: int) -> None:
        """Estimate what training takes: weights, gradients and both of Adam's averages; activities, theirs and bits."""
        numbers = self.features * (8 * self.width + 4 * samples)
        if numbers > MOST_NUMBERS:
            sizes = {"features": self.features, "width": self.width, "samples": samples}
            needed, limit = numbers * 4 / 2**30, MOST_NUMBERS * 4 // 2**30
            raise InputError("instruments.dictionary_too_large", **sizes, needed=needed, limit=limit)


class Dictionary(nn.Module):
    """A sparse autoencoder."""

    def __init__(self, config: DictionaryConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        chance = torch.Generator().manual_seed(seed)
        directions = nn.functional.normalize(torch.randn(config.features, config.width, generator=chance))
        self.W_dec = nn.Parameter(directions)
        self.W_enc = nn.Parameter(directions.T.contiguous())
        self.b_enc = nn.Parameter(torch.zeros(config.features))
        self.b_dec = nn.Parameter(torch.zeros(config.width))

    def encode(self, x: Vectors) -> Float[Tensor, "sample feature"]:
        """How much of each feature there is."""
        if x.shape[-1] != self.config.width:
            raise InputError("instruments.dictionary_vectors", width=self.config.width, given=str(list(x.shape)))
        active = torch.relu((x - self.b_dec) @ self.W_enc + self.b_enc)
        if self.config.kind == "standard":
            return active
        kept = active.topk(self.config.k, dim=-1)
        return torch.zeros_like(active).scatter(-1, kept.indices, kept.values)

    def forward(self, x: Vectors) -> tuple[Vectors, Float[Tensor, "sample feature"]]:
        """The vectors as sums of directions, and how much of each."""
        active = self.encode(x)
        return active @ self.W_dec + self.b_dec, active


def train_dictionary(
    vectors: Vectors,
    config: DictionaryConfig,
    steps: int = 3000,
    samples: int = 256,
    rate: float = 3e-3,
    seed: int = 0,
    progress: Progress = silent,
) -> Dictionary:
    """Train a dictionary on vectors, by Adam with a learning rate that falls from `rate` to 0 as a cosine.

    Each of `steps` sees `samples` of the vectors, drawn at random; `seed` is that of weights and samples.
    """
    if vectors.ndim != 2 or vectors.shape[1] != config.width or not len(vectors):
        raise InputError("instruments.dictionary_vectors", width=config.width, given=str(list(vectors.shape)))
    if not vectors.is_floating_point():
        raise InputError("instruments.dictionary_dtype", dtype=str(vectors.dtype))
    whole_number(steps, "instruments.steps", least=1)
    config.refuse_if_too_large(whole_number(samples, "instruments.samples", least=1))
    refuse_infinite(vectors)
    found = Dictionary(config, seed).to(vectors.dtype)
    with torch.no_grad():
        found.b_dec.copy_(vectors.mean(0))
    optimiser = torch.optim.Adam(found.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step, batch in enumerate(_batches(vectors, samples, steps, seed), start=1):
        again, active = found(batch)
        loss = (again - batch).pow(2).sum(1).mean()
        if config.kind == "standard":
            loss = loss + config.l1 * active.sum(1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        with torch.no_grad():
            found.W_dec.copy_(nn.functional.normalize(found.W_dec))
        if step % 100 == 0 or step == steps:
            progress(step, steps)
    return found.eval()


def _batches(vectors: Vectors, samples: int, steps: int, seed: int) -> Iterator[Vectors]:
    chance = torch.Generator().manual_seed(seed + 1)
    for _ in range(steps):
        yield vectors[torch.randint(len(vectors), (samples,), generator=chance)]


@dataclass(frozen=True)
class Quality:
    """How well a dictionary reconstructs vectors (1: exactly; 0: as the mean does), and with how many features."""

    explained: float
    active: float
    dead: float
    """The part of the features that are never active."""


@torch.no_grad()
def quality(dictionary: Dictionary, vectors: Vectors) -> Quality:
    """Measured on vectors, as many at once as fit in memory."""
    varies = (vectors - vectors.mean(0)).pow(2).sum()
    missed, active, ever = 0.0, 0, torch.zeros(dictionary.config.features, dtype=torch.bool)
    for some in vectors.split(max(1, NUMBERS_AT_ONCE // dictionary.config.features)):
        again, activity = dictionary(some)
        on = activity > 0
        missed += float((again - some).pow(2).sum())
        active += int(on.sum())
        ever |= on.any(0)
    explained = 1 - missed / float(varies.clamp_min(1e-30))
    return Quality(explained, active / len(vectors), float((~ever).double().mean()))


@dataclass(frozen=True)
class Recovered:
    """Known features beside the directions found: the mean of the largest cosines, and the part that is recovered."""

    mean_max_cosine: float
    recovered: float


@torch.no_grad()
def feature_recovery(dictionary: Dictionary, known: Float[Tensor, "feature width"]) -> Recovered:
    """Score a dictionary against features that are known, as rows."""
    if known.ndim != 2 or known.shape[1] != dictionary.config.width:
        raise InputError("instruments.known_features", width=dictionary.config.width, given=str(list(known.shape)))
    cosines = nn.functional.normalize(known.to(dictionary.W_dec)) @ nn.functional.normalize(dictionary.W_dec).T
    best = cosines.amax(1)
    return Recovered(float(best.mean()), float((best > FOUND).double().mean()))


def assess(dictionary: Dictionary, vectors: Vectors, has_bits: bool) -> dict[str, float]:
    """The quality of a dictionary; where the vectors hold bits, also how well it recovers them."""
    measured = asdict(quality(dictionary, vectors))
    if has_bits and len(known := bits_in(vectors)):
        measured |= {"known": len(known), **asdict(feature_recovery(dictionary, known))}
    return measured


def bits_in(vectors: Vectors) -> Float[Tensor, "feature width"]:
    """The columns that hold 0 or 1 and nothing else, both of them, as directions: features that are there for sure.

    In a built model these are the one-hot registers.
    """
    is_bit = ((vectors == 0) | (vectors == 1)).all(0) & (vectors != vectors[0]).any(0)
    return torch.eye(vectors.shape[1])[is_bit]


def save_dictionary(dictionary: Dictionary, folder: Path, about: dict[str, Any] | None = None) -> None:
    """Write cfg.json and sae_weights.safetensors; `about` (model_name, hook_name …) goes into the metadata.

    Vectors of all heads of a hook_z lie one behind the other, which is set for SAELens.
    """
    config, folder = dictionary.config, Path(folder)
    heads_in_one = str((about or {}).get("hook_name", "")).endswith("hook_z")
    saved = {
        "architecture": config.kind,
        "d_in": config.width,
        "d_sae": config.features,
        "dtype": str(dictionary.W_dec.dtype).removeprefix("torch."),
        "device": "cpu",
        "apply_b_dec_to_input": True,
        "normalize_activations": "none",
        "reshape_activations": "hook_z" if heads_in_one else "none",
        "metadata": about or {},
    }
    if config.kind == "topk":
        saved |= {"k": config.k, "rescale_acts_by_decoder_norm": False}
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().contiguous() for name, value in dictionary.state_dict().items()}
    write_atomically(folder / WEIGHTS, save(weights))
    write_atomically(folder / CONFIG, json.dumps(saved, indent=2).encode())


def load_dictionary(folder: Path) -> Dictionary:
    """Read what `save_dictionary`, or SAELens, wrote (standard or topk, without scaling of activations)."""
    try:
        saved = json.loads((Path(folder) / CONFIG).read_text())
        weights = load((Path(folder) / WEIGHTS).read_bytes())
    except OSError as error:
        why = f"{error.strerror} ({error.filename})"
        raise InputError("instruments.not_a_dictionary", folder=str(folder), why=why) from None
    except Exception as error:
        raise InputError("instruments.not_a_dictionary", folder=str(folder), why=str(error)) from None
    if saved.get("normalize_activations", "none") != "none" or not saved.get("apply_b_dec_to_input", True):
        raise InputError("instruments.scaled_dictionary", folder=str(folder))
    if saved.get("rescale_acts_by_decoder_norm"):
        raise InputError("instruments.rescaled_dictionary", folder=str(folder))
    config = DictionaryConfig(
        saved.get("d_in"), saved.get("d_sae"), str(saved.get("architecture")), k=saved.get("k", 1)
    )
    found = Dictionary(config)
    sizes = {name: list(value.shape) for name, value in found.state_dict().items()}
    given = {name: list(value.shape) for name, value in weights.items()}
    if sizes != given:
        raise InputError("instruments.dictionary_weights", folder=str(folder), asked=str(sizes), given=str(given))
    found.load_state_dict(weights, assign=True)
    return found.eval()
