"""What a Transformer is made of: every choice in one frozen value, checked when it is made."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, ClassVar, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from glassformer.errors import InputError, finite_number
from glassformer.messages import listed
from glassformer.nn.positions import dyadic_frequencies

AttentionKind = Literal["softmax", "hardmax"]
NormKind = Literal["none", "layer", "rms"]
NormPlace = Literal["pre", "post"]
Positions = Literal["none", "learned", "sinusoidal", "dyadic", "rotary", "alibi", "table"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "piecewise"]
Skip = Literal["residual", "highway", "none"]
ScoreKind = Literal[
    "dot", "hard", "additive", "general", "concat", "location", "decomposable", "intra-temporal", "structured", "linear"
]
Window = Literal["global", "local-m", "local-p"]

ADDED_POSITIONS: Final = ("learned", "sinusoidal", "dyadic", "table")
"""Kinds of positions that are a table added to the residual stream (`pos_embed.W_pos`)."""

LARGEST_TABLE: Final = 2**26
"""Numbers in a table of positions; a config that asks for more is a mistake."""


Made = TypeVar("Made")


class PlainConfig:
    """A frozen dataclass that is written as plain values, and read back."""

    nested: ClassVar[Mapping[str, type[Any]]] = {}
    """The fields that are dataclasses, or tuples of them."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Keys of earlier files, and what they are called now."""

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # every config is a dataclass

    @classmethod
    def from_json(cls: type[Made], values: Mapping[str, Any]) -> Made:
        """The config that `to_json` wrote; unknown or missing keys are named."""
        try:
            return _from_keys(cls, dict(values))
        except (TypeError, AttributeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("nn.config_value", why=str(error)) from None


@dataclass(frozen=True)
class PiecewiseLinear:
    """A function that is slope·x + intercept on each piece [knot, next knot); it may jump at a knot."""

    knots: tuple[float, ...]
    slopes: tuple[float, ...]
    intercepts: tuple[float, ...]

    def __post_init__(self) -> None:
        if list(self.knots) != sorted(set(self.knots)):
            raise InputError("nn.knots", knots=f"{self.knots}")
        if not len(self.slopes) == len(self.intercepts) == len(self.knots) + 1:
            knots, slopes, intercepts = len(self.knots), len(self.slopes), len(self.intercepts)
            raise InputError("nn.pieces", knots=knots, pieces=knots + 1, slopes=slopes, intercepts=intercepts)


@dataclass(frozen=True)
class BlockShape:
    """The sizes of one block; no heads, or no hidden layers, means that this half is absent."""

    heads: int
    head_width: int
    mlp: tuple[int, ...]
    groups: int | None = None
    """How many groups of heads share their keys and values; each has its own if not given."""

    def __post_init__(self) -> None:
        if not _is_whole(self.heads, at_least=0) or not _is_whole(self.head_width, at_least=1):
            raise InputError("nn.block_heads", heads=self.heads, width=self.head_width)
        if not all(_is_whole(hidden, at_least=1) for hidden in self.mlp):
            raise InputError("nn.block_mlp", mlp=f"{self.mlp}")
        if self.groups is not None and (not _is_whole(self.groups, at_least=1) or self.heads % self.groups):
            raise InputError("nn.groups", heads=self.heads, groups=self.groups)


@dataclass(frozen=True)
class Config(PlainConfig):
    """A Transformer's shape. `blocks` may differ from layer to layer; `Config.uniform` has uniform ones."""

    nested: ClassVar = {"blocks": BlockShape, "pieces": PiecewiseLinear}
    renamed: ClassVar = {"head": "mlm_head"}

    vocab: int
    outputs: int
    context: int
    width: int
    blocks: tuple[BlockShape, ...]
    causal: bool = True
    """Whether each position attends only to itself and to those before it."""
    attention: AttentionKind = "softmax"
    """softmax, or hardmax: all weight on the largest score, in equal shares where several are."""
    scaled: bool = True
    """Whether dot products are divided by √head_width."""
    norm: NormKind = "none"
    """none, layer (layer norm), or rms (RMS norm)."""
    norm_place: NormPlace = "pre"
    """pre: x + f(norm(x)), as GPT-2; post: norm(x + f(x)), as BERT."""
    positions: Positions = "learned"
    """none; added to the embedding: learned, sinusoidal, dyadic (angles 2πp/2^k), table (given); or in the scores:
    rotary, alibi."""
    activation: Activation = "relu"
    """relu, gelu (exact), gelu_tanh (GPT-2's), silu, or piecewise: the function `pieces`."""
    pieces: PiecewiseLinear | None = None
    skip: Skip = "residual"
    """residual: x + f(x); highway: a gate mixes x and f(x); none: f(x) alone."""
    score: ScoreKind = "dot"
    """Which part of `nn.scores`; dot products are scaled if `scaled`."""
    window: Window = "global"
    """global: all positions; local-m: those near the query; local-p: those near a place that the query predicts."""
    gated: bool = False
    """Whether the first hidden layer is activation(x·W_gate)·(x·W_in + b_in)."""
    parallel: bool = False
    """Whether attention and MLP of a block read the same stream, side by side."""
    norm_eps: float = 1e-5
    rotary_base: float = 10000.0
    rotary_width: int | None = None
    """How many numbers of a head are rotated; all if not given."""
    embed_norm: bool = False
    """Whether the stream begins with a norm, as BERT's."""
    mlm_head: bool = False
    """Whether there is an MLM head: a hidden layer with a norm before the unembedding, as in BERT."""

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
        """Uniform blocks: `heads` heads that share the width, and one hidden layer of 4 × the width."""
        width = rest["width"]
        if head_width is None:
            if heads < 1 or width % heads:
                raise InputError("nn.head_width", width=width, heads=heads)
            head_width = width // heads
        shape = BlockShape(heads, head_width, (4 * width if mlp is None else mlp,), groups)
        return cls(blocks=(shape,) * layers, **rest)

    def __post_init__(self) -> None:
        for name in ("vocab", "outputs", "context", "width"):
            if not _is_whole(getattr(self, name), at_least=1):
                raise InputError("nn.at_least_1", name=name, value=getattr(self, name))
        check_flags(self, "causal", "scaled", "gated", "parallel", "embed_norm", "mlm_head")
        if self.positions in ADDED_POSITIONS and self.context * self.width > LARGEST_TABLE:
            raise InputError("nn.table_too_large", context=self.context, width=self.width, limit=LARGEST_TABLE)
        check_choices(self)
        if (self.activation == "piecewise") != (self.pieces is not None):
            raise InputError("nn.piecewise")
        plain = self.score == "dot" and self.window == "global"
        if not plain and (self.attention == "hardmax" or self.positions == "alibi"):
            raise InputError("nn.only_dot")
        if self.positions == "rotary":
            for block in self.blocks:
                turned = block.head_width if self.rotary_width is None else self.rotary_width
                if block.heads and (turned % 2 or not 0 < turned <= block.head_width):
                    raise InputError("nn.rotary")
        if (self.embed_norm or self.mlm_head) and self.norm == "none":
            raise InputError("nn.which_norm")
        if self.parallel and not self.sums:
            raise InputError("nn.parallel")
        for name in ("norm_eps", "rotary_base"):
            finite_number(getattr(self, name), name.replace("_", " "), least=0)
        if self.positions == "sinusoidal" and self.width % 2:
            raise InputError("nn.sinusoidal", width=self.width)
        needed = 2 * dyadic_frequencies(self.context)
        if self.positions == "dyadic" and self.width < needed:
            raise InputError("nn.dyadic", context=self.context, needed=needed, width=self.width)

    @property
    def sums(self) -> bool:
        """Whether the stream is, everywhere, the sum of what was written into it."""
        return self.skip == "residual" and not self.embed_norm and (self.norm == "none" or self.norm_place == "pre")


def check_flags(config: object, *names: str) -> None:
    """These fields are true or false."""
    for name in names:
        if not isinstance(getattr(config, name), bool):
            raise InputError("nn.true_or_false", name=name, value=getattr(config, name))


def check_choices(config: object) -> None:
    """Each field that is annotated as a Literal is one of its choices."""
    for name, hint in get_type_hints(type(config)).items():
        if get_origin(hint) is Literal and getattr(config, name) not in get_args(hint):
            raise InputError("nn.one_of", name=name, choices=get_args(hint), value=getattr(config, name))


def _is_whole(value: object, at_least: int) -> bool:
    return type(value) is int and value >= at_least


def _from_keys(kind: type[Made], values: Mapping[str, Any]) -> Made:
    """A dataclass from a mapping, with lists as tuples; a key that does not belong is named."""
    known = {field.name: field.default is MISSING for field in fields(kind)}  # type: ignore[arg-type]
    renamed = getattr(kind, "renamed", {})
    values = {renamed.get(key, key): value for key, value in values.items()}
    for key in values:
        if key not in known:
            if near := difflib.get_close_matches(key, known, n=1):
                raise InputError("nn.unknown_key_near", key=key, near=near[0])
            raise InputError("nn.unknown_key", key=key)
    missing = [key for key, required in known.items() if required and key not in values]
    if missing:
        raise InputError("nn.config_lacks", missing=listed(missing))
    nested = getattr(kind, "nested", {})
    return kind(**{key: _from_plain(value, nested.get(key)) for key, value in values.items()})


def _from_plain(value: Any, part: type[Any] | None) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_from_plain(each, part) for each in value)
    return value if part is None or value is None else _from_keys(part, value)
