// Words in the reader's language.

import { en } from "./strings.en.js";
import { ko, told } from "./strings.ko.js";

export const LANGUAGES = { en, ko };

export function say(model, key, values) {
  const words = (LANGUAGES[model.get("language")] ?? en)[key] ?? en[key] ?? key;
  return words.replace(/\{(\w+)\}/g, (all, name) => values?.[name] ?? all);
}

// What Python said, in the reader's language: as a whole, or part by part. Lines after the first only show a place.
export function retell(model, words) {
  if (model.get("language") !== "ko" || typeof words !== "string") return words;
  const [first, ...others] = words.split("\n");
  return [withParticles(inKorean(first)), ...others].join("\n");
}

function inKorean(words) {
  for (const [pattern, korean] of told) {
    const found = words.match(pattern);
    if (found) return korean.replace(/([$&])(\d)/g, (_, sign, i) => (sign === "&" ? inKorean(found[i]) : found[i] ?? ""));
  }
  const separator = ["; ", " · ", ", "].find((each) => words.includes(each));
  return separator ? words.split(separator).map(inKorean).join(separator) : words;
}

const PARTICLES = { "을(를)": ["을", "를"], "이(가)": ["이", "가"], "은(는)": ["은", "는"], "과(와)": ["과", "와"], "(으)로": ["으로", "로"], "(이)": ["이", ""] };
const DIGITS_THAT_CLOSE = "013678";
const DIGITS_IN_L = "178";

// Korean particles depend on the sound before them; where that is not known (a foreign word), both forms stay.
function withParticles(words) {
  return words.replace(/([가-힣\d%])(을\(를\)|이\(가\)|은\(는\)|과\(와\)|\(으\)로|\(이\)(?=[면라]))/g, (_, sound, particle) => {
    const last = /[가-힣]/.test(sound) ? (sound.charCodeAt(0) - 0xac00) % 28 : DIGITS_IN_L.includes(sound) ? 8 : Number(DIGITS_THAT_CLOSE.includes(sound));
    const closes = last !== 0 && !(particle === "(으)로" && last === 8);
    return sound + PARTICLES[particle][closes ? 0 : 1];
  });
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
