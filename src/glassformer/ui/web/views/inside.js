// One position of one model: what the registers hold, what the answer would be after each layer, and the answers.

import { h, table } from "./dom.js";
import { answer, missing, say } from "./words.js";

const MOST_ANSWERS = 8;
const ALL_SHOWN = 12;

export function softmax(logits, temperature) {
  const scaled = logits.map((value) => value / Math.max(temperature, 1e-6));
  const most = Math.max(...scaled);
  const powers = scaled.map((value) => Math.exp(value - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((value) => value / sum);
}

export function renderInside({ model, el, who }) {
  const found = model.get(who);
  const run = found?.run;
  if (!run) return el.replaceChildren(h("p", {}, missing(model, who)));
  const position = Math.min(model.get("position"), run.tokens.length - 1);
  const layers = run.heads.map((_, i) => say(model, "after", { layer: i }));
  const lens = table([say(model, "embedding"), ...layers], [run.lens.map((answers) => answer(run, answers[position]))]);
  const chances = softmax(run.logits[position], model.get("temperature"));
  const best = chances.map((chance, i) => [chance, i]).sort((a, b) => b[0] - a[0]).slice(0, MOST_ANSWERS);
  const bars = h("ul", { class: "bars" }, best.map(([chance, i]) => {
    const bar = h("span", { class: "bar" });
    bar.style.width = `${Math.max(100 * chance, 0.5)}%`;
    return h("li", {}, h("span", { class: "answer" }, run.outputs[i]), h("span", { class: "track" }, bar),
      h("span", { class: "number" }, chance.toFixed(3)));
  }));
  el.replaceChildren(
    h("h4", {}, say(model, "probabilities")), bars,
    h("h4", {}, say(model, "lens")), lens,
    found.registers && run.stream ? registers(model, found, position) : "");
}

function registers(model, found, position) {
  const stages = found.run.stream.map((stage) => stage[position]);
  const rows = found.registers.map((register) => [
    h("span", {}, register.name, h("span", { class: "about" }, say(model, register.about))),
    ...stages.map((vector) => shown(vector.slice(register.start, register.start + register.size))),
  ]);
  const heads = [say(model, "register"), say(model, "embedding"), ...found.run.heads.map((_, i) => say(model, "after", { layer: i }))];
  return h("div", {}, h("h4", {}, say(model, "registers")), table(heads, rows, { class: "registers" }));
}

// All numbers of a small register; of a large one those that are not 0, each with its place.
function shown(values) {
  const rounded = values.map((value) => Math.round(value * 1000) / 1000);
  if (rounded.length <= ALL_SHOWN) return rounded.join(" ");
  const there = rounded.map((value, i) => [i, value]).filter(([, value]) => value);
  const words = there.slice(0, ALL_SHOWN).map(([i, value]) => `${i}: ${value}`).join(", ");
  return there.length > ALL_SHOWN ? `${words} …` : words || "0";
}
