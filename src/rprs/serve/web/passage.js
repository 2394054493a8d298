/**
 * Passages of pairs as text, with the words that were changed marked as removed or inserted.
 * @module
 */

import { el } from "./dom.js";
import { flat } from "./format.js";
import { unitsOf } from "./text.js";

/** @typedef {import("./pairs.js").Which} Which */
/** @typedef {import("./pairs.js").Pair} Pair */
/** @typedef {Record<Which, {text: string}>} Texts */

const TAGS = { query: "del", document: "ins" };

/** One side of a pair as the server sent it, on one line. @param {any} pair of the API @param {Which} side */
export function sentPassage(pair, side) {
  const text = pair[side];
  const [start] = pair[`${side}_span`];
  const units = unitsOf(text);
  const changes = pair.changes.map((change) => change[`${side}_span`].map((offset) => units(offset - start)));
  return marked(text, changes, TAGS[side]);
}

/** One side of a pair, on one line. @param {Texts} texts @param {Pair} pair @param {Which} side */
export function passage(texts, pair, side) {
  const [start, end] = pair[side];
  return marked(texts[side].text.slice(start, end), pair.changes[side].map((span) => span.map((offset) => offset - start)), TAGS[side]);
}

/** Both sides in one text, like tracked changes: removed words of the query, then those of the document. @param {Texts} texts @param {Pair} pair */
export function tracked(texts, pair) {
  const cut = (side, [from, to]) => flat(texts[side].text.slice(from, to));
  const pieces = [];
  let [at, end] = pair.document;
  for (const edit of pair.edits) {
    const [removed, inserted] = [cut("query", edit.query), cut("document", edit.document)];
    pieces.push(onOneLine(texts.document.text.slice(at, edit.document[0])), removed && el("del", {}, removed), removed && inserted && " ",
      inserted && el("ins", {}, inserted), removed && !inserted && " ");
    at = edit.document[1];
  }
  return [...pieces, onOneLine(texts.document.text.slice(at, end))];
}

function marked(text, changes, tag) {
  const pieces = [];
  let at = 0;
  for (const [from, to] of changes) {
    if (from >= to) continue; // words were added on the other side only
    pieces.push(onOneLine(text.slice(at, from)), el(tag, {}, flat(text.slice(from, to))));
    at = to;
  }
  return [...pieces, onOneLine(text.slice(at))];
}

/** With single spaces, also at both ends. @param {string} text */
export const onOneLine = (text) => text.replace(/\s+/gu, " ");
