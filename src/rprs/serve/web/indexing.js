/**
 * Creating collections and adding documents: in batches that the server accepts, with progress, cancel and an outcome.
 * @module
 */

import * as api from "./api.js";
import { announce, el, fill } from "./dom.js";
import { count, plural } from "./format.js";
import { showError } from "./notice.js";

const FILES = 50; // of a request
const BYTES = 32 * 2 ** 20; // of a request; a larger file is sent alone

/** @typedef {{files: File[], folder: string | null}} Source */

/** @param {{error: Element, outcome: Element}} places @param {() => Promise<void>} refresh */
export function indexing(places, refresh) {
  return {
    /** @param {string} name @param {string | null} encoder @param {Source} source */
    create: (name, encoder, source) => run(`Creating ${name}`, source, createdSoFar, (request, first, follow) =>
      first ? api.createCollection(payload({ ...request, name, encoder }), follow) : api.addDocuments(name, payload(request), follow)),
    /** @param {string} name @param {Source} source */
    add: (name, source) => run(`Adding to ${name}`, source, () => "Documents that were already added stay.", (request, _first, follow) => api.addDocuments(name, payload(request), follow)),
  };

  async function run(what, source, left, send) {
    fill(places.error);
    const batches = batchesOf(source);
    if (!batches.length) return showError(places.error, new api.ApiError(422, "", "Choose files or a folder first."), { index: "" });
    const running = new AbortController();
    const line = progress(places.outcome, what, () => running.abort());
    const total = { parts: 0, added: 0, changed: 0, unchanged: 0, skipped: [], notes: [] };
    try {
      for (const [place, request] of batches.entries()) {
        line.batch(place, batches.length);
        const answer = await send(request, place === 0, { signal: running.signal, onEvent: line.onEvent });
        for (const key of ["added", "changed", "unchanged"]) total[key] += answer[key];
        total.skipped.push(...answer.skipped_by_reason);
        total.notes.push(...answer.notes);
        total.parts += 1;
      }
      await refresh(); // the list is drawn anew first: what a user opens in it afterwards stays open
      showOutcome(places.outcome, what, total);
    } catch (error) {
      await refresh();
      fill(places.outcome, running.signal.aborted && el("p", { class: "notice", role: "status" }, `${what} was cancelled. ${left(total)}`));
      if (!running.signal.aborted) showError(places.error, error, { index: "" });
    }
  }
}

/** What a cancelled creation leaves behind: the parts that were complete. */
const createdSoFar = ({ parts, added }) => (parts ? `The collection has ${plural(added, "document")}: those of the parts before.` : "No collection was created.");

/** The requests for a source. @param {Source} source */
function batchesOf({ files, folder }) {
  const batches = folder === null ? [] : [{ folder, files: [] }];
  let bytes = Infinity;
  for (const file of files) {
    const last = batches.at(-1);
    if (bytes + file.size > BYTES || !last || last.files.length >= FILES) {
      batches.push({ folder: null, files: [file] });
      bytes = file.size;
    } else {
      last.files.push(file);
      bytes += file.size;
    }
  }
  return batches;
}

function payload({ files, ...request }) {
  const values = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== null));
  if (!files.length) return { body: JSON.stringify(values), headers: { "content-type": "application/json" } };
  const form = new FormData();
  form.append("request", JSON.stringify(values));
  for (const file of files) form.append("file", file, file.name);
  return { body: form };
}

function progress(root, what, cancel) {
  const status = el("p", { role: "status" }, `${what} …`);
  const bar = el("progress", { "aria-label": what });
  const line = el("div", { class: "progress" }, bar, status, el("button", { type: "button", class: "button", on: { click: cancel } }, "Cancel"));
  fill(root, line);
  line.scrollIntoView({ block: "nearest" });
  let part = "";
  return {
    batch: (place, batches) => (part = batches > 1 ? ` (part ${place + 1} of ${batches})` : ""),
    onEvent(event, { stage, done, total, unit, text, ahead }) {
      if (event === "queued" && ahead) status.textContent = `Waiting: ${plural(ahead, "request")} ahead of yours`;
      if (event === "busy") status.textContent = text;
      if (event !== "progress") return;
      status.textContent = `${what}${part}: ${stage}, ${count(done)}${total ? ` of ${count(total)}` : ""} ${unit}`;
      if (!total) return bar.removeAttribute("value");
      bar.max = total;
      bar.value = done;
    },
  };
}

function showOutcome(root, what, { added, changed, unchanged, skipped, notes }) {
  const groups = new Map();
  for (const { reason, count: size, names } of skipped) {
    const group = groups.get(reason) ?? { size: 0, names: [] };
    groups.set(reason, { size: group.size + size, names: [...group.names, ...names] });
  }
  const total = [...groups.values()].reduce((sum, { size }) => sum + size, 0);
  const line = `${plural(added, "document")} added, ${count(changed)} changed, ${count(unchanged)} unchanged, ${count(total)} skipped`;
  announce(line);
  fill(root, el("div", { class: "notice outcome-notice" }, el("p", {}, `${what}: ${line}.`),
    notes.map((note) => el("p", {}, note)),
    [...groups].map(([reason, { size, names }]) => el("details", {},
      el("summary", {}, `${plural(size, "file")}: ${reason}`),
      el("ul", {}, names.map((name) => el("li", {}, name)), size > names.length && el("li", {}, `and ${count(size - names.length)} more`))))));
}
