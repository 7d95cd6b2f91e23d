"""Looking inside: a `Trace` holds the named activations of one run; a `Look` is what sees and changes them.

The model hands every activation to a `Look` under its name (TransformerLens's names). Nobody looking costs
nothing: `UNSEEN` gives everything back untouched.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from jaxtyping import Float, Int
from torch import Tensor

from glassformer.errors import InputError
from glassformer.nn.config import Config
from glassformer.shown import Shown

MOST_KEPT: Final = 2**31
"""Numbers that a trace holds: 8 GiB in float32."""

NamesFilter: TypeAlias = str | Sequence[str] | Callable[[str], bool] | None


@dataclass(frozen=True)
class HookPoint:
    """Where a hook sits; passed to hook functions as their second argument."""

    name: str

    def layer(self) -> int:
        """The number of the block, for the hooks of a block."""
        if not self.name.startswith("blocks."):
            raise InputError(f"{self.name} belongs to no block")
        return int(self.name.split(".")[1])


HookFunction: TypeAlias = Callable[[Tensor, HookPoint], Tensor | None]
Hook: TypeAlias = tuple[str | Callable[[str], bool], HookFunction]


class Look:
    """What somebody wants to see, and to change, in one run."""

    def __init__(self, wanted: frozenset[str] = frozenset(), edits: Mapping[str, list[HookFunction]] | None = None):
        self.wanted, self.edits = wanted, dict(edits or {})
        self.seen: dict[str, Tensor] = {}

    def at(self, name: str, value: Tensor) -> Tensor:
        """Pass an activation by: change it as asked, keep it if wanted, and give it on."""
        for edit in self.edits.get(name, ()):
            own = value.clone()  # so that an edit in place changes this activation and no other
            result = edit(own, HookPoint(name))
            changed = own if result is None else result
            if not isinstance(changed, Tensor):
                raise InputError(f"the hook on {name} gave {type(changed).__name__}, not a tensor {list(value.shape)}")
            if changed.shape != value.shape:
                raise InputError(f"the hook on {name} gave shape {list(changed.shape)} for {list(value.shape)}")
            value = changed
        if name in self.wanted:
            self.seen[name] = value
        return value

    def inside(self, prefix: str) -> Here:
        """The same look from inside a part of the model, where names are shorter."""
        return Here(self, prefix)


@dataclass(frozen=True)
class Here:
    """A `Look` from inside one part of the model: `here("hook_q", q)` is `look.at("blocks.0.attn.hook_q", q)`."""

    look: Look | None
    prefix: str = ""

    def __call__(self, name: str, value: Tensor) -> Tensor:
        """Pass an activation by."""
        return value if self.look is None else self.look.at(self.prefix + name, value)

    def edits(self, name: str) -> bool:
        """Whether somebody changes this activation."""
        return self.look is not None and self.prefix + name in self.look.edits

    def wants(self, name: str) -> bool:
        """Whether this activation must be computed even if the model could do without it."""
        return self.look is not None and (self.prefix + name in self.look.wanted or self.edits(name))

    def inside(self, prefix: str) -> Here:
        """The same from further inside."""
        return self if self.look is None else Here(self.look, self.prefix + prefix)


UNSEEN = Here(None)


@dataclass(frozen=True)
class Trace(Mapping[str, Tensor], Shown):
    """Every named activation of one run, with the tokens that went in and the logits that came out."""

    tokens: Int[Tensor, "batch pos"] | Float[Tensor, "batch pos width"]
    logits: Float[Tensor, "batch pos output"]
    activations: Mapping[str, Tensor]

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.activations:
            raise KeyError(unknown_hook(name, self.activations))
        return self.activations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.activations)

    def __len__(self) -> int:
        return len(self.activations)

    def __repr__(self) -> str:
        batch, length = self.tokens.shape[:2]
        return f"Trace({len(self)} activations of {batch} × {length} tokens)"


def select(names: Sequence[str], wanted: NamesFilter, further: Sequence[str] = ()) -> frozenset[str]:
    """The names that a filter means, or tells one by one (then also further ones); an unknown name is an error."""
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
            raise InputError("a hook's filter matches no activation of this model, so the hook would never run")
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
            f"these activations of {batch:,} × {length:,} tokens take some {total * 4 / 2**30:.0f} GiB; the limit is "
            f"{MOST_KEPT * 4 // 2**30} GiB: name fewer of them, or take fewer or shorter words"
        )


def nearest(name: str, names: Iterable[str], alike: float = 0.0) -> list[str]:
    """The three names that are most like one, nearest first, of those that are alike enough."""
    return difflib.get_close_matches(name, list(names), n=3, cutoff=alike)


def unknown_hook(name: str, names: Iterable[str]) -> str:
    """A message for a hook that does not exist, with the nearest that do."""
    names = sorted(names)
    near = nearest(name, names, alike=0.4) or [each for each in names if name in each][:3] or nearest(name, names)
    return f"there is no activation {name!r} here" + (f"; near it are {', '.join(near)}" if near else "")
