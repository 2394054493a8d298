/**
 * Export of the results in five formats, of a coverage chart in two and of a matter in four, and a link to the search.
 * @module
 */

import { announce, el, icon } from "./dom.js";

const FORMATS = [
  ["csv", "CSV", "for a spreadsheet"],
  ["jsonl", "JSON lines", "with matches and settings"],
  ["trec", "TREC run", "for evaluation"],
  ["ris", "RIS", "for Zotero, EndNote, Citavi"],
  ["bibtex", "BibTeX", "for LaTeX"],
];

const CHART_FORMATS = [
  ["docx", "Word", "a chart to edit and to hand over"],
  ["csv", "CSV", "for a spreadsheet"],
];

const MATTER_FORMATS = [
  ["docx", "Word", "to edit and to hand over"],
  ["html", "HTML", "to read in a browser"],
  ["md", "Markdown", "plain text"],
  ["csv", "CSV", "for a spreadsheet"],
];

const NO_LINK = "No link available: pasted and uploaded text is never put into an address.";

/** Save a file as a download. @param {{name: string, blob: Blob}} file */
export function download({ name, blob }) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A menu button with the formats of results. @param {(format: string) => Promise<void>} exportAs */
export const exportMenu = (exportAs) => menuOf("export", "Export", "Export the results as", FORMATS, exportAs);

/** A menu button with the formats of a coverage chart. @param {(format: string) => Promise<void>} exportAs */
export const chartMenu = (exportAs) => menuOf("export-chart", "Export chart", "Export the chart as", CHART_FORMATS, exportAs);

/** A menu button with the formats of a matter. @param {(format: string) => Promise<void>} exportAs */
export const matterMenu = (exportAs) => menuOf("export-matter", "Export matter", "Export the matter as", MATTER_FORMATS, exportAs);

/**
 * @param {string} id @param {string} caption @param {string} label of the menu
 * @param {string[][]} formats
 * @param {(format: string) => Promise<void>} exportAs
 */
function menuOf(id, caption, label, formats, exportAs) {
  const items = formats.map(([format, name, use]) => el("li", { role: "none" },
    el("button", { type: "button", role: "menuitem", tabindex: "-1", dataset: { format } },
      el("span", {}, name), el("span", { class: "hint" }, use))));
  const menu = el("ul", { role: "menu", class: "menu", id: `${id}-menu`, "aria-label": label, hidden: true }, items);
  const state = { "aria-haspopup": "menu", "aria-expanded": "false", "aria-controls": `${id}-menu` };
  const button = el("button", { type: "button", class: "button", id, ...state }, icon("save"), caption);
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
    await exportAs(format);
  });
  box.addEventListener("focusout", ({ relatedTarget }) => {
    if (!box.contains(relatedTarget)) open(false);
  });
  return box;
}

/**
 * A button that copies the link; without a link it is disabled and shows why.
 * @param {string | null} address
 */
export function linkButton(address) {
  const caption = el("span", {}, "Copy link");
  const state = address ? {} : { "aria-disabled": "true", title: NO_LINK, "aria-describedby": "no-link" };
  const button = el("button", { type: "button", class: "button", id: "copy-link", ...state }, icon("link"), caption);
  button.addEventListener("click", async () => {
    if (!address) return announce(NO_LINK);
    const done = await copied(new URL(address, location.href).href);
    const message = done ? "Link copied" : "The browser does not allow copying: copy the address of this page";
    caption.textContent = message;
    announce(message);
    setTimeout(() => (caption.textContent = "Copy link"), 2500);
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
