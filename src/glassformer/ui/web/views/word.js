// The word as a strip: each letter, the automaton's state behind it, and what each model says; a click moves there.

import { h } from "./dom.js";
import { answer, say } from "./words.js";
import { statesOf } from "./machine.js";

export function renderWord({ model, el }) {
  const run = model.get("built")?.run;
  if (!run) return el.replaceChildren();
  const { states } = model.get("machine");
  const right = statesOf(model).map((q) => states[q]);
  const go = (position) => {
    model.set("position", Math.max(0, Math.min(run.tokens.length - 1, position)));
    model.save_changes();
  };
  const row = (name, cells, compare) =>
    h("tr", {}, h("th", { scope: "row" }, name), cells.map((words, i) => {
      const wrong = compare && i > 0 && words !== right[i];
      const now = i === model.get("position");
      return h("td", { class: [now && "now", wrong && "wrong"].filter(Boolean).join(" ") || undefined,
        title: wrong ? say(model, "wrong") : undefined, onclick: () => go(i) }, wrong ? `✗ ${words}` : words);
    }));
  const says = (who) => model.get(who)?.run?.answers.map((i) => answer(model.get(who).run, i));
  const moved = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    go(model.get("position") + step);
  };
  const trained = says("trained")?.map((words, i) => (i ? words : "–")); // it has no answer before the first letter
  const body = h("tbody", {},
    row("", run.tokens.map((token, i) => (i ? token : say(model, "start")))),
    row(say(model, "automaton"), right),
    row(say(model, "built"), says("built"), true),
    trained && row(say(model, "trained"), trained, true));
  const strip = h("div", { id: "strip", class: "scrolls strip", role: "group", tabindex: 0, onkeydown: moved, "aria-label": say(model, "wordStrip") },
    h("table", {}, body));
  const said = el.querySelector("[role=status]") ?? el.appendChild(h("p", { class: "note", role: "status" })); // it stays: only then what changes in it is read out
  el.querySelector(".strip")?.remove();
  el.prepend(strip);
  const at = Math.min(model.get("position"), run.tokens.length - 1);
  said.textContent = say(model, "standing", { position: at, letter: at ? run.tokens[at] : say(model, "start"), state: right[at], built: says("built")[at] });
  const now = el.querySelector("td.now");
  if (now) strip.scrollLeft = now.offsetLeft - strip.clientWidth / 2; // the strip alone: the page stays where it is
}
