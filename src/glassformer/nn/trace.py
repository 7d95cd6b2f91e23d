"""Looking inside: a `Trace` holds the named activations of one run; a `HookContext` keeps and changes them in the run.

The model passes every activation through `hooks(name, value)`, under TransformerLens's names. Without hooks that costs
next to nothing: `NO_HOOKS` returns everything untouched.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from jaxtyping import Float, Int
from torch import Tensor

from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.nn.config import Config
from glassformer.representation import HTMLRepresentation

MOST_KEPT: Final = 2**31
"""Numbers that a trace holds: 8 GiB in float32."""
ON_REQUEST: Final = ("hook_q_input", "hook_k_input", "hook_v_input", "hook_result", "hook_mlp_in")
"""Activations that are made only if they are named one by one: what every head, and MLP, reads and adds."""

NamesFilter: TypeAlias = str | Sequence[str] | Callable[[str], bool] | None


@dataclass(frozen=True)
class HookPoint:
    """Where a hook sits; passed to hook functions as their second argument."""

    name: str

    def layer(self) -> int:
        """The number of the block, for the hooks of a block."""
        if not self.name.startswith("blocks."):
            raise InputError("trace.no_block", name=self.name)
        return int(self.name.split(".")[1])


HookFunction: TypeAlias = Callable[[Tensor, HookPoint], Tensor | None]
Hook: TypeAlias = tuple[str | Callable[[str], bool], HookFunction]


@dataclass(frozen=True, eq=False)
class HookContext:
    """What one run keeps and changes, seen from one part of the model, where names are shorter by a prefix.

    In the first attention, `hooks("hook_q", q)` is about the activation `blocks.0.attn.hook_q`.
    """

    wanted: Container[str] = ()
    """The names of the activations that are kept in the cache."""
    edits: Mapping[str, Sequence[HookFunction]] = field(default_factory=dict)
    cache: dict[str, Tensor] = field(default_factory=dict)
    prefix: str = ""

    def __call__(self, name: str, value: Tensor) -> Tensor:
        """The activation, changed by the edits of its name; it is kept if it is wanted."""
        name = self.prefix + name
        for edit in self.edits.get(name, ()):
            own = value.clone()  # so that an edit in place changes this activation and no other
            result = edit(own, HookPoint(name))
            changed = own if result is None else result
            if not isinstance(changed, Tensor):
                raise InputError(
                    "trace.no_tensor", name=name, type=type(changed).__name__, shape=f"{list(value.shape)}"
                )
            if changed.shape != value.shape:
                raise InputError("trace.shape", name=name, found=f"{list(changed.shape)}", shape=f"{list(value.shape)}")
            value = changed
        if name in self.wanted:
            self.cache[name] = value
        return value

    def edited(self, name: str) -> bool:
        """Whether an edit changes this activation."""
        return self.prefix + name in self.edits

    def wants(self, name: str) -> bool:
        """Whether this activation must be computed even if the model could do without it."""
        return self.prefix + name in self.wanted or self.edited(name)

    def inside(self, prefix: str) -> HookContext:
        """The same, seen from a part inside this one."""
        return self if self is NO_HOOKS else replace(self, prefix=self.prefix + prefix)


NO_HOOKS: Final = HookContext()


@dataclass(frozen=True)
class Every(Container[str]):
    """The names of all activations that are always there, or of all that are made on request only."""

    on_request: bool

    def __contains__(self, name: object) -> bool:
        return str(name).endswith(ON_REQUEST) == self.on_request


@dataclass(frozen=True)
class Trace(Mapping[str, Tensor], HTMLRepresentation):
    """Every named activation of one run, with the tokens that went in and the logits that came out."""

    tokens: Int[Tensor, "batch pos"] | Float[Tensor, "batch pos width"]
    logits: Float[Tensor, "batch pos output"]
    activations: Mapping[str, Tensor]

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.activations:
            raise KeyError(str(unknown_hook(name, self.activations)))
        return self.activations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.activations)

    def __len__(self) -> int:
        return len(self.activations)

    def __repr__(self) -> str:
        batch, length = self.tokens.shape[:2]
        return f"Trace({len(self)} activations of {batch} × {length} tokens)"


def select(names: Sequence[str], wanted: NamesFilter, further: Sequence[str] = ()) -> frozenset[str]:
    """The names that a filter chooses, or lists (then also further ones); an unknown name is an error."""
    if wanted is None:
        return frozenset(names)
    if callable(wanted):
        return frozenset(name for name in names if wanted(name))
    chosen = frozenset([wanted] if isinstance(wanted, str) else wanted)
    for name in sorted(chosen.difference(names, further)):
        raise InputError(unknown_hook(name, [*names, *further]))
    return chosen


def edits_by_name(
    names: Sequence[str], hooks: Iterable[Hook], further: Sequence[str] = ()
) -> dict[str, list[HookFunction]]:
    """The hook functions of each activation, in the order they were given."""
    edits: dict[str, list[HookFunction]] = {}
    for where, function in hooks:
        chosen = select(names, where, further)
        if not chosen:
            raise InputError("trace.filter_matches_nothing")
        for name in chosen:
            edits.setdefault(name, []).append(function)
    return edits


def refuse_if_too_large(names: Iterable[str], config: Config, batch: int, length: int) -> None:
    """Estimate what it takes to keep these activations of a run, before it is run."""

    def numbers(name: str) -> int:
        shape = config.blocks[HookPoint(name).layer()] if name.startswith("blocks.") else None
        if shape and name.endswith(("hook_attn_scores", "hook_pattern")):
            return shape.heads * length
        if shape and name.endswith(("hook_result", "_input")):
            return shape.heads * config.width
        return max(config.width, sum(shape.mlp)) if shape and ".mlp." in name else config.width

    total = batch * length * sum(map(numbers, names))
    if total > MOST_KEPT:
        raise InputError(
            "trace.too_large", batch=batch, length=length, size=total * 4 / 2**30, limit=MOST_KEPT * 4 // 2**30
        )


def nearest(name: str, names: Iterable[str], similarity: float = 0.0) -> list[str]:
    """The three names that are most similar to one, nearest first, of those that are similar enough (0 to 1)."""
    return difflib.get_close_matches(name, list(names), n=3, cutoff=similarity)


def unknown_hook(name: str, names: Iterable[str]) -> Message:
    """That there is no such hook, with the nearest that exist."""
    names = sorted(names)
    near = nearest(name, names, similarity=0.4) or [each for each in names if name in each][:3] or nearest(name, names)
    return Message("trace.unknown_near", name=name, near=near) if near else Message("trace.unknown", name=name)
