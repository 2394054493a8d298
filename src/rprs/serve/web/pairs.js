/**
 * The matched pairs of two documents: numbers, visibility and order. Independent of the DOM.
 * All offsets count UTF-16 units, as JavaScript strings do.
 * @module
 */

import { byStrength } from "./kinds.js";
import { lowerBound, unitsOf } from "./text.js";

/** @typedef {"query" | "document"} Which */
/** @typedef {import("./kinds.js").Kind} Kind */
/** @typedef {[number, number]} Span */

/**
 * A passage of the query and its counterpart. `number` counts from 1 in the query's order and never changes.
 * @typedef {{number: number, kind: Kind, similarity: number, boilerplate: boolean, query: Span, document: Span,
 *   edits: Record<Which, Span>[], changes: Record<Which, Span[]>, shown: boolean}} Pair `changes` are the edits with words on a side
 */

/** @type {readonly Which[]} */
export const SIDES = ["query", "document"];

export class Pairs {
  /**
   * @param {any[]} found pairs of the API, in the query's order
   * @param {Record<Which, string>} texts
   */
  constructor(found, texts) {
    const units = { query: unitsOf(texts.query), document: unitsOf(texts.document) };
    const span = (side, [start, end]) => /** @type {Span} */ ([units[side](start), units[side](end)]);
    const editsOf = ({ changes }) => changes.map((change) => ({ query: span("query", change.query_span), document: span("document", change.document_span) }));
    /** @type {Pair[]} */
    this.all = found.map((pair, place) => {
      const { kind, similarity, boilerplate } = pair;
      const edits = editsOf(pair);
      return {
        number: place + 1, kind, similarity, boilerplate, edits, shown: true,
        query: span("query", pair.query_span), document: span("document", pair.document_span),
        changes: { query: changedOn("query", edits), document: changedOn("document", edits) },
      };
    });
    this.lookups = { query: new Lookup(this.all, "query"), document: new Lookup(this.all, "document") };
    /** @type {Record<Which, Map<number, Pair[]>>} the pairs that begin at an offset, best first */
    this.beginning = { query: grouped(this.all, "query"), document: grouped(this.all, "document") };
    this.shown = this.all.length;
  }

  /**
   * Show the pairs of these kinds and hide the others.
   * @param {Set<Kind>} kinds @param {boolean} boilerplate whether pairs of boilerplate are shown
   * @returns {Pair[]} those that changed
   */
  show(kinds, boilerplate) {
    const isVisible = (pair) => kinds.has(pair.kind) && (boilerplate || !pair.boilerplate);
    const changed = this.all.filter((pair) => pair.shown !== isVisible(pair));
    for (const pair of changed) pair.shown = !pair.shown;
    this.shown = this.all.reduce((sum, pair) => sum + Number(pair.shown), 0);
    return changed;
  }

  /** Number of pairs of a kind. @param {Kind} kind @param {boolean} boilerplate */
  countOf(kind, boilerplate) {
    return this.all.reduce((sum, pair) => sum + Number(pair.kind === kind && (boilerplate || !pair.boilerplate)), 0);
  }

  /** The pairs that share text with a span, best first. @param {Which} side @param {number} start @param {number} end */
  overlapping(side, start, end) {
    return this.lookups[side].overlapping(start, end);
  }

  /**
   * The next visible pair after a number, or the previous one with step -1.
   * @param {number} number 0 for none yet
   * @param {1 | -1} step
   * @returns {Pair | undefined} none at the ends
   */
  beside(number, step) {
    let place = number - 1 + step;
    while (this.all[place]?.shown === false) place += step;
    return this.all[place];
  }

  /** The position of a visible pair among the visible ones, from 1.
   * @param {Pair} pair */
  placeOf(pair) {
    let place = 0;
    for (let i = 0; i < pair.number; i++) place += Number(this.all[i].shown);
    return place;
  }

  /** The pair that begins at these offsets, or the first that overlaps them. @param {number} query @param {number} document */
  at(query, document) {
    const near = this.overlapping("query", query, query + 1);
    const covers = ([start, end]) => start <= document && document < end;
    return near.find((pair) => pair.query[0] === query && pair.document[0] === document) ?? near.find((pair) => covers(pair.document)) ?? near[0];
  }
}

/** @param {Which} side @param {Record<Which, Span>[]} edits */
const changedOn = (side, edits) => edits.map((edit) => edit[side]).filter(([start, end]) => start < end);

/** Finds the pairs that overlap a span of one side. */
class Lookup {
  /** @param {Pair[]} pairs @param {Which} side */
  constructor(pairs, side) {
    this.side = side;
    this.byStart = [...pairs].sort((a, b) => a[side][0] - b[side][0]);
    this.starts = this.byStart.map((pair) => pair[side][0]);
    let furthest = 0;
    this.reach = this.byStart.map((pair) => (furthest = Math.max(furthest, pair[side][1]))); // ascending, so that it can be searched
  }

  overlapping(start, end) {
    const first = lowerBound(this.reach, start + 1);
    const last = lowerBound(this.starts, end);
    return this.byStart.slice(first, last).filter((pair) => pair[this.side][1] > start).sort(byStrength);
  }
}

/** @param {Pair[]} pairs @param {Which} side */
function grouped(pairs, side) {
  /** @type {Map<number, Pair[]>} */
  const groups = new Map();
  for (const pair of pairs) {
    const group = groups.get(pair[side][0]);
    if (group) group.push(pair);
    else groups.set(pair[side][0], [pair]);
  }
  for (const group of groups.values()) group.sort(byStrength);
  return groups;
}
