/**
 * One result: its title and metadata, coverage of both documents, the most telling pairs, and its near duplicates.
 * @module
 */

import { coverageBar } from "./coverage.js";
import { el, icon } from "./dom.js";
import { collectionLine, inCollection, relationLabel, scoresOf } from "./facts.js";
import { asText, count, flat, label, plural, webAddress } from "./format.js";
import { kindLabel } from "./partner.js";
import { sentPassage } from "./passage.js";
import { displayName } from "./query.js";

const INLINE = 4; // metadata fields outside the fold
const ONLY_BOILERPLATE = "Only headings, citations or standard wording match. Read side by side to see them.";
const SHORT = 48; // characters of a value beyond which it is folded

/**
 * @typedef {{id: string, title: string, relation: string, score: number | null, rank: number, metadata: Record<string, unknown>, collection?: string}} Duplicate
 * @typedef {{rank: number, id: string, title: string, score: number | null, qp: number | null, dp: number | null, first_rank: number,
 *   metadata: Record<string, unknown>, pairs: any[], query_coverage: import("./kinds.js").Coverage | null,
 *   document_coverage: import("./kinds.js").Coverage | null, relation: string, duplicates: Duplicate[], collection?: string}} Hit
 * @typedef {[number, number]} At where a pair begins in the query and in the document
 */

/**
 * @typedef {object} How
 * @property {string[]} order metadata fields, most useful first
 * @property {(id: string, at?: At) => string | null} address of the side-by-side view, if the query has an address
 * @property {(id: string, at?: At) => void} open side by side
 * @property {(id: string) => string} similar the address of "More like this"
 * @property {(document: {id: string, title: string}) => void} more like this
 * @property {(id: string) => string} alone the address of the document alone
 * @property {(id: string) => void} read alone
 * @property {() => void} hide
 * @property {Node} note that the user wrote
 * @property {Node[]} marks buttons, and a fold to write a note
 */

/** @param {Hit} hit @param {How} how */
export function hitItem(hit, how) {
  const name = displayName(hit);
  return el("li", { class: "hit", dataset: { id: hit.id } },
    el("article", { "aria-label": `${hit.rank}. ${name}` },
      el("p", { class: "rank", "aria-hidden": "true" }, count(hit.rank)),
      el("div", { class: "hit-head" },
        el("h2", {}, opener("hit-open", name, how, hit.id), relationLabel(hit.relation)),
        name !== hit.id && el("p", { class: "hit-id" }, hit.id),
        collectionLine(hit),
        metadata(hit, how.order),
        how.note),
      hit.query_coverage && el("div", { class: "coverages" }, coverageBar(hit.query_coverage, "query"), coverageBar(hit.document_coverage, "document")),
      hit.pairs.length > 0 && el("ol", { class: "pairs", "aria-label": "The most telling matches" }, hit.pairs.map((pair) => evidence(pair, hit, how))),
      !hit.pairs.length && hit.query_coverage?.matched > 0 && el("p", { class: "common hint" }, ONLY_BOILERPLATE),
      hit.duplicates.length > 0 && duplicates(hit.duplicates, how),
      actions(hit, name, how)));
}

/** A link if there is an address, so that it can be opened in a new tab; otherwise a button. */
function follow(style, content, address, go, spoken = null) {
  const click = (event) => {
    if (address && (event.ctrlKey || event.metaKey || event.shiftKey)) return;
    event.preventDefault();
    go();
  };
  const props = { class: style, "aria-label": spoken, on: { click } };
  return address ? el("a", { href: address, ...props }, content) : el("button", { type: "button", ...props }, content);
}

const opener = (style, content, how, id, spoken = null) => follow(style, content, how.address(id), () => how.open(id), spoken);

/** Links to a document alone, and to what is like it. */
function elsewhere(document, how) {
  const name = displayName(document);
  return [
    follow("action alone", "Read alone", how.alone(document.id), () => how.read(document.id), `Read alone: ${name}`),
    follow("action similar", "More like this", how.similar(document.id), () => how.more(document), `More like this: ${name}`),
  ];
}

function actions(hit, name, how) {
  return el("div", { class: "hit-actions" },
    opener("compare", ["Read side by side", icon("right")], how, hit.id, `Read side by side: ${name}`),
    elsewhere({ id: hit.id, title: hit.title }, how),
    how.marks,
    el("details", { class: "technical" }, el("summary", {}, "Technical details"), el("dl", {}, scoresOf(hit))),
    el("button", { type: "button", class: "quiet hide", "aria-label": `Hide ${name}`, on: { click: how.hide } }, icon("close"), "Hide"));
}

// ---------------------------------------------------------------------------- evidence

/** A pair, which leads to its place side by side. */
function evidence(pair, hit, how) {
  const at = /** @type {At} */ ([pair.query_span[0], pair.document_span[0]]);
  const content = [kindLabel(pair),
    side("In your document", sentPassage(pair, "query")),
    side(["In ", el("cite", {}, displayName(hit))], sentPassage(pair, "document"))];
  return el("li", { class: pair.boilerplate ? "common" : null }, follow("pair", content, how.address(hit.id, at), () => how.open(hit.id, at)),
    el("button", { type: "button", class: "quiet small passages-like", dataset: { passage: pair.document } }, icon("find"), "Find passages like this"));
}

function side(caption, text) {
  return el("span", { class: "pair-side" }, el("span", { class: "caption" }, caption), el("span", { class: "quote" }, text));
}

/** Documents with the same text, or nearly so, which are not results of their own. */
function duplicates(documents, how) {
  const identical = documents.filter(({ relation }) => relation === "identical").length;
  const near = documents.length - identical;
  const parts = [identical && plural(identical, "document with identical text", "documents with identical text"), near && plural(near, "near duplicate")];
  return el("details", { class: "duplicates" },
    el("summary", {}, parts.filter(Boolean).join(", ")),
    el("ul", {}, documents.map(({ id, title, relation, collection }) => el("li", { dataset: { id } },
      opener("duplicate", displayName({ id, title }), how, id), " ", relationLabel(relation), title && title !== id && el("span", { class: "hit-id" }, id), inCollection(collection),
      el("span", { class: "duplicate-actions" }, elsewhere({ id, title }, how))))));
}

// ---------------------------------------------------------------------------- metadata

function metadata(hit, order) {
  const all = Object.entries(hit.metadata).map(([name, value]) => ({ name, text: flat(asText(value)) }));
  const informative = all.filter(({ name, text }) => text && name !== "path" && text !== hit.title && text !== hit.id);
  const place = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length);
  informative.sort((a, b) => place(a) - place(b));
  const short = informative.filter(({ text }) => text.length <= SHORT && !webAddress(text)).slice(0, INLINE);
  const folded = all.filter((field) => field.text && !short.includes(field));
  if (!all.length) return null;
  return el("div", { class: "metadata" },
    short.length > 0 && el("dl", { class: "inline" }, short.map(entry)),
    folded.length > 0 && el("details", {},
      el("summary", {}, short.length ? `${count(folded.length)} more` : plural(folded.length, "field")), el("dl", { class: "table" }, folded.map(entry))));
}

function entry({ name, text }) {
  const address = webAddress(text);
  const value = address ? el("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, text) : text;
  return el("div", {}, el("dt", {}, label(name)), el("dd", {}, value));
}
