/**
 * The numbers in a text: one for the pairs that begin at the same place, with the best of them and how many more there are.
 * @module
 */

import { el } from "./dom.js";
import { described, kindClass, signOf } from "./kinds.js";
import { count, plural } from "./format.js";

/** @typedef {import("./pairs.js").Pair} Pair */
/** @typedef {import("./pairs.js").Pairs} Pairs */
/** @typedef {import("./pairs.js").Which} Which */

export class Badges {
  /** @param {Which} side @param {Pairs} pairs */
  constructor(side, pairs) {
    this.side = side;
    this.pairs = pairs;
    /** @type {Pair | null} */
    this.current = null;
    /** @type {Map<number, {root: HTMLElement, number: HTMLButtonElement, more: HTMLButtonElement}>} by the offset where they are */
    this.made = new Map();
    this.stop = pairs.all[0]?.[side][0] ?? -1; // the one that is reachable with Tab
  }

  /** The visible pairs that begin at an offset, best first. @param {number} start */
  visible(start) {
    return (this.pairs.beginning[this.side].get(start) ?? []).filter(({ shown }) => shown);
  }

  /** The badge at an offset of the text; null where no pair begins. @param {number} start */
  make(start) {
    if (!this.pairs.beginning[this.side].has(start)) return null;
    const number = el("button", { type: "button" });
    const more = el("button", { type: "button", class: "more-partners", "aria-haspopup": "true", dataset: { start: String(start) } });
    const root = el("span", { class: "badge-box" }, number, more);
    this.made.set(start, { root, number, more });
    this.refresh(start);
    return root;
  }

  /** Numbers are drawn by the style sheet, so that copied or searched text does not contain them. @param {number} start */
  refresh(start) {
    const badge = this.made.get(start);
    if (!badge) return; // its block is not filled yet, and will be right then
    const visible = this.visible(start);
    const isCurrent = this.current !== null && visible.includes(this.current);
    const pair = isCurrent ? this.current : visible[0];
    badge.root.hidden = !pair;
    if (!pair) return;
    const { number, more } = badge;
    number.className = `number ${kindClass(pair.kind)}${pair.boilerplate ? " common" : ""}${isCurrent ? " current" : ""}`;
    number.dataset.number = String(pair.number);
    number.dataset.sign = signOf(pair.kind);
    number.ariaCurrent = isCurrent ? "true" : null;
    number.setAttribute("aria-label", `Match ${pair.number}, ${described(pair)}, go to the matching passage`);
    more.hidden = visible.length < 2;
    more.dataset.count = `+${count(visible.length - 1)}`;
    more.setAttribute("aria-label", `${plural(visible.length - 1, "more match", "more matches")} of this passage`);
    for (const button of [number, more]) button.tabIndex = start === this.stop ? 0 : -1;
  }

  /** Make only the badge at this offset reachable with Tab. @param {number} start */
  stopAt(start) {
    const before = this.stop;
    this.stop = start;
    this.refresh(before);
    this.refresh(start);
  }

  /** If the badge that is reachable with Tab is hidden, make the nearest one reachable. */
  keepStop() {
    const [here] = this.pairs.beginning[this.side].get(this.stop) ?? [];
    if (!here || this.visible(this.stop).length) return;
    const near = this.pairs.beside(here.number, 1) ?? this.pairs.beside(here.number, -1);
    if (near) this.stopAt(near[this.side][0]);
  }

  /** @param {Pair} pair */
  focus(pair) {
    this.made.get(pair[this.side][0])?.number.focus({ preventScroll: true });
  }

  /** Whether the number of a pair has the focus. @param {Pair} pair */
  isFocused(pair) {
    return document.activeElement !== null && this.made.get(pair[this.side][0])?.number === document.activeElement;
  }
}
