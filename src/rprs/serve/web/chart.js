/**
 * A coverage chart as it arrives: rows first, then one source after the other. Independent of the DOM.
 * @module
 */

import { KINDS } from "./kinds.js";

/**
 * @typedef {import("./kinds.js").Kind} Kind
 * @typedef {{text: string, kind: Kind, similarity: number, query_span: [number, number], document_span: [number, number], words: number,
 *   changes: {query_span: [number, number], document_span: [number, number]}[]}} Passage
 * @typedef {{source: number, kind: Kind, similarity: number, words: number, strength: number, boilerplate: boolean, passages: Passage[]}} Cover
 * @typedef {{label: string, text: string, words: number, group: number, boilerplate: boolean, covers: Cover[]}} Row
 * @typedef {{label: string, claim: number | null, first: number, stop: number}} Group
 * @typedef {{rank: number, id: string, title: string, query_coverage: import("./kinds.js").Coverage, duplicates: string[], collection?: string}} Source
 * @typedef {{source: number, strength: number, words: number, kind: Kind, at: [number, number]}} Part what one source covers of a group
 */

const bySource = (a, b) => Number(a.boilerplate) - Number(b.boilerplate) || b.strength - a.strength || a.source - b.source;

export class Chart {
  /** @param {{query_title: string, groups: Group[], rows: Row[]}} head */
  constructor({ query_title: title, groups, rows }) {
    this.title = title;
    this.groups = groups;
    this.rows = rows;
    /** @type {Source[]} */
    this.sources = [];
    /** @type {import("./kinds.js").Coverage | null} of all sources together, once all have arrived */
    this.coverage = null;
    /** @type {string[]} */
    this.notes = [];
    this.left = 0; // the group from which a reader went to a source
  }

  /** Add a source. @param {{source: Source, covers: (Cover & {row: number})[]}} part @returns {Set<number>} the groups that it covers */
  add({ source, covers }) {
    this.sources.push(source);
    const groups = new Set();
    for (const { row: number, ...cover } of covers) {
      const row = this.rows[number];
      row.covers.push(cover);
      row.covers.sort(bySource);
      groups.add(row.group);
    }
    return groups;
  }

  /** @param {{coverage: import("./kinds.js").Coverage, notes: string[]}} sum */
  finish({ coverage, notes }) {
    this.coverage = coverage;
    this.notes = notes;
  }

  /** The rows of a group. @param {Group} group */
  rowsOf = ({ first, stop }) => this.rows.slice(first, stop);

  /** Who covers a group, the best source first. @param {Group} group @returns {Part[]} */
  partsOf(group) {
    /** @type {Map<number, {kinds: Record<string, number>, longest: Passage, strength: number}>} */
    const bySources = new Map();
    for (const { covers, words } of this.rowsOf(group)) {
      for (const { source, passages, strength } of covers) {
        const part = bySources.get(source) ?? { kinds: {}, longest: passages[0], strength: 0 };
        bySources.set(source, part);
        part.strength += strength * words;
        for (const passage of passages) {
          part.kinds[passage.kind] = (part.kinds[passage.kind] ?? 0) + passage.words;
          if (passage.words > part.longest.words) part.longest = passage;
        }
      }
    }
    const parts = [...bySources].map(([source, { kinds, longest, strength }]) => ({ source, strength, ...mostly(kinds), at: startOf(longest) }));
    return parts.sort((a, b) => b.strength - a.strength || a.source - b.source);
  }

  /** The number of words of a group. @param {Group} group */
  wordsOf = (group) => this.rowsOf(group).reduce((sum, { words }) => sum + words, 0);

  /** Neighbouring rows of a group that no source covers. @param {Group} group @returns {{first: number, stop: number, text: string}[]} */
  gapsOf({ first, stop }) {
    const gaps = [];
    for (let row = first; row < stop; row += 1) {
      if (!isGap(this.rows[row])) continue;
      const last = gaps.at(-1);
      if (last?.stop === row) Object.assign(last, { stop: row + 1, text: `${last.text} ${this.rows[row].text}` });
      else gaps.push({ first: row, stop: row + 1, text: this.rows[row].text });
    }
    return gaps;
  }
}

/** Whether no source covers a row, although it is no boilerplate. @param {Row} row */
export const isGap = ({ covers, boilerplate, words }) => !covers.length && !boilerplate && words > 0;

/** Where a passage begins in both texts. @param {Passage} passage @returns {[number, number]} */
export const startOf = ({ query_span: [query], document_span: [document] }) => [query, document];

/** The passages that are not within another one, as a quotation is within a sentence with the same idea. @param {Cover} cover */
export function distinctPassages({ passages }) {
  const within = ([start, end], [from, to]) => from <= start && end <= to && end - start < to - from;
  return passages.filter((each) => !passages.some((other) => within(each.document_span, other.document_span)));
}

/** All words, and the kind of most of them. */
function mostly(counts) {
  const kinds = KINDS.map(({ kind }) => kind).filter((kind) => counts[kind]);
  const kind = kinds.reduce((best, each) => (counts[each] > counts[best] ? each : best));
  return { kind, words: kinds.reduce((sum, each) => sum + counts[each], 0) };
}
