/**
 * One paragraph or claim of a coverage chart: its lanes, its text with matches and gaps, who covers it, and its rows in full.
 * @module
 */

import { distinctPassages, isGap, startOf } from "./chart.js";
import { el, fill, icon } from "./dom.js";
import { inCollection } from "./facts.js";
import { count, flat, plural } from "./format.js";
import { kindClass, signOf } from "./kinds.js";
import { drawLanes, lanesOf } from "./lanes.js";
import { kindLabel } from "./partner.js";
import { sentPassage } from "./passage.js";
import { displayName, excerpt } from "./query.js";

const LISTED = 3; // sources beside a paragraph; all of them are in its rows
const NAME = 60; // characters of a title there

/** @typedef {{lanes: number, open: (id: string, at?: [number, number]) => void, search: (text: string) => void}} How */

export class ChartGroup {
  /** The text alone, until `show`. @param {import("./chart.js").Chart} chart @param {import("./chart.js").Group} group @param {How} how */
  constructor(chart, group, how) {
    Object.assign(this, { chart, group, how });
    this.rows = chart.rowsOf(group);
    this.words = chart.wordsOf(group);
    this.shown = false;
    this.stale = false; // something has arrived since it was drawn
    /** @type {HTMLElement[]} a button for each gap */
    this.gapButtons = [];
    this.lanes = lanesOf(how.lanes);
    this.spans = this.rows.map((row) => el("span", { class: "chart-row" }, group.claim !== null && el("span", { class: "row-label" }, row.label), flat(row.text)));
    this.text = el("p", { class: group.claim === null ? "chart-text" : "chart-text claim" }, this.spans.flatMap((span) => [span, " "]));
    this.who = el("ul", { class: "who" });
    this.body = el("div", { class: "chart-body" }, group.claim !== null && el("h2", {}, group.label), this.text);
    this.root = el("article", { class: "chart-group", tabindex: "-1", "aria-label": group.label }, this.lanes, this.body, this.who);
    this.root.style.setProperty("--words", String(this.words));
  }

  /** Whether the group is near the screen; what is not is drawn later. @param {boolean} near */
  show(near = true) {
    if (near && !this.fold) this.addFold();
    this.shown = near;
    if (near && this.stale) this.draw();
  }

  addFold() {
    this.table = el("div");
    this.fold = el("details", { class: "fold chart-rows", hidden: true }, el("summary", {}, icon("chevron"), "Compare the words"), this.table);
    this.fold.addEventListener("toggle", () => this.drawRows());
    this.body.append(this.fold);
  }

  /** Something has arrived: a source that covers a part of this group, or, with the last, that nothing else does. */
  update() {
    this.stale = true;
    if (this.shown) this.draw();
  }

  draw() {
    this.stale = false;
    if (this.rows.some(({ covers }) => covers.length)) this.drawCovers();
    if (this.chart.coverage) this.drawGaps();
  }

  drawCovers() {
    drawLanes(this.lanes, this.rows, this.how.lanes);
    this.rows.forEach((row, at) => {
      const [best] = row.covers;
      if (best) this.spans[at].className = `chart-row ${kindClass(best.kind)}${best.boilerplate ? " common" : ""}${2 * best.words < row.words ? " partly" : ""}`;
    });
    if (this.rows.every(({ boilerplate }) => boilerplate)) { // a heading, which needs little room
      for (const span of this.spans) span.classList.add("common");
      return fill(this.who, boilerplateNote());
    }
    const parts = this.chart.partsOf(this.group);
    fill(this.who, parts.slice(0, LISTED).map((part) => this.source(part)),
      parts.length > LISTED && el("li", { class: "hint" }, `and ${plural(parts.length - LISTED, "more source")}`));
    this.fold.hidden = false;
    this.drawRows();
  }

  /** A source, and how much of this group it covers. */
  source({ source: place, words, kind, at }) {
    const source = this.chart.sources[place];
    const share = Math.max(Math.round((100 * words) / Math.max(this.words, 1)), 1);
    const name = source.collection ? `${displayName(source)} in ${source.collection}` : displayName(source);
    const label = `${source.rank}. ${name}: ${kind}, ${share}% of this ${this.group.claim === null ? "paragraph" : "claim"}. Read side by side`;
    return el("li", {}, el("button", { type: "button", class: `source ${kindClass(kind)}`, title: name, "aria-label": label, on: { click: () => this.how.open(source.id, at) } },
      el("span", { class: "rank" }, count(source.rank)), el("span", { class: "sign" }, signOf(kind)), el("span", { class: "name" }, excerpt(displayName(source), NAME)), el("span", { class: "share" }, `${share}% ${kind}`)));
  }

  /** All sources have arrived: what has no source now stands out. */
  drawGaps() {
    const gaps = this.chart.gapsOf(this.group);
    if (this.gapButtons.length < gaps.length) this.gapButtons = gaps.map((gap) => this.gapButton(gap));
    const covered = this.rows.some(({ covers }) => covers.length);
    if (!covered) fill(this.who, gaps.length ? nobody("Nobody covers this") : boilerplateNote());
    else if (gaps.length) this.who.prepend(nobody("Nobody covers the marked words"));
    this.root.classList.toggle("has-gap", gaps.length > 0);
  }

  /** Mark a gap, with a button behind it. */
  gapButton({ first, stop, text }) {
    const spans = this.spans.slice(first - this.group.first, stop - this.group.first);
    for (const span of spans) span.classList.add("gap");
    const button = el("button", { type: "button", class: "gap-search", "aria-label": `Search for this passage: ${excerpt(flat(text), NAME)}`, on: { click: () => this.how.search(text) } },
      icon("search"), "Search for this passage");
    spans.at(-1).after(" ", button);
    return button;
  }

  // ------------------------------------------------------------------------ rows in full

  drawRows() {
    if (!this.fold.open) return;
    const head = ["Your words", "Best source", "Its words", "Kind"].map((name) => el("th", { scope: "col" }, name));
    fill(this.table, el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, this.rows.map((row) => this.row(row)))));
  }

  row(row) {
    const [best, ...others] = row.covers;
    const yours = el("td", { class: "yours" }, flat(row.text));
    if (!best) return el("tr", { class: isGap(row) ? "gap" : "common" }, yours, el("td", {}, isGap(row) ? "Nobody" : ""), el("td", {}), el("td", {}, isGap(row) ? "none" : "boilerplate"));
    const source = this.chart.sources[best.source];
    const part = best.words < row.words && el("span", { class: "hint" }, ` ${count(best.words)} of ${plural(row.words, "word")}`);
    return el("tr", { class: best.boilerplate ? "common" : null }, yours,
      el("td", {}, el("button", { type: "button", class: "linklike", on: { click: () => this.how.open(source.id, startOf(best.passages[0])) } }, `${source.rank}. ${displayName(source)}`), inCollection(source.collection),
        others.length > 0 && el("p", { class: "hint" }, `also ${others.map(({ source: place, kind }) => `${this.chart.sources[place].rank} ${signOf(kind)}`).join(", ")}`)),
      el("td", {}, distinctPassages(best).flatMap((passage, at) => [at > 0 && " … ", ...wordsOf(passage)])),
      el("td", {}, kindLabel(best), part));
  }
}

const nobody = (words) => el("li", { class: "nobody" }, words);

const boilerplateNote = () => el("li", { class: "hint" }, "Boilerplate");

/** The words of a source; those that differ from yours are marked as inserted. @param {import("./chart.js").Passage} passage */
const wordsOf = (passage) => sentPassage({ ...passage, document: passage.text }, "document");
