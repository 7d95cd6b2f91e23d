"""The family side by side: small enough to run here, and a story that can turn out otherwise."""

import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from glassformer.documents.lineage import aligned, figures, skips, translating, verdicts
from glassformer.documents.lineage import family as lineage
from glassformer.documents.lineage.family import BLOCKS, CORE, IN_THE_BLOCK, LAPTOP, READERS, TASKS, FamilyTask
from glassformer.documents.lineage.results import BLOCK, RNN, Family, MemberResult, Skips, Translating
from glassformer.documents.lineage.skips import KINDS
from glassformer.errors import InputError
from glassformer.training.architecture import Architecture
from glassformer.training.store import Store
from glassformer.training.sweep import results_of, sweep_of
from glassformer.training.trial import task_of
from glassformer.ui.web.studies import read
from places import DATA
from shell import Shell

SAMPLE = DATA / "sentences.tsv"
TINY = lineage.FamilyScale(
    {"reverse": ("none", "scaled_dot"), "recall": ("none", "additive")}, ("scaled_dot",), 1, 3000
)


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every task is short, and the quick bench tiny."""
    for name, task in TASKS.items():
        monkeypatch.setitem(TASKS, name, replace(task, steps=8))
    monkeypatch.setattr(lineage, "QUICK", TINY)
    monkeypatch.setattr(skips, "QUICK", skips.SkipsScale(depths=(1, 2), seeds=1, steps=2, width=8))
    draw = aligned.draw_dates
    monkeypatch.setattr(aligned, "draw_dates", lambda folder, steps, *rest: draw(folder, 2, *rest))


@pytest.mark.usefixtures("few_steps", "types_unchecked")
def test_the_bench_runs_goes_on_and_draws(shell: Shell, tmp_path: Path) -> None:
    found = shell.json("lineage", "--quick", "--out", "kept")
    assert {(row["host"], row["task"], row["member"]) for row in found["family"]} == set(TINY.cases())
    assert set(found["skips"]["accuracies"]) == set(KINDS)
    assert all({"claim", "said", "holds", "messages"} == set(verdict) for verdict in found["verdicts"])
    for name in ("family", "steps", "seconds", "members", "distance", "skips", "dates", "reverse"):
        ElementTree.parse(tmp_path / "kept" / f"{name}.svg")
    assert read(tmp_path / "kept", "lineage.json")["family"] == found["family"]  # the page shows it
    again, _ = shell("lineage", "--quick", "--out", "kept")  # nothing is trained twice
    assert f"{found['family'][0]['accuracy']:.3f}" in again


def test_the_family_is_listed_with_its_formulas(shell: Shell) -> None:
    text, _ = shell("lineage", "--list")
    assert "Bahdanau" in text
    assert "tanh(W q + U k)" in text
    names = {row["name"] for row in shell.json("lineage", "--list")}
    assert {"hard", "additive", "location", "local-p", "multi-head", "linear", "alibi"} <= names


def test_a_text_that_is_not_there_is_named_and_a_folder_that_is_a_file(shell: Shell, tmp_path: Path) -> None:
    assert "no corpus nowhere.tsv" in shell("lineage", "--text", "nowhere.tsv", code=2)[1]
    (tmp_path / "taken").write_text("")
    assert "taken is a file" in shell("lineage", "--out", "taken", code=2)[1]


@pytest.mark.usefixtures("types_unchecked")
def test_all_members_have_nearly_as_many_parameters() -> None:
    for host, task, name in LAPTOP.cases():
        model = LAPTOP.model(host, task, name)
        made = Architecture(**model).model(task_of(TASKS[task].task), 0)
        count = sum(parameter.numel() for parameter in made.parameters())
        assert abs(count - LAPTOP.parameters) < 0.16 * LAPTOP.parameters, (host, task, name, count)


def test_the_whole_family_learns_to_reverse_and_the_core_everything() -> None:
    assert set(LAPTOP.encoder_decoders["reverse"]) == set(READERS)
    assert all(set(CORE) <= set(names) for names in LAPTOP.encoder_decoders.values())
    assert set(LAPTOP.blocks) == set(BLOCKS)


def row(case: tuple[str, str, str], right: float = 1.0, reached: int | None = 100) -> MemberResult:
    return MemberResult(*case, 64, [right, right], right, right, {}, reached, 1.0)


STORY = Family(
    [
        row((RNN, "recall", "none"), 0.4, None),
        row((RNN, "recall", "additive")),
        row((RNN, "fetch", "scaled_dot"), 0.9, None),
        row((RNN, "fetch", "multi_head")),
        row((RNN, "reverse", "none"), 0.7),
        row((RNN, "reverse", "additive"), 0.95),
        row((RNN, "reverse", "additive_before"), 0.95),
        row((RNN, "reverse", "scaled_dot_before"), 0.9),
        row((BLOCK, IN_THE_BLOCK, "additive"), 0.6),
        row((BLOCK, IN_THE_BLOCK, "scaled_dot"), 0.8),
    ],
    {"none": [0.9, 0.6, 0.3], "additive": [1.0, 0.9, 0.9]},
)


@pytest.mark.parametrize(
    "other",
    [
        row((RNN, "recall", "additive"), 0.42),
        row((RNN, "fetch", "scaled_dot"), 1.0, 90),
        row((BLOCK, IN_THE_BLOCK, "additive"), 0.9),
        replace(row((RNN, "reverse", "scaled_dot_before"), 0.9), seeds=[0.5, 0.96]),
    ],
)
def test_every_sentence_of_the_story_can_be_untrue(other: MemberResult) -> None:
    assert [verdict.holds for verdict in verdicts.of_family(STORY)] == [True] * 4
    case = (other.host, other.task, other.member)
    rows = [other if (row.host, row.task, row.member) == case else row for row in STORY.rows]
    changed = verdicts.of_family(replace(STORY, rows=rows))
    assert [verdict.holds for verdict in changed].count(False) == 1


@pytest.mark.parametrize(
    "right", [{"none": [0.9, 0.7], "additive": [1.0, 0.9]}, {"none": [0.9, 0.3], "additive": [1.0, 0.6]}]
)
def test_distance_kills_only_if_it_does_so_without_attention_alone(right: dict[str, list[float]]) -> None:
    assert verdicts.of_family(STORY)[0].holds
    assert not verdicts.of_family(replace(STORY, by_distance=right))[0].holds


def test_what_was_not_trained_is_not_judged() -> None:
    assert verdicts.of_family(Family([row((RNN, "copy", "dot"))], {})) == []


def test_whether_depth_trains_without_skips_can_turn_out_otherwise() -> None:
    gradients = {kind: [1.0, 2.0] for kind in KINDS}
    deep = {kind: 0.1 if kind == "none" else 1.0 for kind in KINDS}
    found = Skips({kind: {2: 1.0, 16: right} for kind, right in deep.items()}, gradients)
    assert verdicts.of_skips(found)[0].holds
    for other in ({"none": 1.0}, {"highway": 0.4}, {"residual": 0.4}):
        changed = {kind: {2: 1.0, 16: right} for kind, right in {**deep, **other}.items()}
        assert not verdicts.of_skips(Skips(changed, gradients))[0].holds
    ElementTree.fromstring(figures.draw_skips(found))


def test_gradients_fade_without_skips_and_arrive_with_residuals() -> None:
    scale = skips.SkipsScale(width=16)
    (first, *_, last), (residual_first, *_, residual_last) = (
        skips.gradients(scale, kind, 8) for kind in ("none", "residual_norm_before")
    )
    assert first < 0.2 * last
    assert residual_first > 0.5 * residual_last


def test_translations_are_learned_made_and_scored(tmp_path: Path) -> None:
    scale = translating.TranslationScale(
        str(SAMPLE), vocab=330, longest=40, width=8, steps=2, sentences=3, groups=((3, 15), (16, 40))
    )
    found = translating.translating(scale, tmp_path, 1)
    assert found.lengths == [15, 40]
    assert all(0 <= value <= 100 for by in found.bleu.values() for value in by.values())
    assert all(set(example) == {"english", "german", "none", "additive"} for example in found.examples)
    ElementTree.fromstring(figures.draw_translating(found))
    with pytest.raises(InputError, match="no sentences of 41 to 50 tokens"):
        translating.held_out(task_of(scale.task), 41, 50, 3)  # type: ignore[arg-type]


def test_bleu_is_that_of_right_translations_and_verdicts_heed_it() -> None:
    assert translating.corpus_bleu(["das ist ein kleiner Satz"], ["das ist ein kleiner Satz"]) == pytest.approx(100)
    (verdict,) = verdicts.of_translating(Translating({"none": {8: 5.0, 24: 2.0}, "additive": {8: 17.0, 24: 12.0}}, []))
    assert verdict.holds
    (verdict,) = verdicts.of_translating(Translating({"none": {8: 5.0, 24: 5.0}, "additive": {8: 17.0, 24: 12.0}}, []))
    assert not verdict.holds


def test_a_width_is_found_for_every_number_of_parameters() -> None:
    task = FamilyTask({"sequence": "copy", "length": 4}, 1, {})
    widths = [lineage.widest({"kind": "rnn", "score": "dot"}, task, count) for count in (1, 20_000, 10**9)]
    assert widths[0] == 16
    assert widths == sorted(set(widths))


def test_a_trial_that_failed_or_lost_its_model_is_tried_again(tmp_path: Path) -> None:
    sweep = sweep_of(
        {"task": {"sequence": "copy", "length": 2}, "model": {"kind": "rnn", "width": 8}, "training": {"steps": 1}},
        "one",
    )
    folder, store = tmp_path / "runs", tmp_path / "runs.sqlite"
    (first,) = results_of({"one": sweep}, store, 1, folder=folder)["one"]
    shutil.rmtree(folder)
    kept = Store(store)
    kept.file.execute("update trials set status = 'failed'")
    kept.close()
    (again,) = results_of({"one": sweep}, store, 1, folder=folder)["one"]
    assert again["loss"] == first["loss"]
    shutil.rmtree(folder)
    results_of({"one": sweep}, store, 1, folder=folder)
    assert (folder / sweep.ids[0] / "model").exists()
