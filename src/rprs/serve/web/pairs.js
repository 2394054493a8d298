/**
 * The matched pairs of two documents: their numbers, which of them are shown, and the way from one to the next.
 * Nothing here touches the page.
 * @module
 */

import { lowerBound } from "./text.js";

/** @typedef {"query" | "document"} Which */

/**
 * A query sentence and a sentence of the result, by their numbers from 0. `number` counts from 1 in the query's order
 * and never changes.
 * @typedef {{number: number, similarity: number, query: number, document: number, shown: boolean}} Pair
 */

/** Sentences that follow each other, the last included.
 * @typedef {{first: number, last: number}} Passage */

/** @type {readonly Which[]} */
export const SIDES = ["query", "document"];
const TINTS = 8;
/** A similarity counts as the two digits that are shown of it: a copy whose cosine is .9998 is there at 1.00. */
export const ROUNDING = 0.005;

/** The tint of a pair, 1 to 8: the same on both sides.
 * @param {Pair} pair */
export const tintOf = (pair) => ((pair.number - 1) % TINTS) + 1;

export class Pairs {
  /**
   * @param {{similarity: number, query_span: [number, number], document_span: [number, number]}[]} found in the query's order
   * @param {Record<Which, [number, number][]>} spans the sentences of both sides, counted as those of the pairs are
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
    /** @type {Record<Which, Map<number, Pair[]>>} the pairs of each sentence that has any */
    this.of = { query: grouped(this.all, "query"), document: grouped(this.all, "document") };
    this.weakestFirst = [...this.all].sort((a, b) => a.similarity - b.similarity);
    this.similarities = this.weakestFirst.map((pair) => pair.similarity);
    this.hidden = 0;
    this.sentences = spans.query.length;
    /** Sentences of the query that have a pair that is shown. */
    this.covered = this.of.query.size;
  }

  /** How many pairs are shown. */
  get shown() {
    return this.all.length - this.hidden;
  }

  /** The lowest similarity there is, rounded down to two digits: there, all pairs are shown. */
  get least() {
    return this.all.length ? Math.floor(this.similarities[0] * 100) / 100 : 0;
  }

  /**
   * Show the pairs at least this similar, as the two digits of theirs say, and hide the others.
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

  /** The pairs of a sentence that are shown.
   * @param {Which} side @param {number} sentence */
  matches(side, sentence) {
    return (this.of[side].get(sentence) ?? []).filter((pair) => pair.shown);
  }

  /**
   * The next pair shown after a number, or with step -1 the one before it.
   * @param {number} number 0 for none yet
   * @param {1 | -1} step
   * @returns {Pair | undefined} none at the ends
   */
  beside(number, step) {
    let place = number - 1 + step;
    while (this.all[place]?.shown === false) place += step;
    return this.all[place];
  }

  /** The place of a shown pair among those shown, from 1.
   * @param {Pair} pair */
  placeOf(pair) {
    let place = 0;
    for (let i = 0; i < pair.number; i++) place += Number(this.all[i].shown);
    return place;
  }

  /** What of the query has no shown pair.
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
