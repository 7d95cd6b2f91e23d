// What a study concludes: the sentence that was claimed, what was seen here, and whether it is so. Python writes it.

import { commands, h, table } from "./dom.js";
import { say } from "./words.js";

export function verdicts(model, found, quick) {
  const sentence = (verdict, part) => say(model, verdict.messages?.[part] ?? { en: verdict[part] });
  const rows = found.map((verdict) => [sentence(verdict, "claim"), sentence(verdict, "said"), say(model, verdict.holds ? "yes" : "no")]);
  return h("div", {}, h("h3", {}, say(model, "verdicts")), quick ? h("p", { class: "message" }, commands(say(model, "quickRun"))) : "",
    table([say(model, "claim"), say(model, "seen"), say(model, "holds")], rows, { class: "wrapped verdicts" }));
}
