"""What a Transformer is made of: every choice in one frozen value, checked when it is made."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Final, Literal, TypeVar, get_args

from glassformer.errors import InputError, finite_number
from glassformer.nn.positions import dyadic_frequencies

AttentionKind = Literal["softmax", "hardmax"]
NormKind = Literal["none", "layer", "rms"]
NormPlace = Literal["pre", "post"]
Positions = Literal["none", "learned", "sinusoidal", "dyadic", "rotary", "alibi", "table"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "piecewise"]
Skip = Literal["residual", "highway", "none"]
Score = Literal[
    "dot", "hard", "additive", "general", "concat", "location", "decomposable", "intra-temporal", "structured", "linear"
]
Window = Literal["global", "local-m", "local-p"]

ADDED_POSITIONS: Final = ("learned", "sinusoidal", "dyadic", "table")
"""Kinds of positions that are a table added to the residual stream (`pos_embed.W_pos`)."""

LARGEST_TABLE: Final = 2**26
"""Numbers in a table of positions; a config that asks for more is a mistake."""


@dataclass(frozen=True)
class PiecewiseLinear:
    """A function that is slope·x + intercept on each piece [knot, next knot); it may jump at a knot."""

    knots: tuple[float, ...]
    slopes: tuple[float, ...]
    intercepts: tuple[float, ...]

    def __post_init__(self) -> None:
        if list(self.knots) != sorted(set(self.knots)):
            raise InputError(f"the knots of a piecewise-linear activation must increase: {self.knots}")
        if not len(self.slopes) == len(self.intercepts) == len(self.knots) + 1:
            raise InputError(
                f"{len(self.knots)} knots make {len(self.knots) + 1} pieces, each with a slope and an intercept; "
                f"given are {len(self.slopes)} slopes and {len(self.intercepts)} intercepts"
            )


@dataclass(frozen=True)
class BlockShape:
    """The sizes of one block; no heads, or no hidden layers, means that this half is absent."""

    heads: int
    head_width: int
    mlp: tuple[int, ...]
    groups: int | None = None
    """How many groups of heads share their keys and values; each has its own if not told."""

    def __post_init__(self) -> None:
        if not _is_whole(self.heads, at_least=0) or not _is_whole(self.head_width, at_least=1):
            raise InputError(f"a block cannot have {self.heads!r} heads of width {self.head_width!r}")
        if not all(_is_whole(hidden, at_least=1) for hidden in self.mlp):
            raise InputError(f"the hidden layers of an MLP need at least one unit each: {self.mlp}")
        if self.groups is not None and (not _is_whole(self.groups, at_least=1) or self.heads % self.groups):
            raise InputError(f"{self.heads} heads do not divide into {self.groups!r} groups that share keys and values")


@dataclass(frozen=True)
class Config:
    """A Transformer's shape. `blocks` may differ from layer to layer; `Config.uniform` makes them alike."""

    vocab: int
    outputs: int
    context: int
    width: int
    blocks: tuple[BlockShape, ...]
    causal: bool = True
    attention: AttentionKind = "softmax"
    scaled: bool = True
    norm: NormKind = "none"
    norm_place: NormPlace = "pre"
    positions: Positions = "learned"
    activation: Activation = "relu"
    pieces: PiecewiseLinear | None = None
    skip: Skip = "residual"
    score: Score = "dot"
    """Which of `lineage.scores`; dot products are scaled if `scaled`."""
    window: Window = "global"
    gated: bool = False
    """Whether what the first hidden layer says is multiplied by x·W_in, and the activation is of x·W_gate."""
    parallel: bool = False
    """Whether attention and MLP of a block read the same stream, side by side."""
    norm_eps: float = 1e-5
    rotary_base: float = 10000.0
    rotary_width: int | None = None
    """How many numbers of a head are turned; all if not told."""
    embed_norm: bool = False
    """Whether the stream begins with a norm, as BERT's."""
    head: bool = False
    """Whether there is a hidden layer with a norm before the unembedding, as in BERT's masked language model."""

    @classmethod
    def uniform(
        cls,
        *,
        layers: int,
        heads: int,
        mlp: int | None = None,
        head_width: int | None = None,
        groups: int | None = None,
        **rest: Any,
    ) -> Config:
        """All blocks alike: `heads` heads that share the width, and one hidden layer of 4 × the width."""
        width = rest["width"]
        if head_width is None:
            if heads < 1 or width % heads:
                raise InputError(f"width {width} does not divide into {heads} heads: give head_width as well")
            head_width = width // heads
        shape = BlockShape(heads, head_width, (4 * width if mlp is None else mlp,), groups)
        return cls(blocks=(shape,) * layers, **rest)

    def __post_init__(self) -> None:
        for name in ("vocab", "outputs", "context", "width"):
            if not _is_whole(getattr(self, name), at_least=1):
                raise InputError(f"{name} must be a whole number of at least 1, not {getattr(self, name)!r}")
        for name in ("causal", "scaled", "gated", "parallel", "embed_norm", "head"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is true or false, not {getattr(self, name)!r}")
        if self.positions in ADDED_POSITIONS and self.context * self.width > LARGEST_TABLE:
            raise InputError(f"a table of {self.context:,} positions × {self.width:,} numbers is too large")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InputError(f"{name} is one of {', '.join(choices)}; not {getattr(self, name)!r}")
        if (self.activation == "piecewise") != (self.pieces is not None):
            raise InputError("the piecewise activation, and it alone, needs its pieces")
        plain = self.score == "dot" and self.window == "global"
        if not plain and (self.attention == "hardmax" or self.positions == "alibi"):
            raise InputError("hardmax and alibi go with dot products that look everywhere, and with no other score")
        if self.positions == "rotary":
            for block in self.blocks:
                turned = block.head_width if self.rotary_width is None else self.rotary_width
                if block.heads and (turned % 2 or not 0 < turned <= block.head_width):
                    raise InputError("rotary positions turn pairs of numbers: every head_width must be even")
        if (self.embed_norm or self.head) and self.norm == "none":
            raise InputError("a norm on the embedding, or in the head, needs to be said which: norm is layer or rms")
        if self.parallel and not self.sums:
            raise InputError(
                "attention and MLP side by side are added to the stream: only with residuals, and norms before"
            )
        for name in ("norm_eps", "rotary_base"):
            finite_number(getattr(self, name), name.replace("_", " "), least=0)
        if self.positions == "sinusoidal" and self.width % 2:
            raise InputError(f"sinusoidal positions come in pairs: width {self.width} must be even")
        needed = 2 * dyadic_frequencies(self.context)
        if self.positions == "dyadic" and self.width < needed:
            raise InputError(f"dyadic positions for a context of {self.context} need width {needed}, not {self.width}")

    @property
    def sums(self) -> bool:
        """Whether the stream is, everywhere, the sum of what was written into it."""
        return self.skip == "residual" and not self.embed_norm and (self.norm == "none" or self.norm_place == "pre")

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Config:
        """The config that `to_json` wrote; unknown or missing keys are named."""
        try:
            values = dict(values)
            values["blocks"] = tuple(_from_keys(BlockShape, shape) for shape in values.get("blocks", ()))
            if values.get("pieces") is not None:
                values["pieces"] = _from_keys(PiecewiseLinear, values["pieces"])
            return _from_keys(cls, values)
        except (TypeError, AttributeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"a value of the config has the wrong kind: {error}") from None


_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "attention": get_args(AttentionKind),
    "norm": get_args(NormKind),
    "norm_place": get_args(NormPlace),
    "positions": get_args(Positions),
    "activation": get_args(Activation),
    "skip": get_args(Skip),
    "score": get_args(Score),
    "window": get_args(Window),
}


def _is_whole(value: object, at_least: int) -> bool:
    return type(value) is int and value >= at_least


Made = TypeVar("Made", bound=Config | BlockShape | PiecewiseLinear)


def _from_keys(kind: type[Made], values: Mapping[str, Any]) -> Made:
    """A dataclass from a mapping, with lists as tuples; a key that does not belong is named."""
    known = {field.name: field.default is MISSING for field in fields(kind)}
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise InputError(f"unknown key {key!r} in the config" + (f": did you mean {near[0]!r}?" if near else ""))
    missing = [key for key, required in known.items() if required and key not in values]
    if missing:
        raise InputError(f"the config lacks {', '.join(map(repr, missing))}")
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return kind(**plain)
