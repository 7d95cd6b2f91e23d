"""Who reads what from whom: the residual stream as wires from writers to readers, each of which can be cut alone.

The stream is a sum. The embedding, the positions, every head and every MLP write a term of it; the query, key and value
of every head, every MLP and the logits read it. So there is a wire from each writer to each later reader, and to cut it
is to let that reader, and no other, see the sum with another term in the place of the writer's: nothing, what the
writer says on average, or what it said on another input. All else then follows from what the reader now reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from glassformer.errors import InputError
from glassformer.instruments import sites
from glassformer.instruments.sites import Site
from glassformer.nn import Transformer
from glassformer.nn.trace import Hook, HookPoint, nearest, refuse_if_too_large
from glassformer.nn.transformer import Input, Logits

Terms: TypeAlias = Float[Tensor, "writer batch pos width"]
Cut: TypeAlias = Bool[Tensor, "batch writer reader"]

HEADS_READ: Final = ("hook_q_input", "hook_k_input", "hook_v_input")


@dataclass(frozen=True)
class Wire:
    """From one writer to one reader."""

    writer: Site
    reader: Site

    def __str__(self) -> str:
        return f"{self.writer} → {self.reader}"


class Wiring:
    """All writers and readers of a model, in the order in which they act, and runs with some wires cut."""

    def __init__(self, model: Transformer) -> None:
        if not model.config.sums:
            raise InputError(
                "this model normalises the stream itself, behind each part, or does not just add to it: what is read "
                "is no sum of what was written, so there are no wires to cut"
            )
        if not model.blocks:
            raise InputError(
                "this model has no layers: tokens go straight to the answers, and there are no wires to cut"
            )
        self.model = model
        self.writers: list[Site] = [Site("hook_embed")] + [Site("hook_pos_embed")] * bool(model.pos_embed)
        self.readers: list[Site] = []
        self.known_to: list[int] = []  # for each reader, how many writers come before it
        for i, shape in enumerate(model.config.blocks):
            heads = range(shape.heads)
            mlp = [Site(f"blocks.{i}.hook_mlp_in")] if shape.mlp else []
            self._reads(Site(f"blocks.{i}.{hook}", head) for hook in HEADS_READ for head in heads)
            self._reads(mlp if model.config.parallel else [])
            self.writers += [Site(f"blocks.{i}.attn.hook_result", head) for head in heads]
            self._reads([] if model.config.parallel else mlp)
            self.writers += [Site(f"blocks.{i}.hook_mlp_out")] if shape.mlp else []
        self._reads([Site(f"blocks.{len(model.config.blocks) - 1}.hook_resid_post")])

    def _reads(self, sites: Iterable[Site]) -> None:
        for site in sites:
            self.readers.append(site)
            self.known_to.append(len(self.writers))

    @property
    def wires(self) -> list[Wire]:
        """All of them, by reader."""
        return [
            Wire(writer, reader)
            for reader, before in zip(self.readers, self.known_to, strict=True)
            for writer in self.writers[:before]
        ]

    def cut(self, wires: Iterable[Wire]) -> Bool[Tensor, "writer reader"]:
        """Which wires these are; one that does not exist is an error."""
        chosen = torch.zeros(len(self.writers), len(self.readers), dtype=torch.bool)
        for wire in wires:
            self._refuse_unknown(wire.writer, wire.reader)
            writer, reader = self.writers.index(wire.writer), self.readers.index(wire.reader)
            if writer >= self.known_to[reader]:
                raise InputError(f"{wire.reader} reads before {wire.writer} writes")
            chosen[writer, reader] = True
        return chosen

    def between(self, writer: Site | None = None, reader: Site | None = None) -> list[Wire]:
        """The wires from a writer to a reader; from all, or to all, where none is named."""
        self._refuse_unknown(writer, reader)
        found = [w for w in self.wires if writer in (None, w.writer) and reader in (None, w.reader)]
        if not found:
            raise InputError(f"{reader or 'nobody'} reads before {writer} writes")
        return found

    def _refuse_unknown(self, writer: Site | None, reader: Site | None) -> None:
        for site, those, kind in ((writer, self.writers, "writes"), (reader, self.readers, "reads")):
            if site is not None and site not in those:
                near = nearest(str(site), map(str, those))
                raise InputError(f"{site} is nothing that {kind}; near it are {', '.join(near)}")

    def rows_at_once(self, length: int) -> int:
        """How many words of a length go through the model together: what all writers say of them must fit, too."""
        said = len(self.writers) * length * self.model.config.width
        return max(1, min(sites.rows_at_once(self.model, length), 16 * sites.NUMBERS_AT_ONCE // said))

    @torch.no_grad()
    def terms(self, tokens: Input) -> Terms:
        """What every writer writes."""
        hooks = sorted({site.hook for site in self.writers})
        refuse_if_too_large(hooks, self.model.config, *tokens.shape[:2])
        parts = []
        for words in torch.split(tokens, self.rows_at_once(tokens.shape[1])):
            _, seen = self.model.run_with_cache(words, hooks)
            parts.append(torch.stack([site.of(seen[site.hook]) for site in self.writers]))
        return torch.cat(parts, dim=1)

    def silence(self, tokens: Input) -> Terms:
        """Nothing, in the place of what every writer writes; it takes no room."""
        nothing = torch.zeros((), dtype=self.model.embed.W_E.dtype)
        return nothing.expand(len(self.writers), *tokens.shape[:2], self.model.config.width)

    @torch.no_grad()
    def run(self, tokens: Input, cut: Cut, instead: Terms) -> Logits:
        """The logits when, in each row of the batch, the readers at cut wires read these terms instead."""
        return self.model.run_with_hooks(tokens, self.hooks(cut, instead))

    def hooks(self, cut: Cut, instead: Terms) -> list[Hook]:
        """The same as hooks, to go with others."""
        terms: dict[Site, Tensor] = {}
        touched = cut.any(dim=0)
        needed = {site.hook for site, used in zip(self.writers, touched.any(dim=1), strict=True) if used}
        changed = {site.hook for site, used in zip(self.readers, touched.any(dim=0), strict=True) if used}

        def note(written: Tensor, hook: HookPoint) -> None:
            for site in self.writers:
                if site.hook == hook.name:
                    terms[site] = site.of(written)

        def rewire(read: Tensor, hook: HookPoint) -> None:
            for r, site in enumerate(self.readers):
                if site.hook == hook.name:
                    site.of(read).sub_(self._difference(cut[:, :, r], terms, instead))

        return [*((name, note) for name in needed), *((name, rewire) for name in changed)]

    def _difference(
        self, cut: Bool[Tensor, "batch writer"], terms: dict[Site, Tensor], instead: Terms
    ) -> Tensor | float:
        """What the writers of cut wires wrote, less what is to be read instead."""
        total: Tensor | float = 0.0
        for w in torch.nonzero(cut.any(dim=0)).flatten().tolist():
            rows = cut[:, w, None, None]
            total = total + (terms[self.writers[w]] - instead[w]) * rows
        return total
