// The automaton, as Python laid it out: states on a circle, every label beside its arrow. The state after this letter is marked.

import { h, s, table } from "./dom.js";
import { say } from "./words.js";

const MOST_ROWS = 24;

export function renderMachine({ model, el }) {
  const { states, outputs, layout } = model.get("machine");
  if (!layout) return el.replaceChildren(tooMany(model));
  const now = currentState(model);
  const { size, radius } = layout;
  const arrow = ([path, head]) => [s("path", { d: path, class: "edge" }), s("path", { d: head, class: "arrowhead" })];
  el.replaceChildren(s("svg", { viewBox: `0 0 ${size} ${size}`, class: "machine", role: "img",
    "aria-label": say(model, "drawnMachine", { count: states.length, state: states[now] }) },
    layout.arrows.map(({ path, head }) => arrow([path, head])),
    layout.start && arrow(layout.start),
    states.map((name, q) => {
      const [x, y] = layout.states[q];
      return s("g", { class: q === now ? "state now" : "state" },
        s("title", {}, `${name}${outputs[q] === name ? "" : ` → ${outputs[q]}`}`),
        s("circle", { cx: x, cy: y, r: radius }),
        outputs[q] === true && s("circle", { cx: x, cy: y, r: radius - 4, class: "inner" }),
        s("text", { x, y: y + 4, "text-anchor": "middle", class: [...layout.names[q]].length > 4 ? "long" : undefined }, layout.names[q]));
    }),
    layout.arrows.map(({ x, y, label, letters }) =>
      s("text", { x, y: y + 4, class: "letters", "text-anchor": "middle" }, label, s("title", {}, letters.join(" "))))));
}

export function currentState(model) {
  const { delta, symbols, start } = model.get("machine");
  const tokens = model.get("built")?.run?.tokens ?? [];
  return tokens.slice(1, model.get("position") + 1).reduce((q, token) => delta[symbols.indexOf(token)]?.[q] ?? q, start);
}

export function statesOf(model) {
  const { delta, symbols, start } = model.get("machine");
  const found = [start];
  for (const token of (model.get("built")?.run?.tokens ?? []).slice(1)) {
    found.push(delta[symbols.indexOf(token)]?.[found.at(-1)] ?? found.at(-1));
  }
  return found;
}

function tooMany(model) {
  const { states, symbols, delta, outputs } = model.get("machine");
  const shown = states.slice(0, MOST_ROWS);
  const heads = [say(model, "state"), ...symbols.slice(0, 8).map((letter) => say(model, "leads", { letter })), say(model, "output")];
  const rows = shown.map((name, q) => [name, ...symbols.slice(0, 8).map((_, a) => states[delta[a][q]]), String(outputs[q])]);
  return h("div", {}, h("p", {}, say(model, "tooMany", { count: states.length, shown: shown.length })), table(heads, rows));
}
