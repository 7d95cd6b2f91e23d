from xml.etree import ElementTree

import pytest

from glassformer.algebra import decompose
from glassformer.automata import machine
from glassformer.ui.drawing import svg
from glassformer.ui.drawing.cascade import cycles, draw_cascade
from glassformer.ui.drawing.heatmap import draw_heatmap

SPECS = ["abab", "transformations(4)", "random(9, letters=3, seed=2)", "cyclic(1)", "dihedral(9)"]


@pytest.mark.parametrize("spec", SPECS)
def test_a_drawing_is_well_formed_and_names_levels_and_letters(spec: str) -> None:
    made = machine(spec)
    cascade = decompose(made)
    root = ElementTree.fromstring(draw_cascade(cascade, "a <title> & more"))
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert words[0] == "a <title> & more"
    assert [f"Level {k + 1}" in words for k in range(len(cascade.levels))] == [True] * len(cascade.levels)
    if cascade.levels:
        assert set(made.symbols[:12]) <= set(words)


def test_what_letters_do_is_written_in_cycles() -> None:
    assert cycles((1, 0, 3, 2)) == "(1 2)(3 4)"
    assert cycles((0, 1)) == ""
    text = draw_cascade(decompose(machine("abab")), "abab")
    for words in ("resets to 2", "(2 3) · resets to 1", "group C2", "however long the word", "stays"):
        assert words in text
    korean = draw_cascade(decompose(machine("abab")), "abab", "ko")
    for words in ("2로 초기화", "(2 3) · 1로 초기화", "군 C2", "단어가 아무리 길어도", "그대로"):
        assert words in korean


def test_what_does_not_fit_is_cut_short() -> None:
    assert svg.fitted("short", 12, 100) == "short"
    assert svg.width_of(svg.fitted("long " * 40, 12, 100), 12) <= 100
    assert len(svg.fitted("글자" * 40, 12, 100)) < len(svg.fitted("ab" * 40, 12, 100))


def test_a_table_says_where_there_is_no_number() -> None:
    root = ElementTree.fromstring(draw_heatmap([[None, 300.0]], ["none"], ["reverse", "copy"], "Steps"))
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"–", "300"} <= set(words)


def test_a_table_tells_what_its_colours_mean() -> None:
    def ends(values: list[float | None], full: float) -> list[str | None]:
        root = ElementTree.fromstring(draw_heatmap([values], ["row"], ["a", "b"], "Parts", full=full))
        return [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")][-2:]

    assert ends([0.1, 0.36], 1.0) == ["0", "1.00"]
    assert ends([-0.1, 1.2], 1.0) == ["-1.20", "1.20"]
    assert ends([None, None], 1.0) == ["0", "1.00"]


def test_long_names_of_columns_rise_and_do_not_make_them_wide() -> None:
    def width(name: str) -> float:
        drawn = draw_heatmap([[0.0] * 20], ["row"], [name] * 20, "Parts")
        assert ("rotate" in drawn) == (len(name) >= 16)
        return float(ElementTree.fromstring(drawn).attrib["width"])

    assert width("blocks.12.attn.hook_result[10]") < width("blocks.1.mlp")
