/**
 * Troubles in plain words, with what to do about them.
 * @module
 */

import { el, fill } from "./dom.js";

/**
 * Show what went wrong in `root`; nothing for a question that the person gave up.
 * @param {Element} root
 * @param {any} error
 * @param {{index: string, again?: () => void}} how the index's name, and what "Try again" does, where that can help
 */
export function showTrouble(root, error, { index, again }) {
  if (error.name === "AbortError") return fill(root);
  const final = error.passing === false;
  const dismiss = () => fill(root);
  fill(root, el("div", { class: "notice", role: "alert" },
    el("p", {}, sentence(error)),
    error.unreachable && el("p", {}, "Start it again with: ", el("code", {}, `rprs serve ${index || "INDEX"}`)),
    again && !final && el("p", { class: "notice-actions" },
      el("button", { type: "button", class: "button", on: { click: () => (dismiss(), again()) } }, "Try again"),
      el("span", { class: "hint" }, "Nothing that you entered is lost."))));
  root.scrollIntoView({ block: "nearest" });
}

/** A list of remarks. @param {Element} root @param {string[]} lines */
export function showLines(root, lines) {
  fill(root, lines.map((line) => el("li", {}, line)));
}

/** What an error says to a person: a fault of this page is not shown raw. */
function sentence(error) {
  if (typeof error.status === "number") return error.message;
  console.error(error);
  return "The page met an error of its own. Reloading it may help.";
}
