/**
 * The coverage view: your document with a lane for each of the best results, who covers each paragraph and how, and what nobody
 * covers. Sources appear one after the other.
 * @module
 */

import { isTyping } from "./actions.js";
import { Chart } from "./chart.js";
import { coverageBar } from "./coverage.js";
import { announce, byId, el, fill, icon } from "./dom.js";
import { inCollection } from "./facts.js";
import { count, plural } from "./format.js";
import { ChartGroup } from "./chart-group.js";
import { chartMenu } from "./export.js";
import { KINDS, kindClass } from "./kinds.js";
import { laneNumbers } from "./lanes.js";
import { displayName } from "./query.js";

/**
 * @typedef {object} Exits
 * @property {() => void} back
 * @property {(id: string, at?: [number, number]) => void} open a source side by side
 * @property {(text: string) => void} search for a passage
 * @property {(format: string) => Promise<void>} exportAs
 */

/**
 * @typedef {import("./chart-group.js").ChartGroup} Group
 * @typedef {{group: Group, at: number}} Gap the passage without a source at this place of the group
 */

const FIRST_WORDS = 1500; // drawn at once, more than a screen has; the rest is drawn when it comes near
const NEAR = "100% 0px"; // a screen above and below
const SHORTCUTS = "Keys: n and p for the next and previous passage without a source, j and k for paragraphs, Esc for the results.";

export class CoverageView {
  /** @param {HTMLElement} root @param {string} name of the query @param {number} lanes @param {Exits} exits */
  constructor(root, name, lanes, exits) {
    this.root = root;
    this.lanes = lanes;
    this.exits = exits;
    /** @type {Chart | null} */
    this.chart = null;
    /** @type {Group[]} */
    this.groups = [];
    /** @type {Gap[]} */
    this.gaps = [];
    this.changed = new Set(); // groups to draw before the next frame
    this.places = { error: el("div"), progress: el("div", { class: "chart-progress" }), summary: el("div", { class: "chart-summary" }), tools: el("div", { class: "tools" }) };
    this.heading = el("h1", { id: "coverage-title", tabindex: "-1" }, name);
    this.heads = el("div", { class: "lane-heads", "aria-hidden": "true" });
    this.heads.style.setProperty("--lanes", String(lanes));
    this.list = el("div", { class: "chart-groups" });
    this.sources = el("ol", { class: "chart-sources" });
    this.ended = new AbortController();
    fill(root, this.head(), this.places.error, this.places.progress, this.body());
    document.addEventListener("keydown", (event) => this.pressed(event), { signal: this.ended.signal });
    addEventListener("beforeprint", () => this.groups.forEach((group) => group.show()), { signal: this.ended.signal });
    this.watch = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) this.groups[Number(target.dataset.group)]?.show(isIntersecting);
    }, { rootMargin: NEAR });
  }

  head() {
    const back = el("button", { type: "button", class: "button back", on: { click: this.exits.back } }, icon("right"), "Back to results");
    return el("header", { class: "chart-head" }, back, this.places.tools,
      el("p", { class: "kicker" }, "Coverage of"), this.heading, this.places.summary);
  }

  body() {
    this.fold = el("details", { class: "fold", hidden: true }, el("summary", {}, icon("chevron"), el("span", { id: "chart-sources-title" })), this.sources);
    return el("div", { class: "chart" }, legend(), this.fold, el("div", { class: "chart-columns" }, this.heads, el("span", {}, "Your document"), el("span", {}, "Who covers it")), this.list,
      el("p", { class: "hint" }, SHORTCUTS));
  }

  // ------------------------------------------------------------------------ what arrives

  /** The rows. @param {any} head */
  start(head) {
    this.show(new Chart(head));
  }

  /** A chart, perhaps one that is complete already. @param {Chart} chart @param {string | null} [opened] the source that the reader comes back from */
  show(chart, opened = null) {
    this.chart = chart;
    if (chart.title) this.heading.textContent = chart.title;
    this.groups = chart.groups.map((group, number) => new ChartGroup(chart, group, { lanes: this.lanes, open: (id, at) => this.open(number, id, at), search: this.exits.search }));
    this.showFirst();
    fill(this.list, this.groups.map(({ root }) => root));
    this.groups.forEach(({ root }, number) => {
      root.dataset.group = String(number);
      this.watch.observe(root);
    });
    if (!chart.coverage) return;
    this.finished();
    if (opened !== null && this.groups[chart.left]) this.returnTo(this.groups[chart.left]);
  }

  showFirst() {
    let words = 0;
    for (const group of this.groups) {
      group.show();
      words += group.words;
      if (words > FIRST_WORDS) return;
    }
  }

  /** @param {Group} group that the reader left for a source */
  returnTo(group) {
    group.show();
    group.root.scrollIntoView({ block: "center" });
    (group.root.querySelector(".source") ?? group.root).focus({ preventScroll: true });
  }

  /** Leave for a source. @param {number} group the number of the group that it was chosen in */
  open(group, id, at) {
    this.chart.left = group;
    this.exits.open(id, at);
  }

  /** One source. @param {any} part */
  add(part) {
    for (const group of this.chart.add(part)) this.changed.add(group);
    if (!this.frame) this.frame = requestAnimationFrame(() => this.drawChanged());
  }

  drawChanged() {
    this.frame = 0;
    for (const number of this.changed) this.groups[number].update();
    this.changed.clear();
    this.drawSources();
  }

  /** The sum. @param {any} sum */
  finish(sum) {
    this.chart.finish(sum);
    this.drawChanged();
    this.finished();
  }

  finished() {
    this.drawSources();
    for (const group of this.groups) group.update();
    this.gaps = this.groups.flatMap((group) => this.chart.gapsOf(group.group).map((_, at) => ({ group, at })));
    this.root.dataset.complete = "";
    const { coverage, notes, sources } = this.chart;
    fill(this.places.summary,
      coverageBar(coverage, "query", sources.length === 1 ? "in this document" : "in these documents"),
      el("p", { class: "chart-gaps" }, this.gapSentence()),
      notes.length > 0 && el("ul", { class: "notes", "aria-label": "Notes" }, notes.map((note) => el("li", {}, note))));
    const step = (by, words, sign) => el("button", { type: "button", class: "button", disabled: !this.gaps.length, on: { click: () => this.step(by) } }, icon(sign), words);
    fill(this.places.tools, step(-1, "Previous gap", "up"), step(1, "Next gap", "down"), chartMenu(this.exits.exportAs));
    announce(`${plural(sources.length, "source")}. ${this.gapSentence()}`);
  }

  gapSentence() {
    if (!this.chart.sources.length) return "There is no similar document to compare with.";
    return this.gaps.length ? `${plural(this.gaps.length, "passage")} of your document ${this.gaps.length === 1 ? "has" : "have"} no counterpart in any of them.` : "Every passage has a counterpart, but for boilerplate.";
  }

  drawSources() {
    const { sources } = this.chart;
    this.fold.hidden = !sources.length;
    byId("chart-sources-title").textContent = plural(sources.length, "source");
    fill(this.heads, laneNumbers(sources));
    fill(this.sources, sources.map((source) => el("li", {}, el("span", { class: "rank" }, count(source.rank)),
      el("span", {}, el("button", { type: "button", class: "linklike", on: { click: () => this.open(0, source.id) } }, displayName(source)), inCollection(source.collection)),
      coverageBar(source.query_coverage, "query"))));
  }

  // ------------------------------------------------------------------------ keys

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const acts = { n: () => this.step(1), p: () => this.step(-1), j: () => this.stepGroup(1), k: () => this.stepGroup(-1), escape: () => this.exits.back() };
    const act = acts[event.key.toLowerCase()];
    if (!act || event.target.closest?.("[role=menu]")) return;
    event.preventDefault();
    act();
  }

  /** To the next passage without a source, from where the focus is, or from the last one that was stepped to. */
  step(by) {
    const focused = this.gaps.findIndex(({ group, at }) => group.gapButtons[at] === document.activeElement);
    const next = neighbour(this.gaps, focused >= 0 ? focused : this.gaps.indexOf(this.stepped), by);
    if (!next) return announce(`No ${by > 0 ? "further" : "earlier"} passage without a source.`);
    this.stepped = next;
    next.group.show();
    const button = next.group.gapButtons[next.at];
    button.focus({ preventScroll: true });
    this.bring(button);
  }

  /** Scroll to an element, and again once the groups around it are drawn: until then, their heights are estimates.
   * @param {Element} element @param {number} [times] */
  bring(element, times = 3) {
    if (!element.isConnected || document.activeElement !== element) return;
    element.scrollIntoView({ block: "center" });
    if (times > 1) requestAnimationFrame(() => setTimeout(() => this.bring(element, times - 1)));
  }

  stepGroup(by) {
    const focused = document.activeElement.closest(".chart-group");
    const next = neighbour(this.groups, this.groups.findIndex(({ root }) => root === focused), by)?.root;
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.ended.abort();
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
    delete this.root.dataset.complete;
    fill(this.root);
  }
}

/** What comes after or before a place in a list; without a place, the first or the last. */
const neighbour = (list, at, by) => list[at < 0 && by < 0 ? list.length - 1 : at + by];

function legend() {
  const kinds = KINDS.map(({ kind, sign, help }) => el("li", { class: kindClass(kind) }, el("span", { class: "sign" }, sign), " ", el("strong", {}, kind), `: ${help}`));
  return el("ul", { class: "chart-legend", "aria-label": "What the marks mean" }, kinds,
    el("li", {}, el("span", { class: "gap-sample" }, "marked like this"), ": nobody covers it"),
    el("li", {}, "Each lane on the left is a source, the best result first; grey is boilerplate"));
}
