"""Line charts as text."""

import re
import xml.etree.ElementTree as ET

import pytest

from glassformer.ui.drawing.chart import Panel, draw_charts

LINES = {"one": [(1.0, 0.5), (2.0, 0.25)], "two": [(1.0, 0.1), (4.0, 1.0)]}


def words(drawing: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]


def test_panels_with_the_same_lines_share_a_legend() -> None:
    assert words(draw_charts([Panel("a", "x", LINES), Panel("b", "x", LINES)], "title", "up")).count("one") == 1


def test_panels_with_other_lines_have_legends_of_their_own() -> None:
    drawing = draw_charts([Panel("a", "x", LINES), Panel("b", "x", {"one": LINES["one"]})], "title", "up")
    assert words(drawing).count("one") == 2
    assert words(drawing).count("two") == 1


def test_lines_that_lie_on_each_other_are_both_seen() -> None:
    names = ["one", "two", "three"]
    drawing = draw_charts([Panel("a", "x", {name: [(1.0, 1.0), (2.0, 1.0)] for name in names})], "title", "up")
    drawn = re.findall(r'<polyline points="60,64 360,64" fill="none" (stroke="#(?!e8eef4)[^/]*)/>', drawing)
    assert len(set(drawn)) == len(names)
    assert sum("stroke-dasharray" in line for line in drawn) == len(names) - 1


def test_powers_of_ten_are_equally_far_apart() -> None:
    panel = Panel("a", "x", {"one": [(0.0, 0.01), (1.0, 0.1), (2.0, 1.0)]}, between=(0.01, 1.0), logarithmic=True)
    (points,) = re.findall(
        r'<polyline points="([^"]*,[^"]*,[^"]*,[^"]*)" fill="none" stroke="#0072b2"', draw_charts([panel], "t", "")
    )
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2])


def test_error_bars_reach_from_the_least_to_the_largest() -> None:
    bare = Panel("a", "x", LINES)
    barred = Panel("a", "x", LINES, bars={"one": [(1.0, 0.25, 0.75)]})
    assert draw_charts([barred], "t", "").count("<polyline") == draw_charts([bare], "t", "").count("<polyline") + 1


@pytest.mark.parametrize("count", [1, 3, 4, 5])
def test_all_panels_lie_on_the_page(count: int) -> None:
    drawing = draw_charts([Panel(f"panel {i}", "x", LINES) for i in range(count)], "title", "up")
    width, height = (float(size) for size in re.search(r'viewBox="0 0 (\S+) (\S+)"', drawing).groups())  # type: ignore[union-attr]
    for x, y in re.findall(r'<text x="([^"]*)" y="([^"]*)"', drawing):
        assert 0 <= float(x) <= width
        assert 0 <= float(y) <= height
