// Where one head of one model looks: rows are queries, columns keys. On a canvas, so that 512 × 512 cells stay smooth.

import { colour, h } from "./dom.js";
import { missing, say } from "./words.js";

const FULL = 65535;
const LARGEST = 460;

export function weights(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  return new Uint16Array(bytes.buffer);
}

export function renderAttention({ model, el, who }) {
  const run = model.get(who)?.run;
  const [layer, head] = [model.get("layer"), model.get("head")];
  const heads = run?.heads[layer];
  if (!run) return el.replaceChildren(h("p", {}, missing(model, who)));
  if (!heads) return el.replaceChildren(h("p", {}, say(model, heads === undefined ? "noLayer" : "noHeads", { layer })));
  if (head >= heads) return el.replaceChildren(h("p", {}, say(model, "noHead", { layer, head })));
  const packed = run.patterns[layer]?.[head];
  if (!packed) return el.replaceChildren(h("p", {}, say(model, "working")));
  const pattern = weights(packed);
  const n = run.tokens.length;
  const labels = n <= 40;
  const edge = labels ? 26 : 4;
  const cell = Math.max(1, Math.min(26, Math.floor((LARGEST - edge) / n)));
  const size = edge + Math.max(cell * n, n);
  const canvas = h("canvas", { id: `pattern-${who}`, tabindex: 0, role: "img", class: "attention",
    "aria-label": say(model, "pattern", { layer, head }) });
  const ratio = globalThis.devicePixelRatio || 1;
  [canvas.width, canvas.height] = [size * ratio, size * ratio];
  [canvas.style.width, canvas.style.aspectRatio] = [`${size}px`, "1"];
  const readout = h("p", { class: "readout", "aria-live": "polite" }, say(model, "hover"));
  const draw = (q, k) => paint(canvas, { pattern, n, cell, edge, labels, tokens: run.tokens, ratio, q, k });
  const tell = (q, k) => {
    const weight = (pattern[q * n + k] / FULL).toFixed(4);
    const token = (i) => (i ? run.tokens[i] : say(model, "start"));
    readout.textContent = say(model, "cell", { query: token(q), q, key: token(k), k, weight });
    draw(q, k);
  };
  let at = [Math.min(model.get("position"), n - 1), 0];
  canvas.addEventListener("mousemove", (event) => {
    const box = canvas.getBoundingClientRect();
    const scale = size / box.width;
    const k = Math.floor(((event.clientX - box.left) * scale - edge) / cell);
    const q = Math.floor(((event.clientY - box.top) * scale - edge) / cell);
    if (q >= 0 && k >= 0 && q < n && k < n) tell(...(at = [q, k]));
  });
  canvas.addEventListener("mouseleave", () => draw(model.get("position"), null));
  canvas.addEventListener("click", () => {
    model.set("position", at[0]);
    model.save_changes();
  });
  canvas.addEventListener("keydown", (event) => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
    if (down === undefined) return;
    event.preventDefault();
    at = [Math.max(0, Math.min(n - 1, at[0] + down)), Math.max(0, Math.min(n - 1, at[1] + right))];
    tell(...at);
  });
  el.replaceChildren(canvas, readout);
  draw(model.get("position"), null);
}

function paint(canvas, { pattern, n, cell, edge, labels, tokens, ratio, q, k }) {
  const pen = canvas.getContext("2d");
  const [paper, ink, orange] = ["paper", "ink", "orange"].map((name) => colour(canvas, name));
  const [light, dark] = ["empty", "blue"].map((name) => rgb(colour(canvas, name)));
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = paper;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  const image = new ImageData(n, n);
  for (let i = 0; i < n * n; i++) {
    const part = pattern[i] / FULL;
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = light[c] + (dark[c] - light[c]) * part;
    image.data[4 * i + 3] = i % n > Math.floor(i / n) && pattern[i] === 0 ? 0 : 255;
  }
  const small = document.createElement("canvas");
  [small.width, small.height] = [n, n];
  small.getContext("2d").putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.drawImage(small, edge, edge, cell * n, cell * n);
  if (labels) {
    pen.fillStyle = ink;
    pen.font = "11px system-ui, sans-serif";
    [pen.textAlign, pen.textBaseline] = ["center", "middle"];
    tokens.forEach((token, i) => {
      const words = i ? [...token].slice(0, 3).join("") : "·";
      pen.fillText(words, edge + (i + 0.5) * cell, edge / 2);
      pen.fillText(words, edge / 2, edge + (i + 0.5) * cell);
    });
  }
  pen.strokeStyle = orange;
  pen.lineWidth = 2;
  if (q !== null && q < n) pen.strokeRect(edge + 1, edge + q * cell, cell * n - 2, Math.max(cell, 2));
  if (k !== null) pen.strokeRect(edge + k * cell, edge + q * cell, Math.max(cell, 3), Math.max(cell, 3));
}

function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}
