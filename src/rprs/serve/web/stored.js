/**
 * Queries kept in the session storage of the tab, so that a reload does not lose pasted texts and the texts of uploads.
 * They never leave the browser and are deleted with the tab.
 * @module
 */

import { FORM } from "./base.js";

/** @typedef {import("./query.js").Query} Query */

const PREFIX = `query ${FORM} `;
const DRAFT = `draft ${FORM}`;

/** @type {WeakMap<Query, string>} searches with other filters share the stored query */
const keys = new WeakMap();

/** Keep a query, at the cost of older ones if there is no room; null if it cannot be kept. @param {Query} query @returns {string | null} */
export function keepQuery(query) {
  if (query.files.length) return null; // not read yet
  const key = keys.get(query) ?? crypto.getRandomValues(new Uint32Array(2)).join("-");
  if (keys.has(query) && read(PREFIX + key)) return key;
  if (!write(PREFIX + key, JSON.stringify({ time: Date.now(), query }))) return null;
  keys.set(query, key);
  return key;
}

/** A query that was kept, or null. @param {string | undefined} key @returns {Query | null} */
export function keptQuery(key) {
  const text = key ? read(PREFIX + key) : null;
  if (!text) return null;
  const { query } = JSON.parse(text);
  keys.set(query, key);
  return query;
}

/**
 * Keep what is in the form before a search. Files are not read yet: only their names are kept.
 * @param {Query} query @param {import("./query.js").Choice} choice
 */
export function keepDraft(query, choice) {
  const { files, ...rest } = query;
  write(DRAFT, JSON.stringify({ query: { ...rest, files: [] }, choice, missing: files.map(({ name }) => name) }));
}

/** The form before a reload, and the names of its files. @returns {{query: Query, choice: import("./query.js").Choice, missing: string[]} | null} */
export function keptDraft() {
  const text = read(DRAFT);
  return text ? JSON.parse(text) : null;
}

function read(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null; // storage may be disabled
  }
}

function write(key, text) {
  for (;;) {
    try {
      sessionStorage.setItem(key, text);
      return true;
    } catch {
      if (!forgetOldest(key)) return false; // disabled, or larger than the storage of a tab
    }
  }
}

/** Delete the oldest query other than this one; false if there is none. */
function forgetOldest(except) {
  try {
    const others = Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX) && key !== except);
    const timeOf = (key) => Number(/"time":(\d+)/u.exec(sessionStorage.getItem(key))?.[1]);
    const [oldest] = others.sort((a, b) => timeOf(a) - timeOf(b));
    if (oldest) sessionStorage.removeItem(oldest);
    return Boolean(oldest);
  } catch {
    return false;
  }
}
