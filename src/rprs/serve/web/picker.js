/**
 * A combobox to pick a document from the index.
 * @module
 */

import { findDocuments } from "./api.js";
import { byId, el, fill } from "./dom.js";
import { displayName } from "./query.js";
import { count } from "./format.js";

const PAUSE = 150; // milliseconds after the last key

/**
 * @param {(document: {id: string, title: string}) => void} pick
 */
export function documentPicker(pick) {
  const input = byId("find");
  const box = byId("options-box");
  const list = byId("options");
  const note = byId("options-note");
  let documents = [];
  let at = -1;
  let timer = 0;
  let request = new AbortController();

  function close() {
    clearTimeout(timer);
    request.abort();
    box.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function choose(place) {
    pick(documents[place]);
    input.value = "";
    close();
    input.focus();
  }

  function move(place) {
    list.children[at]?.setAttribute("aria-selected", "false");
    at = place;
    const option = list.children[at];
    if (!option) return input.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option.id);
  }

  function show(matches, message) {
    documents = matches;
    fill(list, matches.map(option));
    note.textContent = message;
    note.hidden = !message;
    box.hidden = false;
    input.setAttribute("aria-expanded", String(matches.length > 0));
    move(-1);
  }

  async function search() {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    try {
      const { documents: matches, total } = await findDocuments(input.value.trim(), signal);
      if (!signal.aborted) show(matches, noteFor(matches.length, total));
    } catch (error) {
      if (!signal.aborted) show([], error.message);
    }
  }

  const open = () => !box.hidden && documents.length > 0;
  const steps = { ArrowDown: 1, ArrowUp: -1 };

  input.addEventListener("input", () => {
    clearTimeout(timer);
    if (input.value.trim()) timer = setTimeout(search, PAUSE);
    else close();
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key in steps) {
      event.preventDefault();
      if (open()) move((at + steps[event.key] + documents.length + (at < 0 && event.key === "ArrowUp" ? 1 : 0)) % documents.length);
      else search();
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault(); // Enter never submits from here
      if (open()) choose(Math.max(at, 0));
    } else if (event.key === "Escape" && !box.hidden) {
      event.stopPropagation();
      close();
    }
  });
  input.addEventListener("blur", () => setTimeout(() => document.activeElement !== input && close(), 100)); // unless the focus has returned
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays in the field
  list.addEventListener("click", (event) => {
    const place = [...list.children].indexOf(event.target.closest("[role=option]"));
    if (place >= 0) choose(place);
  });
}

function option({ id, title }, place) {
  const name = displayName({ id, title });
  return el("li", { role: "option", id: `option-${place}`, "aria-selected": "false" },
    el("span", { class: "option-title" }, name), name !== id && el("span", { class: "option-id" }, id));
}

function noteFor(shown, total) {
  if (!total) return "No document has these words in its title or ID.";
  return shown < total ? `${count(shown)} of ${count(total)}. Add words to narrow the list.` : "";
}
