/**
 * Error messages with advice.
 * @module
 */

import { el, fill } from "./dom.js";

/**
 * Show an error in `root`; nothing for a search that the user cancelled.
 * @param {Element} root
 * @param {any} error
 * @param {{index: string, again?: () => void}} options the name of the index, and the action of "Try again"
 */
export function showError(root, error, { index, again }) {
  if (error.name === "AbortError") return fill(root);
  const final = error.temporary === false;
  const dismiss = () => fill(root);
  fill(root, el("div", { class: "notice", role: "alert" },
    el("p", {}, messageOf(error)),
    error.unreachable && el("p", {}, "Start it again with: ", el("code", {}, `rprs serve ${index || "INDEX"}`)),
    again && !final && el("p", { class: "notice-actions" },
      el("button", { type: "button", class: "button", on: { click: () => (dismiss(), again()) } }, "Try again"),
      el("span", { class: "hint" }, "Your input is kept."))));
  root.scrollIntoView({ block: "nearest" });
}

/** A list of messages. @param {Element} root @param {string[]} lines */
export function showLines(root, lines) {
  fill(root, lines.map((line) => el("li", {}, line)));
}

/** The message for the user; internal errors go to the console. */
function messageOf(error) {
  if (typeof error.status === "number") return error.message;
  console.error(error);
  return "Something went wrong in the web interface. Reloading the page may help.";
}
