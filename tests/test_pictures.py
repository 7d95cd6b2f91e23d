"""The pictures of the documentation are those that its script draws today."""

from places import ROOT, script_of_docs

IMAGES = ROOT / "docs" / "images"


def test_the_pictures_are_drawn_from_todays_models() -> None:
    drawn = script_of_docs("make_pictures").pictures()
    assert {name for name in drawn if not (IMAGES / name).is_file()} == set()
    drawn.pop("approximation.svg")  # its errors are rounding, which differs from machine to machine
    assert {name for name, svg in drawn.items() if (IMAGES / name).read_text() != svg} == set()
