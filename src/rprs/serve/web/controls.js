/**
 * The controls of the side-by-side view: stepping through matches, kinds of match, boilerplate and unmatched text.
 * They display state and report actions; the view keeps the state.
 * @module
 */

import { el, icon } from "./dom.js";
import { count, plural } from "./format.js";
import { described, kindClass, KINDS } from "./kinds.js";
import { SIDES } from "./pairs.js";

/** @typedef {import("./pairs.js").Pairs} Pairs */
/** @typedef {import("./pairs.js").Pair} Pair */
/** @typedef {import("./pairs.js").Which} Which */
/** @typedef {import("./kinds.js").Kind} Kind */

const READ = { query: "Your document", document: "Result" };

export class Controls {
  /**
   * @param {Pairs} pairs
   * @param {{boilerplate: boolean, hasBoilerplate: boolean}} state
   * @param {{step: (by: 1 | -1) => void, gap: (side: Which, by: 1 | -1) => void, filter: () => void, gaps: (on: boolean) => void,
   *   read: (side: Which) => void}} on
   */
  constructor(pairs, { boilerplate, hasBoilerplate }, on) {
    this.pairs = pairs;
    this.previous = stepper("Previous", "up", "k", () => on.step(-1));
    this.next = stepper("Next", "down", "j", () => on.step(1));
    this.where = el("p", { class: "where" });
    this.toggles = KINDS.map((kind) => kindToggle(kind, on.filter));
    this.shown = el("span", { class: "pairs-shown" });
    this.boilerplateSwitch = toggle("aligned-boilerplate", boilerplate, on.filter);
    this.gaps = toggle("aligned-gaps", false, () => on.gaps(this.gaps.checked));
    this.gapSteps = { query: gapSteps("query", on.gap), document: gapSteps("document", on.gap) };
    this.readers = SIDES.map((side) => el("button", { type: "button", class: "button small", dataset: { side }, on: { click: () => on.read(side) } }, READ[side]));
    this.live = el("p", { class: "visually-hidden", role: "status" });
    this.root = this.lay(hasBoilerplate);
    this.bar = this.layBar();
    this.showMatch(null);
    this.count();
    this.showReading("query");
  }

  lay(hasBoilerplate) {
    return el("div", { class: "aligned-controls" },
      el("div", { class: "group kinds", role: "group", "aria-label": "Kinds of match" }, this.toggles, this.shown),
      el("div", { class: "group switches" },
        hasBoilerplate && label(this.boilerplateSwitch, "Include boilerplate", "Captions, headings, citations and phrases that many documents here have"),
        label(this.gaps, "Highlight unmatched text")),
      this.live);
  }

  /** Stepping; in a narrow window this bar stays at the lower edge, with the choice of the text to read. */
  layBar() {
    return el("div", { class: "aligned-bar" },
      el("div", { class: "group reading", role: "group", "aria-label": "Text to read" }, this.readers),
      el("div", { class: "group", role: "group", "aria-label": "Matches" }, this.previous, this.next, this.where));
  }

  /** The kinds that are shown. @returns {Set<Kind>} */
  get kinds() {
    return new Set(this.toggles.filter(isPressed).map(({ dataset }) => /** @type {Kind} */ (dataset.kind)));
  }

  /** Whether boilerplate is included. */
  get boilerplate() {
    return this.boilerplateSwitch.checked;
  }

  /** Show the current match.
   * @param {Pair | null} pair */
  showMatch(pair) {
    const { shown } = this.pairs;
    for (const button of [this.previous, this.next]) button.setAttribute("aria-disabled", String(!shown));
    if (!pair) {
      this.where.replaceChildren(shown ? plural(shown, "match", "matches") : "No matches");
      return;
    }
    this.where.replaceChildren(
      el("strong", {}, `Match ${count(pair.number)}`),
      el("span", {}, `${count(this.pairs.placeOf(pair))} of ${count(shown)}`),
      el("span", { class: "where-kind" }, described(pair)),
    );
    this.previous.setAttribute("aria-disabled", String(!this.pairs.beside(pair.number, -1)));
    this.next.setAttribute("aria-disabled", String(!this.pairs.beside(pair.number, 1)));
  }

  /** Show the number of pairs of each kind, and of those shown. */
  count() {
    for (const button of this.toggles) button.lastChild.textContent = count(this.pairs.countOf(button.dataset.kind, this.boilerplate));
    const { shown, all } = this.pairs;
    this.shown.textContent = shown === all.length ? "" : `${count(shown)} of ${plural(all.length, "match", "matches")} shown`;
  }

  /** Whether unmatched text is highlighted, and in how many passages on each side.
   * @param {boolean} on @param {Record<Which, number>} passages */
  showGaps(on, passages) {
    this.gaps.checked = on;
    for (const side of SIDES) {
      this.gapSteps[side].hidden = !on;
      this.gapSteps[side].firstChild.textContent = plural(passages[side], "unmatched passage");
    }
  }

  /** Show which passage without a match is current.
   * @param {Which} side @param {number} place from 1 @param {number} passages */
  showGap(side, place, passages) {
    this.gapSteps[side].firstChild.textContent = `${count(place)} of ${plural(passages, "unmatched passage")}`;
  }

  /** Which text is read in a narrow window. @param {Which} side */
  showReading(side) {
    for (const button of this.readers) button.setAttribute("aria-pressed", String(button.dataset.side === side));
  }

  /** For screen readers.
   * @param {string} message */
  announce(message) {
    this.live.textContent = message;
  }
}

const isPressed = (button) => button.getAttribute("aria-pressed") === "true";

function kindToggle({ kind, sign, help }, change) {
  const name = kind[0].toUpperCase() + kind.slice(1);
  const button = el("button", { type: "button", class: `kind-toggle ${kindClass(kind)}`, "aria-pressed": "true", title: help, dataset: { kind } },
    el("span", { class: "sign", "aria-hidden": "true" }, sign), el("span", {}, name), " ", el("span", { class: "times" }));
  button.addEventListener("click", () => {
    button.setAttribute("aria-pressed", String(!isPressed(button)));
    change();
  });
  return button;
}

function toggle(id, checked, change) {
  return el("input", { type: "checkbox", role: "switch", id, checked, on: { change } });
}

const label = (input, words, help = null) => el("label", { class: "switch", for: input.id, title: help }, input, el("span", {}, words));

function gapSteps(side, step) {
  return el("div", { class: "gap-steps", hidden: true }, el("span", { class: "gap-count" }),
    stepper("Previous unmatched passage", "up", "p", () => step(side, -1), true),
    stepper("Next unmatched passage", "down", "n", () => step(side, 1), true));
}

/** A button to the next or previous item; `bare` ones show only an icon.
 * @param {string} name @param {string} sign @param {string} key @param {() => void} go */
function stepper(name, sign, key, go, bare = false) {
  const look = { class: bare ? "button small square" : "button small", title: `${name} (${key})` };
  const button = el("button", { type: "button", ...look, "aria-keyshortcuts": key, "aria-label": bare ? name : null }, icon(sign), bare ? null : el("span", {}, name));
  button.addEventListener("click", () => button.getAttribute("aria-disabled") !== "true" && go());
  return button;
}
