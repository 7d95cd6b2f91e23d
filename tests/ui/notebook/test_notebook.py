"""Notebooks: what a cell shows of machines, cascades, models and traces, and the views as a widget."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glassformer
from browsing import Watched, skip_without_a_browser
from glassformer.errors import InputError
from glassformer.training import Architecture, Settings, StateTracking, train
from glassformer.ui.notebook import html
from glassformer.ui.web.bundle import module, style

skip_without_a_browser()
pytestmark = pytest.mark.filterwarnings("ignore")

ODD = glassformer.Machine(
    states=("<b>up</b>", '"down" & out'),
    symbols=("<i>", "b"),
    delta=np.array([[1, 0], [0, 1]]),
    start=0,
    outputs=("<script>alert(1)</script>", "'"),
)
HOST = """
globalThis.model = {
  values: VALUES, listeners: {}, saved: 0,
  get(name) { return this.values[name]; },
  set(name, value) {
    if (JSON.stringify(this.values[name]) === JSON.stringify(value)) return;
    this.values[name] = value;
    (this.listeners[`change:${name}`] ?? []).forEach((listener) => listener());
  },
  on(event, listener) { (this.listeners[event] ??= []).push(listener); },
  off(event, listener) { this.listeners[event] = this.listeners[event].filter((each) => each !== listener); },
  save_changes() { this.saved++; },
};
"""
"""A stand-in for the notebook: like Backbone's models, it tells of a change at once, and of saving not at all."""


def everything() -> list[Any]:
    machine = glassformer.machine("gridworld(4)")
    built = glassformer.compile(machine, length=16)
    trace = built.model.trace(built.tokens(machine.encode("RRRRL")[None]))
    plain = glassformer.Semiautomaton(machine.states, machine.symbols, machine.delta)
    cascade = glassformer.decompose(glassformer.machine("regex:(ab)*"))
    return [machine, ODD, plain, glassformer.machine("cyclic(40)"), cascade, built, built.model, trace]


def test_a_cell_shows_every_kind_of_thing_in_light_and_dark_and_runs_nothing(browser: Any, tmp_path: Path) -> None:
    shown = [thing._repr_html_() for thing in everything()]
    for text in shown:
        assert not re.search(r"<script|<link|<iframe|https?://(?!www\.w3\.org/2000/svg)|\son\w+=", text)
        assert len(text) < 100_000
    for name, colours in {"light": "background:#fff;color:#222", "dark": "background:#111;color:#ddd"}.items():
        page = tmp_path / f"{name}.html"
        page.write_text(f"<!doctype html><meta charset=utf-8><body style='{colours}'>{''.join(shown)}")
        watched = Watched(browser, 900)
        watched.page.goto(f"file://{page}")
        watched.page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        inked = watched.page.evaluate(
            "[...document.querySelectorAll('td, th, p')].every((each) =>"
            " getComputedStyle(each).color === getComputedStyle(document.body).color)"
        )
        assert inked  # the text has the colour of the notebook's
        assert watched.page.locator("svg[role=img]").count() >= 4
        assert watched.page.evaluate("[...document.images].every((each) => each.naturalWidth > 0)")
        assert watched.page.get_by_text("<script>alert(1)</script>").first.is_visible()
        watched.shown(f"notebook-{name}")
        watched.is_quiet("file://")


def test_what_is_shown_says_what_there_is() -> None:
    machine, _, _, large, cascade, built, model, trace = (thing._repr_html_() for thing in everything())
    assert "4 states, 3 letters, starts at 0" in machine
    assert "16 more states" in large
    assert "<svg" not in large
    assert "2 levels" in cascade
    assert "exact for every word of up to 16 letters" in built
    assert "conditional reset" in built
    assert "2 layers, width" in model
    assert "6 heads of width 8" in model
    assert trace.count("<img") == 7
    with pytest.raises(TypeError, match="cannot show int"):
        html(3)


def test_words_come_in_korean() -> None:
    machine, _, _, large, cascade, built, model, trace = (html(thing, "ko") for thing in everything())
    assert "상태 4개, 글자 3개, 0에서 시작" in machine
    assert "그 밖의 상태 16개" in large
    assert "레벨 2개" in cascade
    assert "16글자 이하의 모든 단어" in built
    assert "너비 8인 헤드 6개" in model
    assert trace.count("<img") == 7
    assert not re.search(
        "[a-z]{3,} [a-z]{3,} [a-z]{3,}", re.sub("<[^>]*>", "\n", "".join((machine, large, model, trace)))
    )


def test_the_widget_is_the_same_views_on_a_notebook_s_model(browser: Any) -> None:
    anywidget = pytest.importorskip("anywidget")
    from glassformer.ui.notebook.widget import explore

    widget = explore("regex:(ab)*", word="abba", language="ko")
    assert isinstance(widget, anywidget.AnyWidget)
    names = [name for name in widget.trait_names(sync=True) if not name.startswith("_")]
    values = {name: getattr(widget, name) for name in names if name not in ("layout", "tabbable", "tooltip", "comm")}
    watched = Watched(browser, 800)
    page = watched.page
    page.set_content("<!doctype html><body data-jp-theme-light='false'><div id='cell'></div></body>")
    page.add_style_tag(content=style())
    page.evaluate(HOST.replace("VALUES", json.dumps(values)))
    page.evaluate(
        """async (source) => {
            const file = new Blob([source], { type: "text/javascript" });
            const { default: widget } = await import(URL.createObjectURL(file));
            globalThis.end = widget.render({ model, el: document.getElementById("cell") });
        }""",
        module("widget"),
    )
    assert page.locator("#cell h2").first.inner_text() == "오토마톤: regex:(ab)*"
    assert page.evaluate("document.getElementById('cell').dataset.theme") == "dark"  # as the notebook is
    assert (
        page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgba(0, 0, 0, 0)"
    )  # its own page is left
    page.locator(".strip td").nth(2).click()
    assert page.evaluate("model.values.position") == 2
    page.click("#silence")
    page.fill("#word", "ab")
    page.locator("#word").press("Enter")
    assert page.evaluate("[model.values.without, model.values.word]") == [[[0, 0]], "ab"]
    assert page.evaluate("model.saved") >= 3
    watched.shown("widget")
    page.evaluate("end()")
    assert page.evaluate("Object.values(model.listeners).flat().length") == 0
    watched.is_quiet("blob:")


def test_python_answers_what_is_set_in_the_widget(tmp_path: Path) -> None:
    pytest.importorskip("anywidget")
    from glassformer.ui.notebook import explore

    parity = glassformer.machine("parity")
    train(StateTracking(parity, 8), Architecture(layers=1, width=16, heads=2), Settings(steps=2), tmp_path / "run")
    widget = explore(glassformer.compile(parity, 8), word="0110", trained=tmp_path / "run")
    assert widget.built["run"]["answers"] == [0, 0, 1, 0, 0]
    assert len(widget.trained["run"]["answers"]) == 5
    assert set(widget.heads) == {"built", "trained"}
    widget.without = [[0, 0]]
    assert widget.built["run"]["answers"] != [0, 0, 1, 0, 0]
    widget.word = "01x"
    assert "'x'" in widget.message["en"]
    widget.word = "01"
    assert (widget.message, len(widget.built["run"]["tokens"])) == (None, 3)
    with pytest.raises(InputError, match="not trained on this machine"):
        explore("regex:(ab)*", trained=tmp_path / "run")
    glassformer.compile(parity, 4).save(tmp_path / "built")
    with pytest.raises(InputError, match="is no model that was trained; `glassformer train"):
        explore("parity", trained=tmp_path / "built")
    with pytest.raises(InputError, match="speaks en and ko"):
        explore("parity", language="fr")
