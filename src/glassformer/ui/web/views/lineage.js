// The family side by side: a table of members and tasks that can be sorted, what distance and depth do, and the verdicts.

import { h } from "./dom.js";
import { chart, number } from "./chart.js";
import { say, titled } from "./words.js";
import { verdicts } from "./verdicts.js";

const HOSTS = { rnn: "hostRnn", block: "hostBlock" };
const MEASURES = {
  accuracy: { words: "right", shown: (value) => value.toFixed(3) },
  whole: { words: "whole", shown: (value) => value.toFixed(3) },
  reached: { words: "reached", shown: (value) => (value === null ? "–" : String(value)), smaller: true },
  seconds: { words: "seconds", shown: (value) => value.toFixed(1), smaller: true },
};
const MOST_LINES = 7;

export function renderLineage({ model, el }) {
  const found = model.get("lineage");
  el.replaceChildren(...[
    h("p", {}, say(model, "lineageAbout")),
    family(model, found),
    h("div", { class: "charts" }, ...[
      found.by_distance && lines(model, "byDistance", "fromEnd", found.names.members, Object.fromEntries(Object.entries(found.by_distance).map(([name, row]) =>
        [name, row.map((value, i) => [i + 1, value])])), { between: [0, 1] }),
      lines(model, "skipsRight", "layers", found.names.skips, byNumber(found.skips.accuracies), { between: [0, 1], evenly: true }),
      gradients(model, found),
      found.translating && lines(model, "bleu", "sentenceTokens", found.names.members, byNumber(found.translating.bleu), { evenly: true }),
    ].filter(Boolean)),
    verdicts(model, found.verdicts, found.quick),
  ]);
}

function byNumber(found) {
  return Object.fromEntries(Object.entries(found).map(([name, row]) => [name, Object.entries(row).map(([x, y]) => [Number(x), y])]));
}

function lines(model, title, across, titles, found, more) {
  const some = Object.entries(found).slice(0, MOST_LINES).map(([id, points]) => ({ name: titled(model, titles, id), points }));
  return chart({ title: say(model, title), across: say(model, across), hint: say(model, "readChart"), lines: some, ...more });
}

function gradients(model, { names, skips }) {
  const every = Object.values(skips.gradients).flat();
  const most = Math.max(...every);
  const least = Math.max(Math.min(...every), most * 1e-9);
  const rows = Object.fromEntries(Object.entries(skips.gradients).map(([id, row]) => [id, row.map((value, i) => [i, Math.max(value, least)])]));
  const between = [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(most) + 1e-9)];
  return lines(model, "gradients", "layer", names.skips, rows, { logarithmic: true, between });
}

function family(model, { family: rows, names }) {
  const hosts = [...new Set(rows.map(({ host }) => host))];
  const host = hosts.includes(model.get("host")) ? model.get("host") : hosts[0];
  const measure = Object.hasOwn(MEASURES, model.get("measure")) ? model.get("measure") : "accuracy";
  const keep = (values) => {
    for (const [name, value] of Object.entries(values)) model.set(name, value);
    model.save_changes();
  };
  const choose = (name, words, options, chosen) => h("label", {}, say(model, words), " ", h("select", { id: `lineage-${name}`,
    onchange: (event) => keep({ [name]: event.target.value, sorted: "" }),
  }, options.map(([value, key]) => h("option", { value, selected: value === chosen }, say(model, key)))));
  const readout = h("p", { class: "readout", "aria-live": "polite" }, say(model, "readTable"));
  const tell = (row) => (readout.textContent = row ? say(model, "memberRead", {
    member: titled(model, names.members, row.member), task: titled(model, names.tasks, row.task), seeds: row.seeds.map((value) => value.toFixed(3)).join(", "), width: row.width,
    tests: Object.entries(row.tests).map(([id, value]) => `${titled(model, names.tests, id)} ${value.toFixed(3)}`).join(", ") || "–",
    reached: row.reached === null ? say(model, "notReached") : say(model, "reachedAfter", { steps: row.reached }), seconds: number(row.seconds),
  }) : say(model, "readTable"));
  return h("div", {}, h("div", { class: "tools" },
    choose("host", "host", hosts.map((each) => [each, HOSTS[each] ?? "hostBlock"]), host),
    choose("measure", "measure", Object.entries(MEASURES).map(([name, { words }]) => [name, words]), measure)),
  matrix(model, names, rows.filter((row) => row.host === host), measure, (sorted) => keep({ sorted }), tell), readout);
}

function matrix(model, names, rows, measure, sort, tell) {
  const { shown, smaller } = MEASURES[measure];
  const tasks = [...new Set(rows.map(({ task }) => task))];
  const of = (member, task) => rows.find((row) => row.member === member && row.task === task);
  const value = (row) => row?.[measure] ?? null;
  const known = rows.map(value).filter((each) => each !== null);
  const most = Math.max(1e-9, ...known);
  const sorted = tasks.includes(model.get("sorted")) ? model.get("sorted") : "";
  let members = [...new Set(rows.map(({ member }) => member))];
  if (sorted) {
    const worst = smaller ? Infinity : -Infinity;
    const key = (member) => value(of(member, sorted)) ?? worst;
    members = members.map((member) => [member, key(member)]).sort((a, b) => (smaller ? a[1] - b[1] : b[1] - a[1])).map(([member]) => member);
  }
  const head = h("tr", {}, h("th", { scope: "col" }, say(model, "member")), tasks.map((task) =>
    h("th", { scope: "col", "aria-sort": sorted === task ? (smaller ? "ascending" : "descending") : undefined },
      h("button", { id: `sort-${task}`, class: "small", title: say(model, "sort"), onclick: () => sort(sorted === task ? "" : task) },
        `${titled(model, names.tasks, task)}${sorted === task ? " ▾" : ""}`))));
  const cell = (member, task, i, j) => {
    const row = of(member, task);
    const made = h("td", { class: "number", tabindex: row ? (i + j ? -1 : 0) : undefined, "data-at": `${i} ${j}` }, row ? shown(value(row)) : "");
    if (!row) return made;
    const part = value(row) === null ? 0 : Math.min(1, Math.max(0, value(row) / (measure === "accuracy" || measure === "whole" ? 1 : most)));
    made.style.background = `color-mix(in srgb, var(--blue) ${Math.round(45 * part)}%, var(--paper))`;
    made.addEventListener("pointerenter", () => tell(row));
    made.addEventListener("focus", () => tell(row));
    return made;
  };
  const body = members.map((member, i) => h("tr", {}, h("th", { scope: "row" }, titled(model, names.members, member)), tasks.map((task, j) => cell(member, task, i, j))));
  const made = h("table", { class: "matrix" }, h("thead", {}, head), h("tbody", {}, body));
  made.addEventListener("keydown", (event) => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
    if (down === undefined || !event.target.dataset.at) return;
    event.preventDefault();
    const [i, j] = event.target.dataset.at.split(" ").map(Number);
    made.querySelector(`[data-at="${i + down} ${j + right}"][tabindex]`)?.focus();
  });
  return h("div", { class: "scrolls" }, made);
}
