/**
 * The search form: choose one or more query documents and search.
 * @module
 */

import { announce, byId, el, fill, icon } from "./dom.js";
import { acceptFiles, folderProblem, missingFile, problemWith, typeNames } from "./files.js";
import { filterPanel } from "./filters.js";
import { showLines, showError } from "./notice.js";
import { documentPicker } from "./picker.js";
import { progressLine } from "./progress.js";
import { displayName, isEmpty, EMPTY_QUERY } from "./query.js";
import { keepDraft } from "./stored.js";
import { count, plural, size, wordCount } from "./format.js";

/** @typedef {import("./query.js").Query} Query */
/** @typedef {import("./query.js").Choice} Choice */

const PAUSE = 120; // milliseconds after a key, before the words are counted
const LONG = 500_000; // characters: the layout of a longer text in a field would hold up the page

/**
 * @param {any} info of the index
 * @param {(query: Query, choice: Choice, follow: import("./api.js").Follow) => Promise<void>} search
 * @param {() => void} show called before files are added, to bring this view to the front
 */
export function searchForm(info, search, show) {
  /** @type {Query} */
  let query = EMPTY_QUERY;
  let running = /** @type {AbortController | null} */ (null);
  let timer = 0;
  const { limits } = info;
  const text = byId("text");
  const problems = byId("problems");
  const filters = filterPanel(byId("search-filters"), info, "search-filter", () => {
    title();
    keepDraft(query, filters.choice());
  });

  function title() {
    const conditions = filters.conditions();
    byId("search-options-title").textContent =
      `${plural(filters.choice().k, "result")}, ${conditions ? plural(conditions, "filter") : "no filters"}`;
  }

  function change(next) {
    query = next;
    draw();
  }

  function draw() {
    clearTimeout(timer);
    keepDraft(query, filters.choice());
    const words = wordCount(query.text);
    byId("text-note").textContent = query.text.length > limits.text_characters
      ? `The text has ${plural(query.text.length, "character")}; this server accepts up to ${count(limits.text_characters)}.`
      : words ? plural(words, "word") : "";
    fill(byId("chips"), chips(query, remove));
    byId("seeds").hidden = isEmpty(query);
    byId("clear").hidden = isEmpty(query);
    byId("seeds-title").textContent = byId("chips").children.length > 1 ? "Your documents, combined into one query" : "Your document";
  }

  function remove(next, name) {
    change(next);
    text.value = next.text;
    announce(`${name} removed`);
    (byId("chips").querySelector("button") ?? byId("files")).focus();
  }

  function add(files, folders) {
    show();
    const present = new Set(query.files.map(identity));
    const checked = files.map((file) => ({ file, problem: problemWith(file, info.suffixes, limits) }));
    const fresh = checked.filter(({ file, problem }) => !problem && !present.has(identity(file))).map(({ file }) => file);
    const total = [...query.files, ...fresh].reduce((sum, file) => sum + file.size, 0);
    const messages = [...checked.flatMap(({ problem }) => problem ?? []), ...folders.map(folderProblem)];
    const fits = total <= limits.upload_bytes;
    if (!fits) messages.push(`The files have ${size(total)} in total; this server accepts up to ${size(limits.upload_bytes)} per search.`);
    showLines(problems, messages);
    if (!fits || !fresh.length) return;
    change({ ...query, files: [...query.files, ...fresh] });
    announce(`${fresh.map((file) => file.name).join(", ")} added`);
    byId("submit").focus();
  }

  function pick({ id, title: name }) {
    const present = query.indexed.some((document) => document.id === id);
    if (!present) change({ ...query, indexed: [...query.indexed, { id, title: name }] });
    announce(`${name || id} added`);
  }

  /** Why the search cannot start; null if it can. */
  async function problem() {
    if (isEmpty(query)) return "Choose a document first: drop a file, paste a text, or pick a document from this collection.";
    if (query.text.length > limits.text_characters) return byId("text-note").textContent;
    const name = await missingFile(query.files);
    return name && `${name} can no longer be read because it was moved or changed. Remove it and choose it again.`;
  }

  async function submit() {
    if (running || !filters.applyForm()) return;
    running = new AbortController();
    const { signal } = running;
    const line = progressLine(byId("search-progress"), info.documents, () => running?.abort());
    const where = byId("search-error");
    fill(where);
    busy(true);
    try {
      const message = await problem();
      showLines(problems, message ? [message] : []);
      if (!message) await search(query, filters.choice(), { signal, onEvent: line.onEvent });
    } catch (error) {
      if (!signal.aborted) fail(error, where);
    } finally {
      running = null;
      line.end();
      busy(false);
    }
  }

  function fail(error, where) {
    const control = rejectedControl(error);
    if (control) {
      byId("search-options").open = true;
      filters.showError(error.message, control);
    } else showError(where, error, { index: info.index, again: submit });
  }

  function busy(yes) {
    byId("search-form").setAttribute("aria-busy", String(yes));
    byId("submit").disabled = yes;
    if (!yes && !byId("search").hidden) byId("submit").focus({ preventScroll: true });
  }

  byId("suffixes").textContent = `${typeNames(info.suffixes)}; up to ${size(limits.upload_bytes)}`;
  byId("submit-shortcut").textContent = `${/Mac|iPad|iPhone/u.test(navigator.userAgent) ? "⌘" : "Ctrl"} + Enter`;
  acceptFiles(add);
  documentPicker(pick);
  text.addEventListener("input", () => {
    const toggles = !query.text.trim() !== !text.value.trim(); // redraw at once: a button that moves later would be missed by a click
    query = { ...query, text: text.value };
    clearTimeout(timer);
    if (toggles) draw();
    else timer = setTimeout(draw, PAUSE);
  });
  text.addEventListener("paste", (event) => {
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    if (pasted.length <= LONG) return;
    event.preventDefault();
    add([new File([pasted], "Pasted text.txt", { type: "text/plain" })], []);
  });
  byId("clear").addEventListener("click", () => {
    showLines(problems, []);
    remove(EMPTY_QUERY, "Everything");
  });
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("search-form").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  });
  title();
  byId("search-form").inert = false;

  return {
    /** Put a query into the form. @param {Query} next @param {Choice} choice */
    set(next, choice) {
      showLines(problems, []);
      text.value = next.text;
      filters.set(choice);
      change(next);
      title();
    },
    /** The view is left: cancel a running search. */
    leave: () => running?.abort(),
  };
}

/** The control whose value the server rejected; null for other errors. @param {any} error */
export function rejectedControl({ status, message }) {
  if (status !== 400) return null;
  if (/^The date limit\b/u.test(message)) return "before";
  return /^The filter\b/u.test(message) ? "advanced" : null;
}

const identity = (file) => `${file.name} ${file.size} ${file.lastModified}`;

/** A chip for each query document, which can be removed. @param {Query} query */
function chips(query, remove) {
  const without = (list, item) => list.filter((other) => other !== item);
  const words = (text) => plural(wordCount(text), "word");
  const chip = (kind, name, more, next) => el("li", { class: "chip" },
    icon(kind), el("span", { class: "chip-name" }, name), el("span", { class: "chip-more" }, more),
    el("button", { type: "button", "aria-label": `Remove ${name}`, on: { click: () => remove(next, name) } }, icon("close")));
  return [
    ...query.files.map((file) => chip("file", file.name, size(file.size), { ...query, files: without(query.files, file) })),
    ...query.documents.map((document) =>
      chip("file", displayName(document), words(document.text), { ...query, documents: without(query.documents, document) })),
    ...(query.text.trim() ? [chip("text", "Pasted text", words(query.text), { ...query, text: "" })] : []),
    ...query.indexed.map((document) =>
      chip("book", displayName(document), "from this collection", { ...query, indexed: without(query.indexed, document) })),
  ];
}
