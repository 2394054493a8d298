/**
 * The matched pairs of two documents: numbers, visibility and order. Independent of the DOM.
 * @module
 */

import { lowerBound } from "./text.js";

/** @typedef {"query" | "document"} Which */

/**
 * A query sentence and a sentence of the result, by their numbers from 0. `number` counts from 1 in the query's order
 * and never changes.
 * @typedef {{number: number, similarity: number, query: number, document: number, shown: boolean}} Pair
 */

/** Consecutive sentences, including the last.
 * @typedef {{first: number, last: number}} Passage */

/** @type {readonly Which[]} */
export const SIDES = ["query", "document"];
const TINTS = 8;
/** Similarities are compared as displayed, with two digits: a copy with a cosine of .9998 counts as 1.00. */
export const ROUNDING = 0.005;

/** The tint of a pair, 1 to 8: the same on both sides.
 * @param {Pair} pair */
export const tintOf = (pair) => ((pair.number - 1) % TINTS) + 1;

export class Pairs {
  /**
   * @param {{similarity: number, query_span: [number, number], document_span: [number, number]}[]} pairs in the query's order
   * @param {Record<Which, [number, number][]>} spans the sentences of both sides, in the same units as those of the pairs
   */
  constructor(found, spans) {
    const [query, document] = SIDES.map((side) => new Map(spans[side].map(([start], number) => [start, number])));
    /** @type {Pair[]} */
    this.all = found.map((pair, place) => ({
      number: place + 1,
      similarity: pair.similarity,
      query: query.get(pair.query_span[0]),
      document: document.get(pair.document_span[0]),
      shown: true,
    }));
    /** @type {Record<Which, Map<number, Pair[]>>} the pairs of each matched sentence */
    this.of = { query: grouped(this.all, "query"), document: grouped(this.all, "document") };
    this.weakestFirst = [...this.all].sort((a, b) => a.similarity - b.similarity);
    this.similarities = this.weakestFirst.map((pair) => pair.similarity);
    this.hidden = 0;
    this.sentences = spans.query.length;
    /** Query sentences with a visible pair. */
    this.covered = this.of.query.size;
  }

  /** Number of visible pairs. */
  get shown() {
    return this.all.length - this.hidden;
  }

  /** The lowest similarity, rounded down to two digits: at this value all pairs are visible. */
  get least() {
    return this.all.length ? Math.floor(this.similarities[0] * 100) / 100 : 0;
  }

  /**
   * Show the pairs with at least this similarity, rounded to two digits, and hide the others.
   * @param {number} similarity
   * @returns {Pair[]} those that changed
   */
  showFrom(similarity) {
    const before = this.hidden;
    this.hidden = lowerBound(this.similarities, similarity - ROUNDING);
    const changed = this.weakestFirst.slice(Math.min(before, this.hidden), Math.max(before, this.hidden));
    const touched = new Set(changed.map((pair) => pair.query));
    const had = this.countCovered(touched);
    for (const pair of changed) pair.shown = this.hidden < before;
    this.covered += this.countCovered(touched) - had;
    return changed;
  }

  countCovered(sentences) {
    let count = 0;
    for (const sentence of sentences) if (this.matches("query", sentence).length) count++;
    return count;
  }

  /** The visible pairs of a sentence.
   * @param {Which} side @param {number} sentence */
  matches(side, sentence) {
    return (this.of[side].get(sentence) ?? []).filter((pair) => pair.shown);
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

  /** The passages of the query without a visible pair.
   * @returns {Passage[]} */
  unmatched() {
    const passages = [];
    for (let sentence = 0; sentence < this.sentences; sentence++) {
      if (this.matches("query", sentence).length) continue;
      const open = passages.at(-1);
      if (open?.last === sentence - 1) open.last = sentence;
      else passages.push({ first: sentence, last: sentence });
    }
    return passages;
  }
}

/** @param {Pair[]} pairs @param {Which} side */
function grouped(pairs, side) {
  /** @type {Map<number, Pair[]>} */
  const groups = new Map();
  for (const pair of pairs) {
    const group = groups.get(pair[side]);
    if (group) group.push(pair);
    else groups.set(pair[side], [pair]);
  }
  return groups;
}
