/**
 * The text that is selected in the query, the results, the side-by-side view or a document, and a button beside it.
 * @module
 */

import { el, icon } from "./dom.js";

/**
 * @typedef {{text: string, from: {id: string} | "query" | null}} Selected a text, and the document of the collection or the query
 *   that it comes from
 */

const PLACES = "#search textarea, #results, #aligned, #reader, #passages"; // where texts of documents are
const NO_TEXT = ".number, .partner, .caption, .kind-label, .rank, .hit-actions, .metadata, summary, .visually-hidden";
const BLOCKS = "p, li, h1, h2, h3, .pair-side, .quote";
const PAUSE = 150; // milliseconds after the last change of the selection
const WORD = /[\p{L}\p{N}]{2}/u;
/** Characters beyond which a selection is left as it is: it is refused, and tidying ten million takes seconds. */
export const LONGEST = 200_000;

/** What is selected now, or null. @returns {Selected | null} */
export function selected() {
  const field = document.activeElement;
  if (field instanceof HTMLTextAreaElement && field.matches("#search textarea")) {
    const text = field.value.slice(field.selectionStart, field.selectionEnd);
    return WORD.test(text) ? { text: unwrapped(text), from: "query" } : null;
  }
  const selection = getSelection();
  if (!selection?.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  const start = elementOf(range.startContainer);
  if (!start?.closest(PLACES) || !elementOf(range.endContainer)?.closest("body")) return null;
  const text = textOf(range);
  return WORD.test(text) ? { text, from: sourceOf(start) } : null;
}

/** The current match of the side-by-side view, as your document has it. @returns {Selected | null} */
export function currentMatch() {
  const parts = [...document.querySelectorAll(".aligned-side.query [data-pairs].current")].map((part) => {
    const copy = /** @type {Element} */ (part.cloneNode(true));
    copy.querySelectorAll(NO_TEXT).forEach((each) => each.remove());
    return copy.textContent;
  });
  return parts.length ? { text: parts.join(" ").trim(), from: "query" } : null;
}

const elementOf = (node) => (node instanceof Element ? node : node.parentElement);

/** The words of a range, without numbers, labels and buttons of the page; paragraphs stay apart. @param {Range} range */
function textOf(range) {
  const all = range.toString();
  if (all.length > LONGEST) return all;
  const copy = el("div", {}, range.cloneContents());
  copy.querySelectorAll(NO_TEXT).forEach((each) => each.remove());
  copy.querySelectorAll(BLOCKS).forEach((each) => each.append("\n\n"));
  return unwrapped(copy.textContent);
}

/** A text without the line breaks and indents of its layout; paragraphs stay apart. @param {string} text */
const unwrapped = (text) => (text.length > LONGEST ? text : text.trim().split(/\s*\n\s*\n\s*/u).map((paragraph) => paragraph.replace(/\s+/gu, " ")).join("\n\n"));

/** @param {Element} place @returns {Selected["from"]} */
function sourceOf(place) {
  if (place.closest("#reader")) return { id: new URLSearchParams(location.search).get("read") };
  if (place.closest(".aligned-side.query, .pair-side:first-of-type")) return "query";
  const result = place.closest(".aligned-side.document") ? document.querySelector(".aligned")?.dataset.id : place.closest("[data-id]")?.dataset.id;
  return result ? { id: result } : null;
}

/**
 * Show a button beside what is selected.
 * @param {(selection: Selected) => void} act
 * @param {() => Element} home the element that the button belongs to: an open dialog makes everything else inert
 */
export function watchSelection(act, home) {
  const button = el("button", { type: "button", id: "find-passages", class: "primary", "aria-keyshortcuts": "Alt+P", hidden: true },
    icon("find"), el("span", {}, "Find passages like this"), el("kbd", { "aria-hidden": "true" }, "Alt+P"));
  let timer = 0;

  function show() {
    const root = home();
    const now = root === document.body || root.contains(getSelection().anchorNode) ? selected() : null;
    button.hidden = !now;
    if (!now) return;
    root.append(button);
    place(button);
  }

  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  };
  button.addEventListener("pointerdown", (event) => event.preventDefault()); // it must not end the selection
  button.addEventListener("click", () => {
    const now = selected();
    button.hidden = true;
    if (now) act(now);
  });
  document.addEventListener("selectionchange", later);
  document.addEventListener("select", later, true); // in a text field
  document.addEventListener("scroll", later, { capture: true, passive: true });
  addEventListener("resize", later);
  return { hide: () => (clearTimeout(timer), (button.hidden = true)) };
}

/** Below the end of the selection, or above its beginning, within the window. @param {HTMLElement} button */
function place(button) {
  const field = document.activeElement?.matches("#search textarea") ? document.activeElement : null;
  const lines = field ? [field.getBoundingClientRect()] : [...getSelection().getRangeAt(0).getClientRects()].filter(({ width }) => width > 0);
  if (!lines.length) return;
  const [first, last] = [lines[0], lines.at(-1)];
  const { offsetWidth: width, offsetHeight: height } = button;
  const below = last.bottom + 8;
  const top = below + height < innerHeight - 8 ? below : first.top - height - 8;
  button.style.left = `${Math.max(8, Math.min(last.right - width / 2, innerWidth - width - 8))}px`;
  button.style.top = `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`;
}
