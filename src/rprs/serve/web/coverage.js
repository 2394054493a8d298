/**
 * Coverage as a bar stacked by kind, with the same in words.
 * @module
 */

import { el } from "./dom.js";
import { coverageSentence, kindClass, KINDS } from "./kinds.js";

/** @typedef {import("./kinds.js").Coverage} Coverage */

/**
 * @param {Coverage | null} coverage null if there is no alignment
 * @param {"query" | "document"} whose
 * @param {string} [where] the counterparts are, if not in one other document
 */
export function coverageBar(coverage, whose, where) {
  if (!coverage) return null;
  const words = coverageSentence(coverage, whose, where);
  const parts = KINDS.filter(({ field }) => coverage[field] > 0).map(({ kind, field }) => {
    const part = el("span", { class: kindClass(kind) });
    part.style.inlineSize = `${(100 * coverage[field]) / coverage.words}%`;
    return part;
  });
  return el("div", { class: `coverage ${whose}` },
    el("p", { class: "coverage-words" }, words),
    el("div", { class: "coverage-bar", "aria-hidden": "true" }, parts)); // the sentence says the same
}
