/**
 * Marks that steer a search: results that are relevant or not, and sentences of the query that matter or do not.
 * @module
 */

import { el, icon } from "./dom.js";
import { count, plural } from "./format.js";
import { displayName } from "./query.js";

/**
 * @typedef {{id: string, title: string}} Marked a document
 * @typedef {[number, number]} Span of the query's text, in code points
 * @typedef {{like: Marked[], unlike: Marked[], key: Span[], ignore: Span[]}} Marks
 */

/** @type {Marks} */
export const NO_MARKS = { like: [], unlike: [], key: [], ignore: [] };

/** The marks of a choice. @param {{marks?: Marks}} choice @returns {Marks} */
export const marksOf = ({ marks }) => marks ?? NO_MARKS;

/** The fields of a request. @param {Marks} marks */
export function requestOf({ like, unlike, key, ignore }) {
  const fields = { like: like.map(({ id }) => id), unlike: unlike.map(({ id }) => id), key, ignore };
  return Object.fromEntries(Object.entries(fields).filter(([, values]) => values.length));
}

/** The marks with a document marked as `kind`, or not marked any more. @param {Marks} marks @param {"like" | "unlike"} kind @param {Marked} document */
export function withDocument(marks, kind, { id, title }) {
  const others = { like: marks.like.filter((each) => each.id !== id), unlike: marks.unlike.filter((each) => each.id !== id) };
  const was = marks[kind].length !== others[kind].length;
  return { ...marks, ...others, ...(was ? {} : { [kind]: [...others[kind], { id, title }] }) };
}

/** The buttons of a result. @param {Marked} hit @param {string} name @param {(kind: "like" | "unlike") => void} mark */
export const markButtons = (hit, name, mark) => el("span", { class: "mark-buttons", role: "group", "aria-label": `Mark ${name}` },
  el("button", { type: "button", class: "quiet small mark-like", "aria-label": `Relevant: ${name}`, title: "Find more like it: it joins your query", on: { click: () => mark("like") } }, "Relevant"),
  el("button", { type: "button", class: "quiet small mark-unlike", "aria-label": `Not relevant: ${name}`, title: "Leave it out", on: { click: () => mark("unlike") } }, "Not relevant"));

/**
 * The marks of a search above its results.
 * @param {Marks} marks
 * @param {{remove: (kind: "like" | "unlike", document: Marked) => void, sentences: () => void, clear: () => void, open: (id: string) => void}} on
 */
export function marksBar(marks, on) {
  const documents = marks.like.length + marks.unlike.length;
  const sentences = [marks.key.length && `${count(marks.key.length)} key`, marks.ignore.length && `${count(marks.ignore.length)} ignored`].filter(Boolean).join(", ");
  return el("section", { class: "marks", id: "marks", "aria-label": "Marks" },
    group("Relevant", "like", marks.like, on),
    group("Not relevant", "unlike", marks.unlike, on),
    el("p", { class: "marks-tools" },
      el("button", { type: "button", class: "button small", id: "mark-sentences", on: { click: on.sentences } }, icon("text"),
        sentences ? `Sentences of your document: ${sentences}` : "Mark sentences of your document"),
      documents + marks.key.length + marks.ignore.length > 0 && el("button", { type: "button", class: "quiet small", id: "clear-marks", on: { click: on.clear } }, "Clear marks")));
}

function group(words, kind, documents, on) {
  if (!documents.length) return null;
  const chip = (each) => el("li", { class: `marked ${kind}`, dataset: { id: each.id } },
    el("button", { type: "button", class: "linklike", on: { click: () => on.open(each.id) } }, displayName(each)),
    el("button", { type: "button", class: "quiet square remove-mark", "aria-label": `Remove the mark “${words}” from ${displayName(each)}`, on: { click: () => on.remove(kind, each) } }, icon("close")));
  return el("div", { class: "marks-group" }, el("h2", {}, words), el("ul", {}, documents.map(chip)));
}

// ---------------------------------------------------------------------------- sentences

const PAGE = 200; // sentences that are listed at a time

/**
 * A dialog with the sentences of the query, each with two switches.
 * @param {{text: string, spans: Span[]}} query
 * @param {Marks} marks
 * @param {(key: Span[], ignore: Span[]) => void} apply
 */
export function sentencesDialog({ text, spans }, marks, apply) {
  const points = Array.from(text);
  const covers = (ranges, [start, end]) => ranges.some(([from, to]) => from < end && start < to);
  const state = spans.map((span) => (covers(marks.key, span) ? "key" : covers(marks.ignore, span) ? "ignore" : ""));
  const list = el("ol", { class: "sentence-marks" });
  const more = el("button", { type: "button", class: "button small", on: { click: () => show() } });
  const row = (span, number) => {
    const choices = ["key", "ignore"].map((kind) => el("button", {
      type: "button", class: `small ${kind}`, "aria-pressed": String(state[number] === kind), "aria-describedby": `sentence-${number}`,
      on: { click: ({ currentTarget }) => toggle(number, kind, currentTarget.closest("li")) } }, kind === "key" ? "Key" : "Ignore"));
    return el("li", { dataset: { state: state[number] } }, el("span", { class: "sentence-choices" }, choices), el("span", { id: `sentence-${number}`, class: "sentence-text" }, points.slice(...span).join("")));
  };
  function toggle(number, kind, item) {
    state[number] = state[number] === kind ? "" : kind;
    item.dataset.state = state[number];
    for (const button of item.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.classList.contains(state[number] || "none")));
  }
  function show() {
    const from = list.children.length;
    list.append(...spans.slice(from, from + PAGE).map((span, place) => row(span, from + place)));
    const left = spans.length - list.children.length;
    more.hidden = left <= 0;
    more.textContent = `Show more (${plural(left, "sentence")} left)`;
    if (from) list.children[from].querySelector("button").focus();
  }
  const dialog = el("dialog", { class: "work-dialog", id: "sentences-dialog", "aria-labelledby": "sentences-title" },
    el("h2", { id: "sentences-title" }, "Which sentences matter?"),
    el("p", { class: "hint" }, "Key sentences count more in the ranking, ignored ones not at all. Matches are shown for the whole document."),
    el("div", { class: "sentence-scroll", tabindex: "0", role: "region", "aria-label": "Sentences" }, list, more),
    el("div", { class: "dialog-actions" },
      el("button", { type: "button", class: "primary", id: "apply-sentences", on: { click: () => done() } }, "Apply"),
      el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Cancel")));
  const done = () => {
    dialog.close();
    const chosen = (kind) => spans.filter((_, number) => state[number] === kind);
    apply(chosen("key"), chosen("ignore"));
  };
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  show();
  dialog.showModal();
}
