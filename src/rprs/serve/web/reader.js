/**
 * A document of the collection on its own.
 * @module
 */

import { Blocks } from "./blocks.js";
import { el, icon } from "./dom.js";
import { titleOf } from "./facts.js";
import { plural, wordCount } from "./format.js";
import { displayName } from "./query.js";
import { layOut, unitsOf } from "./text.js";

/**
 * @param {HTMLElement} root
 * @param {{id: string, title: string, text: string, metadata: Record<string, unknown>}} stored
 * @param {{back: () => void, more: () => void, address: string, at?: [number, number] | null}} on `at`: a passage to show, in code points
 */
export function showReader(root, stored, on) {
  const layout = layOut({ ...stored, spans: [], paragraphs: [] });
  const passage = on.at ? on.at.map(unitsOf(layout.text)) : [0, 0];
  const paragraphs = (block) => block.items.map(({ parts }) => el("p", {}, parts.flatMap((part) => marked(layout.text, part, passage))));
  const blocks = new Blocks(layout.blocks, paragraphs);
  layout.blocks.forEach((_, number) => blocks.fill(number));
  const more = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    on.more();
  };
  const back = el("button", { type: "button", class: "button small back", "aria-keyshortcuts": "Escape", on: { click: on.back } }, icon("right"), "Back");
  root.replaceChildren(
    el("div", { class: "reader-top" }, back, el("a", { class: "button small", id: "reader-more", href: on.address, on: { click: more } }, "More like this")),
    el("h1", { tabindex: "-1", id: "reader-title" }, displayName(stored)),
    el("p", { class: "summary" }, plural(wordCount(stored.text), "word")),
    titleOf("", stored, []),
    el("div", { class: "reader-text" }, blocks.chapters));
  root.addEventListener("keydown", ({ key }) => key === "Escape" && on.back());
  root.querySelector("h1").focus({ preventScroll: true });
  const bring = () => root.querySelector("mark")?.scrollIntoView({ block: "center" });
  bring();
  requestAnimationFrame(bring); // the texts above may be higher than was estimated
}

/** A part of the text, with what it has of the passage marked. */
function marked(text, { start, end }, passage) {
  const [from, to] = passage.map((offset) => Math.min(Math.max(offset, start), end));
  return [text.slice(start, from), from < to && el("mark", {}, text.slice(from, to)), text.slice(to, end)];
}
