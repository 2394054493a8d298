/**
 * The headers of the side-by-side view: titles, metadata and scores.
 * @module
 */

import { el } from "./dom.js";
import { asText, count, fraction, label, movement, webAddress } from "./format.js";

/** @typedef {import("./text.js").Side} Side */

const ALWAYS = 3; // metadata fields outside the fold
const SHORT = 60; // maximum length of their values
const LAST = ["path"]; // fields that come last

/**
 * The scores of an explanation.
 * @param {any} explanation of the answer of /explain
 */
export function factsOf(explanation) {
  return el(
    "dl",
    { class: "aligned-facts" },
    fact("Rank", explanation.in_pool ? count(explanation.rank) : "–", standing(explanation)),
    proportion("QP", "qp", explanation.qp, "share of your document found here"),
    proportion("DP", "dp", explanation.dp, "share of this document that relates to yours"),
    share("Matched in your document", explanation.query_sentences_matched, explanation.query_sentences, "sentences of your document have a match"),
    share("Matched in the result", explanation.sentences_matched, explanation.sentences, "sentences of the result match one of yours"),
  );
}

/** Notes of the server, one line each.
 * @param {string[]} notes */
export const notesOf = (notes) => notes.map((note) => el("p", { class: "aligned-note" }, note));

function standing({ in_pool, rank, first_rank }) {
  return in_pool ? movement(first_rank, rank) : "not among the candidates of the first stage; appended to them for comparison";
}

function fact(name, value, words, extra = null) {
  return el("div", {}, el("dt", {}, name), " ", el("dd", {}, el("strong", {}, value), " ", el("span", {}, words), extra));
}

function share(name, part, whole, words) {
  const percent = whole ? Math.round((100 * part) / whole) : 0;
  return fact(el("span", { class: "visually-hidden" }, name), `${count(part)} of ${count(whole)}`, `${words} (${percent}%)`);
}

/** QP and DP are weighted, so they are not percentages of sentences; null if the re-ranker does not compute them. */
function proportion(name, kind, value, words) {
  if (value === null || value === undefined) return null;
  const bar = el("span", { class: `proportion ${kind}`, "aria-hidden": "true" });
  bar.style.setProperty("--share", String(Math.min(Math.max(value, 0), 1)));
  return fact(name, fraction(value, 3), words, bar);
}

/**
 * Above one text: its title and its metadata.
 * @param {string} kind such as "Your document"
 * @param {Side} side
 * @param {Node | null} extra beside the metadata
 */
export function titleOf(kind, side, extra) {
  const name = side.title || side.id;
  return el(
    "header",
    { class: "aligned-title" },
    el("p", { class: "kind" }, kind),
    el("h2", { title: name }, name),
    name === side.id ? null : el("p", { class: "id", title: side.id }, side.id),
    el("div", { class: "more" }, metadataOf(side.metadata ?? {}), extra),
  );
}

/** The first short fields on one line, all of them in a fold. */
function metadataOf(metadata) {
  const rank = (name) => Number(LAST.includes(name));
  const fields = Object.entries(metadata)
    .map(([name, value]) => [name, asText(value)])
    .filter(([, value]) => value !== "")
    .sort(([a], [b]) => rank(a) - rank(b));
  if (!fields.length) return null;
  const brief = fields.filter(([name, value]) => !rank(name) && value.length <= SHORT).slice(0, ALWAYS);
  return el(
    "details",
    { class: "aligned-metadata" },
    el(
      "summary",
      {},
      el("span", { class: brief.length ? "word" : null }, "Metadata"), // shown alone if there is no room for the fields
      brief.map(([name, value]) => el("span", { class: "field" }, `${label(name)}: ${value}`)),
    ),
    el("dl", {}, fields.map(([name, value]) => el("div", {}, el("dt", {}, label(name)), el("dd", {}, linked(value))))),
  );
}

function linked(value) {
  const address = webAddress(value);
  return address ? el("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, value) : value;
}
