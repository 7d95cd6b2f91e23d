// The drawings of the served folder: on white, since some say what is white in them.

import { commands, h } from "./dom.js";
import { say } from "./words.js";

export function renderFigures({ model, el }) {
  const found = model.get("figures");
  if (!found.length) return el.replaceChildren(h("p", {}, commands(say(model, "noFigures"))));
  el.replaceChildren(...found.map((name) => h("figure", {}, h("figcaption", {}, name),
    h("div", { class: "drawing paper", tabindex: 0 }, h("img", { src: `/figures/${name}`, alt: name, loading: "lazy" })))));
}
