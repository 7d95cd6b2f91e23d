"""Training learns, repeats itself exactly, survives being killed, and says where it broke."""

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors
import safetensors.torch
import torch

from glassformer.automata import zoo
from glassformer.errors import InputError
from glassformer.nn import LSTM, Transformer, files
from glassformer.training import (
    Architecture,
    DivergedError,
    FlipFlopLanguage,
    Settings,
    StateTracking,
    cluster,
    evaluate,
    train,
)

TASK = StateTracking(zoo.flipflop(), 12)
SMALL = Architecture(layers=1, width=16, heads=2)
QUICK = Settings(steps=30, batch=16, evaluate_every=10, evaluation_words=32)


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    ("task", "architecture", "steps"),
    [
        (TASK, Architecture(layers=1, width=32), 250),
        (StateTracking(zoo.parity(), 12), Architecture(kind="lstm", layers=1, width=64), 300),
        (StateTracking(zoo.parity(), 8, scratchpad=True), Architecture(layers=2, width=32, positions="alibi"), 250),
    ],
)
@pytest.mark.usefixtures("types_unchecked")
def test_easy_tasks_are_learned(task: StateTracking, architecture: Architecture, steps: int) -> None:
    trained = train(task, architecture, replace(QUICK, steps=steps, batch=64, learning_rate=3e-3, evaluate_every=steps))
    assert trained.score.accuracy > 0.97
    assert trained.steps == steps


def test_the_same_seed_gives_the_same_weights_and_another_does_not() -> None:
    first, again = train(TASK, SMALL, QUICK), train(TASK, SMALL, QUICK)
    other = train(TASK, SMALL, replace(QUICK, seed=1))
    assert same(first.model, again.model)
    assert not same(first.model, other.model)


class StopError(Exception):
    pass


@pytest.mark.parametrize("architecture", [SMALL, Architecture(kind="lstm", layers=1, width=16)])
@pytest.mark.parametrize("stop_at", [1, 10, 17, 29])
def test_a_run_that_is_resumed_ends_with_the_same_weights(
    tmp_path: Path, architecture: Architecture, stop_at: int
) -> None:
    def stop(step: int, loss: float, accuracy: float | None) -> None:
        if step == stop_at:
            raise StopError

    whole = train(TASK, architecture, QUICK, tmp_path / "whole")
    often = replace(QUICK, checkpoint_seconds=0.0)
    with pytest.raises(StopError):
        train(TASK, architecture, often, tmp_path / "parts", progress=stop)
    resumed = train(TASK, architecture, often, tmp_path / "parts", resume=True)
    assert same(whole.model, resumed.model)
    assert resumed.score == whole.score
    logs = [(tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("whole", "parts")]
    steps, again = ([json.loads(line)["step"] for line in log] for log in logs)
    assert steps == again == [10, 20, 30]


@pytest.mark.usefixtures("types_unchecked")
def test_a_run_that_is_killed_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    longer = replace(QUICK, steps=400, evaluate_every=400, checkpoint_seconds=0.0)
    process = cluster.processes().Process(target=train, args=(TASK, SMALL, longer, folder))
    process.start()
    deadline = time.monotonic() + 60
    while not (folder / "checkpoint.safetensors").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.join()
    assert not (folder / "model").exists()
    resumed = train(TASK, SMALL, longer, folder, resume=True)
    assert same(resumed.model, train(TASK, SMALL, longer).model)


def test_an_interrupt_is_heeded_between_steps_and_the_run_goes_on_to_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heeding_interrupts: None
) -> None:
    optimise = torch.optim.AdamW.step
    steps = 0

    def interrupted_in_the_middle(self: torch.optim.AdamW) -> None:
        nonlocal steps
        steps += 1
        if steps == 13:
            os.kill(os.getpid(), signal.SIGINT)
        optimise(self)

    monkeypatch.setattr(torch.optim.AdamW, "step", interrupted_in_the_middle)
    with pytest.raises(KeyboardInterrupt):
        train(TASK, SMALL, QUICK, tmp_path / "run")
    assert steps == 13
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    resumed = train(TASK, SMALL, QUICK, tmp_path / "run", resume=True)
    assert steps == 30
    assert same(resumed.model, train(TASK, SMALL, QUICK).model)


def test_the_trained_model_can_be_loaded_and_scores_the_same(tmp_path: Path) -> None:
    trained = train(TASK, SMALL, QUICK, tmp_path / "run")
    loaded, documents = files.load(tmp_path / "run" / "model")
    assert isinstance(loaded, Transformer)
    assert evaluate(loaded, TASK, 32, 0) == trained.score
    assert set(documents) == {"machine.json", "training.json"}
    train(TASK, Architecture(kind="lstm", layers=1, width=8), QUICK, tmp_path / "lstm")
    assert isinstance(files.load(tmp_path / "lstm" / "model")[0], LSTM)


def test_a_folder_is_never_written_over(tmp_path: Path) -> None:
    train(TASK, SMALL, QUICK, tmp_path / "run")
    with pytest.raises(InputError, match="holds a run already"):
        train(TASK, SMALL, QUICK, tmp_path / "run")
    with pytest.raises(InputError, match=r"begun with another learning_rate \(0.001, now 0.01\)"):
        train(TASK, SMALL, replace(QUICK, learning_rate=0.01), tmp_path / "run", resume=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="exists and is not a run"):
        train(TASK, SMALL, QUICK, tmp_path / "mine", resume=True)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    train(TASK, SMALL, QUICK, tmp_path / "run")
    os.truncate(tmp_path / "run" / "checkpoint.safetensors", 1000)
    with pytest.raises(InputError, match="is not a checkpoint of this run"):
        train(TASK, SMALL, QUICK, tmp_path / "run", resume=True)


def test_numbers_that_are_none_stop_it_with_the_step_and_the_place() -> None:
    with pytest.raises(DivergedError, match=r"step \d+: the loss is nan; the first activation .* is blocks\.0\."):
        train(TASK, SMALL, replace(QUICK, learning_rate=1e20, warmup=0))


@pytest.mark.parametrize("spoil", [{"step": "2"}, {"metrics": -1}, {"score": [1]}, {"loss": None}, {}])
def test_a_checkpoint_with_a_damaged_header_is_refused(tmp_path: Path, spoil: dict[str, object]) -> None:
    train(TASK, SMALL, QUICK, tmp_path / "run")
    path = tmp_path / "run" / "checkpoint.safetensors"
    with safetensors.safe_open(path, framework="pt") as file:
        progress = json.loads(file.metadata()["run"])
    tensors = safetensors.torch.load_file(path)
    metadata = {"run": json.dumps(progress | spoil)} if spoil else {"other": "thing"}
    safetensors.torch.save_file(tensors, path, metadata=metadata)
    with pytest.raises(InputError, match="is not a checkpoint of this run"):
        train(TASK, SMALL, QUICK, tmp_path / "run", resume=True)


@pytest.mark.parametrize("value", [None, 5, {"format": "glassformer run, version 1", "task": 3}])
def test_a_damaged_run_is_refused(tmp_path: Path, value: object) -> None:
    train(TASK, SMALL, QUICK, tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text(json.dumps(value))
    with pytest.raises(InputError, match=r"run\.json"):
        train(TASK, SMALL, QUICK, tmp_path / "run", resume=True)


def test_a_finished_run_that_is_resumed_says_the_same(tmp_path: Path) -> None:
    first = train(TASK, SMALL, QUICK, tmp_path / "run")
    again = train(TASK, SMALL, QUICK, tmp_path / "run", resume=True)
    assert again.to_json() == first.to_json()


def test_a_run_from_before_a_setting_was_there_is_taken_to_have_its_usual_value(tmp_path: Path) -> None:
    train(TASK, SMALL, QUICK, tmp_path / "run")
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    del run["architecture"]["norm_place"]
    assert run["architecture"].pop("initialisation") == "gpt2"
    run["architecture"]["start"] = "small"  # as it was called
    (tmp_path / "run" / "run.json").write_text(json.dumps(run))
    train(TASK, SMALL, QUICK, tmp_path / "run", resume=True)
    with pytest.raises(InputError, match="another norm_place"):
        train(TASK, replace(SMALL, norm_place="post"), QUICK, tmp_path / "run", resume=True)


def test_a_file_is_not_taken_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        train(TASK, SMALL, QUICK, tmp_path / "file")


@pytest.mark.parametrize(
    "architecture",
    [Architecture(kind="lstm"), replace(SMALL, positions="alibi"), replace(SMALL, positions="none")],
)
def test_words_are_not_shifted_where_that_changes_nothing(architecture: Architecture) -> None:
    with pytest.raises(InputError, match="only where positions are added"):
        train(TASK, architecture, replace(QUICK, shifted=True))


@pytest.mark.parametrize("task", [TASK, StateTracking(zoo.parity(), 5, scratchpad=True)])
def test_shifted_words_have_twice_the_room(task: StateTracking) -> None:
    trained = train(task, SMALL, replace(QUICK, steps=2, shifted=True))
    assert isinstance(trained.model, Transformer)
    assert trained.model.config.context == 2 * task.context


def test_words_may_begin_anywhere_in_the_context() -> None:
    roomy = replace(SMALL, context=40)
    plain, shifted = train(TASK, roomy, QUICK), train(TASK, roomy, replace(QUICK, shifted=True))
    changed = [model.state_dict()["pos_embed.W_pos"] for model in (plain.model, shifted.model)]
    fresh = roomy.model(TASK, 0).state_dict()["pos_embed.W_pos"]
    moved = [((weights - fresh).abs() > 1e-4).any(dim=1).sum().item() for weights in changed]
    assert moved[0] == TASK.context
    assert moved[1] > TASK.context


def test_tests_are_scored_by_name_and_leave_room_for_longer_words() -> None:
    tests = {"longer": TASK.but(length=30), "rare": TASK.but(letters=(0.8, 0.1, 0.1))}
    trained = train(TASK, SMALL, QUICK, tests=tests)
    assert set(trained.tests) == {"longer", "rare"}
    assert isinstance(trained.model, Transformer)
    assert trained.model.config.context == 31


def test_flip_flop_language_is_learned_from_all_tokens() -> None:
    trained = train(FlipFlopLanguage(16, 0.5), SMALL, QUICK)
    assert 0 <= trained.score.accuracy <= 1
    assert isinstance(trained.model, Transformer)
    assert trained.model.config.vocab == 5
