/**
 * Searches in the browser's history. Results are kept in memory; queries are kept in the session storage of the tab, and hidden
 * results in the state of the history entry, so that they survive a reload.
 * @module
 */

import { address, FORM } from "./base.js";
import { addressOf, isIndexed, readAddress } from "./query.js";
import { keepQuery, keptQuery } from "./stored.js";

const KEPT = 20; // answers in memory

/**
 * @typedef {import("./query.js").Query} Query
 * @typedef {import("./query.js").Choice} Choice
 * @typedef {{key: string, query: Query, choice: Choice, answer: any, hidden: Set<string>, scroll: number, opened: string | null, kept: boolean}} Entry
 *   `answer` is null until the search has finished; `opened` is the last result that was opened; `kept`: whether a reload keeps the query
 * @typedef {[number, number]} At where a pair begins in the query and in the document
 */

/** @type {Map<string, Entry>} */
const entries = new Map();

/** An entry whose search has not run yet. @param {Query} query @param {Choice} choice @param {string} [key] @returns {Entry} */
export function newEntry(query, choice, key = crypto.getRandomValues(new Uint32Array(2)).join("-")) {
  const entry = { key, query, choice, answer: null, hidden: new Set(), scroll: 0, opened: null, kept: true };
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

/** Push the view of a document alone. @param {string} id */
export const pushReader = (id) => history.pushState({ pushed: true }, "", readerAddress(id));

/** The address of a document alone. @param {string} id */
export const readerAddress = (id) => address(new URLSearchParams({ read: id }));

/** Whether "back" leads to the results that the side-by-side view was opened from. */
export const cameFromList = () => Boolean(history.state?.pushed && history.state?.open);

/**
 * The view for the current address and history state; null for the search form.
 * @returns {{entry: Entry, open: string | null, at: At | null} | {read: string} | {lost: true} | null}
 */
export function present() {
  const state = history.state;
  const read = new URLSearchParams(location.search).get("read");
  if (read) return { read };
  const existing = entries.get(state?.key);
  if (existing) return { entry: existing, open: state.open, at: state.at };
  const address = readAddress(location.search);
  const query = keptQuery(state?.query);
  const stored = query ? { query, choice: state.choice, open: state.open, at: state.at } : address;
  if (!stored) return location.hash ? { lost: true } : null;
  const entry = newEntry(stored.query, stored.choice, state?.key);
  entry.hidden = new Set(state?.hidden);
  return { entry, open: stored.open, at: stored.at };
}

/** The address of a view. One that cannot be represented still differs from that of the form, so that it leads back to the form. */
const placeOf = ({ query, choice }, open, at = null) => addressOf(query, choice, open, at) ?? `${FORM}#${open === null ? "results" : "side-by-side"}`;

function stateOf(entry, view) {
  const { key, query, choice, hidden } = entry;
  const stored = keepQuery(query);
  entry.kept = Boolean(stored) || isIndexed(query);
  return { key, ...view, query: stored, choice, hidden: [...hidden] };
}
