// How meaning moves through the layers: what `glassformer evolve` measured, as curves by layer.

import { h, table } from "./dom.js";
import { chart } from "./chart.js";
import { percent, say } from "./words.js";
import { verdicts } from "./verdicts.js";

export function renderEvolution({ model, el }) {
  const found = model.get("evolution");
  const panel = (title, lines, most) => chart({
    title: say(model, title), across: say(model, "layer"), hint: say(model, "readChart"), between: most ? [0, most] : undefined,
    lines: Object.entries(lines).map(([name, curves]) => line(lineWords(model, name), curves)),
  });
  el.replaceChildren(
    h("p", {}, say(model, "evolutionAbout")),
    h("div", { class: "charts" },
      panel("evolutionInformation", found.information, found.most),
      panel("evolutionDistances", found.distances),
      panel("evolutionChanges", found.changes)),
    h("h3", {}, say(model, "evolutionLearned")),
    table([say(model, "model"), say(model, "right"), say(model, "guess")],
      Object.entries(found.learned).map(([name, { accuracy, guess }]) => [name, percent(accuracy), percent(guess)])),
    found.claims ? verdicts(model, found.claims, found.quick) : "");
}

const QUESTIONS = { "its token": "itsToken", "the next token": "nextToken", "the masked token": "maskedToken" };

function lineWords(model, name) {
  const [, who, question] = name.match(/^(\w+), (.+)$/) ?? [];
  if (QUESTIONS[question]) return say(model, QUESTIONS[question], { who });
  const [, twice] = name.match(/^two seeds of (\w+)$/) ?? [];
  if (twice) return say(model, "twoSeeds", { who: twice });
  const [, one, other] = name.match(/^(\w+) and (\w+)$/) ?? [];
  return one ? say(model, "modelPair", { one, other }) : name;
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
