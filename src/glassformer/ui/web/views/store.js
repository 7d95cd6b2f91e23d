// What the page knows, in the shape of anywidget's model: get, set, on("change:name") or on("change"), off, save_changes.

export class Store {
  constructor(values) {
    this.values = { ...values };
    this.changed = new Set();
    this.listeners = new Map();
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    if (JSON.stringify(this.values[name]) === JSON.stringify(value)) return;
    this.values[name] = value;
    this.changed.add(name);
  }

  on(event, listener) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener]);
  }

  off(event, listener) {
    this.listeners.set(event, (this.listeners.get(event) ?? []).filter((each) => each !== listener));
  }

  save_changes() {
    const changed = [...this.changed];
    this.changed.clear();
    for (const name of changed) for (const each of this.listeners.get(`change:${name}`) ?? []) each();
    for (const each of this.listeners.get("change") ?? []) each();
  }
}

// What is worth a link: the machine, the word, and where one looks.
const count = (text) => Math.max(0, Math.trunc(Number(text)));
export const LINKED = {
  view: String, place: String, function: String, d: count, n: count, cells: count, spec: String, method: String, length: count,
  word: String, layer: count, head: count, position: count, temperature: Number, without: JSON.parse, host: String, measure: String, sorted: String, language: String, theme: String,
};

export function fromLink(hash) {
  const found = {};
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    try {
      const value = LINKED[name]?.(text);
      if (value !== undefined && !Number.isNaN(value)) found[name] = value;
    } catch {
      // a part of a link that says nothing is passed over
    }
  }
  return found;
}

export function toLink(model) {
  const link = new URLSearchParams();
  for (const name of Object.keys(LINKED)) {
    const value = model.get(name);
    if (value === undefined || value === null || (value === "" && name !== "word")) continue;
    link.set(name, name === "without" ? JSON.stringify(value) : value);
  }
  return `#${link}`;
}
