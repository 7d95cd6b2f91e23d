"""Training: AdamW with warm-up and cosine, on batches that depend on nothing but seed and step.

A run may have a folder:

    run.json                 what is trained, and how
    metrics.jsonl            one line for each evaluation
    checkpoint.safetensors   weights and moments of the latest checkpoint, with its step; replaced in one piece
    model/                   the trained model, when the run has ended

All that a step depends on is in the checkpoint, so a run that was killed goes on to the same weights, bit for bit.
While it runs nobody else may work in its folder (`ownership.py`).
"""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import safetensors.torch
import torch
import torch.nn.functional as F
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from torch import Tensor

from glassformer.atomic import write_atomically
from glassformer.automata import formats
from glassformer.errors import InputError, finite_number, whole_number
from glassformer.messages import Message, listed
from glassformer.nn import Transformer, files
from glassformer.nn.config import ADDED_POSITIONS, check_flags
from glassformer.nn.files import Model
from glassformer.nn.scores import auxiliary_losses
from glassformer.training.architecture import Architecture, with_new_names
from glassformer.training.batch import IGNORE_INDEX, Batch
from glassformer.training.evaluation import Evaluation, evaluate
from glassformer.training.objectives import TextTask
from glassformer.training.ownership import is_of_an_owner, owned
from glassformer.training.tasks import StateTracking, Task, task_to_json

FORMAT: Final = "glassformer run, version 1"
LEARNED: Final = 0.99
"""The part of the answers that is right when something counts as learned."""
TrainingProgress: TypeAlias = Callable[[int, float, float | None], None]
"""Is given the step, the loss, and the latest accuracy."""


class DivergedError(Exception):
    """A loss or gradient is NaN or infinite: training has gone wrong, and going on would only hide it."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True)
class Settings:
    """How a model is trained."""

    steps: int = 1000
    batch: int = 64
    """Words, or sentences, in a step."""
    learning_rate: float = 1e-3
    warmup: int = 50
    """Steps over which the learning rate rises to its full value."""
    weight_decay: float = 1e-4
    clip: float = 1.0
    """The largest norm of the gradient; a longer one is shortened to it."""
    seed: int = 0
    shifted: bool = False
    """Whether the words of a step begin at a random position of a longer context (by default twice as long)."""
    evaluate_every: int = 200
    """Steps from one evaluation to the next; the last step is always evaluated."""
    evaluation_words: int = 256
    """Fresh words in an evaluation."""
    checkpoint_seconds: float = 30.0
    """Seconds from one checkpoint to the next, where the run has a folder."""
    threads: int = 1
    """How many threads compute; sums are rounded in another order with another number of them."""

    def __post_init__(self) -> None:
        for name, least, most in (
            ("steps", 1, 10**12),
            ("batch", 1, 10**7),
            ("warmup", 0, 10**12),
            ("seed", 0, 2**63 - 1),
            ("evaluate_every", 1, 10**12),
            ("evaluation_words", 1, 10**8),
            ("threads", 1, 1024),
        ):
            if whole_number(getattr(self, name), name.replace("_", " "), least) > most:
                raise InputError("training.at_most", name=name.replace("_", " "), most=most, value=getattr(self, name))
        for name in ("learning_rate", "clip", "weight_decay", "checkpoint_seconds"):
            finite_number(getattr(self, name), name.replace("_", " "), least=0)
        for name in ("learning_rate", "clip"):
            if not getattr(self, name) > 0:
                raise InputError("training.above_0", name=name.replace("_", " "), value=getattr(self, name))
        check_flags(self, "shifted")

    def rate(self, step: int) -> float:
        """Linear warm-up, then a cosine down to a tenth."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * (0.55 + 0.45 * math.cos(math.pi * done))


@dataclass(frozen=True)
class Trained:
    """A model that was trained, and how that went."""

    model: Model
    score: Evaluation
    tests: dict[str, Evaluation]
    loss: float
    steps: int
    tokens_per_second: float
    seconds: float = 0.0
    """Spent on steps, not on evaluations."""
    reached: int | None = None
    """The step of the first evaluation at which LEARNED of the answers were right."""

    def to_json(self) -> dict[str, Any]:
        """What scripts rely on."""
        return {
            "accuracy": self.score.accuracy,
            "whole_words": self.score.whole_words,
            "tests": {name: score.accuracy for name, score in self.tests.items()},
            "loss": self.loss,
            "steps": self.steps,
            "tokens_per_second": self.tokens_per_second,
            "seconds": self.seconds,
            "reached": self.reached,
        }


def train(
    task: Task,
    architecture: Architecture | None = None,
    settings: Settings | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    tests: Mapping[str, Task] | None = None,
    progress: TrainingProgress | None = None,
) -> Trained:
    """Train a model on a task, and keep the run in a folder if one is given.

    With `resume` a run that is there goes on from its latest checkpoint. `tests` are further tasks, of other lengths or
    other letters, on which the model is evaluated by name; room for them is made from the beginning. An interrupt is
    heeded after the step that it falls into, with a checkpoint; a second one at once, without.
    """
    if isinstance(task, StateTracking):
        task.check_names()
    run = _Run(task, architecture or Architecture(), settings or Settings(), tests or {}, progress)
    before = torch.get_num_threads()
    with ExitStack() as held:
        if folder is not None:
            _is_begun(Path(folder), resume)
            held.enter_context(owned(Path(folder)))
            run.keep(Path(folder), resume)
        torch.set_num_threads(run.settings.threads)
        held.callback(torch.set_num_threads, before)
        return run.to_the_end(held.enter_context(_interrupts_noted()))


@contextmanager
def _interrupts_noted() -> Iterator[threading.Event]:
    """Ctrl-C sets the event, and only the second one interrupts; where interrupts do not come, or are ignored, none."""
    noted = threading.Event()
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield noted
        return

    def note(number: int, frame: object) -> None:
        if noted.is_set():
            raise KeyboardInterrupt
        noted.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


class _Run:
    """One training, from wherever it stands."""

    def __init__(
        self,
        task: Task,
        architecture: Architecture,
        settings: Settings,
        tests: Mapping[str, Task],
        progress: TrainingProgress | None,
    ) -> None:
        if settings.shifted and (architecture.kind != "transformer" or architecture.positions not in ADDED_POSITIONS):
            raise InputError("training.shifted")
        least = architecture.context or (2 * task.context if settings.shifted else 0)
        room = max(least, *(each.context for each in (task, *tests.values())))
        self.task, self.architecture, self.settings = task, replace(architecture, context=room), settings
        self.tests, self.progress = dict(tests), progress
        self.model = self.architecture.model(task, settings.seed)
        self.names = [name for name, weights in self.model.named_parameters() if weights.requires_grad]
        self.weights = [weights for weights in self.model.parameters() if weights.requires_grad]
        self.optimiser = torch.optim.AdamW(
            self.weights, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
        )
        self.step, self.tokens, self.loss, self.seconds = 0, 0, math.nan, 0.0
        self.reached: int | None = None
        self.score: Evaluation | None = None
        self.last_scores: tuple[Evaluation, dict[str, Evaluation]] | None = None
        self.folder: Path | None = None
        self.saved = time.monotonic()

    # -- the steps -------------------------------------------------------------------------------------

    def to_the_end(self, interrupted: threading.Event) -> Trained:
        """All steps that are left."""
        while self.step < self.settings.steps:
            begin = time.perf_counter()
            self.learn()
            self.seconds += time.perf_counter() - begin
            if self.step % self.settings.evaluate_every == 0 or self.step == self.settings.steps:
                self.evaluate()
            if interrupted.is_set() or time.monotonic() - self.saved >= self.settings.checkpoint_seconds:
                self.save()
            if interrupted.is_set():
                raise KeyboardInterrupt
            if self.progress:
                self.progress(self.step, self.loss, self.score.accuracy if self.score else None)
        self.save()
        score, tests = self.last_scores or self.scores()
        how = (self.loss, self.step, self.speed(), self.seconds, self.reached)
        trained = Trained(self.model.eval(), score, tests, *how)
        self.finish(trained)
        return trained

    def learn(self) -> None:
        """One step."""
        rng = np.random.default_rng([self.settings.seed, self.step])
        batch = self.task.batch(rng, self.settings.batch)
        self.tokens += batch.tokens.numel()
        loss = self.loss_of(batch, rng)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.weights, self.settings.clip)
        self.loss = float(loss.detach())
        if not math.isfinite(self.loss) or not math.isfinite(float(norm)):
            raise DivergedError(self.where_it_went_wrong(batch))
        for group in self.optimiser.param_groups:
            group["lr"] = self.settings.rate(self.step)
        self.optimiser.step()
        self.step += 1

    def loss_of(self, batch: Batch, rng: np.random.Generator) -> Float[Tensor, ""]:
        """The mean cross-entropy where something is asked, and what attention scores add to it."""
        chance = torch.Generator().manual_seed((self.settings.seed * 2**32 + self.step) % 2**63)
        with auxiliary_losses(self.model, chance) as auxiliary:
            if self.settings.shifted and isinstance(self.model, Transformer):
                room = self.model.config.context - batch.tokens.shape[1]
                vectors = self.model.read(batch.tokens, first=int(rng.integers(0, room + 1)))
            else:
                vectors = self.model.read(batch.tokens)
        asked = batch.targets != IGNORE_INDEX
        logits = self.model.unembed(vectors[asked][None])[0]
        losses = F.cross_entropy(logits, batch.targets[asked], reduction="none")
        placed = torch.zeros_like(vectors[..., 0]).masked_scatter(asked, losses)
        return losses.sum() / max(len(logits), 1) + auxiliary.total(placed, len(losses))

    def where_it_went_wrong(self, batch: Batch) -> Message:
        """The step, and the first part of the model that holds NaN or infinite numbers."""
        loss = f"{self.loss:g}"
        for name, weights in zip(self.names, self.weights, strict=True):
            if not torch.isfinite(weights).all():
                return Message("training.weights_not_finite", step=self.step, loss=loss, name=name)
        if isinstance(self.model, Transformer):
            for name, value in self.model.trace(batch.tokens).items():
                if not name.endswith("hook_attn_scores") and not torch.isfinite(value).all():  # a mask is −∞
                    return Message("training.activation_not_finite", step=self.step, loss=loss, name=name)
        for name, weights in zip(self.names, self.weights, strict=True):
            if weights.grad is not None and not torch.isfinite(weights.grad).all():
                return Message("training.gradient_not_finite", step=self.step, loss=loss, name=name)
        return Message("training.loss_not_finite", step=self.step, loss=loss)

    def evaluate(self) -> None:
        """How good it is now, here and on the tests."""
        self.score, tests = self.last_scores = self.scores()
        if self.reached is None and self.score.accuracy >= LEARNED:
            self.reached = self.step
        line = {
            "step": self.step,
            "loss": self.loss,
            **asdict(self.score),
            "tests": {name: score.accuracy for name, score in tests.items()},
            "learning_rate": self.settings.rate(self.step - 1),
            "tokens_per_second": self.speed(),
        }
        if self.folder:
            with (self.folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def scores(self) -> tuple[Evaluation, dict[str, Evaluation]]:
        """The score on the task, and on each test."""
        words, seed = self.settings.evaluation_words, self.settings.seed
        tests = {name: evaluate(self.model, task, words, seed) for name, task in self.tests.items()}
        return evaluate(self.model, self.task, words, seed), tests

    def speed(self) -> float:
        """Tokens learned from in a second."""
        return self.tokens / max(self.seconds, 1e-9)

    # -- the folder ------------------------------------------------------------------------------------

    def described(self) -> dict[str, Any]:
        """What is trained and how, as plain values."""
        return {
            "format": FORMAT,
            "task": task_to_json(self.task),
            "architecture": self.architecture.to_json(),
            "settings": asdict(self.settings),
            "tests": {name: task_to_json(task) for name, task in self.tests.items()},
        }

    def keep(self, folder: Path, resume: bool) -> None:
        """Use a folder of one's own: a new one, or, to resume, one that holds the same run."""
        self.folder = folder
        if _is_begun(folder, resume):
            _refuse_differences(files.read_json(folder / "run.json"), self.described(), folder)
            self.restore(folder / "checkpoint.safetensors")
        else:
            write_atomically(folder / "run.json", files.to_json(self.described()).encode())

    def save(self) -> None:
        """Write the checkpoint."""
        if self.folder is None:
            return
        tensors = {f"weights.{name}": value for name, value in self.model.state_dict().items()}
        for name, weights in zip(self.names, self.weights, strict=True):
            for key, value in self.optimiser.state[weights].items():
                tensors[f"{key}.{name}"] = value
        log = self.folder / "metrics.jsonl"
        progress = {
            "step": self.step,
            "tokens": self.tokens,
            "loss": self.loss,
            "seconds": self.seconds,
            "reached": self.reached,
            "score": asdict(self.score) if self.score else None,
            "metrics": log.stat().st_size if log.exists() else 0,
        }
        data = safetensors.torch.save(
            {name: value.contiguous() for name, value in tensors.items()}, metadata={"run": json.dumps(progress)}
        )
        write_atomically(self.folder / "checkpoint.safetensors", data)
        self.saved = time.monotonic()

    def restore(self, path: Path) -> None:
        """Go back to the latest checkpoint; what the log says of later steps is forgotten."""
        log = path.with_name("metrics.jsonl")
        if not path.exists():
            log.unlink(missing_ok=True)
            return
        try:
            with safe_open(path, framework="pt") as file:
                progress = json.loads((file.metadata() or {})["run"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            self.model.load_state_dict({n[8:]: value for n, value in tensors.items() if n.startswith("weights.")})
            for name, weights in zip(self.names, self.weights, strict=True):
                kept = {key: tensors.get(f"{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")}
                moved = progress["step"] and any(value is not None for value in kept.values())
                self.optimiser.state[weights] = {key: tensors[f"{key}.{name}"] for key in kept} if moved else {}
            self.step = whole_number(progress["step"], "training.the_step", least=0)
            self.tokens = whole_number(progress.get("tokens", 0), "training.token_count", least=0)
            self.loss, self.seconds = float(progress["loss"]), float(progress["seconds"])
            reached = progress.get("reached")
            self.reached = None if reached is None else whole_number(reached, "training.step_learned", least=1)
            self.score = Evaluation(**progress["score"]) if progress["score"] else None
            logged = whole_number(progress["metrics"], "training.log_length", least=0)
        except (SafetensorError, RuntimeError, KeyError, TypeError, ValueError, OSError) as error:
            raise InputError("training.no_checkpoint", path=path, why=str(error)) from None
        if log.exists() and log.stat().st_size > logged:
            os.truncate(log, logged)

    def finish(self, trained: Trained) -> None:
        """Leave the model behind."""
        if self.folder is None:
            return
        documents = {"training.json": files.to_json({**self.described(), "result": trained.to_json()})}
        if isinstance(self.task, StateTracking):
            documents["machine.json"] = formats.dumps(self.task.machine, "json")
        if isinstance(self.task, TextTask):
            documents["tokenizer.json"] = self.task.text.tokeniser.to_str()
        files.save(self.folder / "model", self.model, documents)


def _is_begun(folder: Path, resume: bool) -> bool:
    """Whether there is a run in this folder, which may only be resumed; anything else that is there is refused."""
    if folder.exists() and not folder.is_dir():
        raise InputError("training.a_file", folder=folder)
    there = (folder / "run.json").exists()
    if there and not resume:
        raise InputError("training.a_run", folder=folder)
    if folder.exists() and not there and not all(is_of_an_owner(path.name) for path in folder.iterdir()):
        raise InputError("training.no_run", folder=folder)
    return there


def model_of(folder: Path) -> Path:
    """The folder of a model: this one, or that of a run that has ended."""
    place = folder / "model" if (folder / "run.json").exists() else folder
    if place != folder and not place.exists():
        raise InputError("training.not_ended", folder=folder)
    runs = sorted(run.parent.name for run in folder.glob("*/run.json")) if place == folder else []
    if runs and not (folder / "config.json").exists():
        raise InputError("training.holds_runs", folder=folder, runs=listed(runs))
    return place


def _refuse_differences(there: Any, now: dict[str, Any], folder: Path) -> None:
    """A run can only be resumed as it was begun."""
    if not isinstance(there, dict) or there.get("format") != FORMAT:
        raise InputError("training.run_format", folder=folder, format=FORMAT)
    usual = {"architecture": Architecture().to_json(), "settings": asdict(Settings())}
    for part in ("task", "tests", "architecture", "settings"):
        begun = there.get(part)
        if not isinstance(begun, dict):
            raise InputError("training.run_lacks", folder=folder, part=part)
        if part == "architecture":
            begun = with_new_names(begun)
        for key in sorted({*begun, *now[part]}):
            was, given = begun.get(key, usual.get(part, {}).get(key)), now[part].get(key)
            if was != given and key != "checkpoint_seconds":
                raise InputError("training.begun_with", folder=folder, key=key, was=_short(was), now=_short(given))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 60 else text[:59] + "…"
