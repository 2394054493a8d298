/**
 * The counterpart of a match: unfolded under it in a narrow window, and the list of all counterparts of a passage.
 * @module
 */

import { el, icon } from "./dom.js";
import { described, kindClass, signOf } from "./kinds.js";
import { passage, tracked } from "./passage.js";
import { excerpt } from "./query.js";

/** @typedef {import("./pairs.js").Pair} Pair */
/** @typedef {import("./pairs.js").Which} Which */
/** @typedef {import("./passage.js").Texts} Texts */

const EXCERPT = 90; // characters of a counterpart in the list

/** The other side. @param {Which} side */
export const otherSide = (side) => (side === "query" ? "document" : "query");

/** A sign and a name, so that a kind is not told by its colour alone. @param {{kind: import("./kinds.js").Kind, similarity: number}} pair */
export const kindLabel = (pair) => el("span", { class: `kind-label ${kindClass(pair.kind)}` },
  el("span", { class: "sign", "aria-hidden": "true" }, signOf(pair.kind)), described(pair));

/**
 * The counterpart, to be put under a match. Only inline elements: it stands in a paragraph.
 * @param {Texts} texts @param {Pair} pair @param {Which} side of the match
 * @param {Record<Which, string>} names of both documents
 * @param {{close: () => void, go: () => void}} on
 */
export function partnerBox(texts, pair, side, names, on) {
  const there = otherSide(side);
  const close = el("button", { type: "button", class: "quiet small square", "aria-label": "Close", on: { click: on.close } }, icon("close"));
  const go = el("button", { type: "button", class: "linklike", on: { click: on.go } }, there === "document" ? "Read on in the result" : "Read on in your document");
  const changes = pair.changes.query.length > 0 && el("span", { class: "tracked" }, el("span", { class: "caption" }, "Changes"), el("span", { class: "quote" }, tracked(texts, pair)));
  return el("span", { class: `partner ${kindClass(pair.kind)}`, role: "group", "aria-label": `Match ${pair.number}: the counterpart` },
    el("span", { class: "partner-head" }, kindLabel(pair), close),
    el("span", { class: "caption" }, there === "document" ? ["In ", el("cite", {}, names.document)] : "In your document"),
    el("span", { class: "quote" }, passage(texts, pair, there)), changes, el("span", { class: "partner-foot" }, go));
}

/**
 * A list of counterparts beside a button; it closes by itself when the reader clicks elsewhere or presses Escape.
 * @param {HTMLElement} root where it is put
 * @param {HTMLElement} button
 * @param {Texts} texts @param {Pair[]} pairs @param {Which} there the side of the counterparts
 * @param {(pair: Pair) => void} choose
 */
export function listPartners(root, button, texts, pairs, there, choose) {
  const words = (pair) => excerpt(texts[there].text.slice(...pair[there]), EXCERPT);
  const items = pairs.map((pair) => el("li", {}, el("button", { type: "button", class: kindClass(pair.kind), dataset: { number: String(pair.number) } },
    el("span", { class: "sign", "aria-hidden": "true" }, signOf(pair.kind)), el("span", {}, words(pair), el("span", { class: "hint" }, ` ${described(pair)}`)))));
  const list = el("div", { class: "partners", popover: "auto", "aria-label": "Matches of this passage" }, el("ul", {}, items));
  list.addEventListener("click", ({ target }) => {
    const number = Number(target.closest("button")?.dataset.number);
    if (!number) return;
    list.hidePopover();
    choose(pairs.find((pair) => pair.number === number));
  });
  list.addEventListener("toggle", ({ newState }) => {
    if (newState !== "closed") return;
    if (list.contains(document.activeElement) || document.activeElement === document.body) button.focus({ preventScroll: true });
    list.remove();
  });
  list.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (event.key === "Escape") event.stopPropagation(); // it closes the list, not the view
    if (next === undefined) return;
    event.preventDefault();
    buttons.at(next % buttons.length).focus();
  });
  root.append(list);
  list.showPopover();
  place(list, button.getBoundingClientRect());
  list.querySelector("button").focus();
}

function place(list, { left, top, bottom }) {
  const { offsetWidth: width, offsetHeight: height } = list;
  const below = bottom + 6 + height <= innerHeight;
  list.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  list.style.top = `${below ? bottom + 6 : Math.max(8, top - height - 6)}px`;
}
