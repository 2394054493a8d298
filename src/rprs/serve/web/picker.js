/**
 * "More like this": a combobox over the documents of the index.
 * @module
 */

import { findDocuments } from "./api.js";
import { byId, el, fill } from "./dom.js";
import { called } from "./query.js";
import { count } from "./words.js";

const PAUSE = 150; // milliseconds after the last key

/**
 * @param {(document: {id: string, title: string}) => void} pick
 */
export function documentPicker(pick) {
  const input = byId("find");
  const box = byId("found-box");
  const list = byId("found");
  const note = byId("found-note");
  let found = [];
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
    pick(found[place]);
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

  function show(documents, words) {
    found = documents;
    fill(list, documents.map(option));
    note.textContent = words;
    note.hidden = !words;
    box.hidden = false;
    input.setAttribute("aria-expanded", String(documents.length > 0));
    move(-1);
  }

  async function look() {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    try {
      const { documents, total } = await findDocuments(input.value.trim(), signal);
      if (!signal.aborted) show(documents, remark(documents.length, total));
    } catch (error) {
      if (!signal.aborted) show([], error.message);
    }
  }

  const open = () => !box.hidden && found.length > 0;
  const steps = { ArrowDown: 1, ArrowUp: -1 };

  input.addEventListener("input", () => {
    clearTimeout(timer);
    if (input.value.trim()) timer = setTimeout(look, PAUSE);
    else close();
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key in steps) {
      event.preventDefault();
      if (open()) move((at + steps[event.key] + found.length + (at < 0 && event.key === "ArrowUp" ? 1 : 0)) % found.length);
      else look();
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault(); // Enter never submits from here
      if (open()) choose(Math.max(at, 0));
    } else if (event.key === "Escape" && !box.hidden) {
      event.stopPropagation();
      close();
    }
  });
  input.addEventListener("blur", () => setTimeout(() => document.activeElement !== input && close(), 100)); // unless it is back
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays in the field
  list.addEventListener("click", (event) => {
    const place = [...list.children].indexOf(event.target.closest("[role=option]"));
    if (place >= 0) choose(place);
  });
}

function option({ id, title }, place) {
  const name = called({ id, title });
  return el("li", { role: "option", id: `found-${place}`, "aria-selected": "false" },
    el("span", { class: "option-title" }, name), name !== id && el("span", { class: "option-id" }, id));
}

function remark(shown, total) {
  if (!total) return "No document has these words in its title or id.";
  return shown < total ? `${count(shown)} of ${count(total)}. More words narrow it down.` : "";
}
