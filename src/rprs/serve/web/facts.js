/**
 * The headers of the side-by-side view: titles, metadata, coverage and technical details.
 * @module
 */

import { el } from "./dom.js";
import { asText, count, fraction, label, rough, webAddress } from "./format.js";

/** @typedef {import("./text.js").Side} Side */

const ALWAYS = 3; // metadata fields outside the fold
const SHORT = 60; // maximum length of their values
const LAST = ["path"]; // fields that come last

/** Ranks and scores, which depend on the other documents here. @param {any} hit */
export function scoresOf({ in_pool: inPool = true, rank, first_rank: keywordRank, score, qp, dp }) {
  const number = (value, format) => (value === null || value === undefined ? null : format(value));
  const facts = {
    Rank: inPool ? count(rank) : "not among the candidates",
    "Keyword rank": inPool ? count(keywordRank) : null,
    Score: number(score, rough),
    QP: number(qp, (value) => fraction(value, 3)),
    DP: number(dp, (value) => fraction(value, 3)),
  };
  return Object.entries(facts).filter(([, value]) => value !== null)
    .map(([name, value]) => el("div", {}, el("dt", { title: MEANINGS[name] }, name), el("dd", {}, value)));
}

const MEANINGS = {
  "Keyword rank": "The rank by words and phrases alone, before sentences are compared",
  QP: "Query proportion: share of your sentences whose nearest neighbours among all candidates are in this document, weighted",
  DP: "Document proportion: share of its sentences that are among those nearest neighbours, weighted",
};

/** Notes of the server, one line each.
 * @param {string[]} notes */
export const notesOf = (notes) => notes.map((note) => el("p", { class: "aligned-note" }, note));

/** "identical text" or "near duplicate"; nothing for different documents. @param {string} relation */
export const relationLabel = (relation) =>
  (relation === "different" || !relation ? null : el("span", { class: "relation" }, relation === "identical" ? "Identical text" : "Near duplicate"));

/** Where a document is, if several collections were searched. @param {string | undefined} collection */
export const inCollection = (collection) => (collection ? el("span", { class: "hit-collection" }, ` in ${collection}`) : null);

/** The same on a line of its own. @param {{collection?: string}} hit */
export const collectionLine = ({ collection }) => (collection ? el("p", { class: "hit-collection" }, "Collection: ", el("b", {}, collection)) : null);

/**
 * Above one text: its title, its metadata and its coverage.
 * @param {string} kind such as "Your document"
 * @param {Side} side
 * @param {Node[]} more below the title
 * @param {Node | null} [badge] beside the title
 */
export function titleOf(kind, side, more, badge = null) {
  const name = side.title || side.id;
  return el("header", { class: "aligned-title" },
    el("p", { class: "kind" }, kind),
    el("h2", { title: name }, name),
    badge,
    metadataOf({ ...(name === side.id ? {} : { id: side.id }), ...side.metadata }),
    more);
}

/** The first short fields on one line, all of them in a fold. */
function metadataOf(metadata) {
  const rank = (name) => Number(LAST.includes(name));
  const fields = Object.entries(metadata)
    .map(([name, value]) => [name, asText(value)])
    .filter(([, value]) => value !== "")
    .sort(([a], [b]) => rank(a) - rank(b));
  if (!fields.length) return null;
  const brief = fields.filter(([name, value]) => !rank(name) && name !== "id" && value.length <= SHORT).slice(0, ALWAYS);
  return el("details", { class: "aligned-metadata" },
    el("summary", {},
      el("span", { class: brief.length ? "word" : null }, "Metadata"), // shown alone if there is no room for the fields
      brief.map(([name, value]) => el("span", { class: "field" }, `${label(name)}: ${value}`))),
    el("dl", {}, fields.map(([name, value]) => el("div", {}, el("dt", {}, label(name)), el("dd", {}, linked(value))))));
}

function linked(value) {
  const address = webAddress(value);
  return address ? el("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, value) : value;
}
