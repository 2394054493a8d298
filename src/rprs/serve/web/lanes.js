/**
 * The lanes of a coverage chart: beside each paragraph, a thin column for each source, coloured where it covers a sentence.
 * Decoration: the same is said in words beside the paragraph.
 * @module
 */

import { el } from "./dom.js";
import { kindClass } from "./kinds.js";

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 0.78; // of a lane
const PART = 0.39; // where a source covers less than half of a sentence

/** An empty picture of some lanes. @param {number} lanes */
export function lanesOf(lanes) {
  const picture = document.createElementNS(SPACE, "svg");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.style.setProperty("--lanes", String(lanes));
  return el("div", { class: "lanes", "aria-hidden": "true" }, picture);
}

/**
 * Draw the lanes of one group; heights are in words.
 * @param {Element} box of `lanesOf`
 * @param {import("./chart.js").Row[]} rows
 * @param {number} lanes
 */
export function drawLanes(box, rows, lanes) {
  const picture = box.firstElementChild;
  const marks = [];
  let top = 0;
  for (const { words, covers } of rows) {
    for (const cover of covers) marks.push(mark(cover, top, words));
    top += words;
  }
  picture.setAttribute("viewBox", `0 0 ${lanes} ${Math.max(top, 1)}`);
  picture.replaceChildren(...marks);
}

function mark({ source, kind, words: covered, boilerplate }, top, words) {
  const shape = document.createElementNS(SPACE, "rect");
  const place = { x: source, y: top, width: 2 * covered >= words ? WIDTH : PART, height: Math.max(words, 0.5) };
  for (const [name, value] of Object.entries(place)) shape.setAttribute(name, String(value));
  shape.setAttribute("class", `${kindClass(kind)}${boilerplate ? " common" : ""}`);
  return shape;
}

/** The numbers above the lanes. @param {import("./chart.js").Source[]} sources */
export const laneNumbers = (sources) => sources.map(({ rank, title, id }) => el("span", { title: title || id }, String(rank)));
