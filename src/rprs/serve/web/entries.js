/**
 * What the browser's history holds: lists, each with its question. Answers are kept in memory; what was dismissed, and the question
 * of a short text, also survive a reload, in the state of the history's entry.
 * @module
 */

import { addressOf, readAddress } from "./query.js";

const KEPT = 20; // answers in memory
const LONGEST = 500_000; // characters of text that a history entry is given

/**
 * @typedef {import("./query.js").Query} Query
 * @typedef {import("./query.js").Choice} Choice
 * @typedef {{key: string, query: Query, choice: Choice, answer: any, dismissed: Set<string>, scroll: number, opened: string | null}} Entry
 *   `answer` is null until the server has given it; `opened` is the result that was looked at last
 */

/** @type {Map<string, Entry>} */
const entries = new Map();

/** An entry whose answer is still to come. @param {Query} query @param {Choice} choice @param {string} [key] @returns {Entry} */
export function newEntry(query, choice, key = crypto.getRandomValues(new Uint32Array(2)).join("-")) {
  const entry = { key, query, choice, answer: null, dismissed: new Set(), scroll: 0, opened: null };
  entries.set(key, entry);
  if (entries.size > KEPT) entries.delete(entries.keys().next().value);
  return entry;
}

/** Add a view of an entry to the history. @param {Entry} entry @param {string | null} [open] a document side by side */
export function push(entry, open = null) {
  history.pushState(stateOf(entry, open, true), "", placeOf(entry, open));
}

/** Make the present entry of the history a view of this one. @param {Entry} entry @param {string | null} [open] */
export function replace(entry, open = null) {
  history.replaceState(stateOf(entry, open, Boolean(history.state?.pushed)), "", placeOf(entry, open));
}

/** Whether "back" leads to the list that the aligned view was opened from. */
export const cameFromList = () => Boolean(history.state?.pushed && history.state?.open);

/**
 * What the address and the state of the history say is to be seen; null for the first view.
 * @param {number} usual how many results, unless it is said
 * @returns {{entry: Entry, open: string | null} | {lost: true} | null}
 */
export function present(usual) {
  const state = history.state;
  const known = entries.get(state?.key);
  if (known) return { entry: known, open: state.open };
  const address = readAddress(location.search, usual);
  const told = state?.query ? { query: state.query, choice: state.choice, open: state.open } : address;
  if (!told) return location.hash ? { lost: true } : null;
  const entry = newEntry(told.query, told.choice, state?.key);
  entry.dismissed = new Set(state?.dismissed);
  return { entry, open: told.open };
}

/** Where a view is; one without an address of its own differs from the first view at least, so that `/` leads back to that. */
const placeOf = ({ query, choice }, open) => addressOf(query, choice, open) ?? (open === null ? "/#list" : "/#side-by-side");

function stateOf({ key, query, choice, dismissed }, open, pushed) {
  const length = query.text.length + query.documents.reduce((sum, { text }) => sum + text.length, 0);
  const told = query.files.length || length > LONGEST ? null : query;
  return { key, open, pushed, query: told, choice, dismissed: [...dismissed] };
}
