/**
 * A narrow map beside a text: a tick for every match, a frame for the part on screen, and the current match.
 * Scrolling moves the frame without redrawing the ticks.
 * @module
 */

import { el } from "./dom.js";

/** @typedef {{start: number, end: number, colour: string}} Tick offsets in the text; the colour is a kind of match, `common` or `gap` */

const LEAST = 2; // pixels of a tick
const EDGE = 4; // pixels left free at either side
const COLOURS = ["", "same-idea", "reworded", "identical", "common"];

export class DocumentMap {
  /**
   * @param {string} label for screen readers
   * @param {number} length of the text
   * @param {(offset: number) => void} jump called when a place is clicked or dragged to
   */
  constructor(label, length, jump) {
    this.length = Math.max(length, 1);
    this.canvas = el("canvas", { role: "img", "aria-label": label });
    this.frame = el("div", { class: "map-frame" });
    this.pin = el("div", { class: "map-pin", hidden: true });
    this.root = el("div", { class: "aligned-map" }, this.canvas, this.frame, this.pin);
    const go = (/** @type {PointerEvent} */ event) => jump(this.offsetOf(event));
    this.root.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
      this.root.setPointerCapture(event.pointerId);
      event.preventDefault(); // dragging must not select text
      go(event);
    });
    this.root.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
      if (this.root.hasPointerCapture(event.pointerId)) go(event);
    });
  }

  offsetOf(event) {
    const box = this.root.getBoundingClientRect();
    const share = (event.clientY - box.top) / Math.max(box.height, 1);
    return Math.min(Math.max(share, 0), 1) * this.length;
  }

  /** Draw the ticks, with the colours of the current theme.
   * @param {Iterable<Tick>} ticks later ones cover earlier ones */
  draw(ticks) {
    const scale = globalThis.devicePixelRatio || 1;
    const box = this.root.getBoundingClientRect();
    const [width, height] = [Math.round(box.width * scale), Math.round(box.height * scale)];
    Object.assign(this.canvas, { width, height });
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(this.root);
    const [gaps, matches] = this.rows(ticks, height, Math.round(LEAST * scale));
    const edge = EDGE * scale;
    pen.globalAlpha = gaps.some(Boolean) ? 0.3 : 0.75; // highlights passages without a match
    paint(pen, matches, edge, width - edge, (place) => style.getPropertyValue(`--mark-${COLOURS[place]}`));
    pen.globalAlpha = 1;
    paint(pen, gaps, edge / 2, width - edge / 2, () => style.getPropertyValue("--gap-mark"));
  }

  /** The colour of each row of pixels, 0 for none: unmatched text, and matches. */
  rows(ticks, height, least) {
    const [gaps, matches] = [new Uint8Array(height), new Uint8Array(height)];
    for (const { start, end, colour } of ticks) {
      const top = Math.floor((start / this.length) * height);
      const bottom = Math.max(Math.ceil((end / this.length) * height) - 1, top + least);
      if (colour === "gap") gaps.fill(1, top, bottom);
      else matches.fill(COLOURS.indexOf(colour), top, bottom);
    }
    return [gaps, matches];
  }

  /** The part of the text on screen.
   * @param {[number, number]} view offsets */
  look([from, to]) {
    this.place(this.frame, from, Math.max(to - from, 0));
  }

  /** The current match, or null for none.
   * @param {number | null} offset */
  mark(offset) {
    this.pin.hidden = offset === null;
    if (offset !== null) this.place(this.pin, offset, 0);
  }

  place(node, offset, length) {
    node.style.top = `${(100 * offset) / this.length}%`;
    node.style.height = `${(100 * length) / this.length}%`;
  }
}

/** Fill the runs of equal rows from left to right.
 * @param {CanvasRenderingContext2D} pen @param {Uint8Array} rows @param {number} left @param {number} right
 * @param {(row: number) => string} colour */
function paint(pen, rows, left, right, colour) {
  for (let top = 0, bottom = 0; top < rows.length; top = bottom) {
    while (bottom < rows.length && rows[bottom] === rows[top]) bottom++;
    if (!rows[top]) continue;
    pen.fillStyle = colour(rows[top]);
    pen.fillRect(left, top, right - left, bottom - top);
  }
}
