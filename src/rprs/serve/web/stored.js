/**
 * Queries, and what is in the form, kept for a reload of the tab. Short ones are in its session storage, files and long texts in
 * encrypted parts (parts.js). They never leave the browser.
 * @module
 */

import { FORM } from "./base.js";
import { deletePart, keepPart, keptPart } from "./parts.js";

/** @typedef {import("./query.js").Query} Query */
/** @typedef {import("./query.js").TextDocument} TextDocument */
/** @typedef {import("./query.js").Choice} Choice */

const PREFIX = `query ${FORM} `;
const DRAFT = `draft ${FORM}`;
const SHORT = 40_000; // characters: a tab has room for as many of these as its history has entries

/** @type {WeakMap<Query, string>} searches with other filters share the stored query */
const keys = new WeakMap();
/** @type {WeakMap<Query, Promise<boolean>>} whether a query could be kept */
const outcomes = new WeakMap();
/** @type {Map<File | TextDocument, string>} the parts of the form, by what they contain */
let parts = new Map();

const randomKey = () => crypto.getRandomValues(new Uint32Array(2)).join("-");

/** Keep a query; its key, or null if it has files that were not read yet. @param {Query} query @returns {string | null} */
export function keepQuery(query) {
  if (query.files.length) return null;
  const key = keys.get(query) ?? randomKey();
  if (keys.has(query) && read(PREFIX + key)) return key;
  keys.set(query, key);
  outcomes.set(query, save(PREFIX + key, query));
  return key;
}

/** Whether a query is kept. @param {Query} query */
export const isKept = async (query) => (await outcomes.get(query)) ?? true;

async function save(name, query) {
  const time = Date.now();
  const text = JSON.stringify({ time, query });
  if (text.length <= SHORT && set(name, text)) return true;
  return write(name, JSON.stringify({ time })) && ((await keepPart(name, new Blob([JSON.stringify(query)]))) || write(name, text) || (remove(name), false));
}

/** A query that was kept, or null. @param {string | undefined} key @returns {Promise<Query | null>} */
export async function keptQuery(key) {
  const text = key ? read(PREFIX + key) : null;
  if (!text) return null;
  const query = JSON.parse(text).query ?? parsed(await keptPart(PREFIX + key));
  if (query) keys.set(query, key);
  return query;
}

/** Keep what is in the form before a search. @param {Query} query @param {Choice} choice */
export function keepDraft(query, choice) {
  const before = parts;
  parts = new Map();
  /** Where something is kept: a part that is there already, or a new one. */
  const partOf = (item, bytes) => {
    const part = before.get(item) ?? randomKey();
    if (!before.has(item)) keepPart(part, bytes());
    parts.set(item, part);
    return part;
  };
  const files = query.files.map((file) => ({ name: file.name, type: file.type, lastModified: file.lastModified, part: partOf(file, () => file) }));
  const documents = query.documents.map((document) => (document.text.length <= SHORT ? document
    : { id: document.id, title: document.title, part: partOf(document, () => new Blob([JSON.stringify(document)])) }));
  for (const [item, part] of before) if (!parts.has(item)) deletePart(part);
  set(DRAFT, JSON.stringify({ query: { ...query, files, documents }, choice })) || remove(DRAFT); // never at the cost of queries
}

/** The form before a reload, and the names of what could not be kept. @returns {Promise<{query: Query, choice: Choice, missing: string[]} | null>} */
export async function keptDraft() {
  const text = read(DRAFT);
  if (!text) return null;
  const { query, choice } = JSON.parse(text);
  const missing = [];
  const restore = async (items, nameOf, make) => {
    const found = await Promise.all(items.map(async (item) => {
      if (!item.part) return item;
      const bytes = await keptPart(item.part);
      if (!bytes) return void missing.push(nameOf(item));
      const whole = make(bytes, item);
      parts.set(whole, item.part);
      return whole;
    }));
    return found.filter(Boolean);
  };
  const files = await restore(query.files, ({ name }) => name, (bytes, { name, type, lastModified }) => new File([bytes], name, { type, lastModified }));
  const documents = await restore(query.documents, ({ id, title }) => title || id, parsed);
  return { query: { ...query, files, documents }, choice, missing };
}

const parsed = (bytes) => bytes && JSON.parse(new TextDecoder().decode(bytes));

function read(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null; // storage may be disabled
  }
}

function remove(key) {
  try {
    sessionStorage.removeItem(key);
    return true;
  } catch {
    return false;
  }
}

/** Store a text, if there is room. */
function set(key, text) {
  try {
    sessionStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/** Store a text, at the cost of older queries; false if storage is disabled, or smaller than the text. */
function write(key, text) {
  while (!set(key, text)) if (!forgetOldest(key)) return false;
  return true;
}

/** Delete the oldest query other than this one; false if there is none. */
function forgetOldest(except) {
  try {
    const others = Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX) && key !== except);
    const timeOf = (key) => Number(/"time":(\d+)/u.exec(sessionStorage.getItem(key))?.[1]);
    const [oldest] = others.sort((a, b) => timeOf(a) - timeOf(b));
    return Boolean(oldest) && remove(oldest);
  } catch {
    return false;
  }
}
