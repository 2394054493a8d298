/**
 * The entry point: shows a view for each address. `/` is the search form, `/?id=…` the results, `…&view=coverage` the coverage,
 * `…&open=…` the side-by-side view, `/?read=…` a document alone.
 * @module
 */

import { showAligned } from "./aligned.js";
import * as api from "./api.js";
import { FORM } from "./base.js";
import { collectionsView, isCollectionsAddress, showFirst, showSwitch } from "./collections.js";
import { CoverageView } from "./coverage-view.js";
import { announce, byId, el, fill } from "./dom.js";
import { download } from "./export.js";
import { dateLimit, filterText } from "./filter-text.js";
import { joinList, plural } from "./format.js";
import { cameFromList, newEntry, present, push, pushCoverage, pushReader, replace } from "./history.js";
import { marksOf, requestOf, sentencesDialog } from "./marks.js";
import { openDialog, saveDialog } from "./matters.js";
import { showError } from "./notice.js";
import { sweepParts } from "./parts.js";
import { passagesPanel } from "./passages.js";
import { progressLine } from "./progress.js";
import { addressOf, DEFAULT_CHOICE, displayName, EMPTY_QUERY, fileName, payload, queryName, withServerTexts } from "./query.js";
import { showReader } from "./reader.js";
import { resultsView } from "./results.js";
import { searchForm } from "./search-form.js";
import { keptDraft } from "./stored.js";
import { requestToken } from "./token.js";

const PAIRS = 3; // of each result
const LANES = 20; // sources of a coverage
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/u;

/** @typedef {import("./history.js").Entry} Entry */

let info;
let form;
let results;
let passages; // the panel
let routes = 0; // counts steps through the history
/** @type {{view: string, entry: Entry | null, leave: () => void, gone?: boolean}} the current view, and how to leave it */
let current = { view: "", entry: null, leave: () => {} };

// ---------------------------------------------------------------------------- views

/** Switch to another view. @param {string} view @param {Entry | null} entry @param {string} title @param {() => void} [leave] */
function showView(view, entry, title, leave = () => {}) {
  if (current.view === "results" && current.entry) current.entry.scroll = scrollY;
  current.leave();
  if (view !== "results") results.leave();
  current = { view, entry, leave };
  for (const name of ["search", "results", "coverage", "aligned", "reader", "collections"]) byId(name).hidden = name !== view;
  document.body.dataset.view = view;
  document.title = title ? `${title} – rprs` : `rprs – ${info.index}`;
  fill(byId("error"));
}

function showForm({ lost = false } = {}) {
  const first = !current.view;
  showView("search", null, "", form.leave);
  scrollTo(0, 0);
  if (!first) byId("search-title").focus({ preventScroll: true });
  if (!lost) return;
  history.replaceState(null, "", FORM);
  showNotice("Your file isn't stored. Please add it again.");
}

function showNotice(message) {
  fill(byId("error"), el("p", { class: "notice", role: "alert" }, message));
}

/** Fill the form as it was before a reload. @param {Awaited<ReturnType<typeof keptDraft>>} draft */
function restoreDraft(draft) {
  if (!draft) return;
  form.set(draft.query, draft.choice);
  if (draft.missing.length && !location.search && !location.hash)
    showNotice(`${joinList(draft.missing)} ${draft.missing.length === 1 ? "isn't stored. Please add it again." : "aren't stored. Please add them again."}`);
}

/** @param {Entry} entry */
function showResults(entry) {
  const running = new AbortController();
  const isBack = current.view === "aligned"; // heights in a long list may be estimated differently than before
  showView("results", entry, queryName(entry.query), () => running.abort());
  results.draw(entry);
  scrollTo(0, entry.scroll);
  results.focus(entry.opened, isBack);
  if (!entry.answer) loadResults(entry, running);
}

/** Load the results of an entry. @param {Entry} entry @param {AbortController} running */
async function loadResults(entry, running) {
  const line = results.busy(() => (running.abort(), goBack()));
  try {
    await runSearch(entry, { signal: running.signal, onEvent: line.onEvent });
    if (running.signal.aborted) return;
    replace(entry);
    showResults(entry);
  } catch (error) {
    if (!running.signal.aborted) results.fail(error, () => showResults(entry));
  } finally {
    line.end();
  }
}

/** Run the search of an entry; the texts of files replace the files. @param {Entry} entry @param {api.Follow} follow */
async function runSearch(entry, follow) {
  const answer = await api.search(payload(entry.query, { ...options(entry.choice), pairs: PAIRS }), follow);
  entry.query = withServerTexts(entry.query, answer.query);
  entry.answer = answer;
  announce(plural(answer.hits.length, "result"));
}

const options = (choice) => ({
  k: choice.k, where: filterText(choice.filter), boilerplate: choice.boilerplate, ...dateLimit(choice.filter), ...requestOf(marksOf(choice)),
});

/** @param {Entry} entry @param {string} id @param {[number, number] | null} [at] the pair to show */
async function showComparison(entry, id, at = null) {
  const root = byId("aligned");
  const running = new AbortController();
  let view = null;
  showView("aligned", entry, "Side by side", () => (running.abort(), view?.close(), fill(root)));
  const places = { error: el("div"), progress: el("div") };
  const leaveByKey = ({ key }) => key === "Escape" && goBack();
  fill(root, el("div", { class: "opening", on: { keydown: leaveByKey } },
    el("button", { type: "button", class: "button", on: { click: goBack } }, "Back to results"), places.progress, places.error));
  scrollTo(0, 0);
  root.querySelector("button").focus();
  const line = progressLine(places.progress, info.documents, goBack);
  try {
    const request = payload(entry.query, { ...options(entry.choice), boilerplate: true, document: id }); // the view leaves it out itself
    const answer = await api.explain(request, { signal: running.signal, onEvent: line.onEvent });
    const address = addressOf(entry.query, entry.choice, id, at);
    const link = address && new URL(address, location.href).href;
    answer.query.title ||= queryName(entry.query);
    fill(root);
    const [mine, name] = [answer.query, answer.document].map(displayName);
    const report = (shown) => saveReport(entry, { id, name: `${mine} and ${name}` }, shown);
    view = showAligned(root, answer, { back: goBack, report, link, at, boilerplate: entry.choice.boilerplate });
    document.title = `${name} – rprs`;
  } catch (error) {
    line.end();
    const again = () => showComparison(entry, id, at);
    if (!running.signal.aborted) showError(places.error, error, { index: info.index, again });
  }
}

/** The query with a lane for each of its best results. @param {Entry} entry */
async function showCoverage(entry) {
  const running = new AbortController();
  const search = (text) => passages.open({ text, from: "query" });
  let view = null;
  showView("coverage", entry, `Coverage of ${queryName(entry.query)}`, () => (running.abort(), view?.close()));
  view = new CoverageView(byId("coverage"), queryName(entry.query), LANES, { back: goBack, open, search, exportAs: (format) => exportChart(entry, format) });
  scrollTo(0, 0);
  view.heading.focus({ preventScroll: true });
  if (entry.chart) return view.show(entry.chart, entry.opened);
  const line = progressLine(view.places.progress, info.documents, goBack);
  const acts = { chart: (data) => view.start(data), source: (data) => view.add(data) };
  const onEvent = (event, data) => (acts[event] ?? line.onEvent.bind(null, event))(data);
  try {
    const answer = await api.coverage(payload(entry.query, { ...coverageOptions(entry), parts: true }), { signal: running.signal, onEvent });
    view.finish(answer.chart);
    entry.chart = view.chart;
  } catch (error) {
    if (!running.signal.aborted) showError(view.places.error, error, { index: info.index, again: () => showCoverage(entry) });
  } finally {
    line.end();
  }
}

const coverageOptions = ({ choice, hidden }) => ({ ...options(choice), k: LANES, without: [...hidden] });

/** A document alone. @param {string} id @param {[number, number] | null} [at] a passage to show */
async function showDocument(id, at = null) {
  const root = byId("reader");
  const running = new AbortController();
  const choice = current.entry?.choice ?? DEFAULT_CHOICE;
  showView("reader", null, id, () => (running.abort(), fill(root)));
  scrollTo(0, 0);
  try {
    const stored = await api.document(id, running.signal);
    const query = { ...EMPTY_QUERY, indexed: [{ id, title: stored.title }] };
    showReader(root, stored, { back: goBack, more: () => startFrom(stored, choice), address: addressOf(query, choice), at });
    document.title = `${displayName(stored)} – rprs`;
  } catch (error) {
    if (!running.signal.aborted) showError(byId("error"), error, { index: info.index, again: () => showDocument(id, at) });
  }
}

// ---------------------------------------------------------------------------- steps

/** From the side-by-side view to the results; from results that did not load to the form. */
function goBack() {
  const { view, entry } = current;
  if ((view === "aligned" && !cameFromList()) || (view === "coverage" && !history.state?.pushed)) {
    replace(entry);
    showResults(entry);
  } else if (!history.state?.pushed) edit();
  else if (!current.gone) {
    current.gone = true; // history.back() is asynchronous, and a second call would go too far
    history.back();
  }
}

/** A new search from the form; marks belong to the search before. */
async function startSearch(query, { marks: _, ...choice }, follow) {
  const entry = newEntry(query, choice);
  await runSearch(entry, follow);
  if (follow.signal.aborted) return;
  form.set(entry.query, choice); // files have become texts, which are not uploaded again
  push(entry);
  showResults(entry);
}

/** A new search for documents similar to one of this collection. @param {{id: string, title: string}} document @param {import("./query.js").Choice} choice */
function startFrom({ id, title }, choice) {
  startWith(newEntry({ ...EMPTY_QUERY, indexed: [{ id, title }] }, { ...choice, marks: undefined }));
}

/** A new search that runs in the results view. @param {Entry} entry */
function startWith(entry) {
  push(entry);
  showResults(entry);
  scrollTo(0, 0);
}

/** The same query with other filters or marks; the old results stay until the new ones arrive, and then `focus` gets the focus. */
async function rerun(choice, focus = null) {
  const old = current.entry;
  const running = new AbortController();
  current.leave();
  current.leave = () => running.abort();
  const line = results.busy(() => (running.abort(), results.reset(old)));
  const entry = newEntry(old.query, choice);
  try {
    await runSearch(entry, { signal: running.signal, onEvent: line.onEvent });
    if (running.signal.aborted) return;
    if (document.activeElement.closest(".note-fold")) document.activeElement.blur(); // a note that is being written is kept, too
    Object.assign(entry, { hidden: new Set(old.hidden), notes: old.notes, tags: old.tags, matter: old.matter });
    push(entry);
    showView("results", entry, queryName(entry.query));
    results.draw(entry);
    if (focus) (document.querySelector(focus) ?? byId("mark-sentences")).focus();
  } catch (error) {
    if (!running.signal.aborted) results.fail(error, () => rerun(choice, focus));
  } finally {
    line.end();
  }
}

function open(id, at = null) {
  const { entry } = current;
  entry.opened = id;
  push(entry, id, at);
  showComparison(entry, id, at);
}

function showCoverageOfResults() {
  const { entry } = current;
  entry.chart = null; // results may have been hidden since
  pushCoverage(entry);
  showCoverage(entry);
}

function read(id) {
  current.entry.opened = id;
  pushReader(id);
  showDocument(id);
}

/** Read a passage in its document. @param {string} id @param {[number, number]} at */
function readPassage(id, at) {
  pushReader(id, at);
  showDocument(id, at);
}

/** Back to the form, with the query in it. */
function edit() {
  const { entry } = current;
  if (entry) form.set(entry.query, entry.choice);
  history.pushState(null, "", FORM);
  showForm();
}

/** A new query: a file was dropped on the results. */
function begin() {
  form.set(EMPTY_QUERY, current.entry?.choice ?? DEFAULT_CHOICE);
  history.pushState(null, "", FORM);
  showForm();
}

/** Choose key and ignored sentences of the query. @param {Entry} entry */
async function markSentences(entry) {
  try {
    const whole = await api.sentences(payload(entry.query, {}));
    sentencesDialog(whole, marksOf(entry.choice), (key, ignore) => rerun({ ...entry.choice, marks: { ...marksOf(entry.choice), key, ignore } }, "#mark-sentences"));
  } catch (error) {
    results.fail(error, () => markSentences(entry));
  }
}

/** Open a search of a matter. */
function openMatter() {
  openDialog(info, ({ query, choice, changes, hidden, ...work }) => {
    const entry = newEntry(query, choice);
    Object.assign(entry, { ...work, hidden: new Set(hidden) });
    push(entry);
    showResults(entry);
    if (changes.length) showNotice(changes.join(". "));
  });
}

async function exportAs(format) {
  const { entry } = current;
  try {
    const { name, blob } = await api.exported(payload(entry.query, { ...options(entry.choice), format, without: [...entry.hidden] }));
    download({ name: fileName(`Similar to ${queryName(entry.query)}`, /\.\w+$/u.exec(name)?.[0] ?? ""), blob });
  } catch (error) {
    results.fail(error, () => exportAs(format));
  }
}

/** @param {Entry} entry @param {string} format */
async function exportChart(entry, format) {
  try {
    const { name, blob } = await api.coverageFile(payload(entry.query, { ...coverageOptions(entry), format }));
    download({ name: fileName(`Coverage of ${queryName(entry.query)}`, /\.\w+$/u.exec(name)?.[0] ?? ""), blob });
  } catch (error) {
    showError(byId("error"), error, { index: info.index, again: () => exportChart(entry, format) });
  }
}

/** @param {Entry} entry @param {{id: string, name: string}} document and the name of the report @param {{kinds: string[], boilerplate: boolean}} shown */
async function saveReport(entry, { id, name }, shown) {
  try {
    const { blob } = await api.report(payload(entry.query, { ...options(entry.choice), ...shown, document: id }));
    download({ name: fileName(name, ".html"), blob });
  } catch (error) {
    showError(byId("error"), error, { index: info.index, again: () => saveReport(entry, { id, name }, shown) });
  }
}

// ---------------------------------------------------------------------------- start

/** Create collections, and add and remove documents. */
function showCollections() {
  showView("collections", null, "Collections");
  scrollTo(0, 0);
  collectionsView(byId("collections"), info);
}

/** Show the view of the current address, without waiting for what it loads. */
async function route() {
  const number = ++routes;
  if (isCollectionsAddress()) return showCollections();
  const now = await present();
  if (number !== routes) return; // the reader has gone on
  if (!now || "lost" in now) showForm(now ?? {});
  else if ("read" in now) showDocument(now.read, now.at);
  else if (now.open !== null && now.open !== undefined) showComparison(now.entry, now.open, now.at);
  else if (now.coverage) showCoverage(now.entry);
  else showResults(now.entry);
}

function describe() {
  fill(byId("index-name"), el("strong", {}, info.index), el("span", {}, ` ${plural(info.documents, "document")}`));
  byId("local-note").hidden = !LOOPBACK.test(location.hostname);
}

async function start() {
  try {
    info = await api.info();
  } catch (error) {
    if (error.kind === "NoCollection" && (await showFirst())) return; // there is none yet: the page to create one is shown
    return showError(byId("error"), error, { index: "", again: start });
  }
  describe();
  showSwitch(info);
  const draft = await keptDraft(); // before the form can be changed
  form = searchForm(info, startSearch, () => current.view !== "search" && begin());
  const more = (document) => startFrom(document, current.entry.choice);
  const save = (entry) => saveDialog(entry, info, (saved) => (replace(saved), results.draw(saved), byId("save-matter").focus()));
  results = resultsView(info, { rerun, open, edit, more, read, exportAs, coverage: showCoverageOfResults, keep: replace, sentences: markSentences, save });
  byId("open-matter").addEventListener("click", openMatter);
  byId("home").addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", FORM);
    showForm();
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // a fragment would add an entry to the history
    byId("main").focus();
  });
  history.scrollRestoration = "manual";
  passages = passagesPanel(info, { current: () => current, options, read: readPassage });
  addEventListener("popstate", async () => (await route(), passages.resume()));
  await route();
  restoreDraft(draft);
  sweepParts();
}

api.onTokenRequired(requestToken);
start();
