"""The views in a real browser: the served page and the report, with the mouse and the keyboard, and no error."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import Watched, skip_without_a_browser
from glassformer.automata import machine
from glassformer.ui.explaining import ExplainScale, explain
from glassformer.ui.web.page import report_page
from serving import Server
from studied import STUDIED, write

skip_without_a_browser()
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "figure.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>")
    made = Server(folder)
    yield made
    made.stop()


def opened(browser: Any, server: Server, link: str) -> Any:
    """The page at a link, when it shows a model."""
    page = Watched(browser).page
    page.goto(f"{server.link}#{link}")
    page.wait_for_selector("canvas.attention")
    page.wait_for_selector("table.heads")
    return page


def shows(page: Any, letters: int) -> None:
    """Press Show, and wait for a word of so many letters."""
    page.click("#show")
    columns = letters + 2  # a heading, and the start
    page.wait_for_function(f"() => document.querySelectorAll('.strip tr')[0]?.children.length === {columns}")


def is_done(page: Any) -> None:
    """Wait until nothing is asked for any more."""
    page.wait_for_function("() => document.querySelector('main').getAttribute('aria-busy') === 'false'")


def test_a_word_too_long_for_the_trained_model_leaves_the_built_one_on_the_page(browser: Any, server: Server) -> None:
    page = opened(browser, server, "spec=regex:(ab)*&word=abba")
    page.fill("#spec", "parity")
    page.fill("#word", "10" * 100)
    page.fill("#length", "256")
    page.click("#train")
    page.wait_for_function("() => document.querySelectorAll('.strip tr')[0]?.children.length === 202", timeout=60_000)
    page.wait_for_selector("table.heads")
    assert not page.locator(".message").count()
    assert "sum" in page.locator("table.heads").first.inner_text()  # the heads are those of parity
    page.close()


def test_heads_are_ablated_in_what_is_shown_and_not_in_what_is_being_typed(browser: Any, server: Server) -> None:
    page = opened(browser, server, "spec=regex:(ab)*&word=abba")
    page.fill("#spec", "regex:(ab")
    page.click("#silence")
    page.wait_for_selector(".message")
    is_done(page)
    assert any(cell.startswith("✗") for cell in strip(page, 2))
    assert page.input_value("#spec") == "regex:(ab"
    page.click("#show")
    page.wait_for_selector("[role=alert]")
    assert any(cell.startswith("✗") for cell in strip(page, 2))  # what is shown is still ablated, and says so
    page.close()


def test_a_head_that_the_next_machine_lacks_gives_way_to_its_first(browser: Any, server: Server) -> None:
    page = opened(browser, server, "spec=tomita(7)&word=0101&layer=1&head=1")
    page.fill("#spec", "parity")
    page.fill("#word", "1011")
    shows(page, 4)
    is_done(page)
    assert page.locator("canvas.attention").count() == 1
    page.close()


def test_a_machine_whose_letters_hold_blanks_is_shown(browser: Any, server: Server, tmp_path: Path) -> None:
    page = opened(browser, server, "spec=parity&word=101")
    made = {"symbols": ["turn left", "go"], "states": ["a", "b"], "delta": [[1, 0], [0, 1]], "start": "a"}
    (tmp_path / "blanks.json").write_text(json.dumps(made))
    page.set_input_files("#upload", tmp_path / "blanks.json")
    page.wait_for_function("() => document.querySelector('.strip')?.innerText.includes('turn left')")
    page.fill("#word", '"turn left" go')
    shows(page, 2)
    assert strip(page, 0)[1:] == ["turn left", "go"]
    page.close()


def test_a_typed_word_that_the_machine_does_not_read_is_refused_and_stays(browser: Any, server: Server) -> None:
    page = opened(browser, server, "spec=regex:(ab)*&word=abba")
    page.fill("#spec", "parity")
    page.fill("#word", "1012")
    page.click("#show")
    page.wait_for_selector("[role=alert]")
    assert "'2'" in page.locator("[role=alert]").inner_text()
    assert page.input_value("#word") == "1012"
    page.fill("#word", "101")
    shows(page, 3)
    page.close()


def test_the_keyboard_keeps_its_place_and_hears_what_changes(browser: Any, server: Server) -> None:
    page = opened(browser, server, "spec=parity&word=101")
    assert page.title() == "parity · Glassformer"
    is_done(page)
    said = page.locator("[role=group] + [role=status]")
    page.focus("#strip")
    page.keyboard.press("Home")
    page.wait_for_function("() => document.querySelector('#strip + [role=status]').innerText.startsWith('Position 0')")
    before = said.element_handle()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("before => before.innerText.startsWith('Position 1, 1')", arg=before)  # the same element
    for name in ("silence", "restore", "show"):
        page.focus(f"#{name}")
        page.keyboard.press("Enter")
        page.wait_for_timeout(50)
        is_done(page)
        assert page.evaluate("document.activeElement.id") == name
    page.fill("#spec", "cyclic(3)")
    page.click("#show")
    page.wait_for_function("() => document.title === 'cyclic(3) · Glassformer'")
    page.close()


def linked(page: Any, part: str) -> None:
    """Wait for the link to hold this: the browser tells of it a moment later."""
    page.wait_for_function("part => location.href.includes(part)", arg=part)


def strip(page: Any, row: int) -> list[str]:
    """The cells of a row of the word."""
    cells: list[str] = page.locator(".strip tr").nth(row).locator("td").all_inner_texts()
    return cells


def test_a_machine_is_typed_stepped_hovered_ablated_and_trained(browser: Any, server: Server) -> None:
    watched = Watched(browser)
    page = watched.page
    page.goto(server.link)
    page.wait_for_selector("canvas.attention")
    assert page.evaluate("scrollY") == 0  # what is below does not draw the page down to it
    page.fill("#spec", "regex:(a|b)*ab")
    page.fill("#word", "aabab")
    page.click("#show")
    page.wait_for_function("() => document.querySelectorAll('.strip tr')[0]?.children.length === 7")
    assert strip(page, 0)[1:] == list("aabab")
    assert strip(page, 1) == strip(page, 2)  # the automaton, and what was built for it
    page.locator(".strip td").nth(3).click()
    linked(page, "position=3")
    page.locator(".strip").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    linked(page, "position=5")
    page.keyboard.press("ArrowLeft")
    linked(page, "position=4")
    page.locator("canvas.attention").first.hover(position={"x": 40, "y": 40})
    assert "weight" in page.locator(".readout").first.inner_text()
    page.locator("canvas.attention").first.focus()
    page.keyboard.press("ArrowDown")
    page.fill("#temperature", "0.05")
    assert page.locator(".bars .number").first.inner_text() == "1.000"
    watched.shown("explore")
    before = strip(page, 2)
    page.click("#silence")
    page.wait_for_selector(".message")
    page.wait_for_function(
        "before => [...document.querySelectorAll('.strip tr')[2].querySelectorAll('td')]"
        ".map(cell => cell.innerText).join() !== before",
        arg=",".join(before),
    )
    assert any(cell.startswith("✗") for cell in strip(page, 2))
    watched.shown("ablated")
    page.fill("#word", "ab")
    shows(page, 2)
    linked(page, "without=%5B%5B0%2C0%5D%5D")  # another word is looked at with the same head ablated
    page.click("#restore")
    page.click("#train")
    page.wait_for_function("() => document.querySelectorAll('canvas.attention').length === 2")
    page.wait_for_function("() => document.querySelectorAll('table.heads').length === 2")
    assert page.locator("table.heads").nth(1).locator("tbody tr").count() == 8
    page.locator("table.heads").nth(1).get_by_role("button", name="1.2").click()
    linked(page, "layer=1&head=2")
    watched.shown("compared")
    assert "no layer 1" in page.locator("section", has=page.locator("#layer")).inner_text()  # of the built one
    page.click("#silence")
    page.wait_for_function("() => document.querySelector('.message')?.innerText === 'Ablated: 1.2'")
    assert page.locator("[role=alert]").count() == 0
    watched.is_quiet(server.url)


def test_a_link_brings_everything_back_in_both_languages_light_and_dark(browser: Any, server: Server) -> None:
    watched = Watched(browser, 400)
    page = watched.page
    link = "#spec=cyclic(5)&word=1101&length=8&method=log&layer=1&position=2&language=ko&theme=dark"
    page.goto(f"{server.link}{link}")
    page.wait_for_selector("canvas.attention")
    assert page.locator("h2").first.inner_text() == "오토마톤: cyclic(5)"
    assert page.locator("td.now").first.inner_text() == "1"
    assert page.evaluate("document.body.dataset.theme") == "dark"
    assert page.locator("#layer").input_value() == "1"
    assert watched.fits()
    watched.shown("korean-dark-400")
    page.select_option("#language", "en")
    page.select_option("#theme", "light")
    assert page.locator("h2").first.inner_text() == "The machine: cyclic(5)"
    linked(page, "language=en")
    watched.shown("light-400")
    watched.is_quiet(server.url)


def test_back_takes_back_what_was_asked_for_and_not_where_one_looked(browser: Any, server: Server) -> None:
    watched = Watched(browser)
    page = watched.page
    page.goto(f"{server.link}#spec=parity&word=0110")
    page.wait_for_selector("canvas.attention")
    page.locator(".strip td").nth(2).click()
    linked(page, "position=2")
    page.fill("#spec", "cyclic(3)")
    page.fill("#word", "0111")
    page.click("#show")
    page.wait_for_function("() => document.querySelector('h2')?.innerText === 'The machine: cyclic(3)'")
    page.click("#view-approximation")
    linked(page, "view=approximation")
    page.go_back()
    page.wait_for_function("() => document.querySelector('h2')?.innerText === 'The machine: cyclic(3)'")
    page.go_back()
    page.wait_for_function("() => document.querySelector('h2')?.innerText === 'The machine: parity'")
    assert page.locator("#word").input_value() == "0110"
    linked(page, "position=2")
    page.go_forward()
    page.wait_for_function("() => document.querySelector('h2')?.innerText === 'The machine: cyclic(3)'")
    watched.is_quiet(server.url)


def test_back_keeps_the_language_and_finds_the_machine_that_was_not_uploaded(
    browser: Any, server: Server, tmp_path: Path
) -> None:
    watched = Watched(browser)
    page = watched.page
    page.goto(f"{server.link}#spec=parity&word=")
    page.wait_for_selector("canvas.attention")
    linked(page, "word=&")
    machine_file = tmp_path / "flip.json"
    machine_file.write_text('{"symbols": ["0"], "states": ["up", "down"], "delta": [[1, 0]], "start": "up"}')
    page.set_input_files("#upload", machine_file)
    page.wait_for_function("() => document.querySelector('svg.machine')?.innerHTML.includes('down')")
    page.fill("#spec", "cyclic(")  # half a machine is no step
    page.locator(".strip td").nth(0).click()
    linked(page, "position=0")
    page.select_option("#language", "ko")
    page.go_back()
    page.wait_for_function("() => document.querySelector('h2')?.innerText === '오토마톤: parity'")
    page.wait_for_function("() => document.querySelector('svg.machine')?.innerHTML.includes('down') === false")
    assert page.locator("#word").input_value() == ""
    watched.is_quiet(server.url)


def test_an_answer_that_comes_while_another_machine_is_asked_for_does_not_rewrite_the_link(
    browser: Any, server: Server
) -> None:
    page = Watched(browser).page
    heads: list[Any] = []
    looks: list[Any] = []
    page.route("**/api/heads", lambda route: heads.append(route))
    page.goto(f"{server.link}#spec=parity&word=101")
    page.wait_for_selector("canvas.attention")
    page.wait_for_function("() => document.querySelector('main').getAttribute('aria-busy') === 'false'")
    page.route("**/api/look", lambda route: looks.append(route))
    page.fill("#spec", "cyclic(3)")
    page.click("#show")
    page.wait_for_function("() => document.querySelector('main').getAttribute('aria-busy') === 'true'")
    with page.expect_response("**/api/heads"):
        heads[0].continue_()
    page.wait_for_selector("table.heads")
    assert "spec=parity" in page.url
    looks[0].continue_()
    linked(page, "spec=cyclic")
    page.close()


def test_what_is_open_stays_open_in_the_other_language(browser: Any, server: Server) -> None:
    page = Watched(browser).page
    page.goto(f"{server.link}#spec=parity")
    page.wait_for_selector("canvas.attention")
    assert "start token gets the rest" in page.locator("section", has=page.locator("#layer")).inner_text()
    page.locator("details summary").first.click()
    page.select_option("#language", "ko")
    assert page.locator("details[open]").count() == 1
    assert page.locator("details").first.get_attribute("open") is not None
    page.click("#view-figures")
    page.click("#view-machine")
    page.wait_for_selector("#cascade[open]")


def test_mistakes_and_uploads_are_answered_on_the_page(browser: Any, server: Server, tmp_path: Path) -> None:
    watched = Watched(browser)
    page = watched.page
    page.goto(server.link)
    page.wait_for_selector("canvas.attention")
    page.fill("#spec", "regex:(")
    page.click("#show")
    page.wait_for_selector("[role=alert]")
    watched.shown("mistake")
    watched.complaints.clear()  # the browser itself tells of the refusal
    machine_file = tmp_path / "flip.json"
    machine_file.write_text(
        '{"symbols": ["a", "b"], "states": ["up", "down"], "delta": [[1, 0], [0, 1]], "start": "up"}'
    )
    page.set_input_files("#upload", machine_file)
    page.wait_for_function("() => document.querySelector('svg.machine')?.innerHTML.includes('down')")
    page.fill("#word", "bb")
    shows(page, 2)
    assert page.locator("[role=alert]").count() == 0  # it is still the uploaded one
    watched.is_quiet(server.url)


def test_a_word_of_the_machine_before_makes_way_for_one_of_the_new_one(browser: Any, server: Server) -> None:
    watched = Watched(browser)
    page = watched.page
    page.goto(f"{server.link}#spec=parity&position=-5")
    page.wait_for_selector("canvas.attention")
    assert set(page.locator("#word").input_value()) == {"0", "1"}
    page.fill("#word", "abba")
    page.click("#show")
    page.wait_for_selector("[role=alert]")  # it was typed for this one
    watched.complaints.clear()
    page.fill("#spec", "flipflop")
    page.click("#show")
    page.wait_for_function("() => document.querySelector('h2')?.innerText === 'The machine: flipflop'")
    assert page.locator("[role=alert]").count() == 0
    assert sum(url.endswith("/api/look") for url in watched.asked) == 3
    watched.is_quiet(server.url)


def test_studies_of_the_folder_are_drawn_and_read_by_pointer_and_keys(browser: Any, server: Server) -> None:
    watched = Watched(browser)
    page = watched.page
    page.goto(f"{server.link}#view=evolution")
    commands = "glassformer corpus fetch\nglassformer evolve --quick"  # it was not run yet
    assert page.locator("pre").inner_text() == commands
    write(server.folder, *STUDIED)
    page.goto("about:blank")
    page.goto(f"{server.link}#view=evolution")
    page.locator("svg.chart").first.hover()
    assert "LM, its token" in page.locator(".readout").first.inner_text()
    page.locator("svg.chart").nth(1).focus()
    page.keyboard.press("ArrowRight")
    assert "MLM and MT 0.2" in page.locator(".readout").nth(1).inner_text()
    assert page.get_by_text("S3.2: Mutual information").count() == 1
    watched.shown("evolution")
    page.click("#view-superposition")
    linked(page, "view=superposition")
    page.locator("svg.chart").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert (
        "8 features are represented; most frequent dimensionalities: 0.50 × 8"
        in page.locator(".readout").first.inner_text()
    )
    page.locator("svg.chart").nth(1).focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".readout").nth(1).inner_text().endswith("not represented")
    watched.shown("superposition")
    page.click("#view-lineage")
    page.get_by_role("button", name="reverse").click()
    assert page.locator(".matrix tbody th").first.inner_text() == "<i>dot</i>"
    linked(page, "sorted=reverse")
    page.locator(".matrix td").first.focus()
    page.keyboard.press("ArrowDown")
    assert "additive on reverse: seeds 0.950, 0.950" in page.locator(".readout").first.inner_text()
    assert "quick run" in page.locator(".message").inner_text()
    page.goto(f"{server.link}#view=lineage&measure=constructor")
    assert page.locator("#lineage-measure").input_value() == "accuracy"
    page.select_option("#lineage-host", "block")
    assert page.locator(".matrix tbody tr").count() == 1
    watched.shown("lineage")
    page.click("#view-figures")
    page.wait_for_selector("figure img")
    watched.is_quiet(server.url)


def test_a_function_is_approximated_and_what_is_too_large_is_said(browser: Any, server: Server) -> None:
    watched = Watched(browser, 400)
    page = watched.page
    page.goto(f"{server.link}#view=approximation&function=mix&n=2&cells=4&language=ko&theme=dark")
    page.wait_for_selector("svg.chart")
    assert page.locator("svg.chart").count() == 4
    assert page.locator("svg.chart").nth(3).locator("text", has_text="1e-18").count() == 0  # but 0
    page.locator("svg.chart").first.focus()
    page.keyboard.press("End")
    assert "X의 첫 성분, 나머지는 고정 1" in page.locator(".readout").first.inner_text()
    assert watched.fits()
    watched.shown("approximation-korean-dark-400")
    watched.is_quiet(server.url)
    page.select_option("#cells", "64")
    page.select_option("#n", "4")
    page.click("#approximate")
    page.wait_for_selector("[role=alert]")
    assert "4,000" in page.locator("[role=alert]").inner_text()
    linked(page, "cells=64")


def test_a_long_word_stays_smooth(browser: Any, server: Server) -> None:
    """512 letters are a quarter of a million cells: drawn again at every move of the mouse, in a moment each."""
    watched = Watched(browser)
    page = watched.page
    page.goto(f"{server.link}#spec=parity&word={'01' * 256}&length=512&method=log")
    page.wait_for_selector("canvas.attention")
    canvas = page.locator("canvas.attention").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    took = page.evaluate(
        """async box => {
            const canvas = document.querySelector("canvas.attention"), from = performance.now();
            for (let i = 0; i < 20; i++) canvas.dispatchEvent(new MouseEvent("mousemove",
                { clientX: box.x + 20 + 5 * i, clientY: box.y + 100 + 5 * i, bubbles: true }));
            await new Promise(requestAnimationFrame);
            return (performance.now() - from) / 20;
        }""",
        box,
    )
    assert "weight" in page.locator(".readout").first.inner_text()
    assert took < 1000  # a machine that does other things may be slow; a loop over elements would take minutes
    watched.shown("long")
    watched.is_quiet(server.url)


def test_a_report_opens_from_disk_without_a_network(browser: Any, tmp_path: Path) -> None:
    scale = ExplainScale(length=8, shown=8, words=4, steps=6, layers=2, width=16, tested=16, seconds=1.0)
    *_, found = explain(machine("dihedral(3)"), "dihedral(3)", tmp_path, scale, lambda *_: None)
    (tmp_path / "report.html").write_text(report_page(found, "dihedral(3)"))
    for width in (1280, 400):
        watched = Watched(browser, width)
        page = watched.page
        page.goto(f"file://{tmp_path}/report.html")
        page.wait_for_selector("canvas.attention")
        assert "dihedral(3)" in page.locator("h1").inner_text()
        assert page.locator("#silence").count() == 0  # there is nobody to compute it
        page.select_option("#layer", "1")
        page.select_option("#language", "ko")
        page.locator("details summary").first.click()
        assert watched.fits()
        watched.shown(f"report-{width}")
        watched.is_quiet("file://")


def test_no_two_states_or_labels_of_a_machine_lie_on_each_other(browser: Any, server: Server) -> None:
    watched = Watched(browser)
    page = watched.page
    for spec in ("cyclic(12)", "dihedral(4)", "gridworld(9)", "symmetric(4)"):
        page.goto("about:blank")
        page.goto(f"{server.link}#spec={spec}&word=&length=8&method=log")
        page.wait_for_selector("svg.machine")
        apart = page.evaluate(
            """() => {
                const states = [...document.querySelectorAll("svg.machine .state circle:not(.inner)")]
                    .map(each => [+each.getAttribute("cx"), +each.getAttribute("cy"), +each.getAttribute("r")]);
                return states.every(([x, y, r], i) => states.every(([a, b, s], j) => i === j ||
                    Math.hypot(x - a, y - b) > r + s));
            }"""
        )
        assert apart, spec
        watched.shown(f"machine-{spec.split('(')[0]}")
