/**
 * Matters: searches with their marks, notes and settings, saved as a file or in the folder of the server. Nothing is stored
 * unless the user saves.
 * @module
 */

import * as api from "./api.js";
import { announce, el, fill, icon } from "./dom.js";
import { download, matterMenu } from "./export.js";
import { dateLimit, filterText, NO_FILTER } from "./filter-text.js";
import { plural } from "./format.js";
import { marksOf, requestOf } from "./marks.js";
import { EMPTY_QUERY, fileName, payload, queryName } from "./query.js";

const SUFFIX = ".rprs-matter";

/** @typedef {import("./history.js").Entry} Entry */
/** @type {{matter: any, file: string | null} | null} the matter that this tab has opened or saved, and its name in the server's folder */
let current = null;

/** The name of the matter of this tab, if there is one. */
export const matterName = () => current?.matter.name ?? null;

/**
 * What the matter of a search is called, when it was saved, its notes, and a menu to export it.
 * @param {Entry} entry @param {(error: any, again: () => void) => void} fail
 */
export function matterHead(entry, fail) {
  if (!current || entry.matter?.id !== current.matter.id) return null;
  const { name, notes, tags, saved, searches } = current.matter;
  const place = searches.length > 1 ? `, search ${entry.matter.place + 1} of ${searches.length}` : "";
  return el("section", { class: "matter-head", id: "matter-head", "aria-label": "Matter" },
    el("div", { class: "matter-facts" }, icon("book"), el("b", {}, name), el("span", { class: "hint" }, `Matter${place}, saved ${new Date(saved).toLocaleDateString(undefined, { dateStyle: "long" })}`), tagList(tags), matterMenu((format) => exportMatter(entry, format, fail))),
    notes && el("p", { class: "note-text" }, notes));
}

const tagList = (tags) => tags.length > 0 && el("span", { class: "tags" }, tags.map((tag) => el("span", { class: "tag" }, `#${tag}`)));

// ---------------------------------------------------------------------------- to and from a file

/** A search as the file has it. @param {Entry} entry @param {{text: string, seeds: any[]}} whole the query as one text */
function searchOf(entry, whole) {
  const { answer, choice, query, hidden, notes, tags } = entry;
  const points = Array.from(whole.text);
  const own = whole.seeds.slice(0, whole.seeds.length - query.indexed.length);
  const { like = [], unlike = [], key = [], ignore = [] } = requestOf(marksOf(choice));
  const titles = Object.fromEntries([...marksOf(choice).like, ...marksOf(choice).unlike, ...query.indexed].map(({ id, title }) => [id, title]));
  const { before = null, undated = "keep" } = dateLimit(choice.filter);
  return {
    name: queryName(query),
    collection: { name: answer.about.index, fingerprint: answer.about.fingerprint, documents: answer.about.documents },
    documents: own.map(({ id, title, start, end, metadata }) => ({ id, text: points.slice(start, end).join(""), title, metadata })),
    ids: query.indexed.map(({ id }) => id),
    query_hash: answer.query.hash,
    marks: { like, unlike, key, ignore },
    hidden: [...hidden],
    notes,
    tags,
    settings: { k: choice.k, where: filterText(choice.filter) || null, before, undated, boilerplate: choice.boilerplate },
    view: { filter: choice.filter, sort: choice.sort, titles },
  };
}

/** Export the matter with what was marked and written since it was saved. @param {Entry} entry @param {string} format */
async function exportMatter(entry, format, fail) {
  try {
    const { matter } = withEntry(entry, searchOf(entry, await api.sentences(payload(entry.query, {}))), current.matter);
    const { name, blob } = await api.exportedMatter(matter, format);
    download({ name: fileName(matter.name, /\.\w+$/u.exec(name)?.[0] ?? ""), blob });
    announce("Matter exported");
  } catch (error) {
    fail(error, () => exportMatter(entry, format, fail));
  }
}

/** What the page needs to show a saved search. @param {any} search */
function entryOf({ documents = [], ids = [], marks = {}, settings = {}, view = {}, hidden = [], notes = {}, tags = {} }) {
  const named = (id) => ({ id, title: view.titles?.[id] ?? "" });
  const filter = view.filter ?? { ...NO_FILTER, advanced: settings.where ?? "", before: settings.before ?? "", undated: settings.undated ?? "keep" };
  return {
    query: { ...EMPTY_QUERY, documents, indexed: ids.map(named) },
    choice: {
      k: settings.k ?? 10, filter, boilerplate: settings.boilerplate ?? true, sort: view.sort ?? "rank",
      marks: { like: (marks.like ?? []).map(named), unlike: (marks.unlike ?? []).map(named), key: marks.key ?? [], ignore: marks.ignore ?? [] },
    },
    hidden, notes, tags,
  };
}

/** The matter of this tab with an entry in it, in place of what was saved of it before. @param {Entry} entry @param {any} search @param {any} changes */
function withEntry(entry, search, { name, notes, tags }) {
  const now = new Date().toISOString().replace(/\.\d+Z$/u, "+00:00");
  const id = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const before = current?.matter ?? { format: "rprs-matter", version: 1, id, created: now, revision: 0, searches: [] };
  const searches = [...before.searches];
  const isKnown = entry.matter?.id === before.id && entry.matter.place < searches.length;
  const place = isKnown ? entry.matter.place : searches.length;
  searches[place] = search;
  return { matter: { ...before, name, notes, tags, searches }, place, now };
}

// ---------------------------------------------------------------------------- dialogs

const field = (id, words, input) => el("div", { class: "field" }, el("label", { for: id }, words), input);

function dialogOf(id, title, ...content) {
  const dialog = el("dialog", { class: "work-dialog", id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), content);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Ask for the name of the matter and save the entry in it.
 * @param {Entry} entry @param {{matters: boolean}} info @param {(entry: Entry) => void} saved
 */
export function saveDialog(entry, info, saved) {
  const { matter } = current ?? { matter: { name: queryName(entry.query), notes: "", tags: [] } };
  const name = el("input", { id: "matter-name", type: "text", value: matter.name, required: true, maxlength: "100" });
  const notes = el("textarea", { id: "matter-notes", rows: "4" }, matter.notes);
  const tags = el("input", { id: "matter-tags", type: "text", value: matter.tags.join(", ") });
  const error = el("p", { class: "field-error", role: "alert", id: "matter-error" });
  const dialog = dialogOf("save-matter-dialog", "Save as a matter",
    el("p", { class: "hint" }, "The query with its text, marks, notes, hidden results and filters, in one file. Nothing is stored unless you save."),
    field("matter-name", "Name", name), field("matter-notes", "Notes", notes), field("matter-tags", "Tags, separated by commas", tags), error,
    el("div", { class: "dialog-actions" },
      info.matters && el("button", { type: "button", class: "primary", id: "save-on-server", on: { click: () => save(true) } }, "Save"),
      el("button", { type: "button", class: info.matters ? "button" : "primary", id: "save-as-file", on: { click: () => save(false) } }, info.matters ? "Download a copy" : "Save as a file"),
      el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Cancel")));

  async function save(onServer) {
    if (!name.value.trim()) return fail("A matter needs a name.");
    try {
      const search = searchOf(entry, await api.sentences(payload(entry.query, {})));
      const words = { name: name.value.trim(), notes: notes.value, tags: tags.value.split(",").map((tag) => tag.trim()).filter(Boolean) };
      const { matter: draft, place, now } = withEntry(entry, search, words);
      current = onServer ? await saveOnServer(draft) : saveAsFile(draft, now);
      entry.matter = { id: current.matter.id, place };
      dialog.close();
      announce("Matter saved");
      saved(entry);
    } catch (problem) {
      fail(problem.message);
    }
  }
  const fail = (message) => (error.textContent = message);
}

async function saveOnServer(draft) {
  const file = current?.file ?? fileName(draft.name, SUFFIX);
  const { matter } = await api.saveMatter(file, draft);
  return { matter, file };
}

function saveAsFile(draft, now) {
  const matter = { ...draft, revision: draft.revision + 1, saved: now };
  download({ name: fileName(draft.name, SUFFIX), blob: new Blob([`${JSON.stringify(matter, null, 1)}\n`], { type: "application/json" }) });
  return { matter, file: current?.file ?? null };
}

/**
 * Choose a matter and one of its searches.
 * @param {{matters: boolean}} info
 * @param {(saved: ReturnType<typeof entryOf> & {matter: {id: string, place: number}, changes: string[]}) => void} open
 */
export function openDialog(info, open) {
  const error = el("p", { class: "field-error", role: "alert", id: "matter-error" });
  const list = el("div", { class: "matter-list" });
  const files = el("input", { id: "matter-file", type: "file", accept: SUFFIX });
  const dialog = dialogOf("open-matter-dialog", "Open a matter", field("matter-file", "A file on this computer", files), list, error,
    el("div", { class: "dialog-actions" }, el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Cancel")));
  const attempt = async (work) => {
    error.textContent = "";
    try {
      await work();
    } catch (problem) {
      error.textContent = problem.message;
    }
  };
  files.addEventListener("change", () => files.files[0] && attempt(async () => {
    let content;
    try {
      content = JSON.parse(await files.files[0].text());
    } catch {
      throw new Error(`${files.files[0].name} is damaged or not a matter: it is not valid JSON`);
    }
    choose(await api.checkMatter(content), null);
  }));
  if (info.matters) attempt(async () => {
    const { matters } = await api.matters();
    const item = (each) => el("li", {}, el("button", { type: "button", class: "button", disabled: Boolean(each.error), on: { click: () => attempt(async () => choose(await api.matter(each.file), each.file)) } }, each.name || each.file),
      el("span", { class: "hint" }, each.error ?? `${plural(each.searches, "search", "searches")}, saved ${each.saved.slice(0, 10)}`));
    fill(list, el("h3", {}, "In the folder of this server"), matters.length ? el("ul", {}, matters.map(item)) : el("p", { class: "hint" }, "No matters yet."));
  });

  function choose({ matter, changes }, file) {
    const go = (place) => {
      current = { matter, file };
      dialog.close();
      open({ ...entryOf(matter.searches[place]), matter: { id: matter.id, place }, changes: changes[place] });
    };
    if (!matter.searches.length) throw new Error(`${matter.name} has no searches yet.`);
    if (matter.searches.length === 1) return go(0);
    const item = (search, place) => el("li", {}, el("button", { type: "button", class: "button open-search", on: { click: () => go(place) } }, search.name));
    fill(list, el("h3", {}, matter.name), matter.notes && el("p", {}, matter.notes), el("ul", {}, matter.searches.map(item)));
    list.querySelector("button").focus();
  }
}

// ---------------------------------------------------------------------------- notes on results

/** The note and the tags of a result, and a fold to edit them. @param {Entry} entry @param {string} id @param {string} name @param {() => void} changed */
export function noteOn(entry, id, name, changed) {
  const note = el("textarea", { rows: "3", "aria-label": `Note on ${name}` }, entry.notes[id] ?? "");
  const tags = el("input", { type: "text", "aria-label": `Tags of ${name}, separated by commas`, placeholder: "Tags", value: (entry.tags[id] ?? []).join(", ") });
  const shown = el("div", { class: "note-shown" });
  const summary = el("summary", {});
  const draw = () => {
    const [text, list] = [entry.notes[id] ?? "", entry.tags[id] ?? []];
    shown.hidden = !text && !list.length;
    fill(shown, text && el("p", { class: "note-text" }, text), tagList(list));
    summary.textContent = shown.hidden ? "Add a note" : "Edit the note";
  };
  const keep = () => {
    entry.notes = without(entry.notes, id, note.value.trim() ? note.value : null);
    const list = tags.value.split(",").map((tag) => tag.trim()).filter(Boolean);
    entry.tags = without(entry.tags, id, list.length ? list : null);
    draw();
    changed();
  };
  for (const input of [note, tags]) input.addEventListener("change", keep);
  draw();
  return { shown, fold: el("details", { class: "note-fold" }, summary, note, tags) };
}

function without(values, id, value) {
  const { [id]: _, ...rest } = values;
  return value === null ? rest : { ...rest, [id]: value };
}
