// Words in the reader's language.

import { en } from "./strings.en.js";
import { ko } from "./strings.ko.js";

export const LANGUAGES = { en, ko };

export function say(model, key, values) {
  const words = (LANGUAGES[model.get("language")] ?? en)[key] ?? en[key] ?? key;
  return words.replace(/\{(\w+)\}/g, (all, name) => values?.[name] ?? all);
}

export function percent(part) {
  return `${(100 * part).toFixed(1)} %`;
}
