/**
 * The side-by-side view: a query and a result with their matches numbered and coloured on both sides. In a narrow window one
 * text is shown, and the counterpart of a match unfolds under it.
 * @module
 */

import { actionBar, isTyping } from "./actions.js";
import { Controls } from "./controls.js";
import { coverageBar } from "./coverage.js";
import { el, icon } from "./dom.js";
import { notesOf, relationLabel, titleOf } from "./facts.js";
import { unmatchedPassages } from "./gaps.js";
import { described } from "./kinds.js";
import { DocumentMap } from "./map.js";
import { Pairs, SIDES } from "./pairs.js";
import { Pane } from "./pane.js";
import { listPartners, otherSide, partnerBox } from "./partner.js";
import { printPairs } from "./print.js";
import { displayName } from "./query.js";
import { layOut, lowerBound, unitsOf } from "./text.js";
import { count, flat } from "./format.js";

/** @typedef {import("./pairs.js").Which} Which */
/** @typedef {import("./pairs.js").Pair} Pair */

/**
 * @typedef {object} Exits
 * @property {() => void} back to the results
 * @property {(shown: {kinds: string[], boilerplate: boolean}) => unknown} report save the report; may be a promise
 * @property {string | null} [link] an address of this view, for sharing
 * @property {boolean} boilerplate whether it is included at first
 * @property {[number, number] | null} [at] where a pair begins in the query and in the document, in code points: it is shown first
 */

const DISCLAIMER = "Scores help you prioritise; they are not legal conclusions.";
const KINDS = { query: "Your document", document: "Result" };
const UPPER = 0.3; // of a pane's height: where a match that was off screen is placed
const LOWER = 0.65; // a visible match above this stays in place
const SETTLED = 150; // milliseconds until a text that was off screen has its heights
const TRIES = 8; // to put two sentences level while their texts are being rendered
const SPOKEN = 240; // characters of a passage that are read out
const NARROW = matchMedia("screen and (max-width: 799px)"); // as in narrow.css: one text, which scrolls with the page
const LOW = matchMedia("screen and (max-height: 560px)"); // as in narrow.css: the header scrolls away

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
    const { explanation, query, document: result } = answer;
    this.exits = exits;
    this.explanation = explanation;
    this.texts = { query: layOut(query), document: layOut(result) };
    this.names = { query: displayName(query), document: displayName(result) };
    this.pairs = new Pairs(explanation.pairs, { query: query.text, document: result.text });
    this.common = { query: this.sentencesAt("query", explanation.query_boilerplate), document: this.sentencesAt("document", explanation.document_boilerplate) };
    /** @type {Pair | null} */
    this.current = null;
    this.at = 0; // where j continues: the current number, even if it is hidden now
    this.gapsOn = false;
    this.gapAt = { query: -1, document: -1 }; // where n continues
    /** @type {Which} */
    this.reading = "query";
    this.ended = new AbortController();
    const hasBoilerplate = SIDES.some((side) => this.common[side].size > 0) || this.pairs.all.some((pair) => pair.boilerplate);
    this.controls = new Controls(this.pairs, { boilerplate: exits.boilerplate, hasBoilerplate }, {
      step: (by) => this.step(by),
      gap: (side, by) => this.stepGap(side, by),
      filter: () => this.filter(),
      gaps: (on) => this.showGaps(on),
      read: (side) => this.read(side),
    });
    /** @type {Record<Which, Pane>} */
    this.panes = { query: this.pane("query"), document: this.pane("document") };
    /** @type {Record<Which, DocumentMap>} */
    this.maps = { query: this.map("query", "your document"), document: this.map("document", "the result") };
    this.coverage = { query: el("div"), document: el("div") };
    this.root = this.lay(answer);
  }

  // ------------------------------------------------------------------------ parts

  /** The numbers of sentences that begin at these spans of the server. */
  sentencesAt(side, spans) {
    const { text, starts } = this.texts[side];
    const units = unitsOf(text);
    return new Set(spans.map(([start]) => lowerBound(starts, units(start))));
  }

  pane(side) {
    const about = { label: `${KINDS[side]}: ${this.names[side]}`, boilerplate: this.common[side] };
    return new Pane(side, this.texts[side], this.pairs, about, {
      pair: (where, pairs) => this.clickMatch(where, pairs),
      number: (where, pair, byKey) => this.clickNumber(where, pair, byKey),
      more: (where, pairs, button) =>
        listPartners(this.root, button, this.texts, pairs, otherSide(where), (pair) => this.select(pair, where)),
    });
  }

  map(side, name) {
    const words = `Map of ${name} with the positions of its matches`;
    return new DocumentMap(words, this.texts[side].text.length, (offset) => this.jump(side, offset));
  }

  lay({ explanation, query, document: result }) {
    this.heading = el("h1", { class: "visually-hidden", tabindex: "-1" }, `${this.names.query} and ${this.names.document}, side by side`);
    const back = el("button", { type: "button", class: "button small back", "aria-keyshortcuts": "Escape" }, icon("right"), "Back to results");
    back.addEventListener("click", () => this.exits.back());
    const actions = actionBar(explanation, {
      link: this.exits.link,
      announce: (message) => this.controls.announce(message),
      report: () => this.report(),
      print: () => printPairs(this.root, this.texts, this.names, this.pairs.all.filter(({ shown }) => shown)),
    });
    return el("div", { class: "aligned", dataset: { id: result.id } },
      this.heading,
      el("div", { class: "aligned-top" }, back, this.controls.bar, actions),
      this.controls.root,
      notesOf(explanation.notes),
      el("div", { class: "aligned-sides" }, this.laySide("query", query), this.laySide("document", result, relationLabel(explanation.relation))),
      el("p", { class: "aligned-disclaimer" }, DISCLAIMER));
  }

  laySide(side, answer, badge = null) {
    const body = el("div", { class: "aligned-body" }, this.panes[side].scroller, this.maps[side].root);
    const title = titleOf(KINDS[side], answer, [this.coverage[side], this.controls.gapSteps[side]], badge);
    return el("section", { class: `aligned-side ${side}`, "aria-label": KINDS[side] }, title, body);
  }

  showCoverage() {
    const figures = this.controls.boilerplate ? this.explanation : this.explanation.without_boilerplate;
    for (const side of SIDES) this.coverage[side].replaceChildren(...[coverageBar(figures[`${side}_coverage`], side)].filter(Boolean));
  }

  report() {
    return this.exits.report({ kinds: [...this.controls.kinds], boilerplate: this.controls.boilerplate });
  }

  // ------------------------------------------------------------------------ open and close

  open(root) {
    const { signal } = this.ended;
    root.replaceChildren(this.root);
    this.adapt();
    this.filter();
    this.heading.focus({ preventScroll: true });
    document.addEventListener("keydown", (event) => this.pressed(event), { signal });
    document.addEventListener("pointerdown", (event) => this.fold(event.target), { signal });
    document.addEventListener("scroll", () => NARROW.matches && this.look(this.reading), { signal, passive: true });
    NARROW.addEventListener("change", () => this.adapt(), { signal });
    for (const side of SIDES) {
      this.panes[side].start(signal);
      this.panes[side].scroller.addEventListener("scroll", () => this.look(side), { signal, passive: true });
    }
    this.observers = [new MutationObserver(() => this.draw()), new ResizeObserver(() => this.resized())];
    this.observers[0].observe(document.documentElement, { attributeFilter: ["data-theme"] });
    for (const side of SIDES) this.observers[1].observe(this.panes[side].scroller);
    this.showFirst();
  }

  /** The pair that a link or a card leads to. */
  showFirst() {
    if (!this.exits.at) return;
    const [query, result] = this.exits.at;
    const pair = this.pairs.at(unitsOf(this.texts.query.text)(query), unitsOf(this.texts.document.text)(result));
    if (pair?.shown) this.select(pair);
  }

  close() {
    this.ended.abort();
    this.observers.forEach((observer) => observer.disconnect());
    this.root.remove();
  }

  /** One text in a narrow window, two in a wide one. */
  adapt() {
    this.closePartner();
    for (const side of SIDES) this.panes[side].withPage = NARROW.matches;
    this.root.dataset.reading = this.reading;
    if (this.current) this.bringCurrent("query");
  }

  /** The texts on screen. @returns {readonly Which[]} */
  get visible() {
    return NARROW.matches ? [this.reading] : SIDES;
  }

  /** Read this text, in a narrow window. @param {Which} side */
  read(side) {
    if (side === this.reading) return;
    this.closePartner();
    this.reading = side;
    this.root.dataset.reading = side;
    this.controls.showReading(side);
    this.panes[side].resize();
    if (this.current) this.bringCurrent(side);
    else this.root.querySelector(`.aligned-side.${side}`).scrollIntoView({ block: "start" });
    this.draw();
  }

  resized() {
    const held = this.current && this.visible.every((side) => this.panes[side].wasVisible(this.current[side][0]));
    for (const side of this.visible) this.panes[side].resize();
    if (held && !NARROW.matches) this.bringCurrent("query");
    this.draw();
  }

  draw() {
    for (const side of this.visible) {
      this.maps[side].draw(this.ticks(side));
      this.look(side);
    }
  }

  *ticks(side) {
    if (this.gapsOn) for (const [start, end] of this.unmatched(side)) yield { start, end, colour: "gap" };
    for (const { shown, kind, boilerplate, [side]: span } of this.pairs.all)
      if (shown) yield { start: span[0], end: span[1], colour: boilerplate ? "common" : kind.replace(" ", "-") };
  }

  look(side) {
    this.maps[side].look(this.panes[side].view());
  }

  // ------------------------------------------------------------------------ from match to match

  /** Make a pair the current one and put its passages level.
   * @param {Pair} pair @param {Which} [anchor] the side that stays in place if possible */
  select(pair, anchor = "query") {
    const held = this.current && SIDES.find((side) => this.panes[side].badges.isFocused(this.current));
    this.closePartner();
    this.current = pair;
    this.at = pair.number;
    for (const side of SIDES) {
      this.panes[side].mark(pair);
      this.maps[side].mark(pair[side][0]);
    }
    this.bringCurrent(anchor);
    if (held) this.panes[held].badges.focus(pair);
    this.controls.showMatch(pair);
    this.controls.announce(this.inWords(pair));
  }

  bringCurrent(anchor) {
    if (NARROW.matches) return this.unfold(this.current);
    if (LOW.matches) this.panes.query.scroller.scrollIntoView({ block: "start" });
    this.level(this.current, anchor);
    this.settle(this.current, anchor);
  }

  /** Show the counterpart under a match. @param {Pair} pair */
  unfold(pair) {
    this.closePartner();
    const pane = this.panes[this.reading];
    const there = otherSide(this.reading);
    const close = () => (this.closePartner(), pane.badges.focus(pair));
    this.partner = partnerBox(this.texts, pair, this.reading, this.names, { close, go: () => this.read(there) });
    pane.endOf(pair)?.after(this.partner);
    pane.bring(pair[this.reading][0], this.comfortable(pane, pair[this.reading][0]));
  }

  closePartner() {
    this.partner?.remove();
    this.partner = null;
  }

  inWords(pair) {
    const [left, right] = SIDES.map((side) => flat(this.texts[side].text.slice(...pair[side])).slice(0, SPOKEN));
    const place = `${count(this.pairs.placeOf(pair))} of ${count(this.pairs.shown)}`;
    return `Match ${pair.number}, ${place}, ${described(pair)}. Your document: ${left} Result: ${right}`;
  }

  level(pair, anchor) {
    const panes = SIDES.map((side) => this.panes[side]);
    const reach = panes.map((pane) => pane.reach(pair[pane.side][0]));
    const lowest = Math.min(...reach.map(([, high]) => high)); // a text cannot scroll below its upper edge
    const highest = Math.max(...reach.map(([low]) => low));
    const height = Math.max(Math.min(this.comfortable(this.panes[anchor], pair[anchor][0]), lowest), highest);
    for (const pane of panes) pane.bring(pair[pane.side][0], height);
  }

  /** Put a pair level again if the texts have moved while they were rendered, unless the reader has scrolled since. */
  settle(pair, anchor, tries = TRIES) {
    const moves = () => SIDES.map((side) => this.panes[side].moves).join();
    const before = moves();
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      if (this.ended.signal.aborted || this.current !== pair || moves() !== before || NARROW.matches) return;
      const [left, right] = SIDES.map((side) => this.panes[side].topOf(pair[side][0]));
      if (Math.abs(left - right) <= 1) return;
      this.level(pair, anchor);
      if (tries > 1) this.settle(pair, anchor, tries - 1);
    }, SETTLED);
  }

  comfortable(pane, offset) {
    const top = pane.topOf(offset);
    return top >= 8 && top <= pane.height * LOWER ? top : pane.height * UPPER;
  }

  step(by) {
    const pair = this.pairs.beside(this.at, by);
    if (pair) this.select(pair);
    else this.controls.announce(this.pairs.shown ? `That was the ${by > 0 ? "last" : "first"} match.` : "No matches.");
  }

  clickMatch(side, pairs) {
    if (NARROW.matches && this.partner && pairs.at(-1) === this.current) return this.closePartner();
    this.select(pairs[(pairs.indexOf(this.current) + 1) % pairs.length], side);
  }

  clickNumber(side, pair, byKey) {
    this.select(pair, side);
    if (byKey && !NARROW.matches) this.panes[otherSide(side)].badges.focus(pair);
  }

  jump(side, offset) {
    const pane = this.panes[side];
    pane.moves++;
    if (this.texts[side].starts.length) pane.bring(this.texts[side].starts[pane.sentenceAt(offset)], pane.height * UPPER);
  }

  // ------------------------------------------------------------------------ what is shown

  /** Show the kinds that are switched on, and boilerplate or not. */
  filter() {
    const { kinds, boilerplate } = this.controls;
    const changed = this.pairs.show(kinds, boilerplate);
    this.root.classList.toggle("without-boilerplate", !boilerplate);
    if (this.current && !this.current.shown) this.leave();
    for (const side of SIDES) {
      if (this.visible.includes(side)) this.panes[side].update(changed);
      else changed.forEach((pair) => this.panes[side].refresh(pair));
      this.panes[side].point(null); // it may have a match now
    }
    this.controls.count();
    this.controls.showMatch(this.current);
    this.showGapCounts();
    this.showCoverage();
    this.draw();
  }

  leave() {
    this.closePartner();
    this.current = null;
    for (const side of SIDES) {
      this.panes[side].mark(null);
      this.maps[side].mark(null);
    }
  }

  /** The passages of a text without a visible match. @param {Which} side */
  unmatched(side) {
    const matched = this.pairs.all.filter(({ shown }) => shown).map((pair) => pair[side]);
    return unmatchedPassages(this.texts[side], matched, this.controls.boilerplate ? new Set() : this.common[side]);
  }

  showGapCounts() {
    if (this.gapsOn) this.controls.showGaps(true, { query: this.unmatched("query").length, document: this.unmatched("document").length });
    else this.controls.showGaps(false, { query: 0, document: 0 });
  }

  showGaps(on) {
    this.gapsOn = on;
    this.root.classList.toggle("gaps-on", on);
    for (const side of SIDES) this.panes[side].point(null);
    this.showGapCounts();
    this.draw();
  }

  stepGap(side, by) {
    if (!this.gapsOn) this.showGaps(true);
    const passages = this.unmatched(side);
    const after = lowerBound(passages.map(([start]) => start), this.gapAt[side] + (by > 0 ? 1 : 0));
    const place = by > 0 ? after : after - 1;
    const passage = passages[place];
    if (!passage) return this.controls.announce(`No ${by > 0 ? "further" : "earlier"} unmatched passage.`);
    this.gapAt[side] = passage[0];
    const pane = this.panes[side];
    pane.point(passage);
    pane.bring(passage[0], this.comfortable(pane, passage[0]));
    this.controls.showGap(side, place + 1, passages.length);
    this.controls.announce(`Unmatched passage ${place + 1} of ${passages.length}: ${flat(this.texts[side].text.slice(...passage)).slice(0, SPOKEN)}`);
  }

  // ------------------------------------------------------------------------ keys

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const side = this.sideInUse();
    const acts = { j: () => this.step(1), k: () => this.step(-1), n: () => this.stepGap(side, 1), p: () => this.stepGap(side, -1), Escape: () => this.escape() };
    const act = acts[event.key] ?? acts[event.key.toLowerCase()]; // ignore Caps Lock
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** The text with the focus, or yours. @returns {Which} */
  sideInUse() {
    if (NARROW.matches) return this.reading;
    return document.activeElement?.closest(".aligned-side.document") ? "document" : "query";
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
