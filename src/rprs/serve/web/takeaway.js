/**
 * Taking a list away: files in five formats, and the link of an indexed query.
 * @module
 */

import { announce, el, icon } from "./dom.js";

const FORMATS = [
  ["csv", "CSV", "for a spreadsheet"],
  ["jsonl", "JSON lines", "with sentence pairs and settings"],
  ["trec", "TREC run", "for evaluation"],
  ["ris", "RIS", "for Zotero, EndNote, Citavi"],
  ["bibtex", "BibTeX", "for LaTeX"],
];

const NO_LINK = "No link: pasted and uploaded text never becomes part of an address.";

/** Hand a file to the browser's downloads. @param {{name: string, blob: Blob}} file */
export function download({ name, blob }) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/**
 * A menu button with the formats.
 * @param {(format: string) => Promise<void>} take
 */
export function takeAwayMenu(take) {
  const items = FORMATS.map(([format, name, use]) => el("li", { role: "none" },
    el("button", { type: "button", role: "menuitem", tabindex: "-1", dataset: { format } },
      el("span", {}, name), el("span", { class: "hint" }, use))));
  const menu = el("ul", { role: "menu", class: "menu", id: "take-away-menu", "aria-label": "Take the list away as", hidden: true }, items);
  const state = { "aria-haspopup": "menu", "aria-expanded": "false", "aria-controls": "take-away-menu" };
  const button = el("button", { type: "button", class: "button", id: "take-away", ...state }, icon("save"), "Take away");
  const box = el("div", { class: "menu-box" }, button, menu);
  const choices = items.map((item) => item.firstElementChild);

  function open(yes, focus = yes ? choices[0] : null) {
    menu.hidden = !yes;
    button.setAttribute("aria-expanded", String(yes));
    focus?.focus();
  }

  function move(event) {
    const at = choices.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 + choices.length, Home: 0, End: choices.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choices[next % choices.length].focus();
  }

  button.addEventListener("click", () => open(menu.hidden));
  button.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    open(true);
  });
  menu.addEventListener("keydown", (event) => (event.key === "Escape" ? open(false, button) : move(event)));
  menu.addEventListener("click", async (event) => {
    const { format } = event.target.closest("button")?.dataset ?? {};
    if (!format) return;
    open(false, button);
    await take(format);
  });
  box.addEventListener("focusout", ({ relatedTarget }) => {
    if (!box.contains(relatedTarget)) open(false);
  });
  return box;
}

/**
 * A button that copies the link; without one it is disabled and the reason beside it.
 * @param {string | null} address
 */
export function linkButton(address) {
  const words = el("span", {}, "Copy link");
  const state = address ? {} : { "aria-disabled": "true", title: NO_LINK, "aria-describedby": "no-link" };
  const button = el("button", { type: "button", class: "button", id: "copy-link", ...state }, icon("link"), words);
  button.addEventListener("click", async () => {
    if (!address) return announce(NO_LINK);
    const done = await copied(new URL(address, location.href).href);
    const said = done ? "Link copied" : "Not allowed: copy the address of this page";
    words.textContent = said;
    announce(said);
    setTimeout(() => (words.textContent = "Copy link"), 2500);
  });
  return address ? [button] : [button, el("p", { id: "no-link", class: "hint" }, NO_LINK)];
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
