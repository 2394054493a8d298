/**
 * The blocks of a text as elements. One off the screen costs nothing (`content-visibility`), yet once it is filled its
 * words are in the page for the browser's own search; blocks stand in chapters, so that a very long text has few parts.
 * @module
 */

import { el } from "./dom.js";

/** @typedef {import("./text.js").Block} Block */

const CHAPTER = 16; // blocks: the browser looks after every block of a chapter on the screen, and of no other

export class Blocks {
  /**
   * @param {Block[]} blocks
   * @param {(block: Block) => Node[]} make what a block is filled with
   */
  constructor(blocks, make) {
    this.blocks = blocks;
    this.make = make;
    this.elements = blocks.map((block) => box("block", block.end - block.start));
    this.filled = blocks.map(() => false);
    /** What goes into the page. */
    this.chapters = [];
    for (let first = 0; first < blocks.length; first += CHAPTER) {
      const within = this.elements.slice(first, first + CHAPTER);
      const last = blocks[first + within.length - 1];
      this.chapters.push(box("chapter", last.end - blocks[first].start, within));
    }
  }

  get length() {
    return this.blocks.length;
  }

  /** Fill a block, unless it is.
   * @param {number} number */
  fill(number) {
    if (this.filled[number] !== false) return;
    this.filled[number] = true;
    this.elements[number].append(...this.make(this.blocks[number]));
  }

  /** How many pixels high a character makes a block, from the one at this height of the window; 0 if that is not known.
   * @param {number} height */
  pixelsEach(height) {
    const number = this.at(height);
    const characters = this.filled[number] ? this.blocks[number].end - this.blocks[number].start : 0;
    return characters ? this.elements[number].offsetHeight / characters : 0;
  }

  /** The number of the block at this height of the window.
   * @param {number} height */
  at(height) {
    const chapter = lastAbove(this.chapters, 0, this.chapters.length, height);
    return lastAbove(this.elements, chapter * CHAPTER, Math.min((chapter + 1) * CHAPTER, this.length), height);
  }

  /** The offset in the text of what is at this height of the window, as far as can be told from its block.
   * @param {number} height */
  offsetAt(height) {
    const number = this.at(height);
    const block = this.blocks[number];
    if (!block) return 0;
    const { top, height: whole } = this.elements[number].getBoundingClientRect();
    const share = (height - top) / Math.max(whole, 1);
    return block.start + Math.min(Math.max(share, 0), 1) * (block.end - block.start);
  }
}

/** An element that need not be drawn for the browser to know about how high it is.
 * @param {string} name @param {number} characters @param {Node[]} [children] */
function box(name, characters, children = []) {
  const element = el("div", { class: name }, children);
  element.style.setProperty("--characters", String(characters));
  return element;
}

/** The number of the last of these elements, which lie one beneath the other, whose upper edge is above a height.
 * @param {Element[]} elements @param {number} first @param {number} end @param {number} height */
function lastAbove(elements, first, end, height) {
  let [low, high] = [first, Math.max(end - 1, first)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (elements[middle].getBoundingClientRect().top <= height) low = middle;
    else high = middle - 1;
  }
  return low;
}
