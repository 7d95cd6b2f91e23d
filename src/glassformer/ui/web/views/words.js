// Words in the reader's language.

import { en } from "./strings.en.js";
import { ko } from "./strings.ko.js";

export const LANGUAGES = { en, ko };

// The page's own words by their key, with values in them; or a sentence of Python's, which comes in all languages.
export function say(model, words, values) {
  const language = model.get("language");
  if (words === null || typeof words === "object") return words?.[language] ?? words?.en ?? "";
  const known = LANGUAGES[language]?.[words] ?? en[words] ?? words;
  const shown = (value) => (value !== null && typeof value === "object" ? say(model, value) : value);
  return known.replace(/\{(\w+)\}/g, (all, name) => shown(values?.[name]) ?? all);
}

// The same in all languages, as sentences of Python's come.
export function inAllLanguages(key, values) {
  return Object.fromEntries(Object.keys(LANGUAGES).map((name) => [name, say(new Map([["language", name]]), key, values)]));
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
