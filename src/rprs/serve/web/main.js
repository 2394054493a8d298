/**
 * The page: which view is seen, by the address and the history. `/` asks; `/?id=…` is a list; `…&open=…` is side by side.
 * @module
 */

import { showAligned } from "./aligned.js";
import * as api from "./api.js";
import { askView } from "./ask.js";
import { announce, byId, el, fill } from "./dom.js";
import { cameFromList, newEntry, present, push, replace } from "./entries.js";
import { showTrouble } from "./notice.js";
import { progressLine } from "./progress.js";
import { addressOf, called, nameOf, NOTHING, payload, settled } from "./query.js";
import { resultsView } from "./results.js";
import { download } from "./takeaway.js";
import { askForToken } from "./token.js";
import { several } from "./words.js";

const USUAL = 10; // results
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/u;

/** @typedef {import("./entries.js").Entry} Entry */

let info;
let ask;
let results;
/** @type {{view: string, entry: Entry | null, leave: () => void, gone?: boolean}} what is seen, and what to do when it no longer is */
let seen = { view: "", entry: null, leave: () => {} };

// ---------------------------------------------------------------------------- views

/** Let another view be seen. @param {string} view @param {Entry | null} entry @param {string} title @param {() => void} [leave] */
function see(view, entry, title, leave = () => {}) {
  if (seen.view === "results" && seen.entry) seen.entry.scroll = scrollY;
  seen.leave();
  if (view !== "results") results.leave();
  seen = { view, entry, leave };
  for (const name of ["ask", "results", "aligned"]) byId(name).hidden = name !== view;
  document.body.dataset.view = view;
  document.title = title ? `${title} – rprs` : `rprs – ${info.index}`;
  fill(byId("trouble"));
}

function seeAsk({ lost = false } = {}) {
  const first = !seen.view;
  see("ask", null, "", ask.leave);
  scrollTo(0, 0);
  if (!first) byId("ask-title").focus({ preventScroll: true });
  if (!lost) return;
  history.replaceState(null, "", "/");
  fill(byId("trouble"), el("p", { class: "notice", role: "alert" },
    "That list was of a pasted text or a file, which only the tab remembers that asked. Please ask again."));
}

/** @param {Entry} entry */
function seeList(entry) {
  const running = new AbortController();
  const isBack = seen.view === "aligned"; // where the heights of a long list may be guessed differently than before
  see("results", entry, nameOf(entry.query), () => running.abort());
  results.draw(entry);
  scrollTo(0, entry.scroll);
  results.focus(entry.opened, isBack);
  if (!entry.answer) fetchList(entry, running);
}

/** The hits of an entry that has none yet. @param {Entry} entry @param {AbortController} running */
async function fetchList(entry, running) {
  const line = results.busy(() => (running.abort(), goBack()));
  try {
    await answer(entry, { signal: running.signal, say: line.say });
    if (running.signal.aborted) return;
    replace(entry);
    seeList(entry);
  } catch (error) {
    if (!running.signal.aborted) results.fail(error, () => seeList(entry));
  } finally {
    line.end();
  }
}

/** Ask the server; what it read of files takes their place. @param {Entry} entry @param {api.Follow} follow */
async function answer(entry, follow) {
  const { k, where } = entry.choice;
  const found = await api.search(payload(entry.query, { k, where, pairs: 1 }), follow);
  entry.query = settled(entry.query, found.query);
  entry.answer = found;
  announce(several(found.hits.length, "result"));
}

/** @param {Entry} entry @param {string} id */
async function seeAligned(entry, id) {
  const root = byId("aligned");
  const running = new AbortController();
  let shown = null;
  see("aligned", entry, "Side by side", () => (running.abort(), shown?.close(), fill(root)));
  const places = { trouble: el("div"), progress: el("div") };
  const leaveByKey = ({ key }) => key === "Escape" && goBack();
  fill(root, el("div", { class: "opening", on: { keydown: leaveByKey } },
    el("button", { type: "button", class: "button", on: { click: goBack } }, "Back to the list"), places.progress, places.trouble));
  scrollTo(0, 0);
  root.querySelector("button").focus();
  const line = progressLine(places.progress, info.documents, goBack);
  try {
    const asked = payload(entry.query, { ...entry.choice, document: id });
    const found = await api.explain(asked, { signal: running.signal, say: line.say });
    const address = addressOf(entry.query, entry.choice, id);
    const link = address && new URL(address, location.href).href;
    found.query.title ||= nameOf(entry.query);
    fill(root);
    shown = showAligned(root, found, { back: goBack, report: (least) => takeReport(entry, id, least), link });
    document.title = `${called(found.document)} – rprs`;
  } catch (error) {
    line.end();
    const again = () => seeAligned(entry, id);
    if (!running.signal.aborted) showTrouble(places.trouble, error, { index: info.index, again });
  }
}

// ---------------------------------------------------------------------------- steps

/** From side by side to its list; from a list that did not come to the question. */
function goBack() {
  const { view, entry } = seen;
  if (view === "aligned" && !cameFromList()) {
    replace(entry);
    seeList(entry);
  } else if (!history.state?.pushed) edit();
  else if (!seen.gone) {
    seen.gone = true; // the browser takes its time, and a second step would lead past the list
    history.back();
  }
}

/** A new question from the first view. */
async function askNew(query, choice, follow) {
  const entry = newEntry(query, choice);
  await answer(entry, follow);
  if (follow.signal.aborted) return;
  push(entry);
  seeList(entry);
}

/** The same question with other filters; the old list stays until the new one is there. */
async function rerun(choice) {
  const old = seen.entry;
  const running = new AbortController();
  seen.leave();
  seen.leave = () => running.abort();
  const line = results.busy(() => (running.abort(), results.reset(old)));
  const entry = newEntry(old.query, choice);
  entry.dismissed = new Set(old.dismissed);
  try {
    await answer(entry, { signal: running.signal, say: line.say });
    if (running.signal.aborted) return;
    push(entry);
    see("results", entry, nameOf(entry.query));
    results.draw(entry);
  } catch (error) {
    if (!running.signal.aborted) results.fail(error, () => rerun(choice));
  } finally {
    line.end();
  }
}

function open(id) {
  const { entry } = seen;
  entry.opened = id;
  push(entry, id);
  seeAligned(entry, id);
}

/** Back to the question, with everything in it. */
function edit() {
  const { entry } = seen;
  if (entry) ask.set(entry.query, entry.choice);
  history.pushState(null, "", "/");
  seeAsk();
}

/** A question that has nothing to do with the one seen: a file was dropped on its list. */
function begin() {
  ask.set(NOTHING, seen.entry.choice);
  history.pushState(null, "", "/");
  seeAsk();
}

async function take(format) {
  const { entry } = seen;
  try {
    download(await api.exported(payload(entry.query, { ...entry.choice, format, without: [...entry.dismissed] })));
  } catch (error) {
    results.fail(error, () => take(format));
  }
}

async function takeReport(entry, id, least) {
  try {
    download(await api.report(payload(entry.query, { ...entry.choice, document: id, min_similarity: least })));
  } catch (error) {
    showTrouble(byId("trouble"), error, { index: info.index, again: () => takeReport(entry, id, least) });
  }
}

// ---------------------------------------------------------------------------- start

function route() {
  const now = present(USUAL);
  if (!now || "lost" in now) return seeAsk(now ?? {});
  if (now.open !== null && now.open !== undefined) return seeAligned(now.entry, now.open);
  return seeList(now.entry);
}

function describe() {
  fill(byId("about-index"), el("strong", {}, info.index), ` ${several(info.documents, "document")}`);
  byId("stays").hidden = !LOOPBACK.test(location.hostname);
}

async function start() {
  try {
    info = await api.info();
  } catch (error) {
    return showTrouble(byId("trouble"), error, { index: "", again: start });
  }
  describe();
  ask = askView(info, askNew, () => seen.view !== "ask" && begin());
  results = resultsView(info, { rerun, open, edit, take, keep: replace });
  byId("home").addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", "/");
    seeAsk();
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // a fragment would be another entry of the history
    byId("main").focus();
  });
  history.scrollRestoration = "manual";
  addEventListener("popstate", route);
  route();
}

api.onTokenWanted(askForToken);
start();
