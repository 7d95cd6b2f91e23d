"""A transformer made by a theorem, with its machine and its certificate: run it, save it, load it."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import torch
from jaxtyping import Int, Integer

from glassformer.automata import AnyMachine, Label, formats
from glassformer.automata.semiautomaton import Word
from glassformer.compiler.certificate import Certificate
from glassformer.errors import InputError
from glassformer.messages import Message
from glassformer.nn import Transformer, files
from glassformer.representation import HTMLRepresentation

NUMBERS_AT_ONCE: Final = 2**25
"""Largest activation of one forward pass, in numbers: 128 MiB in float32."""


@dataclass(frozen=True)
class Built(HTMLRepresentation):
    """A transformer made by a theorem, the machine it follows, and what it promises.

    It does not answer if weights, config or machine are not those of the certificate, unless changes are trusted.
    """

    model: Transformer
    certificate: Certificate
    machine: AnyMachine
    trust_changes: bool = False
    _known: list[int] = field(default_factory=list, init=False, repr=False, compare=False)
    """The fingerprint of the weights that were last compared with the certificate."""

    def states(self, words: Word) -> Integer[np.ndarray, "*batch length"]:
        """The state after every prefix, as the transformer sees it (words along all axes but the last)."""
        self.refuse_changes()
        return self.states_unchecked(words)

    def states_unchecked(self, words: Word) -> Integer[np.ndarray, "*batch length"]:
        """The same, whatever was changed: what `verify` compares."""
        letters = self.machine.encode(words)
        *batch, length = letters.shape
        if length > self.certificate.exact_length:
            raise InputError("compiler.word_too_long", letters=length, exact=self.certificate.exact_length)
        rows = letters.reshape(math.prod(batch), length)
        at_once = self.words_at_once(length)
        parts = [self._answers(rows[begin : begin + at_once]) for begin in range(0, len(rows), at_once)]
        return np.concatenate(parts).reshape(letters.shape) if parts else np.empty(letters.shape, dtype=np.int64)

    def _answers(self, rows: Integer[np.ndarray, "batch length"]) -> Integer[np.ndarray, "batch length"]:
        """One forward pass. Autocast would round what the certificate takes for exact."""
        device = next(self.model.parameters()).device
        with torch.no_grad(), torch.autocast(device.type, enabled=False):
            answers: np.ndarray = self.model(self.tokens(rows).to(device)).argmax(-1)[:, 1:].cpu().numpy()
        return answers

    def words_at_once(self, length: int) -> int:
        """How many words of a length go through the model together, so that memory stays small."""
        return max(1, NUMBERS_AT_ONCE // ((length + 1) * max(self.certificate.mlp, self.certificate.width)))

    def run(self, word: Word) -> tuple[list[str], list[Label]]:
        """The names of the states after every prefix of one word, and their labels."""
        states = self.states(self.machine.one_word(word))
        return [self.machine.states[q] for q in states], [self.machine.outputs[q] for q in states]

    def tokens(self, letters: Integer[np.ndarray, "batch length"]) -> Int[torch.Tensor, "batch pos"]:
        """The model's input: the start token, then the letters."""
        return torch.nn.functional.pad(
            torch.from_numpy(letters.astype(np.int64)), (1, 0), value=len(self.machine.symbols)
        )

    def cast(self, dtype: str) -> Built:
        """The same model in another number format, if the margins hold there too."""
        from glassformer.compiler.pipeline import compile

        self.refuse_changes()
        return compile(self.machine, self.certificate.exact_length, self.certificate.method, dtype)

    @property
    def changed(self) -> list[str]:
        """Which of weights, config and machine are not those that the certificate was made for."""
        return self.certificate.changed(self.model, self.machine)

    def refuse_changes(self) -> None:
        """InputError if anything is not as it was certified; a warning, once, if changes are trusted."""
        if [fingerprint := files.fingerprint(self.model)] == self._known:
            return
        if changed := self.changed:
            what = Message("compiler.changed", what=[Message(f"compiler.changed_{part}") for part in changed])
            if not self.trust_changes:
                raise InputError("compiler.changes_refused", what=what)
            warnings.warn(str(what), stacklevel=3)
        self._known[:] = [fingerprint]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write config.json, model.safetensors, certificate.json and machine.json, all or nothing."""
        certificate, machine = files.to_json(self.certificate.to_json()), formats.dumps(self.machine, "json")
        files.save(
            Path(os.path.expanduser(folder)), self.model, {"certificate.json": certificate, "machine.json": machine}
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str], trust_changes: bool = False) -> Built:
        """Read what `save` wrote; what was changed since is refused, or if that is trusted a warning."""
        folder = Path(os.path.expanduser(folder))
        model, documents = files.load_transformer(folder)
        if "approximation.json" in documents:
            raise InputError("compiler.an_approximation", folder=str(folder))
        for name in ("certificate.json", "machine.json"):
            if name not in documents:
                raise InputError("compiler.not_built", folder=str(folder), name=name)
        machine = formats.loads_any(documents["machine.json"], "json", f"{folder}/machine.json")
        certificate = Certificate.from_json(
            files.parse_json(documents["certificate.json"], f"{folder}/certificate.json")
        )
        if (model.config.vocab, model.config.outputs) != (len(machine.symbols) + 1, len(machine.states)):
            raise InputError("compiler.another_machine", folder=str(folder))
        built = cls(model.eval(), certificate, machine, trust_changes)
        built.refuse_changes()
        return built
