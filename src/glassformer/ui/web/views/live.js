// The served page: what is typed goes to the server on this machine, and what it says is shown. The link keeps all of it.

import { commands, h } from "./dom.js";
import { Store, fromLink, toLink } from "./store.js";
import { inAllLanguages, say } from "./words.js";
import { DEFAULTS, STUDIES, renderExplorer } from "./explorer.js";

const ASKED = { spec: "regex:(ab)*", method: "auto", length: 32, word: "abba" };
const VIEWS = ["machine", ...Object.keys(STUDIES)];
const FUNCTIONS = ["sort", "prefix-sum", "shift", "reverse", "mix", "gate", "centre"];
const APPROXIMATED = { function: "sort", d: 1, n: 2, cells: 8 };

const model = new Store({ ...ASKED, ...APPROXIMATED, ...DEFAULTS, view: "machine", live: true, ...fromLink(location.hash) });
if (!VIEWS.includes(model.get("view"))) model.set("view", "machine");
const form = h("div");
const page = h("main");
let last = 0;
let scored = "";
let submitted = null; // what was asked for last
let shown = null; // what was asked for when the answer that is shown was given
const brought = {};

// By this name the server gives every page its turn; what is asked for instead of something else ends that.
const NAME = crypto.randomUUID();
const under = {};
function ask(path, body, instead) {
  const ends = new AbortController();
  if (instead) {
    under[instead]?.abort();
    under[instead] = ends;
  }
  const headers = { "content-type": "application/json", "x-page": NAME };
  return answered(fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal: ends.signal }));
}

async function answered(request) {
  const answer = await request.catch(() => {
    throw new Refused("unreachable");
  });
  const values = await answer.json().catch(() => {
    throw new Refused(inAllLanguages("serverFailed", { status: answer.status }));
  });
  if (!answer.ok) throw new Refused(values.error);
  return values;
}

// What was refused, as `say` takes it: a sentence of Python's in all languages, or one of the page's own.
class Refused extends Error {
  constructor(sentence) {
    super();
    this.sentence = sentence;
  }
}
const why = (error) => error.sentence ?? error.message;

function request() {
  const values = Object.fromEntries(["spec", "method", "length", "word", "without", "file"].map((name) => [name, model.get(name)]));
  if (values.file?.name !== values.spec) values.file = null; // Back may have gone to another machine
  return { ...values, length: Number(values.length) };
}
const machineOf = ({ spec, file }) => JSON.stringify([spec, file]);

// A word of the machine before is replaced if it is none of this one; a word that was typed for it is refused.
async function look(path = "/api/look", body = request()) {
  const mine = ++last;
  const another = !submitted || machineOf(body) !== machineOf(submitted);
  const typed = body.word !== (submitted ?? ASKED).word;
  submitted = body;
  working(true);
  model.set("message", "");
  try {
    const found = await ask(path, { ...body, fresh: another && !typed }, "look");
    if (mine !== last) return;
    if (!shown || machineOf(body) !== machineOf(shown)) model.set("heads", null);
    for (const name of ["methods", "machine", "classified", "built", "trained"]) model.set(name, found[name] ?? null);
    model.set("without", body.without);
    if (found.word !== body.word) model.set("word", found.word);
    shown = submitted = { ...body, word: found.word };
    arrive(shown);
    const runs = ["built", "trained"].map((who) => found[who]?.run).filter(Boolean);
    const most = (layer) => Math.max(...runs.map((run) => run.heads[layer] ?? 0));
    const tokens = found.built.run.tokens.length;
    if (model.get("position") === undefined || model.get("position") >= tokens) model.set("position", tokens - 1);
    if (model.get("layer") >= Math.max(...runs.map((run) => run.heads.length))) model.set("layer", 0);
    if (model.get("head") >= most(model.get("layer"))) model.set("head", 0);
  } catch (error) {
    if (mine !== last) return;
    model.set("message", why(error));
    if (shown) model.set("without", shown.without); // nothing else is ablated in what is shown
  }
  model.save_changes();
  if (mine !== last) return;
  working(false);
  if (!model.get("message")) await scoreHeads();
}

// What the form says; in another machine no head is ablated yet.
function lookAnew(path) {
  const body = request();
  return look(path, shown && machineOf(body) === machineOf(shown) ? body : { ...body, without: [] });
}

// Whoever waits sees that something is done, and does not ask twice.
function working(is) {
  page.setAttribute("aria-busy", String(is));
  for (const id of ["show", "train"]) document.getElementById(id)?.setAttribute("aria-disabled", String(is)); // and keeps the focus
  const status = document.getElementById("status");
  if (status) status.textContent = is ? say(model, "working") : "";
}

const isWorking = () => page.getAttribute("aria-busy") === "true";

// Heads are scored once for each pair of models, whatever the word.
async function scoreHeads() {
  const { spec, file, method, length, word } = shown;
  const mine = JSON.stringify([spec, file, method, Math.max(length, model.get("built").run.tokens.length - 1), Boolean(model.get("trained"))]);
  if (mine === scored) return;
  scored = mine;
  model.set("heads", null);
  model.save_changes();
  const found = await ask("/api/heads", { spec, file, method, length, word }, "heads").catch(() => ({ built: { refused: "large" } }));
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
  working(isWorking());
}

function machineForm() {
  const change = (name, value) => {
    const other = JSON.stringify(model.get(name)) !== JSON.stringify(value);
    model.set(name, value);
    if (other && name === "spec") model.set("file", null);
  };
  const field = (name, attributes) => h("label", {}, say(model, name === "spec" ? "machineSpec" : name), " ",
    h("input", { id: name, name, value: model.get(name) ?? "", oninput: (event) => change(name, event.target.value), ...attributes }));
  const chosen = async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    if (file.size > 1_000_000) return fail(`${file.name}: ${file.size} > 1,000,000`);
    change("file", { name: file.name, text: await file.text() });
    model.set("spec", file.name);
    fields();
    lookAnew();
  };
  const submit = (event) => {
    event.preventDefault();
    if (isWorking()) return;
    for (const name of ["spec", "word", "length", "method"]) change(name, event.target.elements.namedItem(name).value);
    lookAnew();
  };
  const zoo = model.get("zoo") ?? [];
  const methods = model.get("methods") ?? [model.get("method")];
  return h("form", { class: "tools", onsubmit: submit },
    field("spec", { list: "zoo", placeholder: say(model, "machineHint"), size: 24, maxlength: 400, autocomplete: "off", spellcheck: "false" }),
    h("datalist", { id: "zoo" }, zoo.map((spec) => h("option", { value: spec }))),
    field("word", { placeholder: say(model, "wordHint"), size: 20, maxlength: 2000, autocomplete: "off", spellcheck: "false" }),
    field("length", { type: "number", min: 1, max: 1024, size: 5 }),
    h("label", {}, say(model, "method"), " ", h("select", { id: "method", name: "method" },
      methods.map((name) => h("option", { value: name, selected: name === model.get("method") }, name)))),
    h("button", { id: "show" }, say(model, "show")),
    h("button", { id: "train", type: "button", title: say(model, "trainHint"), onclick: () => isWorking() || lookAnew("/api/train") }, say(model, "train")),
    h("span", { id: "status", class: "note", role: "status" }),
    h("label", { class: "upload" }, say(model, "upload"), " ", h("input", { id: "upload", type: "file", accept: ".json,.dot,.gv,.att", onchange: chosen })));
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

// What is asked for while the page shows that it waits; what went wrong is shown.
async function waited(answer, name) {
  model.set("waiting", true);
  model.set("message", "");
  model.save_changes();
  try {
    model.set(name, await answer());
  } catch (error) {
    model.set(name, null);
    model.set("message", why(error));
  }
  model.set("waiting", false);
  model.save_changes();
}

async function bring(name, place) {
  brought[name] = place;
  model.set("place", place);
  await waited(() => answered(fetch(`/studies/${place}`)), name);
}

async function approximate() {
  const asked = Object.fromEntries(Object.keys(APPROXIMATED).map((name) => [name, model.get(name)]));
  await waited(() => ask("/api/approximate", asked), "approximation");
}

// Whatever the chosen view needs and is not there yet.
function need() {
  const name = model.get("view");
  const places = model.get("studies")?.[name] ?? [];
  if (name === "machine" && !last) look();
  if (name === "approximation" && !model.get("approximation")) approximate();
  if (brought[name]) model.set("place", brought[name]);
  if (places.length && !model.get(name)) bring(name, places.includes(model.get("place")) ? model.get("place") : places[0]);
}

function fail(message) {
  model.set("message", message);
  model.save_changes();
}

// What one asks for is a step that Back takes back; where one looks in it is not, nor in which language and colours.
const STEPS = ["view", "place", "asked", "function", "d", "n", "cells"];
const step = () => STEPS.map((name) => `${model.get(name) ?? ""}`).join("\n");
// The link names what was asked for, not what is being typed.
const TYPED = ["spec", "method", "length", "word"];
let at = model.values;
const link = () => toLink({ get: (name) => (TYPED.includes(name) ? at[name] : model.get(name)) });
function arrive(values) {
  at = Object.fromEntries(TYPED.map((name) => [name, values[name]]));
  model.set("asked", TYPED.map((name) => `${at[name]}`).join(" "));
}
let [taken, linked] = [null, ""];
model.on("change", () => {
  const further = taken !== null && taken !== step();
  if (link() === linked && !further) return;
  history[further ? "pushState" : "replaceState"]({ ours: true }, "", link());
  [taken, linked] = [step(), link()];
});
for (const name of ["language", "view", "studies", "zoo", "methods", "word", "place"]) model.on(`change:${name}`, fields);
// Heads are ablated in what is shown, whatever is being typed meanwhile.
model.on("change:without", () => {
  const without = model.get("without");
  if (shown && JSON.stringify(without) !== JSON.stringify(shown.without)) look("/api/look", { ...shown, without });
});
model.on("change:view", need);
model.on("change:studies", need);
addEventListener("hashchange", () => {
  for (const [name, value] of Object.entries(fromLink(location.hash))) if (!(history.state?.ours && ["language", "theme"].includes(name))) model.set(name, value);
  if (!VIEWS.includes(model.get("view"))) model.set("view", "machine");
  arrive(request());
  const [view, place] = [model.get("view"), model.get("place")];
  const another = model.get("studies")?.[view]?.includes(place) && place !== brought[view];
  if (another) brought[view] = place;
  [taken, linked] = [step(), link()];
  model.save_changes();
  fields();
  if (another) bring(view, place);
  if (view === "machine") look();
  if (view === "approximation" && model.get("approximation")) approximate();
});

const skip = (event) => {
  event.preventDefault();
  page.querySelector("section")?.focus();
};
const skipping = h("a", { class: "skip", href: "#", onclick: skip });
const entitle = () => {
  const view = model.get("view");
  document.title = `${view === "machine" ? (shown?.spec ?? model.get("spec")) : say(model, view)} · Glassformer`;
};
for (const name of ["language", "view", "machine", "spec"]) model.on(`change:${name}`, entitle);
entitle();
const speak = () => {
  document.documentElement.lang = model.get("language");
  skipping.textContent = say(model, "skip");
};
model.on("change:language", speak);
speak();
document.body.replaceChildren(skipping, page);
fields();
renderExplorer({ model, el: page, form });
need();
answered(fetch("/api/known")).then((known) => {
  for (const [name, value] of Object.entries(known)) model.set(name, value);
  model.save_changes();
});
