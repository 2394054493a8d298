/**
 * Export, print and keyboard shortcuts of the side-by-side view.
 * @module
 */

import { el, icon } from "./dom.js";

const SHORTCUTS = [
  ["j", "next match"],
  ["k", "previous match"],
  ["n", "next unmatched passage"],
  ["p", "previous unmatched passage"],
  ["Enter", "on a number: go to the matching passage"],
  ["Esc", "back to the results"],
];

/**
 * A button that copies the address of the view.
 * @param {string} link
 * @param {(message: string) => void} announce to screen readers
 */
export function linkButton(link, announce) {
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
export function reportButton(make) {
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

/** @param {() => void} print */
export const printButton = (print) =>
  el("button", { type: "button", class: "quiet small", on: { click: print } }, icon("print"), el("span", {}, "Print pairs"));

/** A list of keyboard shortcuts, folded. */
export function shortcutsFold() {
  const lines = SHORTCUTS.map(([key, words]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, words)));
  return fold("Shortcuts", "aligned-shortcuts", lines);
}

/** @param {string} title @param {string} style @param {Node[]} lines of a list of definitions @param {Node | null} [more] */
export function fold(title, style, lines, more = null) {
  return el("details", { class: `aligned-fold ${style}` }, el("summary", { class: "quiet small" }, title), el("div", { class: "aligned-fold-box" }, el("dl", {}, lines), more));
}
