// A continuous function as a transformer, by the stages of the proof: values, quantised entries, ids, errors.

import { h, table } from "./dom.js";
import { chart, number } from "./chart.js";
import { say } from "./words.js";

// Errors of exactly 0 come as the least that the chart shows.
const FLOOR = 1e-18;
const exact = ([x, y]) => [x, y <= FLOOR ? 0 : y];

export function renderApproximation({ model, el }) {
  const found = model.get("approximation");
  const charts = Object.entries(found.stages).map(([stage, { title, across, names, lines, between, logarithmic }]) => chart({
    title: say(model, title), across: say(model, across), hint: say(model, "readChart"), between, logarithmic, zeros: stage === "errors",
    lines: lines.map((points, i) => ({ name: say(model, names[i]), points: stage === "errors" ? points.map(exact) : points })),
  }));
  const rows = [
    ["blocks", found.blocks.toLocaleString()], ["formulaBlocks", found.formula_blocks.toLocaleString()],
    ["parameters", found.parameters.toLocaleString()], ["positions", say(model, found.positions ? "yes" : "no")],
    ["contextual", say(model, found.contextual ? "yes" : "no")], ["gridError", number(found.grid_error)],
    ["constantDistance", number(found.constant_distance)], ["distance", `${number(found.distance)} ± ${number(found.distance_error)}`],
  ].map(([key, words]) => [say(model, key), words]);
  el.replaceChildren(
    h("h3", {}, say(model, "approximated", { function: found.function, d: found.d, n: found.n, cells: found.cells })),
    h("div", { class: "charts" }, charts),
    table([say(model, "certificate"), ""], rows, { class: "wrapped" }),
    h("p", { class: "note" }, say(model, "blocksOf", { parts: found.parts.map(({ name, blocks }) => `${say(model, name)} ${blocks.toLocaleString()}`).join(", ") })));
}
