// The served page: what is typed goes to the server on this machine, and what it says is shown. The link keeps all of it.

import { commands, h } from "./dom.js";
import { LINKED, Store, fromLink, toLink } from "./store.js";
import { say } from "./words.js";
import { STUDIES, renderExplorer } from "./explorer.js";

const ASKED = { spec: "regex:(ab)*", method: "auto", length: 32, word: "abba" };
const METHODS = ["auto", "log", "cascade", "gridworld", "dyck"];
const VIEWS = ["machine", ...Object.keys(STUDIES)];
const FUNCTIONS = ["sort", "prefix-sum", "shift", "reverse", "mix", "gate", "centre"];
const APPROXIMATED = { function: "sort", d: 1, n: 2, cells: 8 };

const model = new Store({ ...ASKED, ...APPROXIMATED, view: "machine", live: true, ...fromLink(location.hash) });
if (!VIEWS.includes(model.get("view"))) model.set("view", "machine");
const form = h("div");
const page = h("main");
let last = 0;
let scored = "";
const brought = {};

function ask(path, body) {
  return told(fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }));
}

async function told(asked) {
  const answer = await asked;
  const said = await answer.json().catch(() => ({ error: answer.statusText }));
  if (!answer.ok) throw new Error(said.error);
  return said;
}

function request(extra) {
  const values = Object.fromEntries(["spec", "method", "length", "word", "without", "file"].map((name) => [name, model.get(name)]));
  return { ...values, length: Number(values.length), ...extra };
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
  const chosen = model.get("view");
  const tab = (name) => h("button", { id: `view-${name}`, type: "button", "aria-current": name === chosen ? "page" : undefined, onclick: () => {
    model.set("message", "");
    model.set("view", name);
    model.save_changes();
  } }, say(model, name));
  const below = { machine: machineForm, approximation: approximationForm }[chosen] ?? placesForm;
  const focused = document.activeElement?.id;
  form.replaceChildren(h("nav", { class: "tabs", "aria-label": say(model, "views") }, VIEWS.map(tab)), below());
  if (focused) document.getElementById(focused)?.focus();
}

function machineForm() {
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
  return h("form", { class: "tools", onsubmit: submit },
    field("spec", { list: "zoo", placeholder: say(model, "machineHint"), size: 24, maxlength: 400, autocomplete: "off", spellcheck: "false" }),
    h("datalist", { id: "zoo" }, zoo.map((spec) => h("option", { value: spec }))),
    field("word", { placeholder: say(model, "wordHint"), size: 20, maxlength: 2000, autocomplete: "off", spellcheck: "false" }),
    field("length", { type: "number", min: 1, max: 1024, size: 5 }),
    h("label", {}, say(model, "method"), " ", h("select", { id: "method", name: "method" },
      METHODS.map((name) => h("option", { value: name, selected: name === model.get("method") }, name)))),
    h("button", { id: "show" }, say(model, "show")),
    h("button", { id: "train", type: "button", title: say(model, "trainHint"), onclick: () => look("/api/train") }, say(model, "train")),
    h("label", { class: "upload" }, say(model, "upload"), " ", h("input", { id: "upload", type: "file", accept: ".json,.dot,.gv,.hoa,.att", onchange: chosen })));
}

function approximationForm() {
  const choose = (name, options, words) => h("label", {}, say(model, name), " ", h("select", { id: name, name },
    options.map((value) => h("option", { value, selected: String(value) === String(model.get(name)) }, words(value)))));
  const submit = (event) => {
    event.preventDefault();
    for (const name of Object.keys(APPROXIMATED)) {
      const { value } = event.target.elements.namedItem(name);
      model.set(name, name === "function" ? value : Number(value));
    }
    model.save_changes();
    approximate();
  };
  return h("div", {}, h("p", {}, commands(say(model, "approximationAbout"))), h("form", { class: "tools", onsubmit: submit },
    choose("function", FUNCTIONS, (name) => name), choose("d", [1, 2, 3], String), choose("n", [1, 2, 3, 4], String),
    choose("cells", [2, 4, 8, 16, 32, 64], (cells) => `1/${cells}`), h("button", { id: "approximate" }, say(model, "build"))));
}

// Which of several runs is shown.
function placesForm() {
  const name = model.get("view");
  const places = model.get("studies")?.[name] ?? [];
  if (places.length < 2) return "";
  return h("div", { class: "tools" }, h("label", {}, say(model, "place"), " ", h("select", { id: "place", onchange: (event) => bring(name, event.target.value) },
    places.map((place) => h("option", { value: place, selected: place === brought[name] }, place)))));
}

// What is asked for while the page shows that it waits; what went wrong is said.
async function waited(answer, name) {
  model.set("waiting", true);
  model.set("message", "");
  model.save_changes();
  try {
    model.set(name, await answer());
  } catch (error) {
    model.set(name, null);
    model.set("message", say(model, "failed", { message: error.message }));
  }
  model.set("waiting", false);
  model.save_changes();
}

async function bring(name, place) {
  brought[name] = place;
  await waited(() => told(fetch(`/studies/${place}`)), name);
}

async function approximate() {
  const asked = Object.fromEntries(Object.keys(APPROXIMATED).map((name) => [name, model.get(name)]));
  await waited(() => ask("/api/approximate", asked), "approximation");
}

// Whatever the chosen view needs and is not there yet.
function need() {
  const name = model.get("view");
  const places = model.get("studies")?.[name] ?? [];
  if (name === "machine" && !model.get("built")) look();
  if (name === "approximation" && !model.get("approximation")) approximate();
  if (places.length && !model.get(name)) bring(name, places[0]);
}

function fail(message) {
  model.set("message", say(model, "failed", { message }));
  model.save_changes();
}

for (const name of Object.keys(LINKED)) model.on(`change:${name}`, () => history.replaceState(null, "", toLink(model)));
for (const name of ["language", "view", "studies", "zoo"]) model.on(`change:${name}`, fields);
model.on("change:without", () => look());
model.on("change:view", need);
model.on("change:studies", need);
addEventListener("hashchange", () => {
  for (const [name, value] of Object.entries(fromLink(location.hash))) model.set(name, value);
  if (!VIEWS.includes(model.get("view"))) model.set("view", "machine");
  model.save_changes();
  fields();
  if (model.get("view") === "machine") look();
  if (model.get("view") === "approximation" && model.get("approximation")) approximate();
});

const skip = (event) => {
  event.preventDefault();
  page.querySelector("section")?.focus();
};
document.body.replaceChildren(h("a", { class: "skip", href: "#", onclick: skip }, say(model, "skip")), page);
fields();
renderExplorer({ model, el: page, form });
need();
told(fetch("/api/known")).then((known) => {
  for (const [name, value] of Object.entries(known)) model.set(name, value);
  model.save_changes();
});
