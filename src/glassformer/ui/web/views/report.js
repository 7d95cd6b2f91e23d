// The report: the same views on values that lie in the page.

import { Store, fromLink, toLink } from "./store.js";
import { renderExplorer } from "./explorer.js";

const model = new Store({ ...JSON.parse(document.getElementById("values").textContent), ...fromLink(location.hash) });
for (const name of ["language", "theme", "layer", "head", "position", "temperature"]) {
  model.on(`change:${name}`, () => history.replaceState(null, "", toLink(model)));
}
renderExplorer({ model, el: document.getElementById("page") });
