"""The study of brittleness: everything trained once, the built model right everywhere, a figure of all lines."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from glassformer.documents.shortcuts.brittleness import BUILT, PROBABILITIES, brittleness, models, probabilities
from glassformer.errors import InputError


def test_all_models_are_compared_and_the_built_one_is_never_wrong(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    found = brittleness("parity", 6, steps=2, seeds=1, store=store, processes=1)
    assert set(found.by_letter) == set(found.by_length) == {*models(6), BUILT}
    assert set(found.by_letter[BUILT].values()) == set(found.by_length[BUILT].values()) == {1.0}
    assert list(found.by_length[BUILT]) == [6, 9, 12]
    again = brittleness("parity", 6, steps=2, seeds=1, store=store, processes=1)
    assert again == found
    drawing = ElementTree.fromstring(found.draw())
    assert len([mark for mark in drawing if mark.tag.endswith("polyline") and mark.get("stroke") != "#e8eef4"]) == 15


def test_the_last_letter_has_the_probability_that_is_asked_for() -> None:
    assert probabilities("gridworld(3)", 0.5) == [0.25, 0.25, 0.5]
    assert len(PROBABILITIES) == 5
    with pytest.raises(InputError, match="one letter only"):
        probabilities("regex:(a)*", 0.5)
