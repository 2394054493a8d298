/**
 * A print of the matched pairs alone.
 * @module
 */

import { el } from "./dom.js";
import { count, plural } from "./format.js";
import { kindLabel } from "./partner.js";
import { passage } from "./passage.js";

/** @typedef {import("./pairs.js").Pair} Pair */

/**
 * Print a table of pairs instead of the two texts.
 * @param {HTMLElement} root of the view
 * @param {import("./passage.js").Texts} texts
 * @param {Record<import("./pairs.js").Which, string>} names
 * @param {Pair[]} pairs
 */
export function printPairs(root, texts, names, pairs) {
  const rows = pairs.map((pair) => el("tr", {},
    el("td", { class: "print-number" }, count(pair.number), el("br"), kindLabel(pair)),
    el("td", {}, passage(texts, pair, "query")),
    el("td", {}, passage(texts, pair, "document"))));
  const head = el("tr", {}, ["", `Your document: ${names.query}`, names.document].map((name) => el("th", { scope: "col" }, name)));
  const sheet = el("section", { class: "print-pairs", "aria-hidden": "true" },
    el("h2", {}, `${names.query} and ${names.document}`),
    el("p", {}, plural(pairs.length, "match", "matches")),
    el("table", {}, el("thead", {}, head), el("tbody", {}, rows)));
  root.append(sheet);
  root.classList.add("pairs-only");
  addEventListener("afterprint", () => {
    root.classList.remove("pairs-only");
    sheet.remove();
  }, { once: true });
  print();
}
