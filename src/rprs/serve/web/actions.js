/**
 * Export, print and keyboard shortcuts of the side-by-side view.
 * @module
 */

import { el, icon } from "./dom.js";
import { scoresOf } from "./facts.js";

const SHORTCUTS = [
  ["j", "next match"],
  ["k", "previous match"],
  ["n", "next unmatched passage"],
  ["p", "previous unmatched passage"],
  ["Alt+P", "passages like the selected text or the current match"],
  ["Enter", "on a number: go to the matching passage"],
  ["Esc", "back to the results"],
];

const DEPENDENT = "Ranks and scores depend on the other documents in this collection.";

/**
 * @param {any} explanation of the answer of /explain
 * @param {{link?: string | null, announce: (message: string) => void, report: () => unknown, print: () => void}} on
 *   `report` may return a promise
 */
export function actionBar(explanation, { link, announce, report, print }) {
  return el("div", { class: "actions" },
    link && linkButton(link, announce),
    reportButton(report),
    el("button", { type: "button", class: "quiet small", on: { click: print } }, icon("print"), el("span", {}, "Print pairs")),
    fold("Technical details", "aligned-scores", scoresOf(explanation), el("p", { class: "hint" }, DEPENDENT)),
    shortcutsFold());
}

/** Whether keys are typed into this element, so that they are not shortcuts. @param {EventTarget | null} target */
export function isTyping(target) {
  return target instanceof Element && target.matches("input:not([type=checkbox], [readonly]), textarea, select, [contenteditable], dialog *, [popover] *");
}

/**
 * A button that copies the address of the view.
 * @param {string} link
 * @param {(message: string) => void} announce to screen readers
 */
function linkButton(link, announce) {
  const button = el("button", { type: "button", class: "quiet small" }, icon("link"), el("span", {}, "Copy link"));
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(link);
      button.lastChild.textContent = "Copied";
      announce("Link copied.");
    } catch {
      const field = el("input", { type: "text", readonly: true, value: link, "aria-label": "Link to this view" });
      button.replaceWith(field); // the browser does not allow copying, so the reader does it
      field.select();
    }
  });
  return button;
}

/** A button that saves the report, one at a time.
 * @param {() => unknown} make may be a promise */
function reportButton(make) {
  const button = el("button", { type: "button", class: "quiet small" }, icon("save"), el("span", {}, "Report"));
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await make();
    } finally {
      button.disabled = false;
    }
  });
  return button;
}

/** A list of keyboard shortcuts, folded. */
function shortcutsFold() {
  const lines = SHORTCUTS.map(([key, words]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, words)));
  return fold("Shortcuts", "aligned-shortcuts", lines);
}

/** @param {string} title @param {string} style @param {Node[]} lines of a list of definitions @param {Node | null} [more] */
function fold(title, style, lines, more = null) {
  return el("details", { class: `aligned-fold ${style}` }, el("summary", { class: "quiet small" }, title), el("div", { class: "aligned-fold-box" }, el("dl", {}, lines), more));
}
