"""The pictures of the documentation are those that its script draws today."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_pictures_are_drawn_from_todays_models() -> None:
    spec = importlib.util.spec_from_file_location("make_pictures", DOCS / "make_pictures.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn = module.pictures()
    assert {name for name in drawn if not (DOCS / "images" / name).is_file()} == set()
    drawn.pop("approximation.svg")  # its errors are rounding, which differs from machine to machine
    assert {name for name, svg in drawn.items() if (DOCS / "images" / name).read_text() != svg} == set()
