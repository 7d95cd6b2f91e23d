// What is known without looking at a word: class, cascade, certificate, where the trained one breaks.

import { drawing, h, table } from "./dom.js";
import { chart } from "./chart.js";
import { percent, say, titled } from "./words.js";

export function renderClass({ model, el }) {
  const found = model.get("classified");
  if (!found) return el.replaceChildren();
  const group = (id) => titled(model, found.group_names ?? {}, id);
  const groups = Object.entries(found.groups).map(([id, count]) => (count > 1 ? `${count} × ${group(id)}` : group(id))).join(", ");
  const depths = Object.entries(found.depth).map(([name, layers]) => `${name} ${layers ?? say(model, found.solvable === false ? "notConstant" : "unknown")}`).join(", ");
  el.replaceChildren(...[
    found.complexity && h("p", { class: "lead" }, say(model, "classWords", found)),
    found.assumes && h("p", {}, say(model, "assumes", { words: found.assumes })),
    h("p", {}, groups ? say(model, "groups", { groups }) : say(model, "noGroups")),
    found.monoid_size && h("p", {}, say(model, "monoid", { count: found.monoid_size.toLocaleString() })),
    h("p", {}, say(model, "depth", { length: found.length, depths })),
    ...found.notes.map((note) => h("p", { class: "note" }, say(model, note))),
    found.drawing && h("details", { id: "cascade" }, h("summary", {}, say(model, "cascade")), drawing(say(model, found.drawing), say(model, "cascade"))),
  ].filter(Boolean));
}

export function renderBuilt({ model, el }) {
  const built = model.get("built");
  if (!built) return el.replaceChildren();
  const verified = model.get("verified");
  const margins = table([say(model, "margins"), ""], built.margins.map((row) => row.map((words) => say(model, words))), { class: "wrapped" });
  el.replaceChildren(...[
    h("p", { class: "lead" }, say(model, "exact", { ...built, length: built.exact_length })),
    h("p", {}, say(model, "sizes", { ...built, parameters: built.parameters.toLocaleString() })),
    h("p", {}, say(model, "why", built)),
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

export function renderBreaks({ model, el }) {
  const breaks = model.get("breaks");
  if (!breaks) return el.replaceChildren();
  const { accuracy, tests } = breaks;
  const models = ["trained", "built"];
  const rows = Object.entries(tests).map(([name, test]) => [say(model, test.name), ...models.map((who) => percent(accuracy[who][name]))]);
  // Tests that differ from training in the length of words alone: random words, or those that keep out of dead ends.
  const byLength = (who, alive) => Object.entries(tests).filter(([, test]) => test.letters && test.alive === alive)
    .map(([name, test]) => [test.letters, accuracy[who][name]]);
  el.replaceChildren(
    Object.values(tests).some((test) => test.alive) ? h("p", {}, say(model, "aliveAbout")) : "",
    table(["test", ...models].map((key) => say(model, key)), rows),
    chart({ title: say(model, "longer"), across: say(model, "lettersInWord"), hint: say(model, "readChart"), between: [0, 1],
      lines: [
        ...models.map((who) => ({ name: say(model, who), points: byLength(who, false) })),
        ...models.map((who) => ({ name: say(model, "alive", { who: say(model, who) }), points: byLength(who, true) })),
      ].filter(({ points }) => points.length) }));
}
