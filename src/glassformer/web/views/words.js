// Words in the reader's language.

import { en } from "./strings.en.js";
import { ko } from "./strings.ko.js";
import { told } from "./told.ko.js";

export const LANGUAGES = { en, ko };

export function say(model, key, values) {
  const words = (LANGUAGES[model.get("language")] ?? en)[key] ?? en[key] ?? key;
  return words.replace(/\{(\w+)\}/g, (all, name) => values?.[name] ?? all);
}

// What Python said, in the reader's language: as a whole, or part by part.
export function retell(model, words) {
  if (model.get("language") !== "ko" || typeof words !== "string") return words;
  const known = (part) => {
    const [pattern, korean] = told.find(([each]) => each.test(part)) ?? [];
    return pattern ? part.replace(pattern, korean) : null;
  };
  return known(words) ?? words.split("; ").map((part) => known(part) ?? part).join("; ");
}

// What a model answers; where several answers lead together, it has none.
export function answer(run, i) {
  return run.outputs[i] ?? "–";
}

// Why there is nothing to see of a model.
export function missing(model, who) {
  const most = model.get(who)?.most;
  return most ? say(model, "wordTooLong", { most }) : say(model, "noTrained");
}

export function percent(part) {
  return `${(100 * part).toFixed(1)}\u00a0%`;
}
