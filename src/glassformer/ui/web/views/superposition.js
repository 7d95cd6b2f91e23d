// More features than dimensions: the dimensionality of every feature, and whether a second feature is represented.

import { colour, h, s, table } from "./dom.js";
import { number } from "./chart.js";
import { percent, say, titled } from "./words.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [440, 300, 52, 14, 10, 44];
const MOST = 1.05;
const TICKS = [1, 2, 4, 10, 20, 40, 100];
const PHASES = { left_out: "phaseOut", shared: "phaseShared", alone: "phaseAlone" };

export function renderSuperposition({ model, el }) {
  const found = model.get("superposition");
  el.replaceChildren(
    h("p", {}, say(model, "superpositionAbout")),
    h("p", {}, say(model, "pentagons", { part: percent(found.pentagons) })),
    h("div", { class: "charts" }, dots(model, found), phases(model, found)),
    h("h3", {}, say(model, "plateaus")),
    table([say(model, "shape"), say(model, "plateauPart")], Object.entries(found.plateaus).map(([id, part]) => [titled(model, found.names, id), percent(part)]), { class: "wrapped" }),
    h("h3", {}, say(model, "dictionaries")),
    table(["dictionary", "explainedPart", "active", "cosine", "recovered"].map((key) => say(model, key)),
      found.dictionaries.map(({ kind, explained, active, mean_max_cosine, recovered }) =>
        [kind, ...[explained, active, mean_max_cosine].map((value) => value.toFixed(3)), percent(recovered)])));
}

function across(inverseDensity, most) {
  return LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(inverseDensity)) / Math.log(most);
}

// On a canvas, for there are thousands of dots; the frame around it is drawn as the others are.
function dots(model, found) {
  const columns = found.dots.map(({ rarity, dimensionality }) => ({ inverseDensity: rarity, dimensionality }));
  const most = Math.max(...columns.map(({ inverseDensity }) => inverseDensity));
  const py = (part) => TOP + (1 - Math.min(part, 1) / MOST) * (HEIGHT - TOP - BOTTOM);
  const ratio = globalThis.devicePixelRatio || 1;
  const canvas = h("canvas", { class: "dots", "aria-hidden": "true" });
  [canvas.width, canvas.height] = [WIDTH * ratio, HEIGHT * ratio];
  const guide = s("g", {});
  const frame = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", tabindex: 0, role: "img", "aria-label": titled(model, found.names, "dots") },
    [0, 0.25, 0.5, 0.75, 1].map((part) => s("text", { x: LEFT - 6, y: py(part) + 4, "text-anchor": "end" }, part.toFixed(2))),
    Object.entries(found.shares).map(([id, share]) => [
      s("path", { d: `M${LEFT} ${py(share)} H${WIDTH - RIGHT}`, class: "grid" }),
      s("text", { x: WIDTH - RIGHT, y: py(share) + (share < 0.39 ? 12 : -4), "text-anchor": "end", class: "axis" }, titled(model, found.names, id))]),
    bottom(model, found, most), guide);
  const readout = h("p", { class: "readout", "aria-live": "polite" }, say(model, "readChart"));
  const tell = (i) => {
    const { inverseDensity, dimensionality } = columns[i];
    guide.replaceChildren(s("path", { d: `M${across(inverseDensity, most)} ${TOP} V${HEIGHT - BOTTOM}`, class: "guide" }));
    const counts = new Map();
    for (const part of dimensionality) counts.set(part.toFixed(2), (counts.get(part.toFixed(2)) ?? 0) + 1);
    const often = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4).map(([part, count]) => `${part} × ${count}`).join(", ");
    readout.textContent = say(model, "dotsRead", { inverseDensity: number(inverseDensity), count: dimensionality.length, often: often || "–" });
  };
  moves(frame, columns.length, (x) => nearest(columns.map(({ inverseDensity }) => across(inverseDensity, most)), x), tell);
  requestAnimationFrame(() => {
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colour(canvas, "blue");
    pen.globalAlpha = 0.35;
    for (const { inverseDensity, dimensionality } of columns) {
      for (const part of dimensionality) {
        pen.beginPath();
        pen.arc(across(inverseDensity, most), py(part), 2, 0, 7);
        pen.fill();
      }
    }
  });
  return h("figure", { class: "charted" }, h("figcaption", {}, titled(model, found.names, "dots")), h("div", { class: "layers" }, canvas, frame), readout);
}

function phases(model, found) {
  const { phases: rows, importances, rarities: inverseDensities } = found;
  const [wide, high] = [(WIDTH - LEFT - RIGHT) / inverseDensities.length, (HEIGHT - TOP - BOTTOM) / rows.length];
  const marked = s("rect", { class: "mark", width: wide, height: high, visibility: "hidden" });
  const log = (value, from, to) => Math.log(value / from) / Math.log(to / from);
  const frame = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", tabindex: 0, role: "img", "aria-label": titled(model, found.names, "phases") },
    rows.map((row, i) => row.map((phase, j) =>
      s("rect", { x: LEFT + j * wide, y: TOP + i * high, width: wide + 0.3, height: high + 0.3, class: PHASES[phase] ?? "phaseOut" }))),
    [10, 3, 1, 0.3, 0.1].map((value) => s("text", { x: LEFT - 6, "text-anchor": "end",
      y: TOP + high / 2 + (HEIGHT - TOP - BOTTOM - high) * log(value, importances[0], importances.at(-1)) + 4 }, value)),
    TICKS.filter((tick) => tick <= inverseDensities.at(-1) * 1.01).map((tick) => s("text", { "text-anchor": "middle", y: HEIGHT - BOTTOM + 17,
      x: LEFT + wide / 2 + (WIDTH - LEFT - RIGHT - wide) * log(tick, inverseDensities[0], inverseDensities.at(-1)) }, tick)),
    s("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "axis" }, titled(model, found.names, "inverse_density")), marked);
  const readout = h("p", { class: "readout", "aria-live": "polite" }, say(model, "readChart"));
  let [i, j] = [0, 0];
  const tell = (row, column) => {
    [i, j] = [Math.max(0, Math.min(rows.length - 1, row)), Math.max(0, Math.min(inverseDensities.length - 1, column))];
    for (const [name, value] of Object.entries({ x: LEFT + j * wide, y: TOP + i * high, visibility: "visible" })) marked.setAttribute(name, value);
    readout.textContent = say(model, "phaseRead", {
      importance: number(importances[i]), inverseDensity: number(inverseDensities[j]), words: titled(model, found.names, rows[i][j]) });
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
  const legend = h("ul", { class: "legend" }, Object.entries(PHASES).map(([id, style]) => h("li", {},
    s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s("rect", { width: 16, height: 16, class: style })), titled(model, found.names, id))));
  return h("figure", { class: "charted" }, h("figcaption", {}, titled(model, found.names, "phases")), frame, legend, readout);
}

function bottom(model, found, most) {
  return [
    TICKS.filter((tick) => tick <= most * 1.01).map((tick) =>
      s("text", { x: across(tick, most), y: HEIGHT - BOTTOM + 17, "text-anchor": "middle" }, tick)),
    s("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "axis" }, titled(model, found.names, "inverse_density"))];
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
