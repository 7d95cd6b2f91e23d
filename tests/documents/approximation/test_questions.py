"""The five open questions of universal approximation, as experiments."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from glassformer.documents.approximation.questions import (
    ASKED,
    Key,
    QuestionsScale,
    answers,
    power_below,
    recipes,
    train_all,
)

TINY = QuestionsScale(steps=2, seeds=2, depths=(1, 2), units=16, cells=2)


def test_every_question_gets_a_chart_and_a_stopped_run_goes_on(tmp_path: Path) -> None:
    wanted, kept = recipes(TINY), tmp_path / "errors.json"
    first = dict(list(wanted.items())[:3])
    begun = train_all(first, kept, workers=2)
    before = kept.read_text()
    counts: list[tuple[int, int]] = []
    errors = train_all(wanted, kept, workers=2, progress=lambda count, of: counts.append((count, of)))
    different = {(name, recipe) for name, recipe in wanted.values()}
    assert counts[-1] == (len(different) - len({wanted[key] for key in first}),) * 2
    assert json.loads(before).items() <= json.loads(kept.read_text()).items()
    assert {key: errors[key] for key in first} == begun
    found = answers(TINY, errors)
    for question in ASKED:
        ET.fromstring(found.draw(question))
        assert list(found.rows(question))
    one = {seed: errors[Key("sharing", "own", 2, seed)][2] for seed in range(2)}
    mean, least, most = found.lines["sharing"]["own"][2]
    assert (least, most) == (min(one.values()), max(one.values()))
    assert mean == pytest.approx((least + most) / 2)


def test_the_model_trained_beside_the_built_one_has_its_size() -> None:
    ((_, recipe),) = [what for key, what in recipes(TINY).items() if key.line == "trained_as_built" and key.seed == 0]
    assert (recipe.width, len(recipe.blocks)) == (2, 4)
    assert {(block.heads, block.head_width, block.mlp) for block in recipe.blocks} == {(1, 1, (16,))}


@pytest.mark.parametrize(("value", "power"), [(1.0, 1.0), (0.99, 0.1), (12.0, 10.0), (0.0123, 0.01)])
def test_powers_of_ten_below(value: float, power: float) -> None:
    assert power_below(value) == pytest.approx(power)
