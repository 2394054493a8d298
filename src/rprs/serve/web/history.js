/**
 * Searches in the browser's history. Results are kept in memory; dismissed results and queries with short texts are also stored
 * in the state of the history entry, so that they survive a reload.
 * @module
 */

import { addressOf, readAddress } from "./query.js";

const KEPT = 20; // answers in memory
const MAX_TEXT = 500_000; // characters of text stored in a history entry

/**
 * @typedef {import("./query.js").Query} Query
 * @typedef {import("./query.js").Choice} Choice
 * @typedef {{key: string, query: Query, choice: Choice, answer: any, dismissed: Set<string>, scroll: number, opened: string | null}} Entry
 *   `answer` is null until the search has finished; `opened` is the last result that was opened
 */

/** @type {Map<string, Entry>} */
const entries = new Map();

/** An entry whose search has not run yet. @param {Query} query @param {Choice} choice @param {string} [key] @returns {Entry} */
export function newEntry(query, choice, key = crypto.getRandomValues(new Uint32Array(2)).join("-")) {
  const entry = { key, query, choice, answer: null, dismissed: new Set(), scroll: 0, opened: null };
  entries.set(key, entry);
  if (entries.size > KEPT) entries.delete(entries.keys().next().value);
  return entry;
}

/** Push a view of an entry onto the history. @param {Entry} entry @param {string | null} [open] a document side by side */
export function push(entry, open = null) {
  history.pushState(stateOf(entry, open, true), "", placeOf(entry, open));
}

/** Replace the current history entry with a view of this one. @param {Entry} entry @param {string | null} [open] */
export function replace(entry, open = null) {
  history.replaceState(stateOf(entry, open, Boolean(history.state?.pushed)), "", placeOf(entry, open));
}

/** Whether "back" leads to the results that the side-by-side view was opened from. */
export const cameFromList = () => Boolean(history.state?.pushed && history.state?.open);

/**
 * The view for the current address and history state; null for the search form.
 * @param {number} defaultK number of results if the address has none
 * @returns {{entry: Entry, open: string | null} | {lost: true} | null}
 */
export function present(defaultK) {
  const state = history.state;
  const existing = entries.get(state?.key);
  if (existing) return { entry: existing, open: state.open };
  const address = readAddress(location.search, defaultK);
  const stored = state?.query ? { query: state.query, choice: state.choice, open: state.open } : address;
  if (!stored) return location.hash ? { lost: true } : null;
  const entry = newEntry(stored.query, stored.choice, state?.key);
  entry.dismissed = new Set(state?.dismissed);
  return { entry, open: stored.open };
}

/** The address of a view. One that cannot be represented still differs from `/`, so that `/` leads back to the form. */
const placeOf = ({ query, choice }, open) => addressOf(query, choice, open) ?? (open === null ? "/#results" : "/#side-by-side");

function stateOf({ key, query, choice, dismissed }, open, pushed) {
  const length = query.text.length + query.documents.reduce((sum, { text }) => sum + text.length, 0);
  const stored = query.files.length || length > MAX_TEXT ? null : query;
  return { key, open, pushed, query: stored, choice, dismissed: [...dismissed] };
}
