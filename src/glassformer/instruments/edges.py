"""Who reads what from whom: the residual stream as edges from writers to readers, each of which can be cut alone.

The stream is a sum. The embedding, the positions, every head and every MLP write a term of it; the query, key and value
of every head, every MLP and the logits read it. So there is an edge from each writer to each later reader, and to cut
it is to let that reader, and no other, see the sum with another term in the place of the writer's: nothing, what the
writer writes on average, or what it wrote on another input. All else then follows from what the reader now reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
class Edge:
    """From one writer to one reader."""

    writer: Site
    reader: Site

    def __str__(self) -> str:
        return f"{self.writer} → {self.reader}"


class Edges:
    """All writers and readers of a model, in the order in which they act, and runs with some edges cut."""

    def __init__(self, model: Transformer) -> None:
        if not model.config.sums:
            raise InputError("instruments.no_sum_no_edges")
        if not model.blocks:
            raise InputError("instruments.no_layers_no_edges")
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
    def edges(self) -> list[Edge]:
        """All of them, by reader."""
        return [
            Edge(writer, reader)
            for reader, before in zip(self.readers, self.known_to, strict=True)
            for writer in self.writers[:before]
        ]

    def cut(self, edges: Iterable[Edge]) -> Bool[Tensor, "writer reader"]:
        """Which edges these are; one that does not exist is an error."""
        chosen = torch.zeros(len(self.writers), len(self.readers), dtype=torch.bool)
        for edge in edges:
            self._refuse_unknown(edge.writer, edge.reader)
            writer, reader = self.writers.index(edge.writer), self.readers.index(edge.reader)
            if writer >= self.known_to[reader]:
                raise InputError("instruments.reads_before", reader=str(edge.reader), writer=str(edge.writer))
            chosen[writer, reader] = True
        return chosen

    def between(self, writer: Site | None = None, reader: Site | None = None) -> list[Edge]:
        """The edges from a writer to a reader; from all, or to all, where none is named."""
        self._refuse_unknown(writer, reader)
        edges = [edge for edge in self.edges if writer in (None, edge.writer) and reader in (None, edge.reader)]
        if not edges and reader:
            raise InputError("instruments.reads_before", reader=str(reader), writer=str(writer))
        if not edges:
            raise InputError("instruments.nothing_reads", writer=str(writer))
        return edges

    def _refuse_unknown(self, writer: Site | None, reader: Site | None) -> None:
        for site, those, id in (
            (writer, self.writers, "instruments.not_a_writer"),
            (reader, self.readers, "instruments.not_a_reader"),
        ):
            if site is not None and site not in those:
                raise InputError(id, site=str(site), near=nearest(str(site), map(str, those)))

    def rows_at_once(self, length: int) -> int:
        """How many words of a length go through the model together: the terms of all writers must fit, too."""
        numbers = len(self.writers) * length * self.model.config.width
        return max(1, min(sites.rows_at_once(self.model, length), 16 * sites.NUMBERS_AT_ONCE // numbers))

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

    def zeros(self, tokens: Input) -> Terms:
        """Nothing, in the place of what every writer writes; it takes no room."""
        nothing = torch.zeros((), dtype=self.model.embed.W_E.dtype)
        return nothing.expand(len(self.writers), *tokens.shape[:2], self.model.config.width)

    @torch.no_grad()
    def run(self, tokens: Input, cut: Cut, instead: Terms) -> Logits:
        """The logits when, in each row of the batch, the readers at cut edges read these terms instead."""
        return self.model.run_with_hooks(tokens, self.hooks(cut, instead))

    def hooks(self, cut: Cut, instead: Terms) -> list[Hook]:
        """The same as hooks, to go with others."""
        rows: dict[int, dict[int, Tensor]] = {}
        for w, r in torch.nonzero(cut.any(dim=0)).tolist():
            rows.setdefault(r, {})[w] = torch.nonzero(cut[:, w, r]).flatten()
        rewired = _Rewired(self, rows, instead)
        written = {self.writers[w].hook for w in rewired.writers}
        read = {self.readers[r].hook for r in rows}
        return [*((name, rewired.keep) for name in written), *((name, rewired.rewire) for name in read)]


class _Rewired:
    """One run in which readers read other terms: for each reader and writer of a cut edge, in these rows."""

    def __init__(self, graph: Edges, rows: Mapping[int, Mapping[int, Tensor]], instead: Terms) -> None:
        self.graph, self.rows, self.instead = graph, rows, instead
        self.writers = {writer for of_reader in rows.values() for writer in of_reader}
        self.written: dict[int, Tensor] = {}

    def keep(self, written: Tensor, hook: HookPoint) -> None:
        """The terms that are written here, for those who read them later."""
        for w in self.writers:
            if (site := self.graph.writers[w]).hook == hook.name:
                self.written[w] = site.of(written)

    def rewire(self, read: Tensor, hook: HookPoint) -> None:
        """In the sums that are read here, what is read instead takes the place of what was written."""
        for r, of_reader in self.rows.items():
            if (site := self.graph.readers[r]).hook == hook.name:
                change = torch.zeros_like(own := site.of(read))
                for w, rows in of_reader.items():
                    change[rows] += self.written[w][rows] - self.instead[w][rows]
                own.sub_(change)
