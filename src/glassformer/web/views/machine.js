// The automaton: states on a circle, so that no arrow runs through a state; two ways between two states bend apart.

import { h, s, table } from "./dom.js";
import { say } from "./words.js";

const MOST_STATES = 24;
const RADIUS = 21;

export function renderMachine({ model, el }) {
  const { states, symbols, delta, start, outputs } = model.get("machine");
  const now = currentState(model);
  if (states.length > MOST_STATES) return el.replaceChildren(tooMany(model));
  const circle = states.length === 1 ? 0 : Math.max(76, (states.length * (2 * RADIUS + 34)) / (2 * Math.PI));
  const rank = ranks(start, delta, states.length);
  const size = 2 * (circle + 84);
  const place = (q) => {
    const angle = (2 * Math.PI * rank[q]) / states.length - Math.PI / 2;
    return { x: size / 2 + circle * Math.cos(angle), y: size / 2 + circle * Math.sin(angle), angle };
  };
  const edges = new Map();
  symbols.forEach((letter, a) =>
    states.forEach((_, q) => {
      const key = `${q} ${delta[a][q]}`;
      edges.set(key, [...(edges.get(key) ?? []), letter]);
    }),
  );
  const drawn = s(
    "svg",
    { viewBox: `0 0 ${size} ${size}`, class: "machine", role: "img",
      "aria-label": say(model, "drawnMachine", { count: states.length, state: states[now] }) },
    s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
      orient: "auto" }, s("path", { d: "M0 0 L8 4 L0 8 Z", class: "arrowhead" }))),
    [...edges].map(([key, letters]) => {
      const [from, to] = key.split(" ").map(Number);
      return from === to ? loop(place(from), letters) : arrow(place(from), place(to), letters);
    }),
    states.map((name, q) => {
      const { x, y } = place(q);
      const accepted = outputs[q] === true;
      return s("g", { class: q === now ? "state now" : "state" },
        s("title", {}, `${name}${outputs[q] === name ? "" : ` → ${outputs[q]}`}`),
        q === start && s("path", { d: `M${x - RADIUS - 30} ${y} H${x - RADIUS - 3}`, class: "edge", "marker-end": "url(#arrow)" }),
        s("circle", { cx: x, cy: y, r: RADIUS }),
        accepted && s("circle", { cx: x, cy: y, r: RADIUS - 4, class: "inner" }),
        s("text", { x, y: y + 4, "text-anchor": "middle" }, short(name, 6)));
    }),
  );
  el.replaceChildren(drawn);
}

// The order on the circle: from the start, wherever the first letter that leads to somewhere new leads.
function ranks(start, delta, count) {
  const rank = Array(count).fill(-1);
  let next = 0;
  const waiting = [...Array(count).keys()].reverse().concat(start);
  while (waiting.length) {
    const q = waiting.pop();
    if (rank[q] >= 0) continue;
    rank[q] = next++;
    for (const letter of [...delta].reverse()) if (rank[letter[q]] < 0) waiting.push(letter[q]);
  }
  return rank;
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

function short(words, most) {
  const signs = [...words];
  return signs.length > most ? `${signs.slice(0, most - 1).join("")}…` : words;
}

function label(letters) {
  return short(letters.join(" "), 14);
}

function arrow(from, to, letters) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const far = Math.hypot(dx, dy);
  const [ux, uy] = [dx / far, dy / far];
  const bend = Math.min(34, 0.16 * far + 8);
  const middle = { x: (from.x + to.x) / 2 - uy * bend, y: (from.y + to.y) / 2 + ux * bend };
  const begin = towards(from, middle, RADIUS + 1);
  const end = towards(to, middle, RADIUS + 3);
  const t = 0.3;
  const at = (a, b, c) => (1 - t) ** 2 * a + 2 * t * (1 - t) * b + t ** 2 * c;
  const [x, y] = [at(begin.x, middle.x, end.x) - uy * 9, at(begin.y, middle.y, end.y) + ux * 9 + 4];
  return s("g", {},
    s("path", { d: `M${begin.x} ${begin.y} Q${middle.x} ${middle.y} ${end.x} ${end.y}`, class: "edge", "marker-end": "url(#arrow)" }),
    s("text", { x, y, class: "letters", "text-anchor": "middle" }, label(letters), s("title", {}, letters.join(" "))));
}

function towards(point, other, steps) {
  const far = Math.hypot(other.x - point.x, other.y - point.y);
  return { x: point.x + ((other.x - point.x) / far) * steps, y: point.y + ((other.y - point.y) / far) * steps };
}

function loop(at, letters) {
  const side = (turn) => ({ x: at.x + RADIUS * Math.cos(at.angle + turn), y: at.y + RADIUS * Math.sin(at.angle + turn) });
  const out = (turn, far) => ({ x: at.x + far * Math.cos(at.angle + turn), y: at.y + far * Math.sin(at.angle + turn) });
  const [a, b, c, d] = [side(-0.42), out(-0.5, 58), out(0.5, 58), out(0.42, RADIUS + 3)];
  const words = out(0, 66);
  return s("g", {},
    s("path", { d: `M${a.x} ${a.y} C${b.x} ${b.y} ${c.x} ${c.y} ${d.x} ${d.y}`, class: "edge", "marker-end": "url(#arrow)" }),
    s("text", { x: words.x, y: words.y + 4, class: "letters", "text-anchor": anchor(at.angle) }, label(letters),
      s("title", {}, letters.join(" "))));
}

function anchor(angle) {
  const across = Math.cos(angle);
  return across > 0.3 ? "start" : across < -0.3 ? "end" : "middle";
}

function tooMany(model) {
  const { states, symbols, delta, outputs } = model.get("machine");
  const shown = states.slice(0, MOST_STATES);
  const heads = [say(model, "state"), ...symbols.slice(0, 8).map((letter) => say(model, "leads", { letter })), say(model, "output")];
  const rows = shown.map((name, q) => [name, ...symbols.slice(0, 8).map((_, a) => states[delta[a][q]]), String(outputs[q])]);
  return h("div", {}, h("p", {}, say(model, "tooMany", { count: states.length, shown: shown.length })), table(heads, rows));
}
