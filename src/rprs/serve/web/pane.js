/**
 * One of the two texts: sentences, matches and scrolling. The text scrolls in its own box or, in a narrow window, with the page.
 * @module
 */

import { Badges } from "./badges.js";
import { Blocks } from "./blocks.js";
import { el } from "./dom.js";
import { kindClass } from "./kinds.js";
import { isChanged, segmentsOf } from "./segments.js";
import { lowerBound } from "./text.js";

/** @typedef {import("./text.js").Layout} Layout */
/** @typedef {import("./text.js").Item} Item */
/** @typedef {import("./text.js").Part} Part */
/** @typedef {import("./pairs.js").Pair} Pair */
/** @typedef {import("./pairs.js").Pairs} Pairs */
/** @typedef {import("./pairs.js").Span} Span */
/** @typedef {import("./pairs.js").Which} Which */
/** @typedef {import("./segments.js").Segment & {node: HTMLElement}} Shown a segment on the page */

const FIRST = 2; // blocks filled at once; the others when the browser is idle
const SLICE = 8; // milliseconds of work before yielding to the browser
const FIRST_WORD = /^\S{1,12}(?!\S)|^\S\p{M}*/u; // kept on one line with its number; for a long word only its first letter
const WORD = /[\p{L}\p{N}]/u;
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
   * @param {{label: string, boilerplate: Set<number>}} about name for screen readers, and the sentences that are boilerplate
   * @param {{pair: (side: Which, pairs: Pair[]) => void, number: (side: Which, pair: Pair, byKey: boolean) => void,
   *   more: (side: Which, pairs: Pair[], button: HTMLElement) => void}} on
   */
  constructor(side, layout, pairs, { label, boilerplate }, on) {
    this.side = side;
    this.layout = layout;
    this.pairs = pairs;
    this.boilerplate = boilerplate;
    this.on = on;
    this.badges = new Badges(side, pairs);
    /** @type {Shown[][]} the segments of sentences in filled blocks */
    this.sentences = [];
    /** @type {Map<number, Shown[]>} the segments of each pair, by its number */
    this.segments = new Map();
    /** @type {Pair | null} */
    this.current = null;
    /** @type {Span | null} */
    this.pointed = null;
    /** @type {Pair[]} off screen, to be refreshed later */
    this.stale = [];
    this.withPage = false; // whether the text scrolls with the page
    this.journey = 0; // counts jumps, so that a new one cancels the settling of the last
    this.moves = 0; // counts those of the reader
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
      this.scroller.addEventListener(name, () => (this.journey++, this.moves++), { passive: true });
  }

  /** Fill the first blocks now, and the others in slices until `signal` aborts.
   * @param {AbortSignal} signal */
  start(signal) {
    this.signal = signal;
    for (let block = 0; block < Math.min(FIRST, this.blocks.length); block++) this.blocks.fill(block);
    let next = FIRST;
    const more = () => next < this.blocks.length;
    const fillNext = () => this.blocks.fill(next++);
    later(() => this.inSlices(more, fillNext));
    addEventListener("beforeprint", () => {
      while (more()) fillNext(); // paper has all of it
    }, { signal });
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
    for (const part of item.parts) paragraph.append(part.sentence < 0 ? this.between(part) : this.sentence(part));
    return paragraph;
  }

  /** Text outside sentences, which a passage of several sentences may contain.
   * @param {Part} part */
  between(part) {
    const nodes = document.createDocumentFragment();
    nodes.append(...this.cut(part).map(({ node }) => node));
    return nodes;
  }

  /** @param {Part} part */
  sentence(part) {
    const span = document.createElement("span");
    span.className = this.boilerplate.has(part.sentence) ? "sentence boilerplate" : "sentence";
    span.dataset.sentence = String(part.sentence);
    const segments = this.cut(part);
    this.sentences[part.sentence] = segments;
    span.append(...segments.map(({ node }) => node));
    return span;
  }

  /** @param {Part} part */
  cut({ start, end }) {
    return segmentsOf(this.pairs, this.side, start, end).map((segment) => this.segment(segment));
  }

  /** @param {import("./segments.js").Segment} segment @returns {Shown} */
  segment(segment) {
    const node = document.createElement("span");
    const text = this.layout.text.slice(segment.start, segment.end);
    const badge = segment.pairs.length ? this.badges.make(segment.start) : null;
    if (badge) {
      const word = FIRST_WORD.exec(text)?.[0].length ?? 0;
      node.append(el("span", { class: "lead" }, badge, text.slice(0, word)), text.slice(word)); // no line break within the lead
    } else node.textContent = text;
    if (!WORD.test(text)) node.dataset.bare = ""; // punctuation alone is not unmatched text
    const shown = { ...segment, node };
    for (const { number } of segment.pairs) {
      if (!this.segments.has(number)) this.segments.set(number, []);
      this.segments.get(number).push(shown);
    }
    if (segment.pairs.length) node.dataset.pairs = segment.pairs.map(({ number }) => number).join(" ");
    this.restyle(shown);
    return shown;
  }

  // ------------------------------------------------------------------------ the matches

  /** Update the style of a segment.
   * @param {Shown} segment */
  restyle(segment) {
    const isCurrent = this.current?.shown && segment.pairs.includes(this.current);
    const pair = isCurrent ? this.current : segment.pairs.find(({ shown }) => shown);
    const [from, to] = this.pointed ?? [0, 0];
    const look = ["segment",
      pair && `match ${kindClass(pair.kind)}`,
      pair?.boilerplate && "common",
      pair && isChanged(segment, pair, this.side) && "changed",
      isCurrent && "current",
      !pair && from <= segment.start && segment.end <= to && "pointed"].filter(Boolean).join(" ");
    if (segment.node.className !== look) segment.node.className = look;
  }

  restylePair(pair) {
    for (const segment of this.segments.get(pair.number) ?? []) this.restyle(segment);
  }

  /** @param {Pair | null} pair the current pair, or null */
  mark(pair) {
    const before = this.current;
    this.current = pair;
    this.badges.current = pair;
    for (const one of [before, pair].filter((some) => some !== null)) {
      this.restylePair(one);
      this.badges.refresh(one[this.side][0]);
    }
    if (pair) this.badges.stopAt(pair[this.side][0]);
  }

  /** Pairs were hidden or shown: update those on screen first.
   * @param {Pair[]} changed */
  update(changed) {
    const { top, bottom } = this.box();
    const [first, last] = [this.blocks.at(top), this.blocks.at(bottom)];
    const isIdle = this.stale.length === 0;
    for (const pair of changed) {
      const [from, to] = this.blockSpan(pair);
      if (from <= last && first <= to) this.refresh(pair);
      else this.stale.push(pair);
    }
    if (isIdle) this.inSlices(() => this.stale.length > 0, () => this.refresh(this.stale.pop()));
    this.badges.keepStop();
  }

  /** The first and the last block of a pair. */
  blockSpan(pair) {
    return pair[this.side].map((offset) => this.layout.blockOf[this.sentenceAt(offset)] ?? 0);
  }

  /** @param {Pair} pair */
  refresh(pair) {
    this.badges.refresh(pair[this.side][0]);
    this.restylePair(pair);
  }

  /** The current passage without a match, or null.
   * @param {Span | null} passage */
  point(passage) {
    const before = this.pointed;
    this.pointed = passage;
    for (const [start, end] of [before, passage].filter((some) => some !== null))
      for (let sentence = this.sentenceAt(start); this.layout.starts[sentence] < end; sentence++) this.sentences[sentence]?.forEach((each) => this.restyle(each));
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const target = /** @type {Element} */ (event.target);
    if (target.closest(".partner")) return;
    const number = /** @type {HTMLElement | null} */ (target.closest("button.number"));
    if (number) return this.on.number(this.side, this.pairs.all[Number(number.dataset.number) - 1], event.detail === 0);
    const more = /** @type {HTMLElement | null} */ (target.closest("button.more-partners"));
    if (more) return this.on.more(this.side, this.badges.visible(Number(more.dataset.start)), more);
    const moved = Math.hypot(event.clientX - this.pressed.x, event.clientY - this.pressed.y);
    if (event.detail && moved > DRAG) return; // text was selected
    const match = /** @type {HTMLElement | null} */ (target.closest(".match"));
    if (!match) return;
    const pairs = match.dataset.pairs.split(" ").map((one) => this.pairs.all[Number(one) - 1]);
    this.on.pair(this.side, pairs.filter(({ shown }) => shown));
  }

  /** The element after which the partner of a pair is shown: its last text in the paragraph where it begins.
   * @param {Pair} pair */
  endOf(pair) {
    this.topOf(pair[this.side][0]);
    const inOrder = (this.segments.get(pair.number) ?? []).toSorted((a, b) => a.start - b.start);
    const nodes = inOrder.map(({ node }) => node);
    const paragraph = nodes[0]?.closest("p");
    return nodes.findLast((node) => node.closest("p") === paragraph);
  }

  // ------------------------------------------------------------------------ scrolling

  /** The part of the window that shows the text. */
  box() {
    if (!this.withPage) return this.scroller.getBoundingClientRect();
    return { top: 0, bottom: innerHeight, height: innerHeight };
  }

  get height() {
    return this.withPage ? innerHeight : this.scroller.clientHeight;
  }

  /** Distance of an offset of the text from the upper edge, in pixels.
   * @param {number} offset */
  topOf(offset) {
    const sentence = this.sentenceAt(offset);
    this.blocks.fill(this.layout.blockOf[sentence]);
    const segments = this.sentences[sentence] ?? [];
    const segment = segments.find(({ end }) => end > offset) ?? segments.at(-1);
    const line = segment?.node.getClientRects()[0];
    return line ? line.top - this.box().top : 0;
  }

  /** The range of heights to which an offset of the text can be scrolled.
   * @param {number} offset @returns {[number, number]} */
  reach(offset) {
    const { scrollTop, scrollHeight, clientHeight } = this.withPage ? document.scrollingElement : this.scroller;
    const top = this.topOf(offset);
    return [top + scrollTop - (scrollHeight - clientHeight), top + scrollTop];
  }

  /** Scroll an offset to a height, and keep it there while the surrounding blocks are rendered.
   * @param {number} offset @param {number} height */
  bring(offset, height) {
    const journey = ++this.journey;
    let frames = FRAMES;
    const step = () => {
      if (journey !== this.journey || !this.scroller.isConnected) return;
      const off = this.topOf(offset) - height;
      if (Math.abs(off) >= 1) (this.withPage ? document.scrollingElement : this.scroller).scrollTop += off;
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
    const { top, bottom } = this.box();
    const last = this.blocks.at(bottom);
    for (let block = this.blocks.at(top); block <= last; block++) this.blocks.fill(block);
    this.visible = [this.blocks.offsetAt(top), this.blocks.offsetAt(bottom)];
    return this.visible;
  }

  /** After a change of width, and so of all heights, keep the same text on screen. */
  resize() {
    const [from] = this.visible;
    const isNew = this.scroller.clientWidth !== this.width;
    const each = this.blocks.pixelsEach(this.box().top);
    if (each) this.scroller.style.setProperty("--character", `${each}px`);
    if (isNew && this.width && from > 0) this.bring(from, 0);
    this.width = this.scroller.clientWidth;
  }

  /** Whether an offset was on screen at the last call of `view`.
   * @param {number} offset */
  wasVisible(offset) {
    return this.visible[0] <= offset && offset < this.visible[1];
  }
}
