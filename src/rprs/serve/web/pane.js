/**
 * One of the two texts: its sentences as elements, its matches as numbers, and where it is scrolled to.
 * @module
 */

import { Blocks } from "./blocks.js";
import { el } from "./dom.js";
import { tintOf } from "./pairs.js";
import { lowerBound } from "./text.js";

/** @typedef {import("./text.js").Layout} Layout */
/** @typedef {import("./text.js").Item} Item */
/** @typedef {import("./text.js").Part} Part */
/** @typedef {import("./pairs.js").Pair} Pair */
/** @typedef {import("./pairs.js").Pairs} Pairs */
/** @typedef {import("./pairs.js").Passage} Passage */
/** @typedef {import("./pairs.js").Which} Which */

const FIRST = 2; // blocks filled at once; the others as there is time
const SLICE = 8; // milliseconds of work before the browser gets its turn
const FIRST_WORD = /^\S{1,12}(?!\S)|^\S\p{M}*/u; // must not part from the number before it; of a long one its first letter
const DRAG = 5; // pixels that tell selecting text from a click
const FRAMES = 8; // for a jump to settle: blocks get their true height only once they are on the screen

const later = globalThis.requestIdleCallback
  ? (/** @type {() => void} */ task) => requestIdleCallback(task, { timeout: 200 })
  : (/** @type {() => void} */ task) => setTimeout(task, 16); // Safari

export class Pane {
  /**
   * @param {Which} side
   * @param {Layout} layout
   * @param {Pairs} pairs
   * @param {string} label for screen readers
   * @param {{sentence: (side: Which, sentence: number) => void, number: (side: Which, number: number, byKey: boolean) => void}} on
   */
  constructor(side, layout, pairs, label, on) {
    this.side = side;
    this.layout = layout;
    this.pairs = pairs;
    this.on = on;
    /** @type {HTMLElement[]} the elements of sentences in blocks that are filled */
    this.sentences = [];
    /** @type {Map<number, HTMLButtonElement>} by the number of their pair */
    this.numbers = new Map();
    /** @type {Pair | null} */
    this.current = null;
    /** @type {Passage | null} */
    this.pointed = null;
    /** @type {Pair[]} off the screen and yet to be refreshed */
    this.stale = [];
    this.stop = pairs.all[0]?.number ?? 0; // the number that Tab reaches
    this.journey = 0; // counts jumps, so that a later one ends the settling of an earlier one
    this.pressed = { x: 0, y: 0 };
    this.seen = [0, 0]; // offsets of the text that was on the screen last
    this.width = 0;
    this.blocks = new Blocks(layout.blocks, (block) => block.items.map((item) => this.item(item)));
    this.scroller = el("div", { class: "aligned-text", role: "region", "aria-label": label, tabindex: "0" }, this.blocks.chapters);
    this.listen();
  }

  listen() {
    this.scroller.addEventListener("click", (event) => this.clicked(event));
    this.scroller.addEventListener("pointerdown", ({ clientX: x, clientY: y }) => (this.pressed = { x, y }));
    for (const name of ["wheel", "touchmove", "pointerdown"])
      this.scroller.addEventListener(name, () => this.journey++, { passive: true });
  }

  /** Begin: the first blocks now, the others in slices until all are there or `signal` ends it.
   * @param {AbortSignal} signal */
  start(signal) {
    this.signal = signal;
    for (let block = 0; block < FIRST; block++) this.blocks.fill(block);
    let next = FIRST;
    later(() => this.inSlices(() => next < this.blocks.length, () => this.blocks.fill(next++)));
  }

  /** Work off what there is to do, and give the browser its turn in between.
   * @param {() => boolean} more @param {() => void} step */
  inSlices(more, step) {
    const until = performance.now() + SLICE;
    while (more() && performance.now() < until) step();
    if (more() && !this.signal.aborted) later(() => this.inSlices(more, step));
  }

  // ------------------------------------------------------------------------ the text

  /** @param {Item} item */
  item(item) {
    if (item.kind === "heading") return el("h3", { class: "seed" }, item.title);
    const paragraph = document.createElement("p");
    paragraph.className = `${item.tight ? "tight" : ""}${item.more ? " more" : ""}`;
    for (const part of item.parts) paragraph.append(part.sentence < 0 ? this.cut(part) : this.sentence(part));
    return paragraph;
  }

  /** @param {Part} part */
  cut({ start, end }) {
    return this.layout.text.slice(start, end);
  }

  /** @param {Part} part */
  sentence(part) {
    const span = document.createElement("span");
    span.dataset.sentence = String(part.sentence);
    this.sentences[part.sentence] = span;
    const pairs = this.pairs.of[this.side].get(part.sentence);
    const text = this.cut(part);
    if (pairs) {
      const word = FIRST_WORD.exec(text)?.[0].length ?? 0;
      const numbers = pairs.map((pair) => this.number(pair));
      const lead = el("span", { class: "lead" }, numbers.pop(), text.slice(0, word)); // no line ends between these two
      span.append(...numbers, lead, text.slice(word));
    } else span.textContent = text;
    this.dress(part.sentence);
    return span;
  }

  /** The number is drawn by the style sheet, so that text that is copied or searched has none in it.
   * @param {Pair} pair */
  number(pair) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = `number tint-${tintOf(pair)}`;
    button.dataset.number = String(pair.number);
    button.hidden = !pair.shown;
    button.tabIndex = pair.number === this.stop ? 0 : -1;
    button.setAttribute("aria-label", `Match ${pair.number}, similarity ${pair.similarity.toFixed(2)}, go to matching sentence`);
    this.numbers.set(pair.number, button);
    return button;
  }

  // ------------------------------------------------------------------------ the matches

  /** Give a sentence the look that its pairs call for now.
   * @param {number} sentence */
  dress(sentence) {
    const span = this.sentences[sentence];
    if (!span) return; // its block is not filled: it will be dressed then
    const isCurrent = this.current?.[this.side] === sentence;
    const pair = isCurrent ? this.current : this.pairs.of[this.side].get(sentence)?.find(({ shown }) => shown);
    const isPointed = this.pointed !== null && this.pointed.first <= sentence && sentence <= this.pointed.last;
    const look = `sentence${pair ? ` match tint-${tintOf(pair)}` : ""}${isCurrent ? " current" : ""}${isPointed ? " pointed" : ""}`;
    if (span.className !== look) span.className = look;
  }

  /** @param {Pair | null} pair the one to stand out, or none */
  mark(pair) {
    const before = this.current;
    this.current = pair;
    for (const one of [before, pair].filter((some) => some !== null)) {
      this.dress(one[this.side]);
      const button = this.numbers.get(one.number);
      button?.classList.toggle("current", one === pair);
      if (button) button.ariaCurrent = one === pair ? "true" : null;
    }
    if (pair) this.stopAt(pair.number);
  }

  /** Pairs were hidden or shown: those on the screen change first.
   * @param {Pair[]} changed */
  update(changed) {
    const { top, bottom } = this.scroller.getBoundingClientRect();
    const [first, last] = [this.blocks.at(top), this.blocks.at(bottom)];
    const isIdle = this.stale.length === 0;
    for (const pair of changed) {
      const block = this.layout.blockOf[pair[this.side]];
      if (first <= block && block <= last) this.refresh(pair);
      else this.stale.push(pair);
    }
    if (isIdle) this.inSlices(() => this.stale.length > 0, () => this.refresh(this.stale.pop()));
    if (this.pairs.all[this.stop - 1]?.shown) return;
    const near = this.pairs.beside(this.stop, 1) ?? this.pairs.beside(this.stop, -1);
    if (near) this.stopAt(near.number);
  }

  /** @param {Pair} pair */
  refresh(pair) {
    const button = this.numbers.get(pair.number);
    if (button) button.hidden = !pair.shown;
    this.dress(pair[this.side]);
  }

  /** Let Tab reach this number and no other of the text.
   * @param {number} number */
  stopAt(number) {
    const [before, after] = [this.numbers.get(this.stop), this.numbers.get(number)];
    this.stop = number;
    if (before) before.tabIndex = -1;
    if (after) after.tabIndex = 0;
  }

  /** The passage to look at among those that nothing matched, or null for none.
   * @param {Passage | null} passage */
  point(passage) {
    const before = this.pointed;
    this.pointed = passage;
    for (const { first, last } of [before, passage].filter((some) => some !== null))
      for (let sentence = first; sentence <= last; sentence++) this.dress(sentence);
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const target = /** @type {Element} */ (event.target);
    const number = /** @type {HTMLElement | null} */ (target.closest("button[data-number]"));
    if (number) return this.on.number(this.side, Number(number.dataset.number), event.detail === 0);
    const moved = Math.hypot(event.clientX - this.pressed.x, event.clientY - this.pressed.y);
    if (event.detail && moved > DRAG) return; // text was selected
    const sentence = /** @type {HTMLElement | null} */ (target.closest(".match"));
    if (sentence) this.on.sentence(this.side, Number(sentence.dataset.sentence));
  }

  // ------------------------------------------------------------------------ where it is scrolled to

  /** How far below the upper edge a sentence begins, in pixels.
   * @param {number} sentence */
  topOf(sentence) {
    this.blocks.fill(this.layout.blockOf[sentence]);
    const [line] = this.sentences[sentence].getClientRects();
    return line.top - this.scroller.getBoundingClientRect().top;
  }

  /** Between which heights scrolling can put a sentence.
   * @param {number} sentence @returns {[number, number]} */
  reach(sentence) {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const top = this.topOf(sentence);
    return [top + scrollTop - (scrollHeight - clientHeight), top + scrollTop];
  }

  /** Scroll a sentence to a height, and see to it that it stays there while the blocks around it are drawn.
   * @param {number} sentence @param {number} height */
  bring(sentence, height) {
    const journey = ++this.journey;
    let frames = FRAMES;
    const step = () => {
      if (journey !== this.journey || !this.scroller.isConnected) return;
      const off = this.topOf(sentence) - height;
      if (Math.abs(off) >= 1) this.scroller.scrollTop += off;
      if (frames-- > 0) requestAnimationFrame(step);
    };
    step();
  }

  /** The sentence at an offset of the text, or the one before it.
   * @param {number} offset */
  sentenceAt(offset) {
    return Math.max(lowerBound(this.layout.starts, offset + 1) - 1, 0);
  }

  /** What of the text is on the screen, as offsets; blocks there are filled if they were not yet.
   * @returns {[number, number]} */
  view() {
    const { top, bottom } = this.scroller.getBoundingClientRect();
    const last = this.blocks.at(bottom);
    for (let block = this.blocks.at(top); block <= last; block++) this.blocks.fill(block);
    this.seen = [this.blocks.offsetAt(top), this.blocks.offsetAt(bottom)];
    return this.seen;
  }

  /** The width may have changed, and with it all heights: what was on the screen stays there. */
  resize() {
    const [from] = this.seen;
    const isNew = this.scroller.clientWidth !== this.width;
    const each = this.blocks.pixelsEach(this.scroller.getBoundingClientRect().top);
    if (each) this.scroller.style.setProperty("--character", `${each}px`);
    if (isNew && this.width && from > 0) this.bring(this.sentenceAt(from), 0);
    this.width = this.scroller.clientWidth;
  }

  /** Whether a sentence was on the screen when that was last looked at.
   * @param {number} sentence */
  saw(sentence) {
    const start = this.layout.starts[sentence];
    return this.seen[0] <= start && start < this.seen[1];
  }
}
