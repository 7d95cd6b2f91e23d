"""Every attention that led here, in one file: how a query scores keys, how scores become weights, what is then read.

All have one shape. `score` compares queries with keys, `normalise` makes weights of scores, `read` mixes values; `Dot`
does each in the plainest way, and every other part changes one of the three, in the lines under its formula. What else
a part may know (who may look where, at which place it stands, how long the source is, what it did before) is in the
`Environment`; what a part adds to the loss in training is collected by `auxiliary_losses`.

In formulas q is a query, kᵢ and vᵢ are key and value at place i, eᵢ is a score, aᵢ a weight, c what is read. Axes:
batch, head, query and key (places), width. A part has weights of its own for each head.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from glassformer.errors import InputError

Queries: TypeAlias = Float[Tensor, "batch head query width"]
Keys: TypeAlias = Float[Tensor, "batch head key width"]
Values: TypeAlias = Float[Tensor, "batch head key value"]
Scores: TypeAlias = Float[Tensor, "batch head query key"]
Weights: TypeAlias = Float[Tensor, "batch head query key"]
Read: TypeAlias = Float[Tensor, "batch head query value"]


Reach: TypeAlias = Literal["here", "onward", "all"]
"""For which places' answers it matters what a query reads: its own alone, its own and later ones, or all."""


@dataclass
class Environment:
    """What a part may know beyond queries, keys and values, and where it keeps what it must remember."""

    mask: Bool[Tensor, "*rows query key"] | None = None
    """Where queries may look, [query, key] or [batch, head or 1, query, key]; everywhere if not given."""
    causal: bool = False
    """Whether that is at themselves and what is before them, no more and no less."""
    first: int = 0
    """The place of the first query."""
    lengths: Int[Tensor, " batch"] | None = None
    """How many keys there really are (a mask hides the others); all if not given."""
    reach: Reach = "onward"
    state: dict[str, Tensor] = field(default_factory=dict)

    def places(self, queries: Tensor) -> Float[Tensor, "query 1"]:
        """Where the queries stand."""
        return torch.arange(self.first, self.first + queries.shape[2], device=queries.device)[:, None].to(queries.dtype)


@dataclass(frozen=True)
class Sizes:
    """What a part is made for: heads, the width of each, and the most keys there can be."""

    heads: int
    width: int
    context: int


class Dot(nn.Module):
    """e = q·k, a = softmax e, c = Σ aᵢvᵢ."""

    source: ClassVar[str] = "Luong et al. 2015"
    auxiliary: AuxiliaryLoss | None = None
    """Where the part puts what it adds to the loss; only in `auxiliary_losses`, and only then chance is allowed."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """How well each key answers each query."""
        return q @ k.transpose(-2, -1)

    def normalise(self, scores: Scores, env: Environment) -> Weights:
        """Weights of scores."""
        return softmax(scores, env.mask)

    def read(self, weights: Weights, v: Values, env: Environment) -> Read:
        """What a query gets."""
        return weights @ v

    def weights(self, q: Queries, k: Keys, env: Environment) -> Weights:
        """Score and normalise."""
        return self.normalise(self.score(q, k, env), env)

    def forward(self, q: Queries, k: Keys, v: Values, env: Environment) -> Read:
        """All three."""
        return self.read(self.weights(q, k, env), v, env)


def softmax(scores: Scores, mask: Bool[Tensor, "*rows query key"] | None = None) -> Weights:
    """Softmax over the keys that may be seen; who may see none gets nothing."""
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask


def weights(*shape: int) -> nn.Parameter:
    """Normal numbers with the standard deviation 1/√fan-in, [head, in, out] or [head, in]."""
    return nn.Parameter(torch.randn(shape) / math.sqrt(shape[1]))


# -- scores ------------------------------------------------------------------------------------------------


class Additive(Dot):
    """e = v·tanh(W q + U k)."""

    source: ClassVar[str] = "Bahdanau, Cho and Bengio 2014"

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.W, self.U = (weights(sizes.heads, sizes.width, sizes.width) for _ in range(2))
        self.v = weights(sizes.heads, sizes.width)

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """A small network looks at both."""
        both = (q @ self.W)[:, :, :, None] + (k @ self.U)[:, :, None]
        return torch.einsum("bhqkw,hw->bhqk", torch.tanh(both), self.v)


class Concat(Dot):
    """e = v·tanh(W [q; k]): the additive score, with W and U side by side in one matrix."""

    source: ClassVar[str] = "Luong et al. 2015"

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.W = weights(sizes.heads, 2 * sizes.width, sizes.width)
        self.v = weights(sizes.heads, sizes.width)

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """The product with [q; k] is the sum of two products, so that pairs need not be written down."""
        for_q, for_k = self.W.chunk(2, dim=1)
        both = (q @ for_q)[:, :, :, None] + (k @ for_k)[:, :, None]
        return torch.einsum("bhqkw,hw->bhqk", torch.tanh(both), self.v)


class General(Dot):
    """e = q·W k."""

    source: ClassVar[str] = "Luong et al. 2015"

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.W = weights(sizes.heads, sizes.width, sizes.width)

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """A learned bilinear form."""
        return (q @ self.W) @ k.transpose(-2, -1)


class Location(Dot):
    """eᵢ = (W q)ᵢ: from the query alone, one score for each place, whatever stands there."""

    source: ClassVar[str] = "Luong et al. 2015"

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.W = weights(sizes.heads, sizes.width, sizes.context)

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """Only as many places as there are keys."""
        if k.shape[2] > self.sizes.context:
            raise InputError("scores.location", places=self.sizes.context, keys=k.shape[2])
        return (q @ self.W)[..., : k.shape[2]]


class Decomposable(Dot):
    """e = F(q)·F(k), where F is a network of ReLUs: the pairs themselves pass through nothing."""

    source: ClassVar[str] = "Parikh et al. 2016"

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.W, self.U = (weights(sizes.heads, sizes.width, sizes.width) for _ in range(2))

    def network(self, x: Float[Tensor, "batch head place width"]) -> Float[Tensor, "batch head place width"]:
        """F."""
        return F.relu(F.relu(x @ self.W) @ self.U)

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """As many passes through F as there are places, not pairs."""
        return self.network(q) @ self.network(k).transpose(-2, -1)


class Structured(Dot):
    """e = w·tanh(W k): no query at all, and every head is a hop; AAᵀ is pulled to I, so that hops look elsewhere.

    The loss gets STRENGTH · ‖AAᵀ − I‖², where the rows of A are the weights of the hops.
    """

    source: ClassVar[str] = "Lin et al. 2017"
    STRENGTH: ClassVar[float] = 0.03

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.W = weights(1, sizes.width, sizes.width)
        self.w = weights(sizes.heads, sizes.width)

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """The same for every query."""
        scores = torch.einsum("bhkw,hw->bhk", torch.tanh(k @ self.W), self.w)
        return scores[:, :, None].expand(-1, -1, q.shape[2], -1)

    def normalise(self, scores: Scores, env: Environment) -> Weights:
        """Softmax, and the penalty, meaned over queries and batch."""
        a = softmax(scores, env.mask)
        if self.auxiliary is not None:
            hops = a.transpose(1, 2)
            difference = hops @ hops.transpose(-2, -1) - torch.eye(a.shape[1], dtype=a.dtype, device=a.device)
            self.auxiliary.penalties.append(self.STRENGTH * difference.square().sum((-2, -1)).mean())
        return a


class ScaledDot(Dot):
    """e = q·k / √width."""

    source: ClassVar[str] = "Vaswani et al. 2017"

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """Scores whose size does not grow with the width."""
        return super().score(q, k, env) / math.sqrt(self.sizes.width)


class ALiBi(ScaledDot):
    """e = q·k / √width − m·|distance|, with a slope m for each head."""

    source: ClassVar[str] = "Press, Smith and Lewis 2022"

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """Far keys are handicapped."""
        away = (env.places(q) - torch.arange(k.shape[2], device=q.device)).abs()
        return super().score(q, k, env) - alibi_slopes(self.sizes.heads).to(q)[:, None, None] * away


def alibi_slopes(heads: int) -> Float[Tensor, " head"]:
    """From head to head they fall geometrically, down to 2⁻⁸."""
    return 2.0 ** (-8.0 * torch.arange(1, heads + 1).double() / heads)


class Rotary(ScaledDot):
    """e = (R_p q)·(R_i k) / √width: both are turned by their places, so that only the distance p − i counts."""

    source: ClassVar[str] = "Su et al. 2021"

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """The same product of turned vectors."""
        keys = torch.arange(k.shape[2], device=k.device)[:, None].to(k.dtype)
        return super().score(turned(q, env.places(q)), turned(k, keys), env)


def turned(
    x: Float[Tensor, "*rows place width"],
    places: Float[Tensor, "place 1"],
    base: float = 10000.0,
    width: int | None = None,
) -> Float[Tensor, "*rows place width"]:
    """Each pair (xᵢ, xᵢ₊ₕ), h half the width, turned by place · base^(−i/h); maybe only of the first numbers."""
    half = (x.shape[-1] if width is None else width) // 2
    frequencies = torch.exp(torch.arange(half, device=x.device).double() * (-math.log(base) / half))
    angles = places.double() * frequencies
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    left, right, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat([left * cos - right * sin, left * sin + right * cos, rest], dim=-1)


# -- weights -----------------------------------------------------------------------------------------------


class Hard(Dot):
    """One key is drawn, i ~ softmax(q·k / √width), and c = vᵢ; without training it is the likeliest.

    Nothing of this has a gradient: the choice is learned by REINFORCE (`AuxiliaryLoss.total`). Mnih et al. drew a place
    in a picture; to draw a key is of Xu et al. 2015.
    """

    source: ClassVar[str] = "Mnih et al. 2014"

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """Log-probabilities but for a constant."""
        return super().score(q, k, env) / math.sqrt(self.sizes.width)

    def normalise(self, scores: Scores, env: Environment) -> Weights:
        """All weight on one."""
        p = softmax(scores, env.mask)
        blind = p.detach().sum(-1, keepdim=True) == 0
        p = p.masked_fill(blind, 1.0)  # who sees nothing draws, too, but gets nothing
        if self.auxiliary is None:
            drawn = p.argmax(-1, keepdim=True)
        else:
            chance = self.auxiliary.generator
            drawn = torch.multinomial(p.detach().flatten(0, 2), 1, generator=chance).view(*p.shape[:3], 1)
            self.auxiliary.choices[self, env.reach].append(p.gather(-1, drawn).squeeze(-1).log().sum(1))
        return torch.zeros_like(p).scatter(-1, drawn, 1.0).masked_fill(blind, 0.0)


class IntraTemporal(General):
    """e'ₜᵢ = exp(eₜᵢ) / Σ_{j<t} exp(eⱼᵢ), a = e' / Σ e': what was given much already is given less now; e = q·W k."""

    source: ClassVar[str] = "Paulus, Xiong and Socher 2017"

    def normalise(self, scores: Scores, env: Environment) -> Weights:
        """In logarithms: the scores less what each key was given so far, by queries of this run and those before."""
        nothing = torch.finfo(scores.dtype).min / 4
        e = scores if env.mask is None else scores.masked_fill(~env.mask, nothing)
        before = env.state.get("given", torch.full_like(e[:, :, :1], nothing))
        given = torch.cat([before, e], dim=2).logcumsumexp(dim=2)
        env.state["given"] = given[:, :, -1:]
        so_far = given[:, :, :-1]
        return softmax(e - torch.where(so_far > nothing / 2, so_far, 0.0), env.mask)


class Windowed(Dot):
    """Another part that looks only at places near p: |i − p| ≤ REACH. Local-m: p is the place of the query."""

    source: ClassVar[str] = "Luong et al. 2015"
    REACH: ClassVar[int] = 2

    def __init__(self, sizes: Sizes, inner: Dot) -> None:
        super().__init__(sizes)
        self.inner = inner

    def centre(self, q: Queries, k: Keys, env: Environment) -> Float[Tensor, "... query 1"]:
        """p."""
        return env.places(q)

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """The other part's; how far each key is from the window's middle is kept for the weights."""
        env.state["away"] = torch.arange(k.shape[2], device=k.device) - self.centre(q, k, env)
        return self.inner.score(q, k, env)

    def normalise(self, scores: Scores, env: Environment) -> Weights:
        """Whatever is outside cannot be seen."""
        near = env.state["away"].abs() <= self.REACH
        return softmax(scores, near if env.mask is None else near & env.mask)


class Predicted(Windowed):
    """Local-p: p = S·σ(v·tanh(W q)) for a source of S places; a is multiplied by exp(−(i − p)²/2σ²), σ = REACH/2."""

    def __init__(self, sizes: Sizes, inner: Dot) -> None:
        super().__init__(sizes, inner)
        self.W = weights(sizes.heads, sizes.width, sizes.width)
        self.v = weights(sizes.heads, sizes.width)

    def centre(self, q: Queries, k: Keys, env: Environment) -> Float[Tensor, "... query 1"]:
        """A place that is learned, between the first and the last; where nobody sees what is to come, up to its own."""
        part = torch.einsum("bhqw,hw->bhq", torch.tanh(q @ self.W), self.v).sigmoid()[..., None]
        if env.causal:
            return part * env.places(q)
        return part * (k.shape[2] if env.lengths is None else env.lengths.to(q.dtype)[:, None, None, None])

    def normalise(self, scores: Scores, env: Environment) -> Weights:
        """The nearer the middle, the more; so the place itself has a gradient."""
        return super().normalise(scores, env) * torch.exp(-2 * (env.state["away"] / self.REACH).square())


# -- what is read ------------------------------------------------------------------------------------------


class Linear(Dot):
    """c = φ(q)·(Σ φ(kᵢ)ᵀvᵢ) / φ(q)·Σ φ(kᵢ), φ = elu + 1: sums that no query enters, and no weight is written down.

    The weights that there would be are softmax(log φ(q)·φ(k)); they are made for hooks, or if it is less work.
    """

    source: ClassVar[str] = "Katharopoulos et al. 2020"

    def score(self, q: Queries, k: Keys, env: Environment) -> Scores:
        """Logarithms, of which softmax makes the weights."""
        return (positive(q) @ positive(k).transpose(-2, -1)).log()

    def forward(self, q: Queries, k: Keys, v: Values, env: Environment) -> Read:
        """In time and room that grow with the length, not its square; other masks than a causal one need weights.

        Causal sums are one matrix for each key, which is more than one weight for each pair where there are few keys.
        """
        causal = env.causal and q.shape[2] == k.shape[2] > k.shape[3] * v.shape[3]
        if env.mask is not None and not causal:
            return super().forward(q, k, v, env)
        q, k = positive(q), positive(k)
        if causal:
            sums = (k[..., None] * v[..., None, :]).cumsum(2)
            return torch.einsum("bhqw,bhqwv->bhqv", q, sums) / (q * k.cumsum(2)).sum(-1, keepdim=True)
        return (q @ (k.transpose(-2, -1) @ v)) / (q @ k.sum(-2)[..., None])


def positive(x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
    """φ, but never 0, which in float32 it would be below −17: of zeros alone no mean can be made."""
    return (F.elu(x) + 1).clamp_min(1e-6)


class MultiHead(nn.Module):
    """c = Σ_h O_h·attention(Q_h q, K_h k, V_h v): several at once, by any part.

    Heads may share keys and values: all of them (multi-query, Shazeer 2019), or those of a group (Ainslie et al. 2023).
    """

    source: ClassVar[str] = "Vaswani et al. 2017"

    def __init__(self, inner: Dot, width: int, groups: int | None = None) -> None:
        super().__init__()
        heads, own = inner.sizes.heads, inner.sizes.width
        groups = heads if groups is None else groups
        if groups < 1 or heads % groups:
            raise InputError("nn.groups", heads=heads, groups=groups)
        self.inner = inner
        self.W_Q, self.W_O = weights(heads, width, own), weights(heads, own, width)
        self.W_K, self.W_V = (weights(groups, width, own) for _ in range(2))

    def weights(
        self, q: Float[Tensor, "batch 1 query width"], k: Float[Tensor, "batch 1 key width"], env: Environment
    ) -> Weights:
        """Those of every head."""
        return self.inner.weights(q @ self.W_Q, for_all(k @ self.W_K, self.inner.sizes.heads), env)

    def forward(self, q: Queries, k: Keys, v: Values, env: Environment) -> Read:
        """One query, key and value for all heads [batch, 1, place, width], as is what is read."""
        heads = self.inner.sizes.heads
        k, v = for_all(k @ self.W_K, heads), for_all(v @ self.W_V, heads)
        c: Read = self.inner(q @ self.W_Q, k, v, env)
        return (c @ self.W_O).sum(1, keepdim=True)


def for_all(shared: Float[Tensor, "batch group place width"], heads: int) -> Float[Tensor, "batch head place width"]:
    """Every head with its group's keys, or values."""
    return shared.repeat_interleave(heads // shared.shape[1], dim=1)


# -- training ----------------------------------------------------------------------------------------------


@dataclass
class AuxiliaryLoss:
    """What the parts of a model add to the loss: penalties, and REINFORCE for what was drawn."""

    generator: torch.Generator
    """Where chance comes from, so that a step can be repeated."""
    penalties: list[Float[Tensor, ""]] = field(default_factory=list)
    choices: dict[tuple[nn.Module, Reach], list[Float[Tensor, "batch query"]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """For each part, and its reach, the log-probabilities of what it drew, run by run."""

    def total(self, losses: Float[Tensor, "batch pos"], answers: int) -> Float[Tensor, ""]:
        """Penalties, and REINFORCE: choices after which less was lost than by others at that place get likelier.

        The last places are those of the choices, unless these reach all. What a choice costs is the loss within its
        reach, less the mean of the same in the other sequences, which does not depend on it. All is divided by the
        number of answers, as their loss is.
        """
        total = losses.new_zeros(()) + sum(self.penalties)
        for (_, reach), runs in self.choices.items():
            chosen = torch.cat(runs, dim=1)
            cost = losses.detach() if reach == "all" else losses.detach()[:, -chosen.shape[1] :]
            if reach != "here":
                cost = cost.flip(1).cumsum(1).flip(1) if reach == "onward" else cost.sum(1, keepdim=True)
            others = (cost.sum(0) - cost) / max(len(cost) - 1, 1)
            total = total + ((cost - others) * chosen).sum() / max(answers, 1)
        return total


@contextmanager
def auxiliary_losses(model: nn.Module, generator: torch.Generator) -> Iterator[AuxiliaryLoss]:
    """Collects what the parts of a model add to the loss of the runs inside; a part that draws does so only here."""
    collected = AuxiliaryLoss(generator)
    parts = [part for part in model.modules() if isinstance(part, Dot)]
    for part in parts:
        part.auxiliary = collected
    try:
        yield collected
    finally:
        for part in parts:
            part.auxiliary = None


# -- the family --------------------------------------------------------------------------------------------

FAMILY: Final[dict[str, type[Dot]]] = {
    "hard": Hard,
    "additive": Additive,
    "dot": Dot,
    "general": General,
    "concat": Concat,
    "location": Location,
    "decomposable": Decomposable,
    "structured": Structured,
    "intra-temporal": IntraTemporal,
    "scaled dot": ScaledDot,
    "linear": Linear,
    "rotary": Rotary,
    "alibi": ALiBi,
}
"""By name, in the order in which they came."""
WINDOWS: Final[dict[str, type[Windowed] | None]] = {"global": None, "local-m": Windowed, "local-p": Predicted}


def part(name: str, sizes: Sizes, window: str = "global") -> Dot:
    """The part with this name, within a window."""
    if name not in FAMILY:
        raise InputError("scores.score", names=[*FAMILY], name=name)
    if window not in WINDOWS:
        raise InputError("scores.window", names=[*WINDOWS], name=window)
    if name == "rotary" and sizes.width % 2:
        raise InputError("scores.rotary", width=sizes.width)
    frame = WINDOWS[window]
    if frame is not None and FAMILY[name].normalise is not Dot.normalise:
        raise InputError("scores.window_with", name=name)
    inner = FAMILY[name](sizes)
    return inner if frame is None else frame(sizes, inner)
