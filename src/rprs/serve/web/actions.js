/**
 * What can be taken away from the aligned view, and its keys.
 * @module
 */

import { el, icon } from "./dom.js";

const KEYS = [
  ["j", "next match"],
  ["k", "previous match"],
  ["n", "next passage that nothing matched"],
  ["p", "previous passage that nothing matched"],
  ["Enter", "on a number: go to its partner in the other text"],
  ["Esc", "back to the list"],
];

/**
 * A button that copies the address of the view.
 * @param {string} link
 * @param {(words: string) => void} say to screen readers
 */
export function linkButton(link, say) {
  const button = el("button", { type: "button", class: "quiet small" }, icon("link"), el("span", {}, "Copy link"));
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(link);
      button.lastChild.textContent = "Copied";
      say("The link is copied.");
    } catch {
      const field = el("input", { type: "text", readonly: true, value: link, "aria-label": "Link to this view" });
      button.replaceWith(field); // the browser does not let the page copy, so the reader does
      field.select();
    }
  });
  return button;
}

/** A button that makes the report, once at a time.
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

/** A fold that lists the keys. */
export function keysFold() {
  const lines = KEYS.map(([key, words]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, words)));
  return el("details", { class: "aligned-keys" }, el("summary", { class: "quiet small" }, "Keys"), el("dl", {}, lines));
}
