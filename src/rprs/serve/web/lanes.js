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
 * Draw the lanes of one group; heights are in words. There is one shape for each look, not for each mark: of a long document,
 * a screen has thousands of marks.
 * @param {Element} box of `lanesOf`
 * @param {import("./chart.js").Row[]} rows
 * @param {number} lanes
 */
export function drawLanes(box, rows, lanes) {
  const picture = box.firstElementChild;
  /** @type {Map<string, string>} */
  const outlines = new Map();
  let top = 0;
  for (const { words, covers } of rows) {
    for (const { source, kind, words: covered, boilerplate } of covers) {
      const look = `${kindClass(kind)}${boilerplate ? " common" : ""}`;
      const width = 2 * covered >= words ? WIDTH : PART;
      outlines.set(look, `${outlines.get(look) ?? ""}M${source} ${top}h${width}v${Math.max(words, 0.5)}h${-width}z`);
    }
    top += words;
  }
  picture.setAttribute("viewBox", `0 0 ${lanes} ${Math.max(top, 1)}`);
  picture.replaceChildren(...[...outlines].map(([look, outline]) => shape(look, outline)));
}

function shape(look, outline) {
  const path = document.createElementNS(SPACE, "path");
  path.setAttribute("class", look);
  path.setAttribute("d", outline);
  return path;
}

/** The numbers above the lanes. @param {import("./chart.js").Source[]} sources */
export const laneNumbers = (sources) => sources.map(({ rank, title, id }) => el("span", { title: title || id }, String(rank)));
