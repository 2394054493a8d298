/**
 * Passages of the whole collection that are like a selected text: a panel over the page.
 * @module
 */

import * as api from "./api.js";
import { isTyping } from "./actions.js";
import { announce, el, fill, icon } from "./dom.js";
import { download } from "./export.js";
import { collectionLine } from "./facts.js";
import { conditionCount } from "./filter-text.js";
import { asText, count, flat, plural, wordCount } from "./format.js";
import { readerAddress } from "./history.js";
import { kindClass, KINDS } from "./kinds.js";
import { showError } from "./notice.js";
import { kindLabel } from "./partner.js";
import { onOneLine, sentPassage } from "./passage.js";
import { displayName } from "./query.js";
import { currentMatch, LONGEST, selected, watchSelection } from "./selection.js";

/** @typedef {import("./selection.js").Selected} Selected */

const STEP = 20; // passages, and as many more each time
const MOST = 200;
const CHARACTERS = 20_000; // of a passage; the server refuses longer ones, too
const CONTEXTS = [0, 1, 2, 3, 5];

/**
 * @param {any} info of the index
 * @param {{current: () => any, options: (choice: any) => any, read: (id: string, at: [number, number]) => void}} on `current` is the
 *   view of the page; `options` are the filters of a search
 */
export function passagesPanel(info, on) {
  const parts = layPanel();
  const { dialog, field, hint, message, list, summary, tools, more } = parts;
  /** @type {Selected["from"]} */
  let from = null;
  let k = STEP;
  let running = new AbortController();
  const dated = info.fields.filter(({ kind }) => kind === "date").map(({ name }) => name);
  let opener = null; // what had the focus before
  let resumeAt = ""; // the address of the page beneath, while a document is read
  const watch = watchSelection(open, () => (dialog.open ? dialog : document.body));

  function request() {
    const entry = on.current().entry;
    const search = entry && parts.filters.checked ? on.options(entry.choice) : {};
    const seeds = entry?.answer?.query.seeds ?? [];
    const own = from === "query" ? seeds.filter(({ indexed }) => indexed).map(({ id }) => id) : from ? [from.id] : [];
    return {
      text: field.value, k, where: search.where ?? null, before: search.before ?? null, undated: search.undated ?? "keep",
      metadata: search.before ? seeds.find(({ metadata }) => metadata[search.before])?.metadata ?? {} : {},
      exclude: parts.without.checked ? own : [], kinds: parts.kinds.filter(isPressed).map(({ dataset }) => dataset.kind),
      context: Number(parts.context.value), boilerplate: parts.boilerplate.checked,
    };
  }

  /** Open the panel for a text. @param {Selected} selection */
  function open(selection) {
    watch.hide();
    const isLong = selection.text.length > LONGEST; // a field with that much would hold up the page
    field.value = isLong ? "" : selection.text;
    from = selection.from;
    k = STEP;
    const { entry } = on.current();
    const conditions = entry ? conditionCount(entry.choice.filter) : 0;
    parts.filters.closest("label").hidden = !conditions;
    parts.without.closest("label").hidden = !request().exclude.length && parts.without.checked;
    show();
    find(isLong ? problemOf(selection.text) : "");
  }

  function show() {
    if (!dialog.open) {
      opener = document.activeElement;
      document.body.append(dialog);
      dialog.showModal();
    }
    dialog.scrollTop = 0;
    parts.title.focus();
  }

  /** Find the passages of the text in the field. @param {string} [refusal] why there is none in it */
  async function find(refusal = "") {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    fill(message);
    describeField();
    const problem = refusal || problemOf(field.value);
    if (problem) return fail(problem);
    list.setAttribute("aria-busy", "true");
    fill(message, el("p", { class: "hint", role: "status" }, `Comparing with ${plural(info.sentences, "sentence")} …`));
    try {
      const answer = await api.passages(request(), { signal, onEvent: () => {} });
      if (!signal.aborted) draw(answer);
    } catch (error) {
      if (signal.aborted) return;
      clear();
      showError(message, error, { index: info.index, again: () => find() });
    } finally {
      if (!signal.aborted) list.removeAttribute("aria-busy");
    }
  }

  function fail(text) {
    clear();
    list.removeAttribute("aria-busy");
    fill(message, el("p", { class: "notice", role: "alert" }, text));
  }

  function clear() {
    fill(list);
    fill(summary);
    tools.hidden = more.hidden = true;
  }

  function draw({ hits, total, compared, seconds, notes }) {
    const time = Object.values(seconds).reduce((sum, value) => sum + value, 0);
    fill(message, notes.length > 0 && el("ul", { class: "notes" }, notes.map((note) => el("li", {}, note))));
    fill(list, hits.map((hit) => hitItem(hit, dated, follow)));
    const found = hits.length ? `Top ${count(hits.length)} of ${plural(total, "passage")}` : "No passage is similar enough";
    fill(summary, found, compared > 0 && ` · ${plural(compared, "sentence")} compared in ${time.toFixed(time < 10 ? 1 : 0)} s`);
    tools.hidden = !hits.length;
    more.hidden = hits.length >= total || k >= MOST;
    announce(found);
  }

  /** Read a passage in its document; "Back" leads to the panel again. */
  function follow(event, id, at) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    resumeAt = location.href;
    dialog.close();
    on.read(id, at);
  }

  function describeField() {
    const source = from === "query" ? "from your document" : from ? `from ${from.id}` : "";
    fill(hint, [plural(wordCount(field.value), "word"), source].filter(Boolean).join(" "));
  }

  async function save(format) {
    try {
      download(await api.exportedPassages({ ...request(), format }));
    } catch (error) {
      showError(message, error, { index: info.index, again: () => save(format) });
    }
  }

  parts.form.addEventListener("submit", (event) => (event.preventDefault(), (k = STEP), find()));
  parts.form.addEventListener("change", ({ target }) => target !== field && find());
  field.addEventListener("input", describeField);
  field.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && parts.form.requestSubmit());
  parts.kinds.forEach((button) => button.addEventListener("click", () => {
    const last = isPressed(button) && parts.kinds.filter(isPressed).length === 1;
    if (last) return announce("At least one kind of match is needed");
    button.setAttribute("aria-pressed", String(!isPressed(button)));
    find();
  }));
  more.addEventListener("click", () => ((k = Math.min(k + STEP, MOST)), find()));
  tools.addEventListener("click", ({ target }) => target.closest("button")?.dataset.format && save(target.closest("button").dataset.format));
  parts.close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", ({ target, clientX }) => target === dialog && clientX < dialog.getBoundingClientRect().left && dialog.close()); // the backdrop
  dialog.addEventListener("close", () => (running.abort(), dialog.remove(), opener?.focus?.({ preventScroll: true })));
  document.addEventListener("keydown", (event) => {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.code !== "KeyP") return;
    event.preventDefault();
    const typing = isTyping(event.target) && !event.target.matches("#search textarea");
    open((typing ? null : selected() ?? currentMatch()) ?? { text: dialog.open ? field.value : "", from: null });
  });
  document.addEventListener("click", ({ target }) => {
    const button = target instanceof Element && target.closest("button.passages-like");
    if (button) open({ text: button.dataset.passage, from: { id: button.closest("[data-id]").dataset.id } });
  });
  return {
    open,
    /** After a step through the history: show the panel again where it was left, or close it. */
    resume() {
      if (resumeAt && resumeAt === location.href) show();
      else if (dialog.open) dialog.close();
      resumeAt = "";
    },
  };
}

const isPressed = (button) => button.getAttribute("aria-pressed") === "true";

/** Why a text cannot be looked for, if it cannot. @param {string} text */
function problemOf(text) {
  let size = 0;
  for (const _ of text) size += 1; // code points, as the server counts them
  if (size > CHARACTERS) return `The passage has ${count(size)} characters; at most ${count(CHARACTERS)} are compared. Select less, or search with the whole document.`;
  return /[\p{L}\p{N}]/u.test(text) ? "" : "Nothing is selected. Select some text on the page, or type a passage above.";
}

// ---------------------------------------------------------------------------- layout

function layPanel() {
  const title = el("h2", { id: "passages-title", tabindex: "-1" }, "Passages like this");
  const close = el("button", { type: "button", class: "quiet square", "aria-label": "Close" }, icon("close"));
  const field = el("textarea", { id: "passage-text", rows: "4", spellcheck: "false", autocomplete: "off", "aria-describedby": "passage-hint" });
  const hint = el("p", { class: "hint", id: "passage-hint" });
  const kinds = KINDS.map(({ kind, sign, help }) => el("button", { type: "button", class: `kind-toggle ${kindClass(kind)}`, "aria-pressed": "true", title: help, dataset: { kind } },
    el("span", { class: "sign", "aria-hidden": "true" }, sign), kind[0].toUpperCase() + kind.slice(1)));
  const context = el("select", { id: "passage-context" }, CONTEXTS.map((size) => el("option", { value: size, selected: size === 1 }, size ? plural(size, "sentence") : "None")));
  const [without, filters, boilerplate] = ["passages-without", "passages-filters", "passages-boilerplate"].map((id) => el("input", { type: "checkbox", role: "switch", id, checked: true }));
  const form = el("form", { novalidate: true },
    el("label", { for: "passage-text" }, "Passage"), field,
    el("div", { class: "passages-submit" }, hint, el("button", { type: "submit", class: "button small" }, icon("find"), "Find")),
    el("div", { class: "passages-options" },
      el("div", { class: "group", role: "group", "aria-label": "Kinds of match" }, kinds),
      el("label", { class: "passages-context" }, "Context ", context),
      labelled(without, "Leave out the document it comes from"), labelled(filters, "Use the filters of this search"), labelled(boilerplate, "Include boilerplate")));
  const summary = el("p", { class: "summary" });
  const tools = el("div", { class: "passages-export", role: "group", "aria-label": "Export the passages as", hidden: true },
    [["csv", "CSV"], ["jsonl", "JSON lines"]].map(([format, name]) => el("button", { type: "button", class: "button small", dataset: { format } }, icon("save"), name)));
  const message = el("div", { class: "passages-message" });
  const list = el("ol", { class: "passage-hits", "aria-label": "Passages" });
  const more = el("button", { type: "button", class: "button", hidden: true }, "Show more");
  const dialog = el("dialog", { id: "passages", "aria-labelledby": "passages-title" },
    el("div", { class: "passages-head" }, title, close), form, message, el("div", { class: "passages-bar" }, summary, tools), list, more);
  return { dialog, title, close, form, field, hint, kinds, context, without, filters, boilerplate, summary, tools, message, list, more };
}

const labelled = (input, words) => el("label", { class: "switch", for: input.id }, input, el("span", {}, words));

/** A passage in its context. */
function hitItem(hit, dated, follow) {
  const { pair, sentences: [first, last] } = hit;
  const place = first === last ? `sentence ${count(first)} of ${count(hit.of)}` : `sentences ${count(first)}–${count(last)} of ${count(hit.of)}`;
  const at = pair.document_span;
  const name = displayName(hit);
  const link = el("a", { href: readerAddress(hit.id, at), on: { click: (event) => follow(event, hit.id, at) } }, name);
  const date = dated.map((field) => flat(asText(hit.metadata[field]))).find(Boolean);
  const words = [name !== hit.id && hit.id, date, place].filter(Boolean);
  return el("li", { class: `passage-hit ${kindClass(pair.kind)}${pair.boilerplate ? " common" : ""}`, dataset: { id: hit.id } },
    el("div", { class: "passage-where" }, el("h3", {}, link), el("p", { class: "hint" }, words.join(" · ")), collectionLine(hit)),
    el("p", { class: "passage-kind" }, kindLabel(pair), pair.boilerplate && el("span", { class: "hint" }, "boilerplate")),
    el("blockquote", { class: "quote" }, el("span", { class: "context" }, onOneLine(hit.before)), el("mark", {}, sentPassage(pair, "document")), el("span", { class: "context" }, onOneLine(hit.after))),
    pair.kind === "reworded" && el("p", { class: "passage-yours" }, el("span", { class: "caption" }, "Yours: "), sentPassage(pair, "query")));
}
