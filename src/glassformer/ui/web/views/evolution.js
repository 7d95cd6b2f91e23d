// How meaning moves through the layers: what `glassformer evolve` measured, as curves by layer.

import { h, table } from "./dom.js";
import { chart } from "./chart.js";
import { percent, say, titled } from "./words.js";
import { verdicts } from "./verdicts.js";

export function renderEvolution({ model, el }) {
  const found = model.get("evolution");
  const title = (id) => titled(model, found.names, id);
  const panel = (figure, most) => chart({
    title: title(figure), across: say(model, "layer"), hint: say(model, "readChart"), between: most ? [0, most] : undefined,
    lines: Object.entries(found[figure]).map(([id, curves]) => line(title(id), curves)),
  });
  el.replaceChildren(
    h("p", {}, say(model, "evolutionAbout")),
    h("div", { class: "charts" },
      panel("information", found.most), panel("distances"), panel("changes")),
    h("h3", {}, say(model, "evolutionLearned")),
    table([say(model, "model"), say(model, "right"), say(model, "guess")],
      Object.entries(found.learned).map(([name, { accuracy, guess }]) => [name, percent(accuracy), percent(guess)])),
    found.claims ? verdicts(model, found.claims, found.quick) : "");
}

// The mean of the seeds, with a bar from the least to the largest; the embedding is layer 0.
function line(name, curves) {
  const layers = Object.keys(curves[0]);
  const at = (layer) => (layer === "embedding" ? 0 : Number(layer));
  const values = (layer) => curves.map((curve) => curve[layer]);
  return {
    name,
    points: layers.map((layer) => [at(layer), values(layer).reduce((a, b) => a + b, 0) / curves.length]),
    bars: layers.map((layer) => [at(layer), Math.min(...values(layer)), Math.max(...values(layer))]),
  };
}
