/**
 * Searches in the browser's history. Results are kept in memory; queries are kept in the storage of the tab, and hidden
 * results in the state of the history entry, so that they survive a reload.
 * @module
 */

import { address, FORM } from "./base.js";
import { addressOf, readAddress } from "./query.js";
import { keepQuery, keptQuery } from "./stored.js";

const KEPT = 20; // answers in memory

/**
 * @typedef {import("./query.js").Query} Query
 * @typedef {import("./query.js").Choice} Choice
 * @typedef {{key: string, query: Query, choice: Choice, answer: any, hidden: Set<string>, notes: Record<string, string>, tags: Record<string, string[]>,
 *   matter: {id: string, place: number} | null, scroll: number, opened: string | null, chart: import("./chart.js").Chart | null}} Entry
 *   `answer` is null until the search has finished; `opened` is the last result that was opened; `chart` is the coverage, once it is complete
 * @typedef {[number, number]} At where a pair begins in the query and in the document
 */

/** @type {Map<string, Entry>} */
const entries = new Map();

/** An entry whose search has not run yet. @param {Query} query @param {Choice} choice @param {string} [key] @returns {Entry} */
export function newEntry(query, choice, key = crypto.getRandomValues(new Uint32Array(2)).join("-")) {
  const entry = { key, query, choice, answer: null, hidden: new Set(), notes: {}, tags: {}, matter: null, scroll: 0, opened: null, chart: null };
  entries.set(key, entry);
  if (entries.size > KEPT) entries.delete(entries.keys().next().value);
  return entry;
}

/** Push a view of an entry onto the history. @param {Entry} entry @param {string | null} [open] a document side by side @param {At | null} [at] */
export function push(entry, open = null, at = null) {
  history.pushState(stateOf(entry, { open, at, pushed: true }), "", placeOf(entry, open, at));
}

/** Replace the current history entry with a view of this one. @param {Entry} entry @param {string | null} [open] */
export function replace(entry, open = null) {
  history.replaceState(stateOf(entry, { open, pushed: Boolean(history.state?.pushed) }), "", placeOf(entry, open));
}

/** Push the coverage of the query of an entry. @param {Entry} entry */
export function pushCoverage(entry) {
  const place = addressOf(entry.query, entry.choice);
  history.pushState(stateOf(entry, { open: null, at: null, coverage: true, pushed: true }), "", place ? `${place}&view=coverage` : `${FORM}#coverage`);
}

/** Push the view of a document alone. @param {string} id @param {At | null} [at] */
export const pushReader = (id, at = null) => history.pushState({ pushed: true }, "", readerAddress(id, at));

/** The address of a document alone. @param {string} id @param {At | null} [at] the start and end of a passage, in code points */
export const readerAddress = (id, at = null) => address(new URLSearchParams({ read: id, ...(at && { at: at.join("-") }) }));

/** Whether "back" leads to the results that the side-by-side view was opened from. */
export const cameFromList = () => Boolean(history.state?.pushed && history.state?.open);

/**
 * The view for the current address and history state; null for the search form.
 * @returns {Promise<{entry: Entry, open: string | null, at: At | null, coverage: boolean} | {read: string, at: At | null} | {lost: true} | null>}
 */
export async function present() {
  const state = history.state;
  const parameters = new URLSearchParams(location.search);
  const read = parameters.get("read");
  const coverage = Boolean(state?.coverage) || parameters.get("view") === "coverage";
  const passage = /^(\d+)-(\d+)$/u.exec(parameters.get("at") ?? "");
  if (read) return { read, at: passage && [Number(passage[1]), Number(passage[2])] };
  const existing = entries.get(state?.key);
  if (existing) return { entry: existing, open: state.open, at: state.at, coverage };
  const query = await keptQuery(state?.query);
  const stored = query ? { query, choice: state.choice, open: state.open, at: state.at } : readAddress(location.search);
  if (!stored) return location.hash ? { lost: true } : null;
  const entry = newEntry(stored.query, stored.choice, state?.key);
  entry.hidden = new Set(state?.hidden);
  Object.assign(entry, { notes: state?.notes ?? {}, tags: state?.tags ?? {} });
  return { entry, open: stored.open, at: stored.at, coverage };
}

/** The address of a view. One that cannot be represented still differs from that of the form, so that it leads back to the form. */
const placeOf = ({ query, choice }, open, at = null) => addressOf(query, choice, open, at) ?? `${FORM}#${open === null ? "results" : "side-by-side"}`;

function stateOf(entry, view) {
  const { key, query, choice, hidden, notes, tags } = entry;
  return { key, ...view, query: keepQuery(query), choice, hidden: [...hidden], notes, tags };
}
