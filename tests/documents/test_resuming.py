"""`glassformer claims --all` goes on where it was interrupted, and measures again what has changed."""

import importlib.util
import inspect
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from glassformer.documents import CLAIMS, Claim, Kept, Outcome, ledger, run
from glassformer.documents.ledger import experiment_in
from glassformer.errors import InputError
from shell import Shell


class Experiments:
    """Three claims that count how often they are measured; one of them trains first."""

    def __init__(self) -> None:
        self.measured: list[str] = []
        self.trained = 0
        self.interrupted_at = ""
        self.refuted = ""

    def measure(self, name: str) -> tuple[str, bool]:
        if name == self.interrupted_at:
            raise KeyboardInterrupt
        self.measured.append(name)
        return f"seen in {name}", name != self.refuted

    def prepare(self, tell: object) -> None:
        self.trained += 1

    def claims(self) -> tuple[Claim, ...]:
        return (
            Claim("S0.1", "One.", lambda: self.measure("S0.1")),
            Claim("S0.2", "Two.", lambda: self.measure("S0.2")),
            Claim("S3.1", "Three.", lambda: self.measure("S3.1"), self.prepare),
        )


@pytest.fixture
def experiments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Experiments:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Experiments()
    monkeypatch.setattr(ledger, "CLAIMS", made.claims())
    return made


def test_an_interrupted_run_goes_on(shell: Shell, experiments: Experiments) -> None:
    experiments.interrupted_at = "S0.2"
    shell("claims", "--all", code=130)
    assert experiments.measured == ["S0.1"]
    experiments.interrupted_at = ""
    text, said = shell("claims", "--all")
    assert experiments.measured == ["S0.1", "S0.2", "S3.1"]
    assert "1 of 3 outcomes kept" in said
    assert all(f"seen in {name}" in text for name in experiments.measured)


def test_what_is_kept_is_neither_measured_nor_trained_for(shell: Shell, experiments: Experiments) -> None:
    experiments.refuted = "S0.2"
    first = shell.json("claims", "--all", code=1)
    experiments.refuted = ""
    assert shell.json("claims", "--all", code=1) == first
    assert [row["holds"] for row in first] == [True, False, True]
    assert (len(experiments.measured), experiments.trained) == (3, 1)


def test_again_forgets_and_measures_anew(shell: Shell, experiments: Experiments) -> None:
    shell("claims", "--all")
    experiments.interrupted_at = "S0.2"
    shell("claims", "--all", "--again", code=130)
    experiments.interrupted_at = ""
    _, said = shell("claims", "--all")
    assert "1 of 3 outcomes kept" in said  # of the run that began anew, not of the one before
    assert experiments.measured == ["S0.1", "S0.2", "S3.1", "S0.1", "S0.2", "S3.1"]


@pytest.mark.parametrize("asked", [[], ["--quick"], ["S0.1", "S0.2"]])
def test_only_all_keeps_and_reads_what_was_kept(shell: Shell, experiments: Experiments, asked: list[str]) -> None:
    shell("claims", *asked)
    _, said = shell("claims", "--all")
    assert "0 of 3 outcomes kept" in said
    _, said = shell("claims", *asked)
    assert "kept" not in said
    assert experiments.measured == ["S0.1", "S0.2", "S0.1", "S0.2", "S3.1", "S0.1", "S0.2"]


@pytest.mark.parametrize("asked", [[], ["--quick"], ["S0.1", "S0.2"]])
def test_outcomes_can_be_kept_in_a_file_of_ones_own(
    shell: Shell, experiments: Experiments, tmp_path: Path, asked: list[str]
) -> None:
    shell("claims", *asked, "--keep", "mine.json")
    _, said = shell("claims", "--all", "--keep", "mine.json")
    assert "2 of 3 outcomes kept in mine.json" in said
    assert experiments.measured == ["S0.1", "S0.2", "S3.1"]
    assert set(json.loads((tmp_path / "mine.json").read_text())) == {"S0.1", "S0.2", "S3.1"}
    assert not (tmp_path / "cache").exists()


def test_a_damaged_file_is_named_and_again_replaces_it(shell: Shell, experiments: Experiments, tmp_path: Path) -> None:
    shell("claims", "--all")
    (file,) = (tmp_path / "cache" / "glassformer").iterdir()
    for damage in (b"{", b"\xff", b"[]"):
        file.write_bytes(damage)
        _, said = shell("claims", "--all", code=2)
        assert str(file) in said
        assert "--again" in said
    shell("claims", "--all", "--again")
    assert set(json.loads(file.read_text())) == {"S0.1", "S0.2", "S3.1"}


@pytest.mark.parametrize("damage", [{"holds": "yes"}, {"measured": None}, {"experiment": "another"}])
def test_a_kept_outcome_that_is_not_whole_is_measured_again(
    shell: Shell, experiments: Experiments, damage: dict[str, object]
) -> None:
    shell("claims", "--all")
    file = Kept().path
    rows = json.loads(file.read_text())
    file.write_text(json.dumps(rows | {"S0.2": rows["S0.2"] | damage}))
    shell("claims", "--all")
    assert experiments.measured == ["S0.1", "S0.2", "S3.1", "S0.2"]


def test_a_claim_in_other_words_is_another(experiments: Experiments, tmp_path: Path) -> None:
    claim, kept = experiments.claims()[0], Kept(tmp_path / "kept.json")
    (outcome,) = run([claim], kept)
    assert Kept(kept.path).of(claim) == outcome == Outcome("S0.1", "One.", "seen in S0.1", True)
    assert kept.of(replace(claim, claimed="Not one.")) is None
    assert kept.of(replace(claim, id="S0.9")) is None


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "tiny_experiment.py"
    sys.modules.pop("tiny_experiment", None)
    experiment_in.cache_clear()


def imported(path: Path, source: str) -> Claim:
    """A claim of a module with this source."""
    path.write_text(source)
    experiment_in.cache_clear()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Claim("S9.1", "Same words.", module.measure)


def test_a_changed_experiment_is_run_again(tiny: Path, tmp_path: Path) -> None:
    source = "def measure():\n    return 'seen', True\n"
    kept = Kept(tmp_path / "kept.json")
    list(run([imported(tiny, source)], kept))
    assert kept.of(imported(tiny, source)) is not None
    assert kept.of(imported(tiny, source.replace("True", "False"))) is None


def test_an_experiment_is_also_the_studies_that_it_takes_from(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taking = "from glassformer.documents.verdict import Verdict\n\ndef measure():\n    return 'seen', True\n"
    before = imported(tiny, taking).experiment
    assert imported(tiny, taking).experiment == before
    read = inspect.getsource
    changed = {"glassformer.documents.verdict": "# another study"}
    monkeypatch.setattr(inspect, "getsource", lambda module: changed.get(module.__name__) or read(module))
    assert imported(tiny, taking).experiment != before


def test_every_claim_has_an_experiment() -> None:
    assert len({claim.experiment for claim in CLAIMS}) == 6  # modules


def test_a_cache_that_cannot_be_made_is_named(shell: Shell, experiments: Experiments, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    _, said = shell("claims", "--all", code=2)
    assert str(tmp_path / "cache") in said


def test_outcomes_are_kept_in_the_cache(experiments: Experiments, tmp_path: Path) -> None:
    assert Kept().path == tmp_path / "cache" / "glassformer" / "claims.json"
    with pytest.raises(InputError, match="not a file of kept outcomes"):
        Kept(tmp_path)
