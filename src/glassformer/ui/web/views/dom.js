// The few ways in which views make elements; text is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

// Words in which `this` is a command.
export function commands(words) {
  return words.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));
}

// A drawing that Python made; it is parsed as an image, so that nothing in it can run.
export function drawing(text, words) {
  const image = h("img", { alt: words, src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}` });
  return h("div", { class: "drawing", tabindex: 0 }, image);
}

export function table(heads, rows, attributes) {
  const head = h("thead", {}, h("tr", {}, heads.map((words) => h("th", { scope: "col" }, words))));
  const body = h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))));
  return h("div", { class: "scrolls" }, h("table", attributes, head, body));
}

// A colour of the sheet, as it is where an element stands: light or dark.
export function colour(element, name) {
  return getComputedStyle(element).getPropertyValue(`--${name}`).trim() || "#000000";
}
