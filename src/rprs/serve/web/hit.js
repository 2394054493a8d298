/**
 * One result: its title and metadata, its shares of both documents, and the best pair of sentences.
 * @module
 */

import { el, icon } from "./dom.js";
import { displayName } from "./query.js";
import { asText, count, flat, fraction, label, movement, rough, plural, webAddress } from "./format.js";

const INLINE = 4; // metadata fields outside the fold
const SHORT = 48; // characters of a value beyond which it is folded

/**
 * @typedef {{query: string, document: string, similarity: number}} Pair
 * @typedef {{rank: number, id: string, title: string, score: number | null, qp: number | null, dp: number | null, first_rank: number,
 *   metadata: Record<string, unknown>, pairs: Pair[]}} Hit
 * @typedef {{qp: number, dp: number}} Best the largest values in the results
 */

/**
 * @param {Hit} hit
 * @param {{best: Best, reranked: boolean, order: string[], address: string | null, open: () => void, dismiss: () => void}} how
 *   `reranked`: otherwise there are no aligned sentences to open; `order`: metadata fields, most useful first;
 *   `address`: of the side-by-side view, if the query has an address
 */
export function hitItem(hit, how) {
  const name = displayName(hit);
  return el("li", { class: "hit", dataset: { id: hit.id } },
    el("article", { "aria-label": `${hit.rank}. ${name}` },
      el("p", { class: "rank", "aria-hidden": "true", title: score(hit) }, count(hit.rank)),
      el("div", { class: "hit-head" },
        el("h2", {}, how.reranked ? opener("hit-open", name, how) : name),
        name !== hit.id && el("p", { class: "hit-id" }, hit.id),
        metadata(hit, how.order)),
      measures(hit, how),
      hit.pairs.length > 0 && pair(hit.pairs[0]),
      el("div", { class: "hit-actions" },
        how.reranked && opener("compare", ["Read side by side", icon("right")], how, `Read side by side: ${name}`),
        el("button", { type: "button", class: "quiet dismiss", "aria-label": `Dismiss ${name}`, on: { click: how.dismiss } },
          icon("close"), "Dismiss"))));
}

/** A link if there is an address, so that it can be opened in a new tab; otherwise a button. */
function opener(style, content, { address, open }, spoken = null) {
  const follow = (event) => {
    if (address && (event.ctrlKey || event.metaKey || event.shiftKey)) return;
    event.preventDefault();
    open();
  };
  const props = { class: style, "aria-label": spoken, on: { click: follow } };
  return address ? el("a", { href: address, ...props }, content) : el("button", { type: "button", ...props }, content);
}

// ---------------------------------------------------------------------------- measures

function measures(hit, { best, reranked }) {
  return el("div", { class: "measures" },
    bar("qp", "share of your document found here", hit.qp, best.qp),
    bar("dp", "share of this document that relates to yours", hit.dp, best.dp),
    hit.qp === null && el("p", { class: "score" }, score(hit)),
    reranked && moved(hit));
}

/**
 * A bar relative to the longest in the results. QP and DP have no fixed 100%: a sentence counts only if it is among the
 * nearest of all candidates' sentences, and the values depend on n, k1 and b.
 */
function bar(name, words, value, greatest) {
  if (value === null || value === undefined) return null;
  const share = greatest > 0 ? Math.min(Math.max(value / greatest, 0), 1) : 0;
  const percent = Math.round(100 * share);
  const fillBar = el("span", { class: "bar-fill" });
  fillBar.style.inlineSize = `${100 * share}%`;
  const exact = `${name.toUpperCase()} ${value.toFixed(4)}, ${percent}% of the largest in these results`;
  return el("div", { class: `bar ${name}`, title: exact },
    el("span", { class: "bar-words" }, words),
    el("span", { class: "bar-value" }, fraction(value)),
    el("span", { class: "bar-track", role: "img", "aria-label": exact }, fillBar));
}

const score = (hit) => (hit.score === null ? "" : `Score ${rough(hit.score)}`);

function moved({ first_rank: first, rank }) {
  const way = first > rank ? "up" : first < rank ? "down" : "same";
  return el("p", { class: `moved ${way}`, title: "Rank in the first stage → rank after re-ranking" }, icon(way), movement(first, rank));
}

// ---------------------------------------------------------------------------- evidence

function pair({ query, document, similarity }) {
  return el("div", { class: "pair" },
    side("Best match: your document", query),
    side(["This document", el("span", {}, "similarity ", el("strong", {}, similarity.toFixed(2)))], document));
}

function side(caption, text) {
  return el("figure", {}, el("figcaption", {}, caption), el("blockquote", {}, flat(text)));
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
