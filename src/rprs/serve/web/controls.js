/**
 * The controls of the side-by-side view: stepping through matches, the similarity slider, and unmatched passages.
 * They display state and report actions; the view keeps the state.
 * @module
 */

import { el, icon } from "./dom.js";
import { count, plural } from "./format.js";

/** @typedef {import("./pairs.js").Pairs} Pairs */
/** @typedef {import("./pairs.js").Pair} Pair */

export class Controls {
  /**
   * @param {Pairs} pairs
   * @param {{step: (by: 1 | -1) => void, gap: (by: 1 | -1) => void, similarity: (least: number) => void, gaps: (on: boolean) => void}} on
   */
  constructor(pairs, on) {
    this.pairs = pairs;
    this.previous = stepper("Previous", "up", "k", () => on.step(-1));
    this.next = stepper("Next", "down", "j", () => on.step(1));
    this.where = el("p", { class: "where" });
    this.slider = this.makeSlider(on.similarity);
    this.value = el("output", { for: "aligned-similarity" });
    this.shown = el("span", { class: "pairs-shown" });
    this.gaps = el("input", { type: "checkbox", role: "switch", id: "aligned-gaps" });
    this.gaps.addEventListener("change", () => on.gaps(this.gaps.checked));
    this.gapCount = el("span", { class: "gap-count" });
    this.live = el("p", { class: "visually-hidden", role: "status" });
    this.root = this.lay();
    this.gapsRoot = this.layGaps(on.gap);
    this.showMatch(null);
    this.count();
  }

  makeSlider(change) {
    const { least, all } = this.pairs;
    const slider = el("input", { type: "range", id: "aligned-similarity", min: least, max: 1, step: 0.01, disabled: !all.length });
    slider.value = String(least);
    let frame = 0; // only the last of several moves within one frame counts
    slider.addEventListener("input", () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => change(Number(slider.value)));
    });
    return slider;
  }

  lay() {
    const matches = el("div", { class: "group", role: "group", "aria-label": "Matches" }, this.previous, this.next, this.where);
    const similarity = el(
      "div",
      { class: "group similarity" },
      el("label", { for: "aligned-similarity" }, "Minimum similarity"),
      this.slider,
      this.value,
      this.shown,
    );
    return el("div", { class: "aligned-controls" }, matches, similarity, this.live);
  }

  layGaps(step) {
    this.gapSteps = el(
      "span",
      { class: "gap-steps", hidden: true },
      stepper("Previous unmatched passage", "up", "p", () => step(-1), true),
      stepper("Next unmatched passage", "down", "n", () => step(1), true),
    );
    const label = el("label", { class: "switch", for: "aligned-gaps" }, this.gaps, el("span", {}, "Show passages without a match"));
    return el("div", { class: "aligned-gaps" }, label, this.gapCount, this.gapSteps);
  }

  /** The minimum similarity of the pairs shown. */
  get similarity() {
    return Number(this.slider.value);
  }

  /** Show the current match.
   * @param {Pair | null} pair */
  showMatch(pair) {
    const { shown } = this.pairs;
    for (const button of [this.previous, this.next]) button.setAttribute("aria-disabled", String(!shown));
    if (!pair) {
      this.where.replaceChildren(shown ? `${plural(shown, "match", "matches")}` : "No matches");
      return;
    }
    this.where.replaceChildren(
      el("strong", {}, `Match ${count(pair.number)}`),
      el("span", {}, `similarity ${pair.similarity.toFixed(2)}`),
      el("span", {}, `${count(this.pairs.placeOf(pair))} of ${count(shown)}`),
    );
    this.previous.setAttribute("aria-disabled", String(!this.pairs.beside(pair.number, -1)));
    this.next.setAttribute("aria-disabled", String(!this.pairs.beside(pair.number, 1)));
  }

  /** Show the number of pairs, and of query sentences without a match. */
  count() {
    const { shown, all, sentences, covered, least } = this.pairs;
    const words = `${count(shown)} of ${plural(all.length, "pair")} shown`;
    this.value.value = this.similarity.toFixed(2);
    this.shown.textContent = words;
    this.slider.setAttribute("aria-valuetext", `${this.similarity.toFixed(2)}, ${words}`);
    this.slider.style.setProperty("--share", String((this.similarity - least) / Math.max(1 - least, 0.01)));
    this.gapCount.textContent = plural(sentences - covered, "sentence");
  }

  /** Whether passages without a match are highlighted.
   * @param {boolean} on */
  showGaps(on) {
    this.gaps.checked = on;
    this.gapSteps.hidden = !on;
    this.count();
  }

  /** Show which passage without a match is current.
   * @param {number} place from 1 @param {number} passages */
  showGap(place, passages) {
    this.gapCount.textContent = `${count(place)} of ${plural(passages, "passage")}`;
  }

  /** For screen readers.
   * @param {string} message */
  announce(message) {
    this.live.textContent = message;
  }
}

/** A button to the next or previous item; `bare` ones show only an icon.
 * @param {string} name @param {string} sign @param {string} key @param {() => void} go */
function stepper(name, sign, key, go, bare = false) {
  const look = { class: bare ? "button small square" : "button small", title: `${name} (${key})` };
  const button = el("button", { type: "button", ...look, "aria-keyshortcuts": key, "aria-label": bare ? name : null }, icon(sign), bare ? null : name);
  button.addEventListener("click", () => button.getAttribute("aria-disabled") !== "true" && go());
  return button;
}
