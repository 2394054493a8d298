/**
 * One of the two texts: sentences, match numbers and scrolling.
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

const FIRST = 2; // blocks filled at once; the others when the browser is idle
const SLICE = 8; // milliseconds of work before yielding to the browser
const FIRST_WORD = /^\S{1,12}(?!\S)|^\S\p{M}*/u; // kept on one line with its number; for a long word only its first letter
const DRAG = 5; // pixels that distinguish selecting text from a click
const FRAMES = 8; // for a jump to settle: blocks have their final height only once they are on screen

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
    /** @type {HTMLElement[]} the elements of sentences in filled blocks */
    this.sentences = [];
    /** @type {Map<number, HTMLButtonElement>} by the number of their pair */
    this.numbers = new Map();
    /** @type {Pair | null} */
    this.current = null;
    /** @type {Passage | null} */
    this.pointed = null;
    /** @type {Pair[]} off screen, to be refreshed later */
    this.stale = [];
    this.stop = pairs.all[0]?.number ?? 0; // the number that is reachable with Tab
    this.journey = 0; // counts jumps, so that a new one cancels the settling of the last
    this.pressed = { x: 0, y: 0 };
    this.visible = [0, 0]; // offsets of the text that was last on screen
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

  /** Fill the first blocks now, and the others in slices until `signal` aborts.
   * @param {AbortSignal} signal */
  start(signal) {
    this.signal = signal;
    for (let block = 0; block < FIRST; block++) this.blocks.fill(block);
    let next = FIRST;
    later(() => this.inSlices(() => next < this.blocks.length, () => this.blocks.fill(next++)));
  }

  /** Run steps in slices, yielding to the browser in between.
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
      const lead = el("span", { class: "lead" }, numbers.pop(), text.slice(0, word)); // no line break between these two
      span.append(...numbers, lead, text.slice(word));
    } else span.textContent = text;
    this.restyle(part.sentence);
    return span;
  }

  /** The number is drawn by the style sheet, so that copied or searched text does not contain it.
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

  /** Update the style of a sentence.
   * @param {number} sentence */
  restyle(sentence) {
    const span = this.sentences[sentence];
    if (!span) return; // its block is not filled yet, and will have the right style then
    const isCurrent = this.current?.[this.side] === sentence;
    const pair = isCurrent ? this.current : this.pairs.of[this.side].get(sentence)?.find(({ shown }) => shown);
    const isPointed = this.pointed !== null && this.pointed.first <= sentence && sentence <= this.pointed.last;
    const look = `sentence${pair ? ` match tint-${tintOf(pair)}` : ""}${isCurrent ? " current" : ""}${isPointed ? " pointed" : ""}`;
    if (span.className !== look) span.className = look;
  }

  /** @param {Pair | null} pair the current pair, or null */
  mark(pair) {
    const before = this.current;
    this.current = pair;
    for (const one of [before, pair].filter((some) => some !== null)) {
      this.restyle(one[this.side]);
      const button = this.numbers.get(one.number);
      button?.classList.toggle("current", one === pair);
      if (button) button.ariaCurrent = one === pair ? "true" : null;
    }
    if (pair) this.stopAt(pair.number);
  }

  /** Pairs were hidden or shown: update those on screen first.
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
    this.restyle(pair[this.side]);
  }

  /** Make only this number reachable with Tab.
   * @param {number} number */
  stopAt(number) {
    const [before, after] = [this.numbers.get(this.stop), this.numbers.get(number)];
    this.stop = number;
    if (before) before.tabIndex = -1;
    if (after) after.tabIndex = 0;
  }

  /** The current passage without a match, or null.
   * @param {Passage | null} passage */
  point(passage) {
    const before = this.pointed;
    this.pointed = passage;
    for (const { first, last } of [before, passage].filter((some) => some !== null))
      for (let sentence = first; sentence <= last; sentence++) this.restyle(sentence);
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

  // ------------------------------------------------------------------------ scrolling

  /** Distance of a sentence from the upper edge, in pixels.
   * @param {number} sentence */
  topOf(sentence) {
    this.blocks.fill(this.layout.blockOf[sentence]);
    const [line] = this.sentences[sentence].getClientRects();
    return line.top - this.scroller.getBoundingClientRect().top;
  }

  /** The range of heights to which a sentence can be scrolled.
   * @param {number} sentence @returns {[number, number]} */
  reach(sentence) {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const top = this.topOf(sentence);
    return [top + scrollTop - (scrollHeight - clientHeight), top + scrollTop];
  }

  /** Scroll a sentence to a height, and keep it there while the surrounding blocks are rendered.
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

  /** The offsets of the text on screen; fills its blocks if necessary.
   * @returns {[number, number]} */
  view() {
    const { top, bottom } = this.scroller.getBoundingClientRect();
    const last = this.blocks.at(bottom);
    for (let block = this.blocks.at(top); block <= last; block++) this.blocks.fill(block);
    this.visible = [this.blocks.offsetAt(top), this.blocks.offsetAt(bottom)];
    return this.visible;
  }

  /** After a change of width, and so of all heights, keep the same text on screen. */
  resize() {
    const [from] = this.visible;
    const isNew = this.scroller.clientWidth !== this.width;
    const each = this.blocks.pixelsEach(this.scroller.getBoundingClientRect().top);
    if (each) this.scroller.style.setProperty("--character", `${each}px`);
    if (isNew && this.width && from > 0) this.bring(this.sentenceAt(from), 0);
    this.width = this.scroller.clientWidth;
  }

  /** Whether a sentence was on screen at the last call of `view`.
   * @param {number} sentence */
  wasVisible(sentence) {
    const start = this.layout.starts[sentence];
    return this.visible[0] <= start && start < this.visible[1];
  }
}
