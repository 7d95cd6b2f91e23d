// The whole page, out of the views. Each takes { model, el } as in anywidget; the model may be a Store or a widget's.

import { commands, h } from "./dom.js";
import { LANGUAGES, say } from "./words.js";
import { renderMachine } from "./machine.js";
import { renderWord } from "./word.js";
import { renderAttention } from "./attention.js";
import { renderInside } from "./inside.js";
import { renderHeads } from "./heads.js";
import { renderEvolution } from "./evolution.js";
import { renderSuperposition } from "./superposition.js";
import { renderLineage } from "./lineage.js";
import { renderApproximation } from "./approximation.js";
import { renderFigures } from "./figures.js";
import { renderBreaks, renderBuilt, renderClass, renderTrained } from "./about.js";

export const DEFAULTS = {
  language: "en", theme: "", layer: 0, head: 0, position: 1, temperature: 1, without: [],
};

export const STUDIES = {
  evolution: { render: renderEvolution, command: "glassformer corpus fetch\nglassformer evolve --quick" },
  superposition: { render: renderSuperposition, command: "glassformer superposition --quick" },
  lineage: { render: renderLineage, command: "glassformer lineage --quick", follows: ["host", "measure", "sorted"] },
  approximation: { render: renderApproximation },
  figures: { render: renderFigures },
};

const WHOLE = ["language", "theme", "view", "waiting", "machine", "classified", "built", "trained", "verified", "breaks", "message",
  ...Object.keys(STUDIES)];
const PARTS = ["position", "layer", "head", "temperature", "without", "heads", "host", "measure", "sorted"];

// The form, if there is one, stands below the heading. Light or dark is set on the nearest root around the views, or on their own element: a notebook has no other.
export function renderExplorer({ model, el, theme = "", form = null }) {
  for (const [name, value] of Object.entries(DEFAULTS)) if (model.get(name) === undefined) model.set(name, value);
  const root = el.closest(".glassformer-root") ?? el;
  root.classList.add("glassformer-root");
  let views = [];
  const opened = new Set();
  const build = () => {
    root.dataset.theme = model.get("theme") || theme;
    views = compose(model, el, form, opened);
  };
  const listeners = [
    ...WHOLE.map((name) => [`change:${name}`, build]),
    ...PARTS.map((name) => [`change:${name}`, () => keepingFocus(el, () => views.filter((view) => view.follows.includes(name)).forEach((view) => view.draw()))]),
  ];
  for (const [event, listener] of listeners) model.on(event, listener);
  build();
  return () => listeners.forEach(([event, listener]) => model.off(event, listener));
}

// Whoever steps with the keyboard goes on from where they are, although what they stand on was drawn anew.
function keepingFocus(el, draw) {
  const focused = el.getRootNode().activeElement?.id;
  draw();
  if (focused) el.querySelector(`#${CSS.escape(focused)}`)?.focus({ preventScroll: true });
}

function compose(model, el, form, opened) {
  const views = [];
  const view = (render, follows, extra) => {
    const place = h("div", { class: "view" });
    views.push({ follows, draw: () => render({ model, el: place, ...extra }) });
    return place;
  };
  const section = (title, ...content) => h("section", { "aria-label": title, tabindex: -1 }, h("h2", {}, title), content);
  const shown = model.get("view") ?? "machine";
  el.classList.add("glassformer");
  el.lang = model.get("language");
  for (const { id, open } of el.querySelectorAll("details")) opened[open ? "add" : "delete"](id);
  keepingFocus(el, () => {
    el.replaceChildren(...[
      heading(model),
      form,
      model.get("message") && h("p", { class: "message", role: "alert" }, commands(say(model, "failed", { message: say(model, model.get("message")) }))),
      model.get("unfinished") && h("p", { class: "message" }, say(model, "unfinished")),
      ...(shown === "machine" ? machineSections(model, view, section) : [section(say(model, shown), study(model, shown, view))]),
      model.get("live") === false && h("p", { class: "note" }, commands(say(model, "fixed"))),
    ].filter(Boolean));
    for (const each of views) each.draw();
    for (const each of el.querySelectorAll("details")) each.open = opened.has(each.id);
  });
  return views;
}

function machineSections(model, view, section) {
  const has = (name) => Boolean(model.get(name));
  const both = (render, follows) => h("div", { class: "both" }, ["built", "trained"].filter(has).map((who) =>
    h("div", {}, h("h3", {}, say(model, who)), view(render, follows, { who }))));
  return [
    has("machine") && h("div", { class: "both" },
      section(say(model, "thisMachine", { spec: model.get("machine").spec }), view(renderMachine, ["position"])),
      section(say(model, "class"), view(renderClass, []))),
    has("built") && h("div", { class: "both" },
      section(say(model, "built"), view(renderBuilt, [])),
      section(say(model, "trained"), view(renderTrained, []))),
    has("built") && section(say(model, "wordStrip"), view(renderWord, ["position"])),
    has("built") && section(say(model, "attention"), view(controls, ["layer", "head", "without"]),
      both(renderAttention, ["layer", "head", "position"])),
    has("built") && section(say(model, "inside"), view(temperature, []), both(renderInside, ["position", "temperature"])),
    (has("heads") || (model.get("live") !== false && has("built"))) && section(say(model, "headsTable"), view(renderHeads, ["heads"])),
    has("breaks") && section(say(model, "breaks"), view(renderBreaks, [])),
  ];
}

// A study's view, if its numbers are there; if not, the command that makes them.
function study(model, name, view) {
  if (model.get(name)) return view(STUDIES[name].render, STUDIES[name].follows ?? []);
  if (model.get("waiting")) return h("p", { class: "note" }, say(model, "working"));
  return STUDIES[name].command ? h("div", {}, h("p", {}, commands(say(model, "notRun"))), h("pre", {}, STUDIES[name].command)) : "";
}

function heading(model) {
  const change = (name) => (event) => {
    model.set(name, event.target.value);
    model.save_changes();
  };
  const spec = model.get("machine")?.spec;
  return h("header", {},
    h("h1", {}, spec && model.get("live") === false ? say(model, "explained", { spec }) : say(model, "title")),
    h("div", { class: "tools" },
      h("label", {}, say(model, "language"), " ", h("select", { id: "language", onchange: change("language") },
        Object.entries(LANGUAGES).map(([code, words]) =>
          h("option", { value: code, selected: code === model.get("language") }, words.name)))),
      h("label", {}, say(model, "theme"), " ", h("select", { id: "theme", onchange: change("theme") },
        [["", "◐", "themeEither"], ["light", "☀", "themeLight"], ["dark", "☾", "themeDark"]].map(([value, symbol, key]) =>
          h("option", { value, selected: value === (model.get("theme") ?? "") }, `${symbol} ${say(model, key)}`))))));
}

function controls({ model, el }) {
  const deepest = Math.max(...["built", "trained"].map((who) => model.get(who)?.run?.heads.length ?? 0));
  const most = Math.max(...["built", "trained"].map((who) => model.get(who)?.run?.heads[model.get("layer")] ?? 0));
  const [layer, head] = [model.get("layer"), Math.max(0, Math.min(model.get("head"), most - 1))];
  const choose = (name, count) => h("label", {}, say(model, name), " ", h("select", { id: name, onchange: (event) => {
    model.set(name, Number(event.target.value));
    model.save_changes();
  } }, [...Array(count).keys()].map((i) => h("option", { value: i, selected: i === model.get(name) }, i))));
  const part = model.get("built").parts[layer];
  const ablated = model.get("without");
  const is = ablated.some(([l, k]) => l === layer && k === head);
  const ablate = (heads) => {
    model.set("without", heads);
    model.save_changes();
  };
  el.replaceChildren(...[
    h("div", { class: "tools" }, deepest > 0 && choose("layer", deepest), most > 0 && choose("head", most),
      most > 0 && model.get("live") !== false && h("button", { id: "silence", "aria-disabled": String(is), onclick: () => is || ablate([...ablated, [layer, head]]) }, say(model, "silence")),
      model.get("live") !== false && h("button", { id: "restore", "aria-disabled": String(!ablated.length), onclick: () => ablated.length && ablate([]) }, say(model, "restore"))),
    ablated.length > 0 && h("p", { class: "message" }, say(model, "silenced", { heads: ablated.map(([l, k]) => `${l}.${k}`).join(", ") })),
    part?.heads[head] && h("p", {}, say(model, "does", { words: part.heads[head] })),
    part?.heads[head]?.id === "operations.flat_sum" && h("p", { class: "note" }, say(model, "flatSum")),
    part?.mlp && h("p", {}, say(model, "mlp", { words: part.mlp.map((does) => say(model, does)).join("; ") })),
  ].filter(Boolean));
}

function temperature({ model, el }) {
  const number = h("output", {}, Number(model.get("temperature")).toFixed(2));
  el.replaceChildren(h("label", {}, say(model, "temperature"), " ", h("input", {
    id: "temperature", type: "range", min: 0.05, max: 5, step: 0.05, value: model.get("temperature"), oninput: (event) => {
      number.textContent = Number(event.target.value).toFixed(2);
      model.set("temperature", Number(event.target.value));
      model.save_changes();
    } }), " ", number));
}
