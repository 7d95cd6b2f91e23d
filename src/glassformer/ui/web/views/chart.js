// Lines in a frame. Each has its colour, its dashes and its marker, so that colour alone is never needed; a guide follows the
// pointer or the arrow keys, and the values that it meets are written below.

import { h, s } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [440, 260, 52, 14, 14, 44];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "12 4", "1 4"];
const MARKERS = [
  (x, y) => `M${x - 3} ${y} a3 3 0 1 0 6 0 a3 3 0 1 0 -6 0`, (x, y) => `M${x - 3} ${y - 3} h6 v6 h-6 Z`,
  (x, y) => `M${x} ${y - 4} l4 7 h-8 Z`, (x, y) => `M${x} ${y - 4} l4 4 l-4 4 l-4 -4 Z`,
  (x, y) => `M${x - 4} ${y - 3.5} h8 l-4 7 Z`, (x, y) => `M${x - 3} ${y - 3} l6 6 m0 -6 l-6 6`, (x, y) => `M${x - 4} ${y} h8 m-4 -4 v8`,
];
const FEW = 24;

// A number as a person writes it.
export function number(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1).replace(".0e", "e").replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

// { title, across, hint, lines: [{ name, points: [[x, y]], bars: [[x, low, high]] }], between, logarithmic, zeros, evenly }
// With zeros, a logarithmic axis ends in what is no larger than its least number, and calls that 0.
export function chart({ title, across, hint, lines: given, between, logarithmic = false, zeros = false, evenly = false }) {
  const lines = given.map((line) => ({ ...line, points: [...line.points].sort(([a], [b]) => a - b) }));
  const xs = [...new Set(lines.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
  const [low, high] = between ?? rounded(lines);
  const rise = logarithmic ? Math.log10 : (y) => y;
  const part = (x) => (evenly ? xs.indexOf(x) / Math.max(1, xs.length - 1) : (x - xs[0]) / (xs.at(-1) - xs[0] || 1));
  const px = (x) => LEFT + part(x) * (WIDTH - LEFT - RIGHT);
  const py = (y) => TOP + (1 - (rise(Math.min(Math.max(y, low), high)) - rise(low)) / (rise(high) - rise(low))) * (HEIGHT - TOP - BOTTOM);
  const guide = s("g", {});
  const drawn = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", tabindex: 0, role: "img", "aria-label": title },
    ticks(low, high, logarithmic).map((y) => [
      s("path", { d: `M${LEFT} ${py(y)} H${WIDTH - RIGHT}`, class: "grid" }),
      s("text", { x: LEFT - 6, y: py(y) + 4, "text-anchor": "end" }, number(zeros && y <= low ? 0 : y))]),
    acrossTicks(xs, evenly).map((x) => s("text", { x: px(x), y: HEIGHT - BOTTOM + 17, "text-anchor": "middle" }, number(x))),
    s("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "axis" }, across),
    guide,
    lines.map(({ points, bars = [] }, i) => s("g", { class: `line line${i % DASHES.length}` },
      bars.map(([x, least, most]) => s("path", { d: `M${px(x)} ${py(least)} V${py(most)}`, class: "spread" })),
      s("path", { d: points.map(([x, y], k) => `${k ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join(""), "stroke-dasharray": DASHES[i % DASHES.length] || undefined }),
      points.length <= FEW && points.map(([x, y]) => s("path", { d: MARKERS[i % MARKERS.length](px(x), py(y)), class: "marker" })))));
  const readout = h("p", { class: "readout", "aria-live": "polite" }, hint);
  let at = null;
  const tell = (index) => {
    at = Math.max(0, Math.min(xs.length - 1, index));
    const x = xs[at];
    guide.replaceChildren(s("path", { d: `M${px(x)} ${TOP} V${HEIGHT - BOTTOM}`, class: "guide" }));
    const met = lines.map(({ name, points }) => [name, points.find(([other]) => other === x)]).filter(([, point]) => point);
    readout.textContent = `${across} ${number(x)} · ${met.map(([name, [, y]]) => `${name} ${number(y)}`).join(" · ")}`;
  };
  drawn.addEventListener("pointermove", (event) => {
    const box = drawn.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    tell(xs.reduce((best, each, i) => (Math.abs(px(each) - x) < Math.abs(px(xs[best]) - x) ? i : best), 0));
  });
  drawn.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    tell((at ?? (step === -1 ? xs.length : -1)) + step);
  });
  return h("figure", { class: "charted" }, h("figcaption", {}, title), drawn, legend(lines), readout);
}

function legend(lines) {
  return h("ul", { class: "legend" }, lines.map(({ name, points }, i) => h("li", {},
    s("svg", { viewBox: "0 0 34 12", width: 34, height: 12, "aria-hidden": "true", class: `line line${i % DASHES.length}` },
      s("path", { d: "M1 6 H33", "stroke-dasharray": DASHES[i % DASHES.length] || undefined }),
      points.length <= FEW && s("path", { d: MARKERS[i % MARKERS.length](17, 6), class: "marker" })), name)));
}

// From 0, or below, to the next number that divides into quarters that a person can read.
function rounded(lines) {
  const ys = lines.flatMap(({ points, bars = [] }) => [...points.map(([, y]) => y), ...bars.flatMap(([, least, most]) => [least, most])]);
  const [low, high] = [Math.min(0, ...ys), Math.max(...ys)];
  return [low, low + 4 * stepOf(low, high)];
}

function stepOf(low, high) {
  const power = 10 ** Math.floor(Math.log10((high - low || 1) / 4));
  return power * [1, 2, 2.5, 5, 10].find((each) => 4.0001 * each * power >= high - low);
}

function ticks(low, high, logarithmic) {
  if (!logarithmic) {
    const step = stepOf(low, high);
    return [0, 1, 2, 3, 4].map((i) => (Math.ceil(low / step) + i) * step).filter((y) => y <= high + step / 1000);
  }
  const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
  const step = 1 + Math.floor((last - first) / 6);
  return [...Array(Math.floor((last - first) / step) + 1).keys()].map((i) => 10 ** (first + i * step));
}

function acrossTicks(xs, evenly) {
  if (evenly || xs.length <= 9) return xs;
  const span = xs.at(-1) - xs[0];
  const step = xs.every(Number.isInteger) ? Math.ceil(span / 5) : span / 4;
  return [0, 1, 2, 3, 4, 5].map((i) => xs[0] + i * step).filter((x) => x <= xs.at(-1) + step / 1000);
}
