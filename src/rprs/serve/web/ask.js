/**
 * The first view: give a document, or several, and ask.
 * @module
 */

import { announce, byId, el, fill, icon } from "./dom.js";
import { acceptFiles, folderObjection, kinds, objection, vanished } from "./files.js";
import { filterPanel } from "./filters.js";
import { showLines, showTrouble } from "./notice.js";
import { documentPicker } from "./picker.js";
import { progressLine } from "./progress.js";
import { called, isEmpty, NOTHING } from "./query.js";
import { count, several, size, wordCount } from "./words.js";

/** @typedef {import("./query.js").Query} Query */
/** @typedef {import("./query.js").Choice} Choice */

const PAUSE = 120; // milliseconds after a key, before the words of a text are counted

/**
 * @param {any} info of the index
 * @param {(query: Query, choice: Choice, follow: import("./api.js").Follow) => Promise<void>} ask
 * @param {() => void} shown is called before something is added, so that this view is the one seen
 */
export function askView(info, ask, shown) {
  /** @type {Query} */
  let query = NOTHING;
  let running = /** @type {AbortController | null} */ (null);
  let timer = 0;
  const { limits } = info;
  const text = byId("text");
  const refused = byId("refused");
  const filters = filterPanel(byId("ask-filters"), info, "ask", () => title());

  function title() {
    const conditions = filters.conditions();
    byId("ask-options-title").textContent =
      `${several(filters.choice().k, "result")}, ${conditions ? several(conditions, "filter") : "no filters"}`;
  }

  function change(next) {
    query = next;
    draw();
  }

  function draw() {
    clearTimeout(timer);
    const words = wordCount(query.text);
    byId("text-note").textContent = query.text.length > limits.text_characters
      ? `The text has ${several(query.text.length, "character")}; this server takes up to ${count(limits.text_characters)}.`
      : words ? several(words, "word") : "";
    fill(byId("chips"), chips(query, remove));
    byId("seeds").hidden = isEmpty(query);
    byId("clear").hidden = isEmpty(query);
    byId("seeds-title").textContent = byId("chips").children.length > 1 ? "Your documents, asked together" : "Your document";
  }

  function remove(next, name) {
    change(next);
    text.value = next.text;
    announce(`${name} removed`);
    (byId("chips").querySelector("button") ?? byId("files")).focus();
  }

  function add(files, folders) {
    shown();
    const known = new Set(query.files.map(identity));
    const judged = files.map((file) => ({ file, problem: objection(file, info.suffixes, limits) }));
    const fresh = judged.filter(({ file, problem }) => !problem && !known.has(identity(file))).map(({ file }) => file);
    const total = [...query.files, ...fresh].reduce((sum, file) => sum + file.size, 0);
    const problems = [...judged.flatMap(({ problem }) => problem ?? []), ...folders.map(folderObjection)];
    const fits = total <= limits.upload_bytes;
    if (!fits) problems.push(`Together the files have ${size(total)}; this server takes up to ${size(limits.upload_bytes)} at once.`);
    showLines(refused, problems);
    if (!fits || !fresh.length) return;
    change({ ...query, files: [...query.files, ...fresh] });
    announce(`${fresh.map((file) => file.name).join(", ")} added`);
    byId("submit").focus();
  }

  function pick({ id, title: name }) {
    const known = query.indexed.some((document) => document.id === id);
    if (!known) change({ ...query, indexed: [...query.indexed, { id, title: name }] });
    announce(`${name || id} added`);
  }

  /** Why the question cannot be sent as it stands; null if it can. */
  async function obstacle() {
    if (isEmpty(query)) return "Give a document first: drop a file, paste a text or pick a document of the index.";
    if (query.text.length > limits.text_characters) return byId("text-note").textContent;
    const gone = await vanished(query.files);
    return gone && `${gone} can no longer be read: it was moved or changed since. Remove it and choose it again.`;
  }

  async function submit() {
    if (running || !filters.take()) return;
    running = new AbortController();
    const { signal } = running;
    const line = progressLine(byId("ask-progress"), info.documents, () => running?.abort());
    const where = byId("ask-trouble");
    fill(where);
    busy(true);
    try {
      const problem = await obstacle();
      showLines(refused, problem ? [problem] : []);
      if (!problem) await ask(query, filters.choice(), { signal, say: line.say });
    } catch (error) {
      if (!signal.aborted) fail(error, where);
    } finally {
      running = null;
      line.end();
      busy(false);
    }
  }

  function fail(error, where) {
    if (isAboutFilter(error)) {
      byId("ask-options").open = true;
      filters.tell(error.message);
    } else showTrouble(where, error, { index: info.index, again: submit });
  }

  function busy(yes) {
    byId("ask-form").setAttribute("aria-busy", String(yes));
    byId("submit").disabled = yes;
    if (!yes && !byId("ask").hidden) byId("submit").focus({ preventScroll: true });
  }

  byId("suffixes").textContent = `${kinds(info.suffixes)}; up to ${size(limits.upload_bytes)}`;
  byId("submit-keys").textContent = `${/Mac|iPad|iPhone/u.test(navigator.userAgent) ? "⌘" : "Ctrl"} + Enter`;
  acceptFiles(add);
  documentPicker(pick);
  text.addEventListener("input", () => {
    const appears = !query.text.trim() !== !text.value.trim(); // at once: a button that moves later is clicked in vain
    query = { ...query, text: text.value };
    clearTimeout(timer);
    if (appears) draw();
    else timer = setTimeout(draw, PAUSE);
  });
  byId("clear").addEventListener("click", () => {
    showLines(refused, []);
    remove(NOTHING, "Everything");
  });
  byId("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("ask-form").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  });
  title();
  byId("ask-form").inert = false;

  return {
    /** Put this question into the form. @param {Query} next @param {Choice} choice */
    set(next, choice) {
      showLines(refused, []);
      text.value = next.text;
      change(next);
      filters.set(choice);
      title();
    },
    /** The person is elsewhere: give up a question under way. */
    leave: () => running?.abort(),
  };
}

/** Whether the filter is what the server did not understand. @param {any} error */
export const isAboutFilter = (error) => error.status === 400 && /^The filter\b/u.test(error.message);

const identity = (file) => `${file.name} ${file.size} ${file.lastModified}`;

/** A chip for every seed, each with the query that is left without it. @param {Query} query */
function chips(query, remove) {
  const without = (list, item) => list.filter((other) => other !== item);
  const words = (text) => several(wordCount(text), "word");
  const chip = (kind, name, more, next) => el("li", { class: "chip" },
    icon(kind), el("span", { class: "chip-name" }, name), el("span", { class: "chip-more" }, more),
    el("button", { type: "button", "aria-label": `Remove ${name}`, on: { click: () => remove(next, name) } }, icon("close")));
  return [
    ...query.files.map((file) => chip("file", file.name, size(file.size), { ...query, files: without(query.files, file) })),
    ...query.documents.map((given) =>
      chip("file", called(given), words(given.text), { ...query, documents: without(query.documents, given) })),
    ...(query.text.trim() ? [chip("text", "Pasted text", words(query.text), { ...query, text: "" })] : []),
    ...query.indexed.map((document) =>
      chip("book", called(document), "of the index", { ...query, indexed: without(query.indexed, document) })),
  ];
}
