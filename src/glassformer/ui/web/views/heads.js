// What the heads do, of both models side by side: the job that fits the patterns best, how clearly, and how much it matters.

import { commands, h, table } from "./dom.js";
import { percent, say } from "./words.js";

const JOBS = {
  "self": "jobSelf", "start": "jobStart", "flat sum": "jobFlat", "same token": "jobSame",
  "conditional reset": "jobReset", "unclear": "jobUnclear",
};

export function renderHeads({ model, el }) {
  const heads = model.get("heads");
  if (!heads) return el.replaceChildren(h("p", { class: "note" }, say(model, "working")));
  el.replaceChildren(h("p", { class: "note" }, say(model, "headsHint")),
    h("div", { class: "both" }, ["built", "trained"].filter((who) => heads[who]).map((who) =>
      h("div", {}, h("h3", {}, say(model, who)), scored(model, heads[who])))));
}

function scored(model, { scores, words, length, refused }) {
  if (refused) return h("p", {}, commands(say(model, refused === "short" ? "headsShort" : "headsLarge")));
  if (!scores.length) return h("p", {}, say(model, "noHeads"));
  const rows = scores.map((each) => [
    go(model, each),
    h("span", { class: each.job === "unclear" ? "unclear" : undefined }, jobWords(model, each)),
    amount(each.confidence, each.confidence.toFixed(2)),
    amount(each.matters, percent(each.matters)),
    `${jobWords(model, { job: each.second.job })} ${each.second.score.toFixed(2)}`,
  ]);
  const columns = ["headNumber", "job", "confidence", "matters", "second"].map((key) => say(model, key));
  return h("div", {}, table(columns, rows, { class: "heads" }), h("p", { class: "note" }, commands(say(model, "headsSeen", { words, length }))));
}

function jobWords(model, { job, at }) {
  const back = job.match(/^look (\d+) back$/);
  const words = back ? say(model, "jobBack", { distance: back[1] }) : say(model, JOBS[job] ?? "jobUnclear");
  return at ? say(model, "jobAt", { words, tokens: at.join(", ") }) : words;
}

// A button that shows the head's pattern above.
function go(model, { layer, head }) {
  return h("button", { class: "small", title: say(model, "showHead"), onclick: () => {
    model.set("layer", layer);
    model.set("head", head);
    model.save_changes();
  } }, `${layer}.${head}`);
}

// A number with a bar as long as it is large.
function amount(part, words) {
  const bar = h("span", { class: "bar" });
  bar.style.width = `${Math.round(100 * Math.min(1, Math.max(0, part)))}%`;
  return h("span", { class: "amount" }, h("span", { class: "number" }, words), h("span", { class: "track" }, bar));
}
