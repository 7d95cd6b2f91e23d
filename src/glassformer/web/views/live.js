// The served page: what is typed goes to the server on this machine, and what it says is shown. The link keeps all of it.

import { h } from "./dom.js";
import { Store, fromLink, toLink } from "./store.js";
import { say } from "./words.js";
import { renderExplorer } from "./explorer.js";

const ASKED = { spec: "regex:(ab)*", method: "auto", length: 32, word: "abba" };
const METHODS = ["auto", "log", "cascade", "gridworld", "dyck"];

const model = new Store({ ...ASKED, live: true, ...fromLink(location.hash) });
const form = h("div");
const page = h("main", { id: "content" });
const figures = h("div");
let last = 0;
let scored = "";

async function ask(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const told = await answer.json().catch(() => ({ error: answer.statusText }));
  if (!answer.ok) throw new Error(told.error);
  return told;
}

function request(extra) {
  const told = Object.fromEntries(["spec", "method", "length", "word", "without", "file"].map((name) => [name, model.get(name)]));
  return { ...told, length: Number(told.length), ...extra };
}

async function look(path = "/api/look", extra = {}) {
  const mine = ++last;
  page.setAttribute("aria-busy", "true");
  model.set("message", "");
  try {
    const found = await ask(path, request(extra));
    if (mine !== last) return;
    for (const name of ["machine", "classified", "built", "trained"]) model.set(name, found[name] ?? null);
    const tokens = found.built.run.tokens.length;
    if (model.get("position") === undefined || model.get("position") >= tokens) model.set("position", tokens - 1);
    const deepest = Math.max(found.built.run.heads.length, found.trained?.run.heads.length ?? 0);
    if (model.get("layer") >= deepest) model.set("layer", 0);
  } catch (error) {
    if (mine === last) model.set("message", say(model, "failed", { message: error.message }));
  }
  if (mine === last) page.removeAttribute("aria-busy");
  model.save_changes();
  if (mine === last && !model.get("message")) await scoreHeads();
}

// Heads are scored once for each pair of models, whatever the word.
async function scoreHeads() {
  const { spec, file, method, length, word } = request();
  const mine = JSON.stringify([spec, file, method, Math.max(length, model.get("built").run.tokens.length - 1), Boolean(model.get("trained"))]);
  if (mine === scored) return;
  scored = mine;
  model.set("heads", null);
  model.save_changes();
  const found = await ask("/api/heads", { spec, file, method, length, word }).catch(() => ({ built: { refused: "large" } }));
  if (mine !== scored) return;
  model.set("heads", found);
  model.save_changes();
}

function fields() {
  const change = (name, value) => {
    model.set(name, value);
    if (name === "spec") model.set("file", null);
    if (["spec", "file"].includes(name)) model.set("without", []);
  };
  const field = (name, attributes) => h("label", {}, say(model, name === "spec" ? "machineSpec" : name), " ",
    h("input", { id: name, name, value: model.get(name) ?? "", onchange: (event) => change(name, event.target.value), ...attributes }));
  const chosen = async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    if (file.size > 1_000_000) return fail(`${file.name}: ${file.size} > 1,000,000`);
    change("file", { name: file.name, text: await file.text() });
    model.set("spec", file.name);
    fields();
    look();
  };
  const submit = (event) => {
    event.preventDefault();
    for (const name of ["spec", "word", "length", "method"]) change(name, event.target.elements.namedItem(name).value);
    look();
  };
  const zoo = model.get("zoo") ?? [];
  form.replaceChildren(h("form", { class: "machine-form", onsubmit: submit },
    field("spec", { list: "zoo", placeholder: say(model, "machineHint"), size: 24, maxlength: 400, autocomplete: "off", spellcheck: "false" }),
    h("datalist", { id: "zoo" }, zoo.map((spec) => h("option", { value: spec }))),
    field("word", { placeholder: say(model, "wordHint"), size: 20, maxlength: 2000, autocomplete: "off", spellcheck: "false" }),
    field("length", { type: "number", min: 1, max: 1024, size: 5 }),
    h("label", {}, say(model, "method"), " ", h("select", { id: "method", name: "method" },
      METHODS.map((name) => h("option", { value: name, selected: name === model.get("method") }, name)))),
    h("button", { id: "show" }, say(model, "show")),
    h("button", { id: "train", type: "button", title: say(model, "trainHint"), onclick: () => look("/api/train") }, say(model, "train")),
    h("label", { class: "upload" }, say(model, "upload"), " ", h("input", { id: "upload", type: "file", accept: ".json,.dot,.gv,.hoa,.att", onchange: chosen }))));
}

function fail(message) {
  model.set("message", say(model, "failed", { message }));
  model.save_changes();
}

function gallery() {
  const found = model.get("figures") ?? [];
  figures.replaceChildren(h("section", {}, h("h2", {}, say(model, "gallery")), found.length
    ? h("details", {}, h("summary", {}, String(found.length)), found.map((name) =>
        h("figure", {}, h("figcaption", {}, name), h("div", { class: "drawing" }, h("img", { src: `/figures/${name}`, alt: name, loading: "lazy" })))))
    : h("p", { class: "note" }, say(model, "noFigures"))));
}

for (const name of ["language", "theme", "layer", "head", "position", "temperature", "without", "spec", "word", "length", "method"]) {
  model.on(`change:${name}`, () => history.replaceState(null, "", toLink(model)));
}
model.on("change:language", () => (fields(), gallery()));
model.on("change:without", () => look());
addEventListener("hashchange", () => {
  for (const [name, value] of Object.entries(fromLink(location.hash))) model.set(name, value);
  model.save_changes();
  fields();
  look();
});

const shell = h("div", { class: "glassformer" }, h("a", { class: "skip", href: "#content" }, say(model, "skip")), form);
document.body.replaceChildren(shell, page, h("div", { class: "glassformer" }, figures));
renderExplorer({ model, el: page });
fields();
gallery();
fetch("/api/known").then((answer) => answer.json()).then((known) => {
  model.set("zoo", known.zoo);
  model.set("figures", known.figures);
  model.save_changes();
  fields();
  gallery();
});
look();
