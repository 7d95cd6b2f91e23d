// A notebook: the same views on a widget's model, with a field for the word; what is typed goes to Python.

import { h } from "./dom.js";
import { say } from "./words.js";
import { renderExplorer } from "./explorer.js";

export function render({ model, el }) {
  const form = h("div");
  const views = h("div");
  el.replaceChildren(views);
  el.classList.add("glassformer-root");
  const fields = () => {
    const change = (event) => {
      model.set("word", event.target.value);
      model.save_changes();
    };
    form.replaceChildren(h("label", {}, say(model, "word"), " ", h("input", { id: "word", value: model.get("word") ?? "",
      placeholder: say(model, "wordHint"), maxlength: 2000, autocomplete: "off", spellcheck: "false", onchange: change })));
  };
  model.on("change:language", fields);
  model.on("change:word", fields);
  fields();
  let end = renderExplorer({ model, el: views, theme: surroundings(), form });
  const watched = new MutationObserver(() => {
    end();
    end = renderExplorer({ model, el: views, theme: surroundings(), form });
  });
  watched.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
  return () => {
    watched.disconnect();
    model.off("change:language", fields);
    model.off("change:word", fields);
    end();
  };
}

// Light or dark, if the notebook says which: JupyterLab and VS Code do.
function surroundings() {
  const { dataset, classList } = document.body;
  if (dataset.jpThemeLight === "false" || classList.contains("vscode-dark")) return "dark";
  if (dataset.jpThemeLight === "true" || classList.contains("vscode-light")) return "light";
  return "";
}

export default { render };
