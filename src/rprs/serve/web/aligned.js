/**
 * The side-by-side view: a query and a result with their matched sentences numbered and coloured on both sides.
 * @module
 */

import { shortcutsFold, linkButton, reportButton } from "./actions.js";
import { Controls } from "./controls.js";
import { el, icon } from "./dom.js";
import { factsOf, notesOf, titleOf } from "./facts.js";
import { DocumentMap } from "./map.js";
import { Pairs, ROUNDING, SIDES, tintOf } from "./pairs.js";
import { Pane } from "./pane.js";
import { displayName } from "./query.js";
import { layOut, lowerBound } from "./text.js";
import { count, flat } from "./format.js";

/** @typedef {import("./pairs.js").Which} Which */
/** @typedef {import("./pairs.js").Pair} Pair */

/**
 * @typedef {object} Exits
 * @property {() => void} back to the results
 * @property {(minSimilarity: number) => unknown} report save the report; may be a promise
 * @property {string | null} [link] an address of this view, for sharing
 */

const DISCLAIMER = "These numbers are an aid to ranking, not a verdict.";
const KINDS = { query: "Your document", document: "Result" };
const UPPER = 0.3; // of a pane's height: where a match that was off screen is placed
const LOWER = 0.65; // a visible match above this stays in place
const SETTLED = 150; // milliseconds until a text that was off screen has its heights
const TRIES = 8; // to put two sentences level while their texts are being rendered
const SPOKEN = 240; // characters of a sentence that are read out

/**
 * Show the aligned view in `root` until close() is called.
 * @param {HTMLElement} root
 * @param {any} answer of POST /explain
 * @param {Exits} exits
 * @returns {{close: () => void}}
 */
export function showAligned(root, answer, exits) {
  const view = new AlignedView(answer, exits);
  view.open(root);
  return { close: () => view.close() };
}

class AlignedView {
  /** @param {any} answer @param {Exits} exits */
  constructor(answer, exits) {
    this.exits = exits;
    this.texts = { query: layOut(answer.query), document: layOut(answer.document) };
    this.pairs = new Pairs(answer.explanation.pairs, { query: answer.query.spans, document: answer.document.spans });
    /** @type {Pair | null} */
    this.current = null;
    this.at = 0; // where j continues: the current number, even if the slider has hidden it
    this.gapsOn = false;
    this.gapAt = -1; // the sentence where n continues
    this.ended = new AbortController();
    this.controls = new Controls(this.pairs, {
      step: (by) => this.step(by),
      gap: (by) => this.stepGap(by),
      similarity: (least) => this.filter(least),
      gaps: (on) => this.showGaps(on),
    });
    /** @type {Record<Which, Pane>} */
    this.panes = { query: this.pane("query", answer.query), document: this.pane("document", answer.document) };
    /** @type {Record<Which, DocumentMap>} */
    this.maps = { query: this.map("query", "your document"), document: this.map("document", "the result") };
    this.root = this.lay(answer);
  }

  // ------------------------------------------------------------------------ parts

  pane(side, answer) {
    return new Pane(side, this.texts[side], this.pairs, `${KINDS[side]}: ${displayName(answer)}`, {
      sentence: (where, sentence) => this.clickSentence(where, sentence),
      number: (where, number, byKey) => this.clickNumber(where, number, byKey),
    });
  }

  map(side, name) {
    const words = `Map of ${name} with the positions of its matches`;
    return new DocumentMap(words, this.texts[side].text.length, (offset) => this.jump(side, offset));
  }

  lay({ explanation, query, document: result }) {
    const [left, right] = [query, result].map(displayName);
    this.heading = el("h1", { class: "visually-hidden", tabindex: "-1" }, `${left} and ${right}, side by side`);
    const back = el("button", { type: "button", class: "button small back", "aria-keyshortcuts": "Escape" }, icon("right"), "Back to results");
    back.addEventListener("click", () => this.exits.back());
    const link = this.exits.link ? linkButton(this.exits.link, (message) => this.controls.announce(message)) : null;
    this.controls.root.append(el("div", { class: "actions" }, link, reportButton(() => this.report()), shortcutsFold()));
    return el(
      "div",
      { class: "aligned" },
      this.heading,
      el("div", { class: "aligned-top" }, back, factsOf(explanation), el("p", { class: "aligned-disclaimer" }, DISCLAIMER)),
      notesOf(explanation.notes),
      this.controls.root,
      el("div", { class: "aligned-sides" }, this.laySide("query", query, this.controls.gapsRoot), this.laySide("document", result)),
    );
  }

  laySide(side, answer, extra = null) {
    const { scroller } = this.panes[side];
    const body = el("div", { class: "aligned-body" }, scroller, this.maps[side].root);
    return el("section", { class: `aligned-side ${side}`, "aria-label": KINDS[side] }, titleOf(KINDS[side], answer, extra), body);
  }

  report() {
    const { similarity } = this.controls;
    return this.exits.report(similarity > this.pairs.least ? similarity - ROUNDING : -1);
  }

  // ------------------------------------------------------------------------ open and close

  open(root) {
    const { signal } = this.ended;
    root.replaceChildren(this.root);
    this.heading.focus({ preventScroll: true });
    document.addEventListener("keydown", (event) => this.pressed(event), { signal });
    document.addEventListener("pointerdown", (event) => this.fold(event.target), { signal });
    for (const side of SIDES) {
      this.panes[side].start(signal);
      this.panes[side].scroller.addEventListener("scroll", () => this.look(side), { signal, passive: true });
    }
    this.observers = [new MutationObserver(() => this.draw()), new ResizeObserver(() => this.resized())];
    this.observers[0].observe(document.documentElement, { attributeFilter: ["data-theme"] });
    for (const side of SIDES) this.observers[1].observe(this.panes[side].scroller);
  }

  close() {
    this.ended.abort();
    this.observers.forEach((observer) => observer.disconnect());
    this.root.remove();
  }

  resized() {
    const held = this.current && SIDES.every((side) => this.panes[side].wasVisible(this.current[side]));
    for (const side of SIDES) this.panes[side].resize();
    if (held) this.level(this.current, "query");
    this.draw();
  }

  draw() {
    for (const side of SIDES) {
      this.maps[side].draw(this.ticks(side));
      this.look(side);
    }
  }

  *ticks(side) {
    const { starts, ends } = this.texts[side];
    if (side === "query" && this.gapsOn)
      for (const { first, last } of this.pairs.unmatched()) yield { start: starts[first], end: ends[last], tint: 0 };
    for (const pair of this.pairs.all)
      if (pair.shown) yield { start: starts[pair[side]], end: ends[pair[side]], tint: tintOf(pair) };
  }

  look(side) {
    this.maps[side].look(this.panes[side].view());
  }

  // ------------------------------------------------------------------------ from match to match

  /** Make a pair the current one and put its sentences level.
   * @param {Pair} pair @param {Which} [anchor] the side that stays in place if possible */
  select(pair, anchor = "query") {
    const held = SIDES.find((side) => this.panes[side].numbers.get(this.at) === document.activeElement);
    this.current = pair;
    this.at = pair.number;
    this.level(pair, anchor);
    this.settle(pair, anchor);
    for (const side of SIDES) {
      this.panes[side].mark(pair);
      this.maps[side].mark(this.texts[side].starts[pair[side]]);
    }
    if (held) this.focus(held);
    this.controls.showMatch(pair);
    this.controls.announce(this.inWords(pair));
  }

  focus(side) {
    this.panes[side].numbers.get(this.at)?.focus({ preventScroll: true });
  }

  inWords(pair) {
    const [left, right] = SIDES.map((side) => {
      const { text, starts, ends } = this.texts[side];
      return flat(text.slice(starts[pair[side]], ends[pair[side]])).slice(0, SPOKEN);
    });
    const place = `${count(this.pairs.placeOf(pair))} of ${count(this.pairs.shown)}`;
    return `Match ${pair.number}, ${place}, similarity ${pair.similarity.toFixed(2)}. Your document: ${left} Result: ${right}`;
  }

  level(pair, anchor) {
    const panes = SIDES.map((side) => this.panes[side]);
    const reach = panes.map((pane) => pane.reach(pair[pane.side]));
    const lowest = Math.min(...reach.map(([, high]) => high)); // a text cannot scroll below its upper edge
    const highest = Math.max(...reach.map(([low]) => low));
    const height = Math.max(Math.min(this.comfortable(this.panes[anchor], pair[anchor]), lowest), highest);
    for (const pane of panes) pane.bring(pair[pane.side], height);
  }

  /** Put a pair level again if the texts have moved while they were rendered, unless the reader has scrolled since. */
  settle(pair, anchor, tries = TRIES) {
    const journeys = () => SIDES.map((side) => this.panes[side].journey).join();
    const before = journeys();
    setTimeout(() => {
      if (this.ended.signal.aborted || this.current !== pair || journeys() !== before) return;
      const [left, right] = SIDES.map((side) => this.panes[side].topOf(pair[side]));
      if (Math.abs(left - right) <= 1) return;
      this.level(pair, anchor);
      if (tries > 1) this.settle(pair, anchor, tries - 1);
    }, SETTLED);
  }

  comfortable(pane, sentence) {
    const [top, { clientHeight }] = [pane.topOf(sentence), pane.scroller];
    return top >= 8 && top <= clientHeight * LOWER ? top : clientHeight * UPPER;
  }

  step(by) {
    const pair = this.pairs.beside(this.at, by);
    if (pair) this.select(pair);
    else this.controls.announce(this.pairs.shown ? `That was the ${by > 0 ? "last" : "first"} match.` : "No matches.");
  }

  clickSentence(side, sentence) {
    const pairs = this.pairs.matches(side, sentence);
    this.select(pairs[(pairs.indexOf(this.current) + 1) % pairs.length], side);
  }

  clickNumber(side, number, byKey) {
    this.select(this.pairs.all[number - 1], side);
    if (byKey) this.focus(side === "query" ? "document" : "query");
  }

  jump(side, offset) {
    const pane = this.panes[side];
    if (this.texts[side].starts.length) pane.bring(pane.sentenceAt(offset), pane.scroller.clientHeight * UPPER);
  }

  // ------------------------------------------------------------------------ what is shown

  filter(least) {
    const changed = this.pairs.showFrom(least);
    if (this.current && !this.current.shown) this.leave();
    for (const side of SIDES) this.panes[side].update(changed);
    this.panes.query.point(null); // it may have a match now
    this.controls.count();
    this.controls.showMatch(this.current);
    this.draw();
  }

  leave() {
    this.current = null;
    for (const side of SIDES) {
      this.panes[side].mark(null);
      this.maps[side].mark(null);
    }
  }

  showGaps(on) {
    this.gapsOn = on;
    this.root.classList.toggle("gaps-on", on);
    this.panes.query.point(null);
    this.controls.showGaps(on);
    this.draw();
  }

  stepGap(by) {
    if (!this.gapsOn) this.showGaps(true);
    const passages = this.pairs.unmatched();
    const after = lowerBound(passages.map(({ first }) => first), this.gapAt + (by > 0 ? 1 : 0));
    const place = by > 0 ? after : after - 1;
    const passage = passages[place];
    if (!passage) return this.controls.announce(`No ${by > 0 ? "further" : "earlier"} passage without a match.`);
    this.gapAt = passage.first;
    const pane = this.panes.query;
    pane.point(passage);
    pane.bring(passage.first, this.comfortable(pane, passage.first));
    this.controls.showGap(place + 1, passages.length);
    const { text, starts, ends } = this.texts.query;
    const words = flat(text.slice(starts[passage.first], ends[passage.last])).slice(0, SPOKEN);
    this.controls.announce(`Passage ${place + 1} of ${passages.length} without a match: ${words}`);
  }

  // ------------------------------------------------------------------------ keys

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
    const acts = { j: () => this.step(1), k: () => this.step(-1), n: () => this.stepGap(1), p: () => this.stepGap(-1), Escape: () => this.escape() };
    const act = acts[event.key] ?? acts[event.key.toLowerCase()]; // ignore Caps Lock
    if (!act) return;
    event.preventDefault();
    act();
  }

  escape() {
    if (!this.fold(null)) this.exits.back();
  }

  /** Close open folds, except those that contain the target.
   * @param {EventTarget | null} target @returns {boolean} whether any was open */
  fold(target) {
    const open = [...this.root.querySelectorAll("details[open]")].filter((details) => !details.contains(target));
    open.forEach((details) => (details.open = false));
    return open.length > 0;
  }
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof Element && target.matches("input:not([type=range], [type=checkbox], [readonly]), textarea, select, [contenteditable], dialog *");
}
