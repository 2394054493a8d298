/**
 * The layout of a text: paragraphs of sentences, in blocks small enough to be rendered one at a time. Independent of the DOM.
 * All exported offsets count UTF-16 units, as JavaScript strings do.
 * @module
 */

/**
 * One side of the response of /explain.
 * @typedef {object} Side
 * @property {string} id
 * @property {string} title
 * @property {Record<string, string | number | boolean | null>} metadata
 * @property {string} text
 * @property {[number, number][]} spans where the sentences are, in code points
 * @property {number[]} paragraphs the paragraph of each sentence, ascending
 * @property {{id: string, title: string, start: number, end: number, indexed: boolean}[]} [seeds] of the query
 */

/**
 * A stretch of text; `sentence` is its number from 0, or -1 for text between sentences.
 * @typedef {{start: number, end: number, sentence: number}} Part
 * @typedef {{kind: "heading", title: string} | {kind: "paragraph", parts: Part[], tight: boolean, more: boolean}} Item
 *   tight: no blank line above it in the text; more: continues the paragraph of the block above
 * @typedef {{items: Item[], start: number, end: number, first: number, last: number}} Block
 *   its text, and its sentences from first up to, but not including, last
 * @typedef {{text: string, starts: Uint32Array, ends: Uint32Array, blockOf: Uint32Array, blocks: Block[]}} Layout
 */

const SENTENCES = 24; // maximum per block
const ENOUGH = 12; // sentences after which a new paragraph begins a new block
const CHARACTERS = 4000; // per block, approximately

/**
 * A function that converts offsets in code points, as used by the server, to UTF-16 units.
 * @param {string} text
 * @returns {(codePoints: number) => number}
 */
export function unitsOf(text) {
  const twice = []; // positions, in code points, of characters with two units
  for (const { index } of text.matchAll(/[\ud800-\udbff][\udc00-\udfff]/g)) twice.push(index - twice.length);
  return twice.length ? (offset) => offset + lowerBound(twice, offset) : (offset) => offset;
}

/**
 * Number of values in an ascending list that are less than this one.
 * @param {ArrayLike<number>} values
 * @param {number} value
 */
export function lowerBound(values, value) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Lay out a text: every character once and in order, except white space between paragraphs.
 * @param {Side} side
 * @returns {Layout}
 */
export function layOut(side) {
  const { text } = side;
  const units = unitsOf(text);
  const starts = Uint32Array.from(side.spans, ([start]) => units(start));
  const ends = Uint32Array.from(side.spans, ([, end]) => units(end));
  const writer = new BlockWriter(text);
  const headings = headingsOf(side, units);
  let at = 0;
  const passHeadings = (/** @type {number} */ offset) => {
    let passed = 0;
    for (; headings.length && headings[0].start <= offset; passed++) {
      at = writer.loose(at, headings[0].start);
      writer.heading(headings.shift().title);
    }
    return passed > 0;
  };
  for (let i = 0; i < starts.length; i++) {
    const begins = passHeadings(starts[i]) || i === 0 || side.paragraphs[i] !== side.paragraphs[i - 1];
    if (begins) writer.paragraph(at, starts[i]);
    else writer.part(at, starts[i], -1);
    writer.sentence(starts[i], ends[i], i);
    at = ends[i];
  }
  passHeadings(text.length);
  writer.loose(at, text.length);
  const blocks = writer.close();
  return { text, starts, ends, blockOf: blocksOf(blocks, starts.length), blocks };
}

/** Where each of several query documents begins; a single one needs no heading.
 * @param {Side} side @param {(offset: number) => number} units */
function headingsOf(side, units) {
  const seeds = side.seeds ?? [];
  return seeds.length < 2 ? [] : seeds.map((seed) => ({ start: units(seed.start), title: seed.title || seed.id }));
}

/** The block number of each sentence.
 * @param {Block[]} blocks @param {number} sentences */
function blocksOf(blocks, sentences) {
  const numbers = new Uint32Array(sentences);
  blocks.forEach((block, number) => numbers.fill(number, block.first, block.last));
  return numbers;
}

/** Splits the text into blocks, in order. */
class BlockWriter {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    /** @type {Block[]} */
    this.blocks = [];
    this.block = this.open(0, 0);
    /** @type {Part[] | null} of the current paragraph */
    this.parts = null;
  }

  open(start, first) {
    return { items: [], start, end: start, first, last: first };
  }

  cut() {
    if (this.block.items.length) this.blocks.push(this.block);
    this.block = this.open(this.block.end, this.block.last);
    this.parts = null;
  }

  full(sentences) {
    return this.block.last - this.block.first >= sentences || this.block.end - this.block.start >= CHARACTERS;
  }

  heading(title) {
    this.cut();
    this.block.items.push({ kind: "heading", title });
  }

  /** Begin a paragraph at `start`, after the text between `at` and it. */
  paragraph(at, start) {
    this.loose(at, start);
    if (this.full(ENOUGH)) this.cut();
    this.begin(!/\n[^\S\n]*\n|\f/.test(this.text.slice(at, start)) && at > 0, false);
  }

  begin(tight, more) {
    this.parts = [];
    this.block.items.push({ kind: "paragraph", parts: this.parts, tight, more });
  }

  sentence(start, end, number) {
    if (this.full(SENTENCES)) {
      this.cut();
      this.begin(true, true);
    }
    this.part(start, end, number);
    this.block.last = number + 1;
  }

  part(start, end, sentence) {
    if (start >= end) return;
    this.parts.push({ start, end, sentence });
    this.block.end = end;
  }

  /** Add text outside sentences as paragraphs of its own; returns the offset after it. */
  loose(at, end) {
    const between = this.text.slice(at, end);
    for (const { index, 0: found } of /\S/.test(between) ? between.matchAll(/\S(?:(?!\n\s*\n|\f)[^]){0,3999}(?=\s|$)|\S{1,3999}/g) : []) {
      if (this.full(ENOUGH)) this.cut();
      this.begin(false, false);
      this.part(at + index, at + index + found.length, -1);
    }
    this.parts = null;
    return Math.max(at, end);
  }

  close() {
    this.cut();
    return this.blocks;
  }
}
