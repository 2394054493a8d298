/**
 * The line with the number of hidden results, and the list from which each can be restored.
 * @module
 */

import { el } from "./dom.js";
import { count } from "./format.js";
import { displayName } from "./query.js";

/**
 * @param {{id: string, title: string}[]} hits those that are hidden, in order
 * @param {{open: boolean, restore: (id: string) => void, restoreAll: () => void}} how
 */
export function hiddenList(hits, { open, restore, restoreAll }) {
  const item = (hit) => el("li", { dataset: { id: hit.id } }, el("span", {}, displayName(hit)),
    el("button", { type: "button", class: "linklike restore", "aria-label": `Restore ${displayName(hit)}`, on: { click: () => restore(hit.id) } }, "Restore"));
  const all = el("button", { type: "button", class: "linklike", id: "restore-all", on: { click: restoreAll } }, "Restore all");
  const action = el("span", { class: "linklike" }, open ? "Close" : "Show");
  const list = el("details", { class: "hidden-results", id: "hidden-results", open },
    el("summary", {}, `${count(hits.length)} hidden · `, action), el("ul", {}, hits.map(item)), hits.length > 1 && all);
  list.addEventListener("toggle", () => (action.textContent = list.open ? "Close" : "Show"));
  return list;
}
