/**
 * The blocks of a text as elements. Blocks off screen are not rendered (`content-visibility`), but once filled they can be
 * found with the browser's search. Blocks are grouped in chapters, so that a long text has few top-level elements.
 * @module
 */

import { el } from "./dom.js";

/** @typedef {import("./text.js").Block} Block */

const CHAPTER = 16; // blocks: the browser tracks only the blocks of chapters on screen

export class Blocks {
  /**
   * @param {Block[]} blocks
   * @param {(block: Block) => Node[]} make the contents of a block
   */
  constructor(blocks, make) {
    this.blocks = blocks;
    this.make = make;
    this.elements = blocks.map((block) => box("block", block.end - block.start));
    this.filled = blocks.map(() => false);
    /** The top-level elements. */
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

  /** Fill a block if it is not filled yet.
   * @param {number} number */
  fill(number) {
    if (this.filled[number] !== false) return;
    this.filled[number] = true;
    this.elements[number].append(...this.make(this.blocks[number]));
  }

  /** Height per character in pixels, from the block at this height of the window; 0 if unknown.
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

  /** The approximate offset in the text at this height of the window, estimated from its block.
   * @param {number} height */
  offsetAt(height) {
    const number = this.at(height);
    const block = this.blocks[number];
    if (!block) return 0;
    const { top, height: blockHeight } = this.elements[number].getBoundingClientRect();
    const share = (height - top) / Math.max(blockHeight, 1);
    return block.start + Math.min(Math.max(share, 0), 1) * (block.end - block.start);
  }
}

/** An element with an estimated height, so that it need not be rendered.
 * @param {string} name @param {number} characters @param {Node[]} [children] */
function box(name, characters, children = []) {
  const element = el("div", { class: name }, children);
  element.style.setProperty("--characters", String(characters));
  return element;
}

/** The number of the last of these stacked elements whose upper edge is above a height.
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
