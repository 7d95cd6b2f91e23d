// What the heads do, of both models side by side: the operation that fits the patterns best, how clearly, and how much it matters.

import { commands, h, table } from "./dom.js";
import { percent, say } from "./words.js";

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
    h("span", { class: each.job.id === "operations.unclear" ? "unclear" : undefined },
      each.at ? say(model, "jobAt", { words: each.job, tokens: each.at.join(", ") }) : say(model, each.job)),
    amount(each.confidence, each.confidence.toFixed(2)),
    amount(each.matters, percent(each.matters)),
    `${say(model, each.second.job)} ${each.second.score.toFixed(2)}`,
  ]);
  const columns = ["headNumber", "job", "confidence", "matters", "second"].map((key) => say(model, key));
  return h("div", {}, table(columns, rows, { class: "heads" }), h("p", { class: "note" }, commands(say(model, "headsSeen", { words, length }))));
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
