"""`glassformer claims --all` goes on where it was interrupted, and measures again what has changed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from glassformer.documents import ledger
from glassformer.documents.ledger import CLAIMS, Claim, Kept, Outcome, run
from glassformer.documents.verdict import Measured
from glassformer.errors import InputError
from glassformer.messages import verbatim
from shell import Shell


class Experiments:
    """Three claims that count how often they are measured; one of them trains first."""

    def __init__(self) -> None:
        self.measured: list[str] = []
        self.trained = 0
        self.interrupted_at = ""
        self.refuted = ""

    def measure(self, name: str) -> Measured:
        if name == self.interrupted_at:
            raise KeyboardInterrupt
        self.measured.append(name)
        return verbatim(f"seen in {name}"), name != self.refuted

    def prepare(self, progress: object) -> None:
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
    text, notes = shell("claims", "--all")
    assert experiments.measured == ["S0.1", "S0.2", "S3.1"]
    assert "1 of 3 outcomes kept" in notes
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
    _, notes = shell("claims", "--all")
    assert "1 of 3 outcomes kept" in notes  # of the run that began anew, not of the one before
    assert experiments.measured == ["S0.1", "S0.2", "S3.1", "S0.1", "S0.2", "S3.1"]


@pytest.mark.parametrize("asked", [[], ["--quick"], ["S0.1", "S0.2"]])
def test_only_all_keeps_and_reads_what_was_kept(shell: Shell, experiments: Experiments, asked: list[str]) -> None:
    shell("claims", *asked)
    _, notes = shell("claims", "--all")
    assert "0 of 3 outcomes kept" in notes
    _, notes = shell("claims", *asked)
    assert "kept" not in notes
    assert experiments.measured == ["S0.1", "S0.2", "S0.1", "S0.2", "S3.1", "S0.1", "S0.2"]


@pytest.mark.parametrize("asked", [[], ["--quick"], ["S0.1", "S0.2"]])
def test_outcomes_can_be_kept_in_a_file_of_ones_own(
    shell: Shell, experiments: Experiments, tmp_path: Path, asked: list[str]
) -> None:
    shell("claims", *asked, "--keep", "mine.json")
    _, notes = shell("claims", "--all", "--keep", "mine.json")
    assert "2 of 3 outcomes kept in mine.json" in notes
    assert experiments.measured == ["S0.1", "S0.2", "S3.1"]
    assert set(json.loads((tmp_path / "mine.json").read_text())) == {"S0.1", "S0.2", "S3.1"}
    assert not (tmp_path / "cache").exists()


def test_a_damaged_file_is_named_and_again_replaces_it(shell: Shell, experiments: Experiments, tmp_path: Path) -> None:
    shell("claims", "--all")
    (file,) = (tmp_path / "cache" / "glassformer").iterdir()
    for damage in (b"{", b"\xff", b"[]"):
        file.write_bytes(damage)
        _, notes = shell("claims", "--all", code=2)
        assert str(file) in notes
        assert "--again" in notes
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


def test_every_claim_has_an_experiment() -> None:
    assert len({claim.experiment for claim in CLAIMS}) == 6  # modules


def test_a_cache_that_cannot_be_made_is_named(shell: Shell, experiments: Experiments, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    _, notes = shell("claims", "--all", code=2)
    assert str(tmp_path / "cache") in notes


def test_outcomes_are_kept_in_the_cache(experiments: Experiments, tmp_path: Path) -> None:
    assert Kept().path == tmp_path / "cache" / "glassformer" / "claims.json"
    with pytest.raises(InputError, match="not a file of kept outcomes"):
        Kept(tmp_path)
