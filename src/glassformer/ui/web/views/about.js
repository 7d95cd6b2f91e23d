// What is known without looking at a word: class, cascade, certificate, where the trained one breaks.

import { drawing, h, table } from "./dom.js";
import { chart } from "./chart.js";
import { percent, retell, say } from "./words.js";

export function renderClass({ model, el }) {
  const found = model.get("classified");
  if (!found) return el.replaceChildren();
  const groups = Object.entries(found.groups).map(([name, count]) => (count > 1 ? `${count} × ${name}` : name)).join(", ");
  const depths = Object.entries(found.depth).map(([name, layers]) => `${name} ${layers ?? say(model, found.solvable === false ? "notConstant" : "unknown")}`).join(", ");
  el.replaceChildren(...[
    found.complexity && h("p", { class: "lead" }, say(model, "classWords", { ...found, theorem: retell(model, found.theorem) })),
    found.assumes && h("p", {}, say(model, "assumes", { words: retell(model, found.assumes) })),
    h("p", {}, groups ? say(model, "groups", { groups }) : say(model, "noGroups")),
    found.monoid_size && h("p", {}, say(model, "monoid", { count: found.monoid_size.toLocaleString() })),
    h("p", {}, say(model, "depth", { length: found.length, depths })),
    ...found.notes.map((note) => h("p", { class: "note" }, retell(model, note))),
    found.drawing && h("details", { id: "cascade" }, h("summary", {}, say(model, "cascade")), drawing(inWords(model, found.drawing), say(model, "cascade"))),
  ].filter(Boolean));
}

// A drawing with its words in the reader's language; they are escaped, and stay so.
function inWords(model, svg) {
  return svg.replace(/>([^<>]+)<\/text>/g, (_, words) => `>${retell(model, words)}</text>`);
}

export function renderBuilt({ model, el }) {
  const built = model.get("built");
  if (!built) return el.replaceChildren();
  const verified = model.get("verified");
  const margins = table([say(model, "margins"), ""], Object.entries(built.margins).map((row) => row.map((words) => retell(model, words))));
  el.replaceChildren(...[
    h("p", { class: "lead" }, say(model, "exact", { ...built, theorem: retell(model, built.theorem), length: built.exact_length })),
    h("p", {}, say(model, "sizes", { ...built, parameters: built.parameters.toLocaleString() })),
    h("p", {}, say(model, "why", { why: retell(model, built.why) })),
    verified && h("p", {}, say(model, "verified", { ...verified, positions: verified.positions.toLocaleString() })),
    h("details", { id: "margins" }, h("summary", {}, say(model, "margins")), margins),
  ].filter(Boolean));
}

export function renderTrained({ model, el }) {
  const trained = model.get("trained");
  if (!trained) return el.replaceChildren(h("p", {}, say(model, "noTrained")));
  el.replaceChildren(h("p", { class: "lead" }, say(model, "trainedSizes", {
    ...trained, parameters: trained.parameters.toLocaleString(), accuracy: percent(trained.accuracy),
  })));
}

// The tests that differ in length alone, of random words, or of those that keep out of dead ends.
function byLength(accuracy, pattern) {
  return Object.entries(accuracy).map(([name, part]) => [Number(name.match(pattern)?.[1]), part]).filter(([length]) => length);
}
const WORDS = /^(\d+) letters$/;
const ALIVE = /^(\d+) letters, no dead end$/;

export function renderBreaks({ model, el }) {
  const breaks = model.get("breaks");
  if (!breaks) return el.replaceChildren();
  const { trained, built } = breaks.accuracy;
  const rows = Object.keys(trained).map((name) => [retell(model, name), percent(trained[name]), percent(built[name])]);
  el.replaceChildren(
    byLength(trained, ALIVE).length ? h("p", {}, say(model, "aliveAbout")) : "",
    table([say(model, "test"), say(model, "trained"), say(model, "built")], rows),
    chart({ title: say(model, "longer"), across: say(model, "lettersInWord"), hint: say(model, "readChart"), between: [0, 1],
      lines: [
        ...["trained", "built"].map((who) => ({ name: say(model, who), points: byLength(breaks.accuracy[who], WORDS) })),
        ...["trained", "built"].map((who) => ({ name: say(model, "alive", { who: say(model, who) }), points: byLength(breaks.accuracy[who], ALIVE) })),
      ].filter(({ points }) => points.length) }));
}
