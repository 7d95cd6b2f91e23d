// More features than dimensions: the dimensionality of every feature, and whether a second feature is represented.

import { colour, h, s, table } from "./dom.js";
import { number } from "./chart.js";
import { percent, say } from "./words.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [440, 300, 52, 14, 10, 44];
const MOST = 1.05;
const RARITIES = [1, 2, 4, 10, 20, 40, 100];
const PHASES = { "left out": "phaseOut", "shared": "phaseShared", "alone": "phaseAlone" };

export function renderSuperposition({ model, el }) {
  const found = model.get("superposition");
  el.replaceChildren(
    h("p", {}, say(model, "superpositionAbout")),
    h("p", {}, say(model, "pentagons", { part: percent(found.pentagons) })),
    h("div", { class: "charts" }, dots(model, found), phases(model, found)),
    h("h3", {}, say(model, "plateaus")),
    table([say(model, "shape"), say(model, "plateauPart")], Object.entries(found.plateaus).map(([name, part]) => [shapeWords(model, name), percent(part)]), { class: "wrapped" }),
    h("h3", {}, say(model, "dictionaries")),
    table(["dictionary", "explainedPart", "active", "cosine", "recovered"].map((key) => say(model, key)),
      found.dictionaries.map(({ kind, explained, active, mean_max_cosine, recovered }) =>
        [kind, ...[explained, active, mean_max_cosine].map((value) => value.toFixed(3)), percent(recovered)])));
}

function shapeWords(model, name) {
  const [shape, share] = name.split(", ");
  const keys = { tetrahedron: "tetrahedron", triangle: "triangle", "two opposite": "opposite", pentagon: "pentagon", "square antiprism": "antiprism" };
  return `${keys[shape] ? say(model, keys[shape]) : shape}, ${share}`;
}

function shareOf(name) {
  const [, above, below] = name.match(/(\d+)\/(\d+)/) ?? [0, 0, 1];
  return above / below;
}

function across(rarity, most) {
  return LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(rarity)) / Math.log(most);
}

// On a canvas, for there are thousands of dots; the frame around it is drawn as the others are.
function dots(model, { dots: columns, plateaus }) {
  const most = Math.max(...columns.map(({ rarity }) => rarity));
  const py = (part) => TOP + (1 - Math.min(part, 1) / MOST) * (HEIGHT - TOP - BOTTOM);
  const ratio = globalThis.devicePixelRatio || 1;
  const canvas = h("canvas", { class: "dots", "aria-hidden": "true" });
  [canvas.width, canvas.height] = [WIDTH * ratio, HEIGHT * ratio];
  const guide = s("g", {});
  const frame = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", tabindex: 0, role: "img", "aria-label": say(model, "dots") },
    [0, 0.25, 0.5, 0.75, 1].map((part) => s("text", { x: LEFT - 6, y: py(part) + 4, "text-anchor": "end" }, part.toFixed(2))),
    Object.keys(plateaus).map((name) => [
      s("path", { d: `M${LEFT} ${py(shareOf(name))} H${WIDTH - RIGHT}`, class: "grid" }),
      s("text", { x: WIDTH - RIGHT, y: py(shareOf(name)) + (shareOf(name) < 0.39 ? 12 : -4), "text-anchor": "end", class: "axis" }, shapeWords(model, name))]),
    bottom(model, most), guide);
  const readout = h("p", { class: "readout", "aria-live": "polite" }, say(model, "readChart"));
  const tell = (i) => {
    const { rarity, dimensionality } = columns[i];
    guide.replaceChildren(s("path", { d: `M${across(rarity, most)} ${TOP} V${HEIGHT - BOTTOM}`, class: "guide" }));
    const counts = new Map();
    for (const part of dimensionality) counts.set(part.toFixed(2), (counts.get(part.toFixed(2)) ?? 0) + 1);
    const often = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4).map(([part, count]) => `${part} × ${count}`).join(", ");
    readout.textContent = say(model, "dotsRead", { rarity: number(rarity), count: dimensionality.length, often: often || "–" });
  };
  moves(frame, columns.length, (x) => nearest(columns.map(({ rarity }) => across(rarity, most)), x), tell);
  requestAnimationFrame(() => {
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colour(canvas, "blue");
    pen.globalAlpha = 0.35;
    for (const { rarity, dimensionality } of columns) {
      for (const part of dimensionality) {
        pen.beginPath();
        pen.arc(across(rarity, most), py(part), 2, 0, 7);
        pen.fill();
      }
    }
  });
  return h("figure", { class: "charted" }, h("figcaption", {}, say(model, "dots")), h("div", { class: "layers" }, canvas, frame), readout);
}

function phases(model, { phases: rows, importances, rarities }) {
  const [wide, high] = [(WIDTH - LEFT - RIGHT) / rarities.length, (HEIGHT - TOP - BOTTOM) / rows.length];
  const marked = s("rect", { class: "mark", width: wide, height: high, visibility: "hidden" });
  const log = (value, from, to) => Math.log(value / from) / Math.log(to / from);
  const frame = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", tabindex: 0, role: "img", "aria-label": say(model, "phases") },
    rows.map((row, i) => row.map((phase, j) =>
      s("rect", { x: LEFT + j * wide, y: TOP + i * high, width: wide + 0.3, height: high + 0.3, class: PHASES[phase] ?? "phaseOut" }))),
    [10, 3, 1, 0.3, 0.1].map((value) => s("text", { x: LEFT - 6, "text-anchor": "end",
      y: TOP + high / 2 + (HEIGHT - TOP - BOTTOM - high) * log(value, importances[0], importances.at(-1)) + 4 }, value)),
    RARITIES.filter((rarity) => rarity <= rarities.at(-1) * 1.01).map((rarity) => s("text", { "text-anchor": "middle", y: HEIGHT - BOTTOM + 17,
      x: LEFT + wide / 2 + (WIDTH - LEFT - RIGHT - wide) * log(rarity, rarities[0], rarities.at(-1)) }, rarity)),
    s("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "axis" }, say(model, "rarity")), marked);
  const readout = h("p", { class: "readout", "aria-live": "polite" }, say(model, "readChart"));
  let [i, j] = [0, 0];
  const tell = (row, column) => {
    [i, j] = [Math.max(0, Math.min(rows.length - 1, row)), Math.max(0, Math.min(rarities.length - 1, column))];
    for (const [name, value] of Object.entries({ x: LEFT + j * wide, y: TOP + i * high, visibility: "visible" })) marked.setAttribute(name, value);
    readout.textContent = say(model, "phaseRead", {
      importance: number(importances[i]), rarity: number(rarities[j]), words: say(model, PHASES[rows[i][j]] ?? "phaseOut") });
  };
  frame.addEventListener("pointermove", (event) => {
    const box = frame.getBoundingClientRect();
    const [x, y] = [((event.clientX - box.left) / box.width) * WIDTH, ((event.clientY - box.top) / box.height) * HEIGHT];
    tell(Math.floor((y - TOP) / high), Math.floor((x - LEFT) / wide));
  });
  frame.addEventListener("keydown", (event) => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
    if (down === undefined) return;
    event.preventDefault();
    tell(i + down, j + right);
  });
  const legend = h("ul", { class: "legend" }, Object.values(PHASES).map((key) => h("li", {},
    s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s("rect", { width: 16, height: 16, class: key })), say(model, key))));
  return h("figure", { class: "charted" }, h("figcaption", {}, say(model, "phases")), frame, legend, readout);
}

function bottom(model, most) {
  return [
    RARITIES.filter((rarity) => rarity <= most * 1.01).map((rarity) =>
      s("text", { x: across(rarity, most), y: HEIGHT - BOTTOM + 17, "text-anchor": "middle" }, rarity)),
    s("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "axis" }, say(model, "rarity"))];
}

function nearest(places, x) {
  return places.reduce((best, place, i) => (Math.abs(place - x) < Math.abs(places[best] - x) ? i : best), 0);
}

function moves(frame, count, at, tell) {
  let now = -1;
  frame.addEventListener("pointermove", (event) => {
    const box = frame.getBoundingClientRect();
    tell((now = at(((event.clientX - box.left) / box.width) * WIDTH)));
  });
  frame.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    tell((now = Math.max(0, Math.min(count - 1, now + step))));
  });
}
